"""Random directions and their opposites, start and restart points, in a Euclidean space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution

from optuna_mofs._typing import Array
from optuna_mofs._validation import did_you_mean
from optuna_mofs.features._mask_sampling import (
    cost_adjusted,
    sample_ensemble_mask,
    sample_geometric_mask,
    sample_prefix_mask,
    simplex_weights,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers._initial_design import latin_hypercube
from optuna_mofs.samplers._row_operators import fill_missing, reflect
from optuna_mofs.samplers.lexiflow._local_search import LocalSearchState

#: Coordinate of the choice that holds; the others are 0. Twice the first step of a number: a
#: category of two choices is left by about one direction in six at first, by none at the end.
HEIGHT = 0.2
#: Digits kept of a place on the trial.
_DIGITS = 6


class EuclideanSpace:
    """Rows of a :class:`SearchSpace` ↔ places, both ways.

    Args:
        space: The parameters.
        sizes: Columns that hold a fraction of features, with the number of features: a step
            changes the number of features by a factor, so they run over log(1/p) to log(1).
    """

    def __init__(self, space: SearchSpace, sizes: dict[int, int] | None = None) -> None:
        self.space = space
        self._sizes = {j: p for j, p in (sizes or {}).items() if p > 1}
        widths = np.where(space.categorical, space.cells, 1).astype(int)
        ends = np.cumsum(widths)
        #: Axes of each column.
        self._axes = [slice(int(end - w), int(end)) for end, w in zip(ends, widths)]
        self.dimension = int(ends[-1]) if len(ends) else 0

    @classmethod
    def of(cls, history: History) -> EuclideanSpace:
        """The places of a study's hyperparameters."""
        described = history.described
        chosen = None if described is None else described.representation
        sizes = {}
        if chosen is not None and chosen.ranks is not None and "fraction" in history.space.names:
            sizes[history.space.names.index("fraction")] = len(chosen.table.free)
        return cls(history.space, sizes)

    def place(self, row: Array) -> Array:
        """The place of a row without NaN, or of several rows."""
        place = np.zeros((*row.shape[:-1], self.dimension))
        for j, axes in enumerate(self._axes):
            if self.space.categorical[j]:
                holds = row[..., j, None] == np.arange(axes.stop - axes.start)
                place[..., axes] = HEIGHT * holds
            else:
                place[..., axes.start] = self._narrow(j, row[..., j])
        return place

    def row(self, place: Array) -> Array:
        """The row at a place, or the rows at several."""
        row = np.empty((*place.shape[:-1], len(self._axes)))
        for j, axes in enumerate(self._axes):
            if self.space.categorical[j]:
                row[..., j] = np.argmax(place[..., axes], axis=-1)
            else:
                row[..., j] = self._widen(j, place[..., axes.start])
        return row

    def coordinates(self, rows: Array) -> Array:
        """Rows for a model of them: fractions of features on their logarithmic scale."""
        if not self._sizes:
            return rows
        seen = rows.copy()
        for j in self._sizes:
            seen[:, j] = self._narrow(j, rows[:, j])
        return seen

    def inside(self, place: Array) -> Array:
        """A place, or several, with numbers folded back into [0, 1]."""
        place = place.copy()
        for j, axes in enumerate(self._axes):
            part = place[..., axes]
            if self.space.categorical[j]:
                # Only differences matter; bounded, or a category could never be left again.
                highest = part.max(axis=-1, keepdims=True)
                place[..., axes] = np.clip(part - highest + HEIGHT, 0.0, HEIGHT)
            else:
                # Projected, steps across a bound would pile up on it and try it again and again.
                place[..., axes] = reflect(part)
        return place

    def from_unit(self, unit: Array, *, wide: bool = False) -> Array:
        """A row, or several, from points of the unit cube with one coordinate a parameter.

        Args:
            unit: The points.
            wide: Whether every other fraction of features is drawn evenly from all fractions. By
                their logarithms more than half of all features are hardly ever drawn.
        """
        row: Array = self.space.from_unit(np.atleast_2d(unit)).reshape(unit.shape)
        for j in self._sizes:
            u = unit[..., j]
            row[..., j] = self._widen(j, u)
            if wide:
                row[..., j] = np.where(u < 0.5, self._widen(j, 2 * u), 2 * u - 1)
        return row

    def remembered(self, row: Array, noted: list[float] | None) -> Array:
        """The place that a trial noted, where it still means the row that was evaluated.

        A grid value or a category stands for many places: the one noted is where the steps led,
        so that steps smaller than a cell add up.
        """
        place = self.place(row)
        if noted is None or len(noted) != self.dimension:
            return place
        there = np.array(noted, dtype=float)
        mine, theirs = self.space.decode(row), self.space.decode(self.row(there))
        for name, axes in zip(self.space.names, self._axes):
            a, b = mine[name], theirs[name]
            close = isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-4 * abs(a)
            if close or a is b or a == b:
                place[axes] = there[axes]
        return place

    def note(self, place: Array) -> list[float]:
        """A place as it is written on a trial."""
        noted: list[float] = np.round(place, _DIGITS).tolist()
        return noted

    def _narrow(self, j: int, value: Any) -> Any:
        p = self._sizes.get(j)
        return value if p is None else 1.0 + np.log(np.maximum(value, 1 / p)) / np.log(p)

    def _widen(self, j: int, value: Any) -> Any:
        p = self._sizes.get(j)
        inside = np.minimum(1.0, np.maximum(0.0, value))
        return inside if p is None else p ** (inside - 1.0)


#: What is left of the movement of an axis that does not take part: no value is tried twice.
HARDLY = 0.05


def random_direction(
    rng: np.random.Generator, dimension: int, *, sparse: float = 0.0, sphere: bool = False
) -> Array:
    """A direction uniform on the sphere; the square of its length is ``dimension`` on average.

    One length for all directions would leave just two points to try where there is one axis.

    Args:
        rng: Generator.
        dimension: Number of axes.
        sparse: Probability that only some axes take part (each with probability 1/2, at least
            one) and the others hardly move: of many parameters a few matter, and moving all of
            them at once hides which.
        sphere: Whether the length is always that of the average.
    """
    u = rng.standard_normal(dimension)
    part = rng.random(dimension) < 0.5
    forced = int(rng.integers(max(1, dimension)))
    if rng.random() < sparse and dimension:
        part[forced] = True
        u = np.where(part, u, HARDLY * u)
        u *= np.sqrt(dimension / np.sum(np.where(part, 1.0, HARDLY**2)))
    return u * np.sqrt(dimension / np.sum(u**2)) if sphere and dimension else u


def flip_near_boundary(
    rng: np.random.Generator, mask: Array, table: FeatureTable, *, sign: int, step: float
) -> Array:
    """Flip a few bits near the boundary that the filters draw.

    A direction is a list of features in random order, the near ones first, and two numbers: how
    many are dropped and how many are added. The opposite direction drops as many as this one
    adds, adds as many as it drops, and takes the features that come next in the list. How many
    bits a step flips is in proportion to the size of the mask.

    Args:
        rng: Generator, the same for a direction and its opposite.
        mask: Over the free features.
        table: The features.
        sign: 1 for the direction, -1 for the opposite.
        step: Step size as a share of the mask's size.
    """
    p, size = len(mask), int(np.count_nonzero(mask))
    weights = simplex_weights(rng, len(table.filters))
    score = np.full(p, 0.5) if table.free_ranks is None else weights @ table.free_ranks
    score = cost_adjusted(score, table.free_costs)
    place = np.empty(p)
    place[np.argsort(-score, kind="stable")] = np.arange(p)
    # Depth: how far a feature is from the boundary, on the side where it is or beyond.
    depth = np.where(mask, size - place, place - size + 1)
    pull = 1.0 / (np.maximum(depth, 1.0) + 1.0)
    keys = np.argsort(rng.exponential(size=p) / pull, kind="stable")
    amount = 1 + int(step * abs(rng.standard_normal()) * max(1, size))
    lean = int(rng.binomial(amount, rng.random()))
    counts = (lean, amount - lean)
    drop, add = counts[::sign]
    skip_drop, skip_add = (0, 0) if sign > 0 else counts
    changed = mask.copy()
    inside, outside = keys[mask[keys]], keys[~mask[keys]]
    # A mask is not emptied: a model without features has nothing to say.
    drop = min(drop, max(0, size - 1 + min(add, len(outside))))
    changed[_next(inside, skip_drop, drop)] = False
    changed[_next(outside, skip_add, add)] = True
    return changed


def change_mask(
    rng: np.random.Generator, history: History, i: int, *, sign: int, step: float
) -> tuple[Array, float]:
    """The mask of the i-th trial changed, and how much the hyperparameters move beside it.

    A third of the directions moves the mask, a third the hyperparameters, a third both.
    """
    assert history.table is not None
    mask = history.mask(i)
    part = rng.random()
    if part < 1 / 3 and len(history.space):
        return mask, 1.0
    flipped = flip_near_boundary(rng, mask, history.table, sign=sign, step=step)
    return flipped, 1.0 if part < 2 / 3 else 0.0


def _next(keys: Array, skip: int, count: int) -> Array:
    """``count`` entries after the first ``skip``, from the start again at the end."""
    return keys[(skip + np.arange(min(count, len(keys)))) % max(1, len(keys))]


#: Sets the generator of the design apart from those of trials.
_DESIGN = 2**31
_MASKS = (sample_prefix_mask, sample_ensemble_mask, sample_geometric_mask)


def checked_value(name: str, value: Any, distribution: BaseDistribution) -> Any:
    """A value of the user's point, if the parameter can have it."""
    if not distribution._contains(distribution.to_internal_repr(value)):
        raise ValueError(
            f"start gives {name!r} the value {value!r}, which {distribution} does not hold. "
            "Give one that it does."
        )
    return value


def check_start(start: Mapping[str, Any], space: Mapping[str, BaseDistribution]) -> None:
    """Refuse a point that names what is no parameter, or values that none can have.

    Args:
        start: The user's point.
        space: All parameters of the study.
    """
    for name, value in start.items():
        if name not in space:
            hint = did_you_mean(name, space)
            raise ValueError(f"start names {name!r}, which is no parameter of the study.{hint}")
        checked_value(name, value, space[name])


def first_row(rng: np.random.Generator, places: EuclideanSpace, start: Mapping[str, Any]) -> Array:
    """The user's point; parameters it does not name are random."""
    row = places.from_unit(rng.random(len(places.space)))
    given = places.space.encode({k: v for k, v in start.items() if k in places.space.names})
    return np.where(np.isnan(given), row, given)


def restart_row(
    rng: np.random.Generator,
    places: EuclideanSpace,
    start: Mapping[str, Any],
    unit: Array | None = None,
) -> Array:
    """A point drawn from N(x_0, I) around the user's point, folded into the space (line 11).

    Over a range of 1 that is all but uniform, which it is where there is no such point.

    Args:
        rng: Generator.
        places: The space.
        start: The user's point.
        unit: Points of the unit cube for the parameters that the user's point does not name,
            fractions of features from all of their range; by default one point is drawn.
    """
    wide = unit is not None
    unit = rng.random(len(places.space)) if unit is None else unit
    row = places.from_unit(unit, wide=wide)
    numbers = ~places.space.categorical
    given = places.space.encode({k: v for k, v in start.items() if k in places.space.names})
    near = reflect(given + rng.standard_normal(unit.shape))
    return np.where(numbers & ~np.isnan(given), near, row)


def design_row(
    seed: int, number: int, count: int, places: EuclideanSpace, start: Mapping[str, Any]
) -> Array:
    """A point of a Latin hypercube of ``count`` points that all trials of a study share."""
    rng = np.random.default_rng([seed, _DESIGN])
    rows = restart_row(rng, places, start, latin_hypercube(rng, count, len(places.space)))
    row: Array = rows[number % count]
    return row


def start_mask(rng: np.random.Generator, history: History, number: int) -> Array | None:
    """A first mask, by one of several recipes in turn."""
    table = history.table
    if table is None:
        return None
    recipe = _MASKS[number % len(_MASKS)]
    return recipe(rng, table, simplex_weights(rng, len(table.filters)))


#: A running trial without a note is about to get one, if it is not older than this many trials.
_RECENT = 32


@dataclass(frozen=True)
class DirectSearch:
    """Directions, as :func:`~optuna_mofs.samplers.lexiflow._directions.random_direction` has them.

    Args:
        sparse: Probability that a direction moves only some of the parameters.
        sphere: Whether all steps have the same length.
    """

    sparse: float
    sphere: bool

    def step(
        self,
        history: History,
        places: EuclideanSpace,
        stand: LocalSearchState,
        i: int,
        step: float,
        direction: int,
        opposite: int | None = None,
    ) -> Proposal:
        """A step from the i-th trial.

        Args:
            history: Finished trials.
            places: Their space.
            stand: Where the search stands.
            i: Position of the trial in the history.
            step: Step for each axis.
            direction: An integer that stands for the direction.
            opposite: The trial that went this way before, if this one goes the other way.
        """
        sign = 1 if opposite is None else -1
        # Both signs draw the same from the integer.
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

    def opposite(
        self, history: History, places: EuclideanSpace, stand: LocalSearchState, number: int
    ) -> tuple[Proposal | None, list[int]]:
        """The other way from where a direction that failed began, for the trial ``number``.

        Returns:
            The proposal, or None if nothing waits for its opposite; and the trials whose opposite
            rounds to something that was tried before, so that there is nothing to wait for.
        """
        tried: list[int] = []
        for waiting in unclaimed(stand, history, number):
            note = history.notes[int(np.searchsorted(history.numbers, waiting))]
            base = int(np.searchsorted(history.numbers, note["incumbent"]))
            step, direction = float(note["step"]), int(note["direction"])
            proposal = self.step(history, places, stand, base, step, direction, opposite=waiting)
            if not history.contains(proposal.row, proposal.mask):
                return proposal, tried
            tried.append(waiting)
        return None, tried


def unclaimed(stand: LocalSearchState, history: History, number: int) -> list[int]:
    """Trials whose opposite is this trial's to try, and no other worker's."""
    running = list(zip(history.running_numbers, history.running_notes))
    # Of workers that have not said yet what they do, the one with the lowest number may choose.
    # Giving way does not help here: they would all turn to the next opposite. What was left
    # behind long ago is no rival.
    if any(not note and 0 < number - other <= _RECENT for other, note in running):
        return []
    claimed = {note.get("opposite") for _, note in running}
    return [waiting for waiting, _ in stand.waiting if waiting not in claimed]
