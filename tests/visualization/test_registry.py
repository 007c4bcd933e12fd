from __future__ import annotations

import numpy as np
import pytest
from optuna.trial import TrialState, create_trial

from optuna_mofs import LexicographicPreference
from optuna_mofs.visualization import plot_all
from tests.visualization.helpers import ensemble_study, nested_study, plain_study


def test_every_figure_that_applies():
    study = nested_study(operators=["start", "union", "union", "start"])
    assert list(plot_all(study)) == [
        "front",
        "hypervolume",
        "feature_order",
        "feature_frequency",
        "operators",
        "filter_weights",
    ]
    assert "lexicographic_targets" in plot_all(study, preference=LexicographicPreference())


def test_what_a_study_lacks_is_left_out():
    assert list(plot_all(plain_study([]))) == []
    failed = plain_study([])
    failed.add_trial(create_trial(state=TrialState.FAIL))
    assert list(plot_all(failed)) == []
    assert list(plot_all(plain_study([(np.inf, 1)]))) == []
    assert list(plot_all(plain_study([(1, 2)]))) == ["front", "hypervolume"]
    assert list(plot_all(plain_study([(1, 2, 3, 4)]))) == ["hypervolume"]
    assert "operators" not in plot_all(ensemble_study([(0.5, 0.5)]))


def test_only_those_named():
    study = nested_study()
    assert list(plot_all(study, names=["hypervolume", "front"])) == ["front", "hypervolume"]
    with pytest.raises(ValueError, match="No figure 'fornt'; there are 'front', 'hypervolume'"):
        plot_all(study, names=["fornt"])


def test_lists_of_features_can_be_cut():
    figures = plot_all(nested_study(sizes=(1, 6)), max_features=2)
    assert len(figures["feature_frequency"].data[0].y) == 2
    assert len(figures["feature_order"].data[1].y) == 2
