from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from optuna_mofs.statistics import compare_ranks
from optuna_mofs.visualization import plot_critical_difference

from .helpers import plain_study

# a is best, d is worst, b and c are tied.
SCORES = pd.DataFrame(np.tile([4.0, 3.0, 2.0, 1.0], (30, 1)), columns=list("abcd"))
SCORES.loc[::2, ["b", "c"]] = [2.0, 3.0]


def bars(figure):
    return [tuple(t.x) for t in figure.data if t.line.width == 6]


def test_methods_are_placed_at_their_mean_ranks():
    figure = plot_critical_difference(SCORES)
    positions = {t.name: t.x[0] for t in figure.data if t.name}
    assert positions == {"a": 1.0, "b": 2.5, "c": 2.5, "d": 4.0}
    labels = [note.text for note in figure.layout.annotations]
    assert any(text.startswith("a ") and "1.00" in text for text in labels)


def test_bars_join_methods_that_do_not_differ():
    assert bars(plot_critical_difference(SCORES)) == [pytest.approx((2.46, 2.54))]
    turned = plot_critical_difference(SCORES, higher_is_better=False)
    assert {t.name: t.x[0] for t in turned.data if t.name}["d"] == 1.0


def test_without_any_difference_one_bar_joins_all():
    even = plot_critical_difference(pd.DataFrame([[1.0, 2.0], [2.0, 1.0]], columns=["a", "b"]))
    assert bars(even) == [pytest.approx((1.46, 1.54))]
    assert "do not differ" in even.layout.title.text


def test_a_comparison_is_drawn_as_it_is():
    found = compare_ranks(SCORES.to_numpy(), list(SCORES), alpha=0.1)
    figure = plot_critical_difference(found)
    assert f"critical difference {found.critical_difference:.2f}" in [
        note.text for note in figure.layout.annotations
    ]
    assert "α = 0.1" in figure.layout.title.text


def test_studies_are_compared_by_hypervolume():
    good = [plain_study([(0.1 * i, 0.1)]) for i in range(1, 4)]
    bad = [plain_study([(0.1 * i + 0.1, 0.2)]) for i in range(1, 4)]
    figure = plot_critical_difference({"bad": bad, "good": good}, reference=[1, 1])
    assert {t.name: t.x[0] for t in figure.data if t.name} == {"good": 1.0, "bad": 2.0}


def test_bad_input_raises():
    with pytest.raises(TypeError, match="got list"):
        plot_critical_difference([[1, 2], [2, 1]])
    with pytest.raises(ValueError, match="at least two rows"):
        plot_critical_difference(SCORES.iloc[:1])
