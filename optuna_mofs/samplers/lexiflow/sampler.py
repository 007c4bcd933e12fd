"""LexiFlowSampler: an assembly of the steps beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs.features.table import Array
from optuna_mofs.history import History
from optuna_mofs.preferences import LexicographicPreference
from optuna_mofs.samplers.base import HistorySampler, Proposal
from optuna_mofs.samplers.lexiflow.candidates import draw_candidates
from optuna_mofs.samplers.lexiflow.directions import change_mask, random_direction
from optuna_mofs.samplers.lexiflow.guide import (
    KEEP,
    learned_from,
    questions,
    relevant,
    scales,
    worth,
)
from optuna_mofs.samplers.lexiflow.model import Points
from optuna_mofs.samplers.lexiflow.places import Places
from optuna_mofs.samplers.lexiflow.start import design_row, first_row, restart_row, start_mask
from optuna_mofs.samplers.lexiflow.threads import Rules, Stand, Threads
from optuna_mofs.samplers.operators.rows import fill_missing

#: A running trial without a note is about to get one, if it is not older than this many trials.
_RECENT = 32


class LexiFlowSampler(HistorySampler):
    """Randomised direct search towards the trial that a lexicographic preference wants.

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
        step: Step of a thread at its start, for each axis of the normalised space.
        least_step: Step at which a thread ends and another begins.
        most_failures: Most failed directions in a row before the step shrinks; the paper's
            2^(d-1) holds where it is less, and everywhere if this is None.
        lead: Probability that a direction starts from the leader, the best trial if nothing may be
            given up, instead of from the incumbent, and that the model is asked about an objective
            before the last; 0 is the paper's.
        explore: Probability that a trial is a random point; 0 is the paper's.
        sparse: Probability that a direction moves only some of the parameters; 0 is the paper's.
        sphere: Whether steps have exactly the length δ, as in the paper, or vary about it.
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
        start_trials: int = 10,
        step: float = 0.1,
        least_step: float = 0.01,
        most_failures: int | None = 5,
        lead: float = 0.5,
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
        """A start, the opposite of a direction that failed, or a new direction."""
        stand = self._stand(history)
        places = Places.of(history)
        if stand.members < (self.start_trials if stand.thread == 0 else 1):
            operator = "start" if stand.thread == 0 else "restart"
            return self._anywhere(history, places, stand, rng, number, operator)
        if self.candidates:
            if rng.random() < self.explore:
                return self._anywhere(history, places, stand, rng, number, "explore")
            guided = self._guided(history, places, stand, rng)
            if guided is not None:
                return guided
        tried = []
        for waiting in _unclaimed(stand, history, number):
            proposal = self._opposite(history, places, stand, waiting)
            if not history.is_known(_params(history, proposal)):
                return proposal
            # It rounds to something that was tried before: nothing to wait for.
            tried.append(waiting)
        if rng.random() < self.explore:
            return self._anywhere(history, places, stand, rng, number, "explore")
        base, step = stand.incumbent, stand.step
        if rng.random() < self.lead:
            # The leader is not polished: what it is there to find out needs no small steps.
            base, step = stand.leader, max(step, self.rules.first_step)
        proposal = self._move(history, places, stand, base, step, int(rng.integers(2**53)))
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
        value = self.start[param_name]
        if not param_distribution._contains(param_distribution.to_internal_repr(value)):
            raise ValueError(
                f"start gives {param_name!r} the value {value!r}, which {param_distribution} does "
                "not hold. Give one that it does."
            )
        return value

    def _anywhere(
        self,
        history: History,
        places: Places,
        stand: Stand,
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
        places: Places,
        rng: np.random.Generator,
        number: int,
        operator: str,
    ) -> Array:
        if number == 0 and (self.start or not self.candidates):
            return first_row(rng, places, self.start)
        if not self.candidates:
            return restart_row(rng, places, self.start)
        if operator == "start":
            # A model learns more from a design than from as many random points.
            row = design_row(self.study_seed, number, self.start_trials, places, self.start)
            if history.table is not None or not history.is_known(history.space.decode(row)):
                return row
        return restart_row(rng, places, self.start, rng.random(len(history.space)))

    def _guided(
        self, history: History, places: Places, stand: Stand, rng: np.random.Generator
    ) -> Proposal | None:
        """The most promising of many candidates, or None if there is nothing to gain or new."""
        threads: Threads = self.kept("threads", _unbound)
        values = _values(history)
        asked = questions(threads.orders[0], values, threads.targets[0])
        if not asked:
            return None
        question = asked[-1]
        wanted, leads = (
            order.ranking(values, targets)
            for order, targets in zip(threads.orders, threads.targets)
        )
        bases = (stand.incumbent, int(wanted[0]))
        if len(asked) > 1 and rng.random() < self.lead:
            question = asked[int(rng.integers(len(asked) - 1))]
            bases = (stand.leader, int(leads[0]))
        drawn = draw_candidates(
            rng,
            history,
            places,
            self.candidates,
            bases,
            (stand.step, max(stand.step, self.rules.first_step)),
            sparse=self.sparse,
            start=self.start,
        )
        kept = relevant(wanted, leads, KEEP)
        promise = worth(
            question,
            _points(history, places, kept),
            values[kept],
            Points(
                places.coordinates(history.space.snapped(drawn.rows)),
                history.space.categorical,
                drawn.masks,
            ),
            {column: self._scales(history, places, column) for column in question.columns},
        )
        for k in np.argsort(-promise, kind="stable").tolist():
            base = int(drawn.bases[k])
            memory = {
                "thread": stand.thread,
                # Both ways were candidates: if this one fails, no opposite is waited for.
                "sign": -1,
                "step": float(drawn.steps[k]),
                "iteration": stand.iteration,
                "failures": stand.failures,
                "dimension": len(history.space) + (drawn.masks is not None),
                "place": places.note(drawn.places[k]),
                "improves": question.column - 1,
            }
            parents = () if base < 0 else (int(history.numbers[base]),)
            mask = None if drawn.masks is None else drawn.masks[k]
            proposal = Proposal(drawn.rows[k], mask, "guided", parents, memory)
            if not history.is_known(_params(history, proposal)):
                return proposal
        return None

    def _scales(self, history: History, places: Places, column: int) -> Array:
        """Length scales of a column, from the first trials only, so that they last a while."""
        count = learned_from(len(history))
        key = (history.numbers[:count].tobytes(), history.space)
        kept: dict[int, tuple[Any, Array]] = self.kept("scales", dict)
        if column not in kept or kept[column][0] != key:
            order = self.kept("threads", _unbound).orders[0]
            points = _points(history, places, np.arange(count))
            kept[column] = key, scales(order, points, _values(history)[:count], column)
        return kept[column][1]

    def _opposite(self, history: History, places: Places, stand: Stand, waiting: int) -> Proposal:
        """The other way from where a direction that failed began."""
        note = history.notes[int(np.searchsorted(history.numbers, waiting))]
        base = int(np.searchsorted(history.numbers, note["incumbent"]))
        step, direction = float(note["step"]), int(note["direction"])
        return self._move(history, places, stand, base, step, direction, opposite=waiting)

    def _move(
        self,
        history: History,
        places: Places,
        stand: Stand,
        i: int,
        step: float,
        direction: int,
        opposite: int | None = None,
    ) -> Proposal:
        sign = 1 if opposite is None else -1
        # The integer stands for the direction: both signs draw the same from it.
        rng = np.random.default_rng(direction)
        row = fill_missing(rng, history.space, history.rows[i])
        here = places.remembered(row, history.notes[i].get("place"))
        u = random_direction(rng, places.dimension, sparse=self.sparse, sphere=self.sphere)
        mask, moved = None, 1.0
        if history.table is not None:
            mask, moved = change_mask(rng, history, i, sign=sign, step=step)
        place = places.inside(here + sign * step * u * moved)
        number = int(history.numbers[i])
        memory: dict[str, Any] = {
            "thread": stand.thread,
            "incumbent": number,
            "direction": direction,
            "sign": sign,
            "step": step,
            "iteration": stand.iteration,
            "failures": stand.failures,
            "dimension": len(history.space) + (mask is not None),
            "place": places.note(place),
        }
        if opposite is not None:
            memory["opposite"] = opposite
        operator = "direction" if sign > 0 else "opposite"
        return Proposal(places.row(place), mask, operator, (number,), memory)

    def _stand(self, history: History) -> Stand:
        threads: Threads = self.kept("threads", _unbound)
        return threads.after(history.numbers, _values(history), history.notes)

    def _history(self, study: Study, trial: FrozenTrial) -> History:
        history = super()._history(study, trial)
        # The preference speaks of metrics by the names that the study gives them.
        self.kept(
            "threads",
            lambda: Threads(self.preference.order(study).after_violations(), self.rules),
        )
        return history


def _unclaimed(stand: Stand, history: History, number: int) -> list[int]:
    """Trials whose opposite is this trial's to try, and no other worker's."""
    running = list(zip(history.running_numbers, history.running_notes))
    # Of workers that have not said yet what they do, the one with the lowest number may choose.
    # Giving way does not help here: they would all turn to the next opposite. What was left
    # behind long ago is no rival.
    if any(not note and 0 < number - other <= _RECENT for other, note in running):
        return []
    claimed = {note.get("opposite") for _, note in running}
    return [waiting for waiting, _ in stand.waiting if waiting not in claimed]


def _values(history: History) -> Array:
    """Violation and values of each trial, minimised."""
    return np.column_stack([history.violations, history.values])


def _points(history: History, places: Places, chosen: Array) -> Points:
    """Some of the trials, as a model sees them."""
    masks = None
    if history.table is not None:
        count = len(history.table.free)
        masks = np.unpackbits(history.packed[chosen], axis=1, count=count).astype(bool)
    rows = places.coordinates(history.rows[chosen])
    return Points(rows, history.space.categorical, masks)


def _unbound() -> Threads:
    raise AssertionError("the history was not read")


def _params(history: History, proposal: Proposal) -> dict[str, Any]:
    params = history.space.decode(proposal.row)
    if history.codec is not None and proposal.mask is not None:
        params = {**history.codec.encode(proposal.mask)[0], **params}
    return params
