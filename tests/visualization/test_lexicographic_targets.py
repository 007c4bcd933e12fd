from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optuna_mofs import LexicographicPreference
from optuna_mofs.fronts._lexicographic import LexicographicOrder
from optuna_mofs.visualization import NothingToPlotError, plot_lexicographic_targets
from optuna_mofs.visualization._lexicographic_targets import targets_over_time

from .helpers import plain_study

ORDERS = st.builds(
    lambda tolerances, goals, flip: LexicographicOrder.of(
        3, tolerances=tolerances, goals=goals, priorities=[2, 0, 1] if flip else None
    ),
    st.tuples(*[st.sampled_from([0.0, 1.0, "25%"])] * 3),
    st.tuples(*[st.sampled_from([None, 2.0])] * 3),
    st.booleans(),
)


@given(
    arrays(np.float64, st.tuples(st.integers(1, 10), st.just(3)), elements=st.integers(0, 6)),
    ORDERS,
)
@settings(max_examples=60)
def test_targets_and_best_trials_are_those_of_all_trials_so_far(losses, order):
    targets, best = targets_over_time(losses, order)
    for i in range(len(losses)):
        seen = losses[: i + 1]
        assert targets[i].tolist() == order.targets(seen).tolist()
        assert losses[best[i]].tolist() == losses[order.ranking(seen)[0]].tolist()


def test_one_row_per_metric_the_most_important_first():
    study = plain_study(
        [(0.9, 10), (0.95, 30), (0.94, 20)], ["maximize", "minimize"], ["accuracy", "size"]
    )
    wanted = LexicographicPreference(priorities=["accuracy"], tolerances={"accuracy": 0.02})
    figure = plot_lexicographic_targets(study, wanted)
    assert figure.layout.yaxis.title.text == "accuracy (more is better)"
    assert figure.layout.yaxis2.title.text == "size"
    trials, target, pick = figure.data[:3]
    assert list(trials.y) == [0.9, 0.95, 0.94]
    assert list(target.y) == pytest.approx([0.88, 0.93, 0.93])
    assert list(pick.y) == [0.9, 0.95, 0.94]
    assert list(figure.data[4].y) == [10, 30, 20], "the least size that reaches the target"
    assert pick.text[2] == "trial 2"
    turned = plot_lexicographic_targets(study, LexicographicPreference(priorities=["size"]))
    assert turned.layout.yaxis.title.text == "size"


def test_one_trial_infinities_and_violated_constraints():
    study = plain_study(
        [(9, 9), (np.inf, 1), (2, 2)], constraints=[{"c": 1.0}, {"c": 0.0}, {"c": -1.0}]
    )
    figure = plot_lexicographic_targets(study, LexicographicPreference())
    assert list(figure.data[0].x) == [1, 2]
    assert list(figure.data[0].y) == [None, 2.0]
    single = plot_lexicographic_targets(plain_study([(1, 2)]), LexicographicPreference())
    assert single.data[1].mode == "markers"


def test_the_worst_trials_are_cut_off():
    values = [(0.1 + 0.001 * i, 1) for i in range(99)]
    figure = plot_lexicographic_targets(plain_study([*values, (50, 1)]), LexicographicPreference())
    low, high = figure.layout.yaxis.range
    assert low < 0.1
    assert 0.19 < high < 1
    flipped = plain_study([(-a, b) for a, b in [*values, (50, 1)]], ["maximize", "minimize"])
    turned = plot_lexicographic_targets(flipped, LexicographicPreference()).layout.yaxis.range
    assert list(turned) == pytest.approx([-high, -low])


def test_missing_trials_and_bad_input_raise():
    with pytest.raises(NothingToPlotError, match="no completed trial that satisfies"):
        plot_lexicographic_targets(plain_study([]), LexicographicPreference())
    with pytest.raises(ValueError, match="No metric 'cost'"):
        plot_lexicographic_targets(
            plain_study([(1, 2)]), LexicographicPreference(priorities=["cost"])
        )
