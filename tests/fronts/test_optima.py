from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs import Optima, enqueue_features, optima, suggest_features
from optuna_mofs.fronts._optima import optimal_rows, similarities

quick = settings(max_examples=60)
NAMES = ["a", "b", "c", "d"]
#: Score of each set that matters; all others have 0.
SCORES = {("a", "b"): 0.90, ("c", "d"): 0.896, ("a", "c"): 0.85, ("a", "b", "c"): 0.901}


def study_of(*sets: tuple[str, ...], direction: str = "maximize") -> optuna.Study:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        mask = suggest_features(trial, NAMES)
        score = SCORES.get(tuple(np.array(NAMES)[mask].tolist()), 0.0)
        if trial.user_attrs.get("infeasible"):
            trial.set_constraint("infeasible", 1.0)
        return (score if direction == "maximize" else -score), float(mask.sum())

    study = optuna.create_study(directions=[direction, "minimize"])
    study.enqueue_trial(dict.fromkeys(NAMES, False))
    study.optimize(objective, n_trials=1)
    for one in sets:
        infeasible = one[-1:] == ("!",)
        names = [name for name in one if name != "!"]
        enqueue_features(study, names, user_attrs={"infeasible": infeasible})
    study.optimize(objective, n_trials=len(sets))
    return study


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_all_smallest_sets_within_the_tolerance(direction: str) -> None:
    study = study_of(
        ("a", "b", "c"), ("c", "d"), ("a", "b"), ("a", "c"), ("a", "b"), direction=direction
    )
    found = optima(study, 0.005)
    assert found.features == [["a", "b"], ["c", "d"]]
    sign = 1 if direction == "maximize" else -1
    np.testing.assert_allclose(found.values, sign * np.array([0.9, 0.896]))
    # Of equal sets the earliest trial.
    assert [t.number for t in found] == [3, 2]
    assert len(optima(study, 0.001)) == 1
    assert len(optima(study, 0.0)) == 1
    assert optima(study, 0.0).features == [["a", "b", "c"]]
    assert len(optima(study, 0.06)) == 3
    assert len(optima(study, 0.005, max_extra_features=1)) == 3


def test_infeasible_trials_do_not_count() -> None:
    study = study_of(("a", "b", "!"), ("c", "d"))
    assert optima(study, 0.005).features == [["c", "d"]]


def test_similarity_shared_features_and_table() -> None:
    found = optima(study_of(("a", "b"), ("c", "d"), ("a", "c")), 0.06)
    assert isinstance(found, Optima)
    assert found.shared == []
    expected = [[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]]
    np.testing.assert_allclose(found.similarity, expected)
    frame = found.to_frame()
    assert frame.index.tolist() == [1, 2, 3]
    assert frame["features"].tolist() == ["a, b", "c, d", "a, c"]
    assert frame["n_features"].tolist() == [2, 2, 2]
    assert optima(study_of(("a", "b")), 0.0).shared == ["a", "b"]


def test_without_features_there_are_no_optima() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=2)
    with pytest.raises(ValueError, match="suggest_features"):
        optima(study, 0.1)


def test_bad_arguments_are_rejected() -> None:
    study = study_of(("a", "b"))
    for tolerance in (-1, np.inf, np.nan):
        with pytest.raises(ValueError, match=f"tolerance must be .*, got {tolerance}"):
            optima(study, tolerance)
    with pytest.raises(ValueError, match=r"max_extra_features must be .*, got -2"):
        optima(study, 0.1, max_extra_features=-2)
    with pytest.raises(ValueError, match="'speed'"):
        optima(study, 0.1, metric="speed")


@quick
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), min_size=1, max_size=12),
    st.integers(0, 4),
)
def test_rows_are_those_of_the_definition(points: list[tuple[int, int]], steps: int) -> None:
    losses, sizes = (np.array(column) for column in zip(*points))
    rows = optimal_rows(losses / 10, sizes, steps / 10)
    good = losses <= losses.min() + steps
    assert rows.tolist() == np.flatnonzero(good & (sizes == sizes[good].min())).tolist()


def test_rows_with_nan_are_left_out() -> None:
    assert optimal_rows([np.nan, np.nan], [1, 1], 0.1).tolist() == []
    assert optimal_rows([np.nan, 2.0], [1, 9], 0.1).tolist() == [1]


def test_empty_sets_are_similar_only_to_themselves() -> None:
    assert similarities([[0, 0], [1, 0]]).tolist() == [[1, 0], [0, 1]]
