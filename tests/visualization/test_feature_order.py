from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.visualization import NothingToPlotError, plot_feature_order

from .helpers import masked_study, nested_study, plain_study


def test_features_enter_with_the_front():
    # 3 enters first, then 1 and 5 (5 stays), then 0 while 3 has left.
    study = masked_study(
        [[3], [1, 3, 5], [0, 5, 6, 7], [9]],
        [(0.5, 0.1), (0.3, 0.3), (0.1, 0.4), (0.9, 0.9)],
    )
    line, heat = plot_feature_order(study).data[:2]
    assert [y.strip("&lgt;") for y in heat.y] == ["f3", "f5", "f1", "f0", "f6", "f7"]
    assert np.array(heat.z).tolist() == [
        [2, 1, 0],
        [0, 2, 1],
        [0, 2, 0],
        [0, 0, 2],
        [0, 0, 2],
        [0, 0, 2],
    ]
    assert list(line.y) == [0.5, 0.3, 0.1]
    assert "selected for the first time<br>trial 0 with 1 features" in heat.text[0][0]


def test_a_maximized_metric_is_shown_as_it_is():
    study = masked_study(
        [[0], [0, 1]],
        [(0.5, 0.1), (0.75, 0.2)],
        directions=["maximize", "minimize"],
        names=["accuracy", "fraction"],
    )
    figure = plot_feature_order(study)
    assert list(figure.data[0].y) == [0.5, 0.75]
    assert figure.layout.yaxis.title.text == "accuracy (more is better)"


def test_many_features_are_cut_to_those_that_enter_first():
    figure = plot_feature_order(nested_study(p=10_935, sizes=(2, 500)), max_features=5)
    assert len(figure.data[1].y) == 5
    assert "the first 5 of 500" in figure.layout.title.text


def test_one_trial():
    assert np.array(plot_feature_order(nested_study(sizes=(2,))).data[1].z).tolist() == [[2], [2]]


def test_a_front_without_any_feature():
    study = masked_study([[]], [(0.5, 0.0)])
    assert len(plot_feature_order(study).data[1].y or ()) == 0


def test_missing_features_and_bad_input_raise():
    with pytest.raises(NothingToPlotError, match="has no description of features"):
        plot_feature_order(plain_study([(1, 2)]))
    with pytest.raises(ValueError, match="max_features must be an integer of at least 1, got 0"):
        plot_feature_order(nested_study(), max_features=0)
