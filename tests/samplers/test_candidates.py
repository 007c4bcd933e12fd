from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import optuna
import pytest

from optuna_mofs.history._history import History
from optuna_mofs.samplers._candidates import Candidates, best_new_candidate, random_candidates
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._trial_note import TrialNote
from optuna_mofs.testing.problems import PROBLEMS, make_study


def part(first: int, masks: np.ndarray | None, index: np.ndarray | None = None) -> Candidates:
    rows, parents = np.full((3, 2), first), np.full((3, 1), first)
    return Candidates(rows, parents, np.full(3, f"step {first}"), masks, index)


def test_joined_without_masks() -> None:
    both = Candidates.joined([part(0, None), part(5, None)])
    assert both.rows[:, 0].tolist() == both.parents[:, 0].tolist() == [0, 0, 0, 5, 5, 5]
    assert both.operators.tolist() == ["step 0"] * 3 + ["step 5"] * 3
    assert len(both) == 6
    assert both.masks_of(4) is None


def test_joined_candidates_keep_their_masks() -> None:
    one, two = np.eye(2, dtype=bool), ~np.eye(3, 2, dtype=bool)
    both = Candidates.joined([part(0, one, np.array([0, 1, 1])), part(5, two)])
    for k, mask in enumerate([one[0], one[1], one[1], *two]):
        np.testing.assert_array_equal(both.masks_of(k), mask)
    chosen = both[[4, 2]]
    assert chosen.rows[:, 0].tolist() == [5, 0]
    np.testing.assert_array_equal(chosen.masks, [two[1], one[1]])


def chosen(*values: float) -> float | None:
    """Return the chosen one of some candidates; trials have those below 0.3."""
    history = SimpleNamespace(contains=lambda row, mask: bool(row[0] < 0.3))
    rows = np.array(values)[:, None]
    candidates = Candidates(rows, np.full(rows.shape, -1), np.full(len(rows), ""))
    k = best_new_candidate(
        cast(Any, history),
        candidates,
        np.where(rows[:, 0] > 0.95, np.inf, rows[:, 0]),
        is_last_resort=lambda k: rows[k, 0] < 0.6,
    )
    return None if k is None else values[k]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.9, 0.2, 0.7, 0.4), 0.7),
        ((0.2, 0.5, 0.4), 0.4),
        ((0.1, 0.2), None),
        ((0.99, 0.1), None),
        ((0.99, 0.5), 0.5),
        ((*np.linspace(0, 0.59, 400), 0.7), 0.7),
    ],
    ids=["best new", "last resort", "all known", "infinite", "last resort", "behind many others"],
)
def test_the_best_new_candidate(values: tuple[float, ...], expected: float | None) -> None:
    assert chosen(*values) == expected


def read_history(problem: str) -> History:
    study = make_study(problem, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(PROBLEMS[problem], n_trials=6)
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def test_the_proposal_has_the_operator_and_the_numbers_of_the_parents() -> None:
    history = read_history("mixed")
    history.numbers = history.numbers + 10
    row = history.rows[3]
    candidates = Candidates(row[None], np.array([[3, -1]]), np.array(["local"]))
    proposal = candidates.proposal(history, 0, TrialNote(filter_weights=(0.5,)))
    assert proposal.note == TrialNote("local", (13,), (0.5,))
    assert proposal.mask is None
    np.testing.assert_array_equal(proposal.row, row)


@pytest.mark.parametrize("problem", ["mixed", "packed"])
def test_random_candidates_are_spread(problem: str) -> None:
    history = read_history(problem)
    drawn = random_candidates(np.random.default_rng(0), history, 60)
    assert len(drawn) == 60
    assert set(drawn.operators) == {"random"}
    assert (drawn.parents == -1).all()
    assert (np.ptp(drawn.rows[:, ~history.space.categorical], axis=0) > 0.9).all()
    if history.table is None:
        assert drawn.masks is None
    else:
        assert drawn.masks is not None
        assert np.ptp(drawn.masks.sum(axis=1)) > 10
    none = random_candidates(np.random.default_rng(0), history, 0)
    assert len(Candidates.joined([none, drawn])) == 60
