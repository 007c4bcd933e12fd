from __future__ import annotations

import pytest

from optuna_mofs.visualization import NothingToPlotError, plot_operators
from optuna_mofs.visualization._operators import operator_table

from .helpers import nested_study, plain_study


def operators(*names):
    return [{} if name is None else {"operator": name} for name in names]


def test_trials_are_counted_by_operator():
    study = plain_study(
        [(3, 3), (2, 2), (2, 2), (1, 4), (5, 5)],
        user_attrs=operators("a", "b", "a", "b", None),
    )
    assert operator_table(study).to_dict("index") == {
        "b": {"trials": 2, "entered": 2, "front": 2},
        "a": {"trials": 2, "entered": 1, "front": 0},
        "unknown": {"trials": 1, "entered": 0, "front": 0},
    }


def test_bars_add_up_to_the_trials():
    study = plain_study([(3, 3), (2, 2), (2, 2), (1, 4)], user_attrs=operators("a", "b", "a", "b"))
    figure = plot_operators(study)
    now, then, never = figure.data
    assert list(now.y) == ["a", "b"], "the first row is at the bottom"
    assert [sum(parts) for parts in zip(now.x, then.x, never.x)] == [2, 2]
    assert list(now.x) == [0, 2]
    assert list(then.x) == [1, 0]
    assert [note.text for note in figure.layout.annotations] == ["50 %", "100 %"]


def test_operators_are_read_from_notes():
    table = operator_table(nested_study(operators=["start", "union", "union", "start"]))
    assert table.loc["union"].tolist() == [2, 2, 2]
    assert table.loc["start"].tolist() == [2, 1, 1]


def test_directions_and_constraints():
    study = plain_study(
        [(1, 1), (2, 2)],
        ["maximize", "maximize"],
        user_attrs=operators("a", "b"),
        constraints=[{"c": 0.0}, {"c": 1.0}],
    )
    assert operator_table(study)["front"].to_dict() == {"a": 1, "b": 0}
    free = plain_study([(1, 1), (2, 2)], ["maximize", "maximize"], user_attrs=operators("a", "b"))
    assert operator_table(free)["front"].to_dict() == {"b": 1, "a": 0}


@pytest.mark.parametrize("values", [[], [(1, 2)]])
def test_missing_operators_raise(values):
    with pytest.raises(NothingToPlotError, match="has an operator"):
        plot_operators(plain_study(values))
