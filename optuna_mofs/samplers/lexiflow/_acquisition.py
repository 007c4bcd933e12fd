"""Candidates, and their expected improvement under the targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from optuna_mofs._typing import Array
from optuna_mofs.fronts._lexicographic import LexicographicOrder
from optuna_mofs.history._history import History
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers._encoding import points_of
from optuna_mofs.samplers._gaussian_process import (
    Points,
    Process,
    RefitSchedule,
    fit_length_scales,
    normal_scores,
)
from optuna_mofs.samplers._row_operators import fill_missing
from optuna_mofs.samplers.lexiflow._directions import (
    HARDLY,
    EuclideanSpace,
    change_mask,
    restart_row,
    start_mask,
)
from optuna_mofs.samplers.lexiflow._local_search import LocalSearchReplay, LocalSearchState

#: Trials that predictions are made from, and that length scales are estimated from.
KEEP, LEARN = 80, 50


@dataclass(frozen=True)
class ImprovementTarget:
    """How low can a column get where the columns before it reach their targets?

    Args:
        column: The column.
        best: Its lowest value so far among such trials.
        before: Columns before it that differ among trials, with their targets.
    """

    column: int
    best: float
    before: tuple[tuple[int, float], ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """Every column that the question speaks of."""
        return (*(column for column, _ in self.before), self.column)


def questions(order: LexicographicOrder, values: Array, targets: Array) -> list[ImprovementTarget]:
    """The columns that can be improved, in order of priority.

    Args:
        order: Priorities, tolerances and goals.
        values: Trials × columns, minimized.
        targets: Of the columns, given these trials.
    """
    found = []
    running = np.ones(len(values), dtype=bool)
    before: list[tuple[int, float]] = []
    for column in order.columns:
        seen = values[:, column]
        if np.ptp(seen) > 0:
            best = float(seen[running].min())
            # Nothing is gained beyond a goal.
            if best > order.goals[column]:
                found.append(ImprovementTarget(column, best, tuple(before)))
            before.append((column, float(targets[column])))
        running &= order.reached(column, seen, targets[column])
    return found


def relevant(wanted: Array, leading: Array, most: int) -> Array:
    """Positions of at most ``most`` trials: the best of two rankings, and a spread of the rest.

    Args:
        wanted: Positions of all trials, the best first, by the preference.
        leading: The same if nothing may be given up.
        most: At most so many.
    """
    if len(wanted) <= most:
        return np.arange(len(wanted))
    best = np.zeros(len(wanted), dtype=bool)
    best[wanted[: most // 3]] = best[leading[: most // 3]] = True
    rest = leading[~best[leading]]
    best[rest[np.linspace(0, len(rest) - 1, most - best.sum()).astype(np.int64)]] = True
    return np.flatnonzero(best)


def scales(order: LexicographicOrder, points: Points, values: Array, column: int) -> Array:
    """Length scales of a column's model."""
    few = relevant(order.ranking(values), order.without_tolerances().ranking(values), LEARN)
    chosen = points[few]
    return fit_length_scales(chosen.squares(chosen), normal_scores(values[few, column]))


def worth(
    question: ImprovementTarget,
    points: Points,
    values: Array,
    candidates: Points,
    scales: dict[int, Array],
) -> Array:
    """What each candidate promises, as a logarithm.

    Args:
        question: What is to be improved.
        points: Trials.
        values: Trials × columns.
        candidates: To be judged.
        scales: Of the columns in the question.
    """
    among, across = points.squares(points), candidates.squares(points)

    def model(column: int, at: float) -> tuple[Array, Array, float]:
        seen = values[:, column]
        z = normal_scores(seen)
        order = np.argsort(seen, kind="stable")
        mean, sd = Process(among, z, scales[column]).predict(across)
        return mean, sd, float(np.interp(at, seen[order], z[order]))

    total = log_improvement(*model(question.column, question.best))
    for column, target in question.before:
        mean, sd, bound = model(column, target)
        total += log_ndtr((bound - mean) / sd)
    return total


def log_improvement(mean: Array, sd: Array, best: float) -> Array:
    """Logarithm of the expected improvement below ``best``.

    Example:
        >>> log_improvement(np.zeros(2), np.ones(2), -np.array([1.0, 60.0])).round(2).tolist()
        [-2.49, -1809.11]
    """
    z = (best - mean) / sd
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.log(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) + z * ndtr(z))
        # Far below nothing is left of the difference; its first term is.
        far = -0.5 * z**2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(np.abs(z))
    gained: Array = np.log(sd) + np.where(z > -8, near, far)
    return gained


#: Share of candidates that are drawn anywhere in the space.
ANYWHERE = 0.25
#: Candidates for one that is drawn where there are masks, which take longer to change.
_DEARER = 4


@dataclass(frozen=True)
class Candidates:
    """Points, and where they come from.

    Args:
        places: Candidates × axes.
        rows: Candidates × parameters.
        masks: Candidates × free features, or None.
        bases: Position of the trial from which each steps, -1 for a point anywhere.
        steps: Step of each, for each axis.
    """

    places: Array
    rows: Array
    masks: Array | None
    bases: Array
    steps: Array


def draw_candidates(
    rng: np.random.Generator,
    history: History,
    places: EuclideanSpace,
    count: int,
    bases: Sequence[int],
    steps: Sequence[float],
    *,
    sparse: float,
    start: Mapping[str, Any],
) -> Candidates:
    """Steps from each of several trials with each of several lengths, and points anywhere.

    Args:
        rng: Generator.
        history: Finished trials.
        places: Their space.
        count: Number of candidates; fewer are drawn if there are masks.
        bases: Positions of trials in the history.
        steps: Steps for each axis.
        sparse: Probability that only some axes take part in a step.
        start: The user's point, around which points anywhere are drawn.
    """
    count = count if history.table is None else max(1, count // _DEARER)
    base = np.array(bases)[rng.integers(len(bases), size=count)]
    anywhere = rng.random(count) < ANYWHERE
    base[anywhere] = -1
    step = np.array(steps)[rng.integers(len(steps), size=count)]
    masks, moved = _masks(rng, history, base, step)
    along = random_directions(rng, count, places.dimension, sparse=sparse)
    along *= (step * moved)[:, None]
    found = np.empty((count, places.dimension))
    unit = rng.random((np.count_nonzero(anywhere), len(history.space)))
    found[anywhere] = places.place(restart_row(rng, places, start, unit))
    for i in np.unique(base[~anywhere]):
        row = fill_missing(rng, history.space, history.rows[i])
        here = places.remembered(row, history.notes[i].get("place"))
        found[base == i] = places.inside(here + along[base == i])
    return Candidates(found, places.row(found), masks, base, step)


def random_directions(
    rng: np.random.Generator, count: int, dimension: int, *, sparse: float
) -> Array:
    """Several directions as :func:`~optuna_mofs.samplers.lexiflow._directions.random_direction`."""
    part = rng.random((count, dimension)) < 0.5
    if dimension:
        part[np.arange(count), rng.integers(dimension, size=count)] = True
    part |= rng.random((count, 1)) >= sparse
    weight = np.where(part, 1.0, HARDLY)
    weight *= np.sqrt(dimension / np.maximum(1e-9, (weight**2).sum(axis=1, keepdims=True)))
    directions: Array = weight * rng.standard_normal((count, dimension))
    return directions


def _masks(
    rng: np.random.Generator, history: History, base: Array, step: Array
) -> tuple[Array | None, Array]:
    """Changed masks if there are any, and how much the hyperparameters move beside them."""
    moved = np.ones(len(base))
    if history.table is None:
        return None, moved
    masks = np.empty((len(base), len(history.table.free)), dtype=bool)
    for k, i in enumerate(base.tolist()):
        if i < 0:
            masks[k] = start_mask(rng, history, int(rng.integers(2**16)))
        else:
            masks[k], moved[k] = change_mask(rng, history, i, sign=1, step=float(step[k]))
    return masks, moved


@dataclass(frozen=True)
class Guide:
    """Asks a model which of many candidates to evaluate.

    Args:
        candidates: Number of candidates.
        lead: Probability that an objective before the last is to be improved.
        sparse: Probability that only some axes take part in a step.
        start: The user's point, around which points anywhere are drawn.
        least: Steps are drawn with the step of now and with one of at least this length.
    """

    candidates: int
    lead: float
    sparse: float
    start: Mapping[str, Any]
    least: float

    def propose(
        self,
        history: History,
        values: Array,
        places: EuclideanSpace,
        threads: LocalSearchReplay,
        stand: LocalSearchState,
        known: RefitSchedule,
        rng: np.random.Generator,
    ) -> Proposal | None:
        """The most promising candidate, or None if there is nothing to gain or new.

        Args:
            history: Finished trials.
            values: Their violations and values, minimized.
            places: Their space.
            threads: Orders and targets.
            stand: Where the search stands.
            known: Length scales kept for the study.
            rng: Generator.
        """
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
            (stand.step, max(stand.step, self.least)),
            sparse=self.sparse,
            start=self.start,
        )
        kept = relevant(wanted, leads, KEEP)
        rows = places.coordinates(history.space.snapped(drawn.rows))

        def lengths(count: int, column: int) -> Array:
            points = points_of(history, places, np.arange(count))
            return scales(threads.orders[0], points, values[:count], column)

        promise = worth(
            question,
            points_of(history, places, kept),
            values[kept],
            Points(rows, history.space.categorical, drawn.masks),
            {
                column: known.of(history, column, partial(lengths, column=column))
                for column in question.columns
            },
        )
        for k in np.argsort(-promise, kind="stable").tolist():
            proposal = _proposal(history, places, stand, question, drawn, k)
            if not history.contains(proposal.row, proposal.mask):
                return proposal
        return None


def _proposal(
    history: History,
    places: EuclideanSpace,
    stand: LocalSearchState,
    question: ImprovementTarget,
    drawn: Candidates,
    k: int,
) -> Proposal:
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
    return Proposal(drawn.rows[k], mask, "guided", parents, memory)
