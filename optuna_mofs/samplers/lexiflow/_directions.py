"""Random directions and their opposites, and the points where a local search starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import cost_adjusted, simplex_weights
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers._row_operators import fill_missing, reflect
from optuna_mofs.samplers.lexiflow._local_search import (
    LexiFlowNote,
    LexiFlowSettings,
    LocalSearchState,
)

#: Coordinate of the selected choice; those of the others are 0. It is twice the default step size:
#: about one direction in six leaves a category of two choices at first, and none at the end.
SELECTED = 0.2
#: Decimals of a point in the note of a trial.
_DECIMALS = 6
#: How far an axis moves that a sparse direction leaves out, so that no value is tried twice.
_LEFT_OUT = 0.05
#: Mask samplers of random points, taken in turn.
MASK_SAMPLERS = ("prefix", "ensemble", "geometric")
#: A running trial without a note is about to get one unless it is older than this many trials.
_MAX_TRIALS_WITHOUT_NOTE = 32


class EuclideanSpace:
    """Map rows of a :class:`SearchSpace` to points of a Euclidean space and back.

    A number has one axis in [0, 1]. A category has one axis per choice, and the choice with the
    largest coordinate is selected.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        widths = np.where(space.categorical, space.cells, 1).astype(int)
        ends = np.cumsum(widths)
        self._axes = [slice(int(end - w), int(end)) for end, w in zip(ends, widths)]
        self.dimension = int(ends[-1]) if len(ends) else 0

    @classmethod
    def of(cls, history: History) -> EuclideanSpace:
        """Return the space of a study's hyperparameters."""
        return cls(history.space)

    def to_point(self, row: Array) -> Array:
        """Return the point of a row without NaN, or of several rows."""
        point = np.zeros((*row.shape[:-1], self.dimension))
        for j, axes in enumerate(self._axes):
            if self.space.categorical[j]:
                selected = row[..., j, None] == np.arange(axes.stop - axes.start)
                point[..., axes] = SELECTED * selected
            else:
                point[..., axes.start] = row[..., j]
        return point

    def to_row(self, point: Array) -> Array:
        """Return the row of a point, or of several points."""
        row = np.empty((*point.shape[:-1], len(self._axes)))
        for j, axes in enumerate(self._axes):
            if self.space.categorical[j]:
                row[..., j] = np.argmax(point[..., axes], axis=-1)
            else:
                row[..., j] = np.clip(point[..., axes.start], 0.0, 1.0)
        return row

    def bounded(self, point: Array) -> Array:
        """Return a point, or several, inside the bounds: numbers are reflected at 0 and 1."""
        point = point.copy()
        for j, axes in enumerate(self._axes):
            part = point[..., axes]
            if self.space.categorical[j]:
                # Only differences matter; unbounded, a category could never be left again.
                largest = part.max(axis=-1, keepdims=True)
                point[..., axes] = np.clip(part - largest + SELECTED, 0.0, SELECTED)
            else:
                # Clipped steps would pile up on the bound and try it again and again.
                point[..., axes] = reflect(part)
        return point

    def from_unit(self, unit: Array) -> Array:
        """Return a row, or several, from points of the unit cube with one axis per parameter."""
        return self.space.from_unit(np.atleast_2d(unit)).reshape(unit.shape)

    def noted_point(self, row: Array, noted: tuple[float, ...]) -> Array:
        """Return the point noted on a trial, on axes where it still means the evaluated row.

        A grid value or a category has many points. Continuing from the one that the steps led to
        lets steps add up that are smaller than a cell.
        """
        point = self.to_point(row)
        if len(noted) != self.dimension:
            return point
        there = np.array(noted, dtype=float)
        evaluated, meant = self.space.decode(row), self.space.decode(self.to_row(there))
        for name, axes in zip(self.space.names, self._axes):
            a, b = evaluated[name], meant[name]
            close = isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-4 * abs(a)
            if close or a is b or a == b:
                point[axes] = there[axes]
        return point


def rounded(point: Array) -> tuple[float, ...]:
    """Return a point as it is written in a note."""
    return tuple(np.round(point, _DECIMALS).tolist())


def random_direction(
    rng: np.random.Generator, dimension: int, *, sparse_prob: float = 0.0, unit: bool = False
) -> Array:
    """Return a random direction whose squared length is ``dimension`` on average.

    With one length for all directions (``unit``), a single axis would have only two points to
    try. With probability ``sparse_prob``, only some axes move (each with probability 1/2, at
    least one) and the others hardly do: if few parameters matter, moving all of them at once
    hides which.
    """
    u = rng.standard_normal(dimension)
    moves = rng.random(dimension) < 0.5
    forced = int(rng.integers(max(1, dimension)))
    if rng.random() < sparse_prob and dimension:
        moves[forced] = True
        u = np.where(moves, u, _LEFT_OUT * u)
        u *= np.sqrt(dimension / np.sum(np.where(moves, 1.0, _LEFT_OUT**2)))
    return u * np.sqrt(dimension / np.sum(u**2)) if unit and dimension else u


def random_directions(
    rng: np.random.Generator, count: int, dimension: int, *, sparse_prob: float
) -> Array:
    """Return several directions, distributed like those of :func:`random_direction`."""
    moves = rng.random((count, dimension)) < 0.5
    if dimension:
        moves[np.arange(count), rng.integers(dimension, size=count)] = True
    moves |= rng.random((count, 1)) >= sparse_prob
    weight = np.where(moves, 1.0, _LEFT_OUT)
    weight *= np.sqrt(dimension / np.maximum(1e-9, (weight**2).sum(axis=1, keepdims=True)))
    return weight * rng.standard_normal((count, dimension))


def flip_near_boundary(
    rng: np.random.Generator, mask: Array, table: FeatureTable, *, sign: int, step_size: float
) -> Array:
    """Flip a few bits, mostly of features whose filter rank is near the size of the mask.

    A direction is a random order of the features, those near the boundary first, and two numbers:
    how many features to drop and how many to add. The opposite direction (``sign=-1``, with the
    same generator) swaps the two numbers and takes the features that come next in the order. The
    number of flips is proportional to the size of the mask, ``step_size`` times on average.
    """
    p, size = len(mask), int(np.count_nonzero(mask))
    weights = simplex_weights(rng, len(table.filters))
    score = np.full(p, 0.5) if table.free_ranks is None else weights @ table.free_ranks
    score = cost_adjusted(score, table.free_costs)
    rank = np.empty(p)
    rank[np.argsort(-score, kind="stable")] = np.arange(p)
    # Selected features of a high rank and other features of a low rank are far from the boundary.
    depth = np.where(mask, size - rank, rank - size + 1)
    closeness = 1.0 / (np.maximum(depth, 1.0) + 1.0)
    order = np.argsort(rng.exponential(size=p) / closeness, kind="stable")
    n_flips = 1 + int(step_size * abs(rng.standard_normal()) * max(1, size))
    n_dropped = int(rng.binomial(n_flips, rng.random()))
    counts = (n_dropped, n_flips - n_dropped)
    drop, add = counts[::sign]
    skip_drop, skip_add = (0, 0) if sign > 0 else counts
    selected, others = order[mask[order]], order[~mask[order]]
    # A model without features predicts nothing: the mask is not emptied.
    drop = min(drop, max(0, size - 1 + min(add, len(others))))
    changed = mask.copy()
    changed[_cyclic_slice(selected, skip_drop, drop)] = False
    changed[_cyclic_slice(others, skip_add, add)] = True
    return table.limited(changed)


def _cyclic_slice(values: Array, skip: int, count: int) -> Array:
    """Return ``count`` values after the first ``skip``, continuing at the beginning."""
    return values[(skip + np.arange(min(count, len(values)))) % max(1, len(values))]


def change_mask(
    rng: np.random.Generator, history: History, i: int, *, sign: int, step_size: float
) -> tuple[Array, float]:
    """Return the changed mask of the i-th trial, and a factor for the step of its row.

    A third of the directions moves the mask, a third the hyperparameters, a third both.
    """
    assert history.table is not None
    mask = history.mask(i)
    part = rng.random()
    if part < 1 / 3 and len(history.space):
        return mask, 1.0
    flipped = flip_near_boundary(rng, mask, history.table, sign=sign, step_size=step_size)
    return flipped, 1.0 if part < 2 / 3 else 0.0


@dataclass(frozen=True)
class DirectSearch:
    """Steps in random directions and their opposites."""

    history: History
    space: EuclideanSpace
    state: LocalSearchState
    settings: LexiFlowSettings

    def step(
        self,
        i: int,
        step_size: float,
        direction_seed: int,
        *,
        opposite_of: int | None = None,
        no_opposite: tuple[int, ...] = (),
    ) -> Proposal:
        """Return a step from the i-th trial, in the direction of a seed or opposite to it.

        ``opposite_of`` is the trial in this direction, if the step goes the opposite way. Trials
        whose opposites are duplicates, ``no_opposite``, are written on the trial.
        """
        history, space, settings = self.history, self.space, self.settings
        sign = 1 if opposite_of is None else -1
        # Both signs draw the same numbers from the seed.
        rng = np.random.default_rng(direction_seed)
        row = fill_missing(rng, history.space, history.rows[i])
        point = space.noted_point(row, history.note(i, LexiFlowNote).point)
        sparse_prob, unit = settings.sparse_direction_prob, settings.unit_sphere
        u = random_direction(rng, space.dimension, sparse_prob=sparse_prob, unit=unit)
        mask, factor = None, 1.0
        if history.table is not None:
            mask, factor = change_mask(rng, history, i, sign=sign, step_size=step_size)
        point = space.bounded(point + sign * step_size * u * factor)
        note = self.state.note(
            "direction" if sign > 0 else "opposite",
            parents=(int(history.numbers[i]),),
            sign=sign,
            direction_seed=direction_seed,
            opposite_of=opposite_of,
            no_opposite=no_opposite,
            step_size=step_size,
            dimension=len(history.space) + (mask is not None),
            point=rounded(point),
        )
        return Proposal(space.to_row(point), mask, note)

    def opposite(self, trial_number: int) -> tuple[Proposal | None, tuple[int, ...]]:
        """Return the opposite of a direction that failed, None if there is none.

        Also return the trials whose opposite rounds to a configuration that was tried before.
        """
        history = self.history
        duplicates: list[int] = []
        for number in self._unpaired(trial_number):
            note = history.note(int(np.searchsorted(history.numbers, number)), LexiFlowNote)
            base = int(np.searchsorted(history.numbers, note.parents[0]))
            proposal = self.step(base, note.step_size, note.direction_seed, opposite_of=number)
            if not history.contains(proposal.row, proposal.mask):
                return proposal, tuple(duplicates)
            duplicates.append(number)
        return None, tuple(duplicates)

    def _unpaired(self, trial_number: int) -> list[int]:
        """Return the trials whose opposite no other worker is trying."""
        history = self.history
        running = list(zip(history.running_numbers, history.running_notes(LexiFlowNote)))
        # Of the workers that are still proposing, only the one with the lowest trial number may
        # take an opposite: retrying on a conflict would lead all of them to the next one. Trials
        # abandoned long ago do not count.
        if any(
            not note.operator and 0 < trial_number - number <= _MAX_TRIALS_WITHOUT_NOTE
            for number, note in running
        ):
            return []
        taken = {note.opposite_of for _, note in running}
        return [number for number, _ in self.state.unpaired if number not in taken]


def low_cost_row(
    rng: np.random.Generator, space: EuclideanSpace, config: Mapping[str, Any]
) -> Array:
    """Return the low-cost configuration; parameters that it leaves out are random."""
    row = space.from_unit(rng.random(len(space.space)))
    given = space.space.encode(config)
    return np.where(np.isnan(given), row, given)


def restart_row(
    rng: np.random.Generator,
    space: EuclideanSpace,
    config: Mapping[str, Any],
    unit: Array | None = None,
) -> Array:
    """Return a row from N(x_0, I) around the low-cost configuration, reflected (line 11).

    Over a range of 1 that is nearly uniform. Categories, and numbers that the configuration
    leaves out, are uniform: they come from ``unit``, one row per point of the unit cube. By
    default one point is drawn.
    """
    unit = rng.random(len(space.space)) if unit is None else unit
    row = space.from_unit(unit)
    given = space.space.encode(config)
    near = reflect(given + rng.standard_normal(unit.shape))
    return np.where(~space.space.categorical & ~np.isnan(given), near, row)
