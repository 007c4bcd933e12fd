"""The conformance suite finds what it was made to find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.samplers import RandomSampler

from optuna_mofs.history._history import History
from optuna_mofs.samplers._base import HistorySampler, _Made
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.testing import SamplerConformance
from optuna_mofs.testing._workers import no_waiting


class Good(HistorySampler):
    """Steps from the best trial, of what the history tells alone."""

    def __init__(self, seed: int | None = 0) -> None:
        super().__init__(seed=seed)

    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        row, mask = history.space.sample(rng)[0], None
        if history.table is not None:
            mask = rng.random(len(history.table.free)) < 0.3
        if len(history) < 4:
            return Proposal(row, mask)
        best = int(np.lexsort((history.numbers, history.values.sum(axis=1)))[0])
        moved = np.where(rng.random(len(row)) < 0.5, history.rows[best], row)
        moved = np.where(np.isnan(moved), row, moved)
        return Proposal(moved, mask, "near the best", (int(history.numbers[best]),))


class Remembers(Good):
    """Counts its proposals in the object."""

    count = 0

    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        self.count += 1
        made = super().propose(history, rng, number)
        made.row = np.where(history.space.categorical, made.row, made.row * 0.9**self.count)
        return made


class KeepsOldNews(Good):
    """Keeps the best trial that it once saw, as if that were computable from the history."""

    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        made = super().propose(history, rng, number)
        if len(history) >= 4:
            (best,) = self.kept("best", lambda: made.parents)
            row = history.rows[history.numbers.tolist().index(best)]
            numbers = ~history.space.categorical & ~np.isnan(row)
            made.row = np.where(numbers, 0.5 * (made.row + row), made.row)
        return made


class Directed(Good):
    """Takes maximized values as they are."""

    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        made = super().propose(history, rng, number)
        if history._signs[0] < 0 and len(history) > 4:
            made.row = history.space.sample(rng)[0]
        return made


class Cloning(Good):
    """Has no way to look for what is new."""

    def _fresh_proposal(
        self, history: History, seed: int, number: int, turn: int, decided: Any
    ) -> _Made:
        return _Made(history, Proposal(np.zeros(len(history.space))), decided)


class Forgets(Remembers):
    """Counts its proposals, and pickling loses the count."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "count": 0}


class _Suite(SamplerConformance):
    trials = 20


SUITE = _Suite()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", no_waiting)


def test_a_good_sampler_passes() -> None:
    for problem in ("branches", "bits", "packed", "single"):
        SUITE.test_any_order_of_telling(Good, problem)
    SUITE.test_two_studies_in_turn(Good)
    SUITE.test_pickle_and_deepcopy(Good)
    SUITE.test_direction_mirrors(Good)
    SUITE.test_no_clones_while_others_exist(Good)


@pytest.mark.parametrize(
    "check",
    [
        lambda: SUITE.test_any_order_of_telling(Remembers, "packed"),
        lambda: SUITE.test_two_studies_in_turn(Remembers),
        lambda: SUITE.test_pickle_and_deepcopy(Forgets),
        lambda: SUITE.test_any_order_of_telling(KeepsOldNews, "single"),
        lambda: SUITE.test_features_described_after_the_first_suggestion(Remembers),
        lambda: SUITE.test_pruner_with_brackets(Remembers),
        lambda: SUITE.test_direction_mirrors(Directed),
        lambda: SUITE.test_no_clones_while_others_exist(Cloning),
        lambda: SUITE.test_equal_values(Cloning),
        lambda: SUITE.test_seeds_differ(lambda seed: Good(0)),
        lambda: SUITE.test_seeds_differ(lambda seed: Good(None)),
        lambda: SUITE.test_seed_is_kept_in_the_study(lambda seed: RandomSampler(seed=seed)),
    ],
)
def test_defects_are_found(check: Callable[[], None]) -> None:
    with pytest.raises(AssertionError):
        check()


def test_a_sampler_with_a_memory_does_not_resume(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        SUITE.test_exact_resume(KeepsOldNews, tmp_path)
