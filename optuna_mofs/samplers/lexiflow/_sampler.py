"""LexiFlowSampler: an assembly of the steps beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._typing import Array
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.history._history import History
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers._gaussian_process import RefitSchedule
from optuna_mofs.samplers.lexiflow._acquisition import Guide
from optuna_mofs.samplers.lexiflow._directions import (
    DirectSearch,
    EuclideanSpace,
    check_start,
    checked_value,
    design_row,
    first_row,
    restart_row,
    start_mask,
)
from optuna_mofs.samplers.lexiflow._local_search import LocalSearchReplay, LocalSearchState, Rules


class LexiFlowSampler(HistorySampler):
    """Randomized direct search towards the trial that a lexicographic preference wants.

    Zhang et al. (2023), *Targeted hyperparameter optimization with lexicographic preferences over
    multiple objectives* (ICLR), Algorithm 1. From an incumbent it steps in random directions, of
    which a model of the trials chooses the most promising, and moves to whatever the preference
    likes better; the step shrinks when nothing does, and in the end the search restarts.
    ``docs/samplers/lexiflow.md`` says how categories and masks are walked and what differs from
    the paper.

    It works on any objective. Of several workers each follows a direction of its own from the
    shared incumbent. The answer is ``preference.best(study)``.

    Args:
        preference: Priorities, tolerances and goals; by default the metrics in their order.
        start: A point known to be cheap, by parameter name: the first trial, around which others
            of the start and all restarts are drawn. Parameters not named are random.
        start_trials: Finished trials before the first direction, from the best of which it goes.
        step: Step of a thread at its start, for each axis of the normalized space.
        least_step: Step at which a thread ends and another begins.
        most_failures: Most failed directions in a row before the step shrinks; the paper's
            2^(d-1) holds where it is less, and everywhere if this is None.
        lead: Probability that a direction starts from the leader, the best trial if nothing may be
            given up, instead of from the incumbent, and that the model is asked about an objective
            before the last; 0 is the paper's.
        explore: Probability that a trial is a random point; 0 is the paper's.
        sparse: Probability that a direction moves only some of the parameters; 0 is the paper's.
        sphere: Whether steps have exactly the length δ, as in the paper, or vary about it; of
            no effect while there are ``candidates``.
        widen: What each restart adds to the length δ of the first step; the paper: 1. None for
            the first step's length, up to 0.3 for each axis.
        candidates: Number of candidates among which a model of the finished trials chooses; with
            masks a quarter of them. 0 for none, as in the paper: a random direction is followed,
            then the opposite one.
        seed: Seed; if None, one is drawn and kept in the study.

    Example:
        The least ``y`` among those whose loss is within 0.1 of the best:

        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> wanted = LexicographicPreference(tolerances=[0.1, 0])
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=LexiFlowSampler(wanted, seed=0)
        ... )
        >>> def objective(trial):
        ...     x, y = trial.suggest_float("x", -1, 1), trial.suggest_float("y", 0, 1)
        ...     return x**2 + (y - 0.5) ** 2, y
        >>> study.optimize(objective, n_trials=60)
        >>> wanted.best(study).values[1] < 0.3
        True
    """

    def __init__(
        self,
        preference: LexicographicPreference | None = None,
        *,
        start: Mapping[str, Any] | None = None,
        start_trials: int = 16,
        step: float = 0.1,
        least_step: float = 0.01,
        most_failures: int | None = 5,
        lead: float = 0.7,
        explore: float = 0.05,
        sparse: float = 0.5,
        sphere: bool = False,
        widen: float | None = None,
        candidates: int = 64,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        if not isinstance(preference, LexicographicPreference | None):
            raise ValueError(f"preference must be a LexicographicPreference, got {preference!r}.")
        if not isinstance(start, Mapping | None):
            raise ValueError(f"start must map parameter names to values, got {start!r}.")
        if start_trials < 1:
            raise ValueError(f"start_trials must be at least 1, but is {start_trials}.")
        if candidates < 0:
            raise ValueError(f"candidates must be at least 0, but is {candidates}.")
        for name, share in (("lead", lead), ("explore", explore), ("sparse", sparse)):
            if not 0 <= share <= 1:
                raise ValueError(f"{name} must be a probability, but is {share}.")
        self.preference = preference or LexicographicPreference()
        self.start = dict(start or {})
        self.start_trials = start_trials
        self.lead = lead
        self.explore = explore
        self.sparse = sparse
        self.sphere = sphere
        self.candidates = candidates
        self.rules = Rules(step, least_step, most_failures, widen)

    @classmethod
    def as_published(
        cls,
        preference: LexicographicPreference | None = None,
        *,
        start: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> LexiFlowSampler:
        """Algorithm 1 of the paper, with the steps of Wu et al. (2021).

        Args:
            preference: Priorities, tolerances and goals.
            start: The low-cost point.
            seed: Seed.
        """
        return cls(
            preference,
            start=start,
            start_trials=1,
            most_failures=None,
            lead=0.0,
            explore=0.0,
            sparse=0.0,
            sphere=True,
            widen=1.0,
            candidates=0,
            seed=seed,
        )

    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        """A start, a step that the model chooses, the opposite of a direction, or a direction."""
        threads: LocalSearchReplay = self.kept("threads", _unbound)
        values = np.column_stack([history.violations, history.values])
        stand = threads.after(history.numbers, values, history.notes)
        places = EuclideanSpace.of(history)
        if stand.members < (self.start_trials if stand.thread == 0 else 1):
            operator = "start" if stand.thread == 0 else "restart"
            return self._anywhere(history, places, stand, rng, number, operator)
        if self.candidates:
            if rng.random() < self.explore:
                return self._anywhere(history, places, stand, rng, number, "explore")
            known = self.kept("scales", RefitSchedule)
            guide = Guide(
                self.candidates, self.lead, self.sparse, self.start, self.rules.first_step
            )
            guided = guide.propose(history, values, places, threads, stand, known, rng)
            if guided is not None:
                return guided
        walk = DirectSearch(self.sparse, self.sphere)
        opposite, tried = walk.opposite(history, places, stand, number)
        if opposite is not None:
            return opposite
        if rng.random() < self.explore:
            return self._anywhere(history, places, stand, rng, number, "explore")
        base, step = stand.incumbent, stand.step
        if rng.random() < self.lead:
            # The leader is not polished: what it is there to find out needs no small steps.
            base, step = stand.leader, max(step, self.rules.first_step)
        proposal = walk.step(history, places, stand, base, step, int(rng.integers(2**53)))
        if tried:
            proposal.memory["no_opposite"] = tried
        return proposal

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """The start's value in the first trial, else a uniform draw."""
        if trial.number > 0 or param_name not in self.start:
            return super().sample_independent(study, trial, param_name, param_distribution)
        return checked_value(param_name, self.start[param_name], param_distribution)

    def _anywhere(
        self,
        history: History,
        places: EuclideanSpace,
        stand: LocalSearchState,
        rng: np.random.Generator,
        number: int,
        operator: str,
    ) -> Proposal:
        row = self._somewhere(history, places, rng, number, operator)
        memory = {"thread": stand.thread, "step": stand.step}
        return Proposal(row, start_mask(rng, history, number), operator, memory=memory)

    def _somewhere(
        self,
        history: History,
        places: EuclideanSpace,
        rng: np.random.Generator,
        number: int,
        operator: str,
    ) -> Array:
        if number == 0 and (self.start or not self.candidates):
            described = history.described
            if described is not None and described.space:
                check_start(self.start, described.distributions)
            return first_row(rng, places, self.start)
        if not self.candidates:
            return restart_row(rng, places, self.start)
        if operator == "start":
            # A model learns more from a design than from as many random points.
            row = design_row(self.study_seed, number, self.start_trials, places, self.start)
            if history.table is not None or not history.contains_params(history.space.decode(row)):
                return row
        return restart_row(rng, places, self.start, rng.random(len(history.space)))

    def _history(self, study: Study, trial: FrozenTrial) -> History:
        history = super()._history(study, trial)
        # The preference speaks of metrics by the names that the study gives them.
        self.kept(
            "threads",
            lambda: LocalSearchReplay(self.preference.order(study).after_violations(), self.rules),
        )
        return history


def _unbound() -> LocalSearchReplay:
    raise AssertionError("the history was not read")
