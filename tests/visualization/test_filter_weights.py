from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.samplers import FilterEnsembleNSGA2Sampler
from optuna_mofs.testing.problems import PROBLEMS, make_study
from optuna_mofs.visualization import NothingToPlotError, plot_filter_weights
from optuna_mofs.visualization._filter_weights import filter_weights, moving_mean

from .helpers import FILTERS, ensemble_study, nested_study, plain_study, single_filter_study


def test_weights_of_an_ensemble_are_on_the_simplex():
    study = ensemble_study([(0.5, 0.5), (0.0, 0.9), (0.75, 0.5)])
    names, numbers, weights = filter_weights(study)
    assert names == FILTERS
    assert numbers.tolist() == [0, 1, 2]
    assert weights == pytest.approx(np.array([[0.5, 0.5], [0.0, 1.0], [2 / 3, 1 / 3]]))


def test_the_figure_stacks_moving_means():
    figure = plot_filter_weights(ensemble_study([(0.5, 0.5), (0.0, 0.9), (0.9, 0.0)]), window=2)
    assert [trace.name for trace in figure.data] == list(FILTERS)
    assert list(figure.data[0].y) == pytest.approx([0.5, 0.25, 0.5])
    assert list(figure.data[1].y) == pytest.approx([0.5, 0.75, 0.5])
    assert len({trace.stackgroup for trace in figure.data}) == 1


def test_fractions_of_single_filters():
    study = single_filter_study(["auc", "anova_f", "auc", "auc"])
    assert filter_weights(study)[2].tolist() == [[0, 1], [1, 0], [0, 1], [0, 1]]


def test_weights_in_the_notes_of_a_sampler():
    study = nested_study(operators=["a", "b", None, "c"])
    _, numbers, weights = filter_weights(study)
    assert numbers.tolist() == [0, 1, 3]
    assert weights.tolist() == [[1.0, 0.0]] * 3


def test_the_constant_filter_of_the_papers_sampler_is_shown():
    study = make_study("packed", sampler=FilterEnsembleNSGA2Sampler.from_paper(seed=0))
    study.optimize(PROBLEMS["packed"], n_trials=3)
    names, _, weights = filter_weights(study)
    assert names[-1] == "constant"
    assert weights.shape == (3, 3)
    assert weights.sum(axis=1) == pytest.approx(np.ones(3))


def test_one_trial():
    assert plot_filter_weights(ensemble_study([(0.5, 0.5)])).data[0].mode == "markers"


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=20), st.integers(1, 25))
@settings(max_examples=40)
def test_moving_means(values, window):
    rows = np.array(values, dtype=float)[:, None]
    expected = [np.mean(values[max(0, i + 1 - window) : i + 1]) for i in range(len(values))]
    assert moving_mean(rows, window).ravel() == pytest.approx(expected)


def test_missing_weights_and_bad_input_raise():
    for study in (plain_study([(1, 2)]), nested_study(), ensemble_study([])):
        with pytest.raises(NothingToPlotError, match="has no filter weights: none of its"):
            plot_filter_weights(study)
    with pytest.raises(ValueError, match="window must be an integer of at least 1, got 0"):
        plot_filter_weights(ensemble_study([(0.5, 0.5)]), window=0)
