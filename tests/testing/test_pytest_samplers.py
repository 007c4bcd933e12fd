"""The conformance suite passes a correct sampler and finds the defects of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution
from optuna.samplers import BaseSampler, RandomSampler

from optuna_mofs.samplers import HistorySampler, Proposal, ProposalContext
from optuna_mofs.study._trial_note import TrialNote
from optuna_mofs.testing import SamplerConformance
from optuna_mofs.testing._workers import skip_fsync


class GoodSampler(HistorySampler):
    """Moves from the best trial, a function of the context alone.

    It keeps half of the coordinates, so most continuous values repeat.
    """

    def __init__(self, seed: int | None = 0) -> None:
        super().__init__(seed=seed)

    def propose(self, ctx: ProposalContext) -> Proposal:
        history = ctx.history
        row, mask = history.space.sample(ctx.rng)[0], None
        if history.table is not None:
            mask = ctx.rng.random(len(history.table.free)) < 0.3
        if len(history) < 4:
            return Proposal(row, mask)
        best = int(np.lexsort((history.numbers, history.values.sum(axis=1)))[0])
        moved = np.where(ctx.rng.random(len(row)) < 0.5, history.rows[best], row)
        moved = np.where(np.isnan(moved), row, moved)
        return Proposal(moved, mask, TrialNote("move", (int(history.numbers[best]),)))


class CountingSampler(GoodSampler):
    """Depends on the number of its own proposals."""

    n_proposals = 0

    def propose(self, ctx: ProposalContext) -> Proposal:
        self.n_proposals += 1
        made = super().propose(ctx)
        shrunk = made.row * 0.9**self.n_proposals
        return replace(made, row=np.where(ctx.history.space.categorical, made.row, shrunk))


class ForgetfulSampler(CountingSampler):
    """Loses its count when it is pickled."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "n_proposals": 0}


class StaleSampler(GoodSampler):
    """Caches the first best trial, which the history does not determine."""

    def propose(self, ctx: ProposalContext) -> Proposal:
        made = super().propose(ctx)
        if len(ctx.history) < 4:
            return made
        (best,) = ctx.study_cache("best", lambda: made.note.parents)
        row = ctx.history.rows[ctx.history.numbers.tolist().index(best)]
        is_numeric = ~ctx.history.space.categorical & ~np.isnan(row)
        return replace(made, row=np.where(is_numeric, 0.5 * (made.row + row), made.row))


class DirectedSampler(GoodSampler):
    """Treats maximized values differently."""

    def propose(self, ctx: ProposalContext) -> Proposal:
        made = super().propose(ctx)
        if len(ctx.history) > 4 and ctx.metrics.signs[0] < 0:
            return replace(made, row=ctx.history.space.sample(ctx.rng)[0])
        return made


class DuplicatingSampler(BaseSampler):
    """Always proposes the same configuration."""

    def __init__(self, seed: int | None = 0) -> None:
        pass

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        return {}

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        return {}

    def sample_independent(self, study: Any, trial: Any, name: str, distribution: Any) -> Any:
        if isinstance(distribution, CategoricalDistribution):
            return distribution.choices[0]
        return distribution.low


class _Suite(SamplerConformance):
    n_trials = 20


SUITE = _Suite()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", skip_fsync)


class TestGoodSampler(SamplerConformance):
    n_trials = 20

    @pytest.fixture
    def sampler(self) -> type[GoodSampler]:
        return GoodSampler


@pytest.mark.unseeded
@pytest.mark.parametrize(
    "check",
    [
        lambda: SUITE.test_trials_complete_in_any_order(CountingSampler, "packed"),
        lambda: SUITE.test_one_sampler_serves_two_studies(CountingSampler),
        lambda: SUITE.test_pickled_and_copied_samplers_continue(ForgetfulSampler),
        lambda: SUITE.test_trials_complete_in_any_order(StaleSampler, "single"),
        lambda: SUITE.test_features_after_another_suggestion(CountingSampler),
        lambda: SUITE.test_a_pruner_with_brackets(CountingSampler),
        lambda: SUITE.test_maximizing_the_negative_proposes_the_same(DirectedSampler),
        lambda: SUITE.test_no_duplicates_until_the_space_is_exhausted(DuplicatingSampler),
        lambda: SUITE.test_constant_values(DuplicatingSampler, "mixed"),
        lambda: SUITE.test_partially_fixed_parameters(DuplicatingSampler),
        lambda: SUITE.test_the_seed_decides(lambda seed: GoodSampler(0)),
        lambda: SUITE.test_the_seed_decides(lambda seed: GoodSampler(None)),
        lambda: SUITE.test_a_drawn_seed_is_kept_in_the_study(lambda seed: RandomSampler(seed)),
    ],
)
def test_defects_are_found(check: Callable[[], None]) -> None:
    with pytest.raises(AssertionError):
        check()


def test_a_sampler_that_depends_on_its_cache_does_not_resume(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        SUITE.test_a_reopened_study_continues_exactly(StaleSampler, tmp_path)
