"""Search for the best acquisition value: focus search, local search, masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_int
from optuna_mofs.features._mask_sampling import (
    sample_ensemble_mask,
    sample_prefix_mask,
    sample_wide_mask,
    simplex_weights,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._search_space import ConditionalParameters, SearchSpace
from optuna_mofs.samplers._mask_operators import (
    AddDrop,
    FilterEnsembleMutation,
    uniform_mask_crossover,
)
from optuna_mofs.samplers._row_operators import other_category, reflect

#: Bits drawn for all candidates together; more features mean fewer candidates.
_MAX_BITS = 2_000_000
#: Mask samplers of new masks, in turn.
_MASK_SAMPLERS = (sample_prefix_mask, sample_ensemble_mask, sample_wide_mask)


class Candidates(NamedTuple):
    """Candidate rows, each with one of a list of masks where there are masks.

    Args:
        rows: Candidates × parameters.
        scores: Acquisition values, the lower the better.
        source: Position among the best trials of the one that each was made from, or -1.
        operators: Name of the operator that made each.
        masks: Distinct masks.
        mask_index: Position of the mask of each candidate.
    """

    rows: Array
    scores: Array
    source: Array
    operators: Array
    masks: Array | None = None
    mask_index: Array | None = None

    def masks_of(self, positions: Array | int) -> Array | None:
        """Return the masks of some candidates, or the mask of one."""
        if self.masks is None or self.mask_index is None:
            return None
        found: Array = self.masks[self.mask_index[positions]]
        return found

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        """Return the candidates of all parts."""
        *columns, masks, index = zip(*parts)
        rows, scores, source, operators = map(np.concatenate, columns)
        if parts[0].masks is None:
            return cls(rows, scores, source, operators)
        n_before = np.cumsum([0, *map(len, masks[:-1])])
        shifted = np.concatenate(index) + np.repeat(n_before, list(map(len, index)))
        return cls(rows, scores, source, operators, np.concatenate(masks), shifted)


#: Function of rows that returns their acquisition values.
RowScore = Callable[[Array], Array]


@dataclass(frozen=True)
class InfillSearch:
    """Focus search and local search over hyperparameters (Horn and Bischl 2016, Algorithm 2).

    Args:
        n_restarts: Number of independent focus searches.
        n_rounds: Number of times that a focus search narrows its ranges.
        n_points: Number of random points per round and restart.
        n_local_starts: Number of best trials from which local search starts.
        n_neighbors: Number of neighbors of each of them per round.
        step_sizes: Step size of each round of local search, in units of the range.
    """

    n_restarts: int = 3
    n_rounds: int = 3
    n_points: int = 160
    n_local_starts: int = 8
    n_neighbors: int = 30
    step_sizes: tuple[float, ...] = (0.15, 0.05, 0.015)

    def __post_init__(self) -> None:
        for name in ("n_restarts", "n_rounds", "n_points", "n_local_starts", "n_neighbors"):
            check_int(name, getattr(self, name), 1)

    def __call__(
        self,
        rng: np.random.Generator,
        space: SearchSpace,
        conditional: ConditionalParameters,
        score: RowScore,
        best_rows: Array,
    ) -> Candidates:
        """Return all candidates of the search.

        Args:
            rng: Generator.
            space: The parameters.
            conditional: Conditions under which they are active.
            score: Acquisition values of rows.
            best_rows: Rows of the best trials, the best first, to start local search from.
        """
        focus = self._focus(rng, space, conditional, score)
        best = focus.rows[[int(focus.scores.argmin())]]
        starts = np.concatenate([best_rows[: self.n_local_starts], best])
        return Candidates.joined([focus, *self._local(rng, space, conditional, score, starts)])

    def _focus(
        self,
        rng: np.random.Generator,
        space: SearchSpace,
        conditional: ConditionalParameters,
        score: RowScore,
    ) -> Candidates:
        shape = (self.n_restarts, self.n_points, len(space))
        low, high = np.zeros((self.n_restarts, len(space))), np.ones((self.n_restarts, len(space)))
        allowed = {
            int(j): np.ones((self.n_restarts, int(space.cells[j])), dtype=bool)
            for j in np.flatnonzero(space.categorical)
        }
        parts = []
        for _ in range(self.n_rounds):
            unit = rng.random(shape)
            drawn = low[:, None] + (high - low)[:, None] * unit
            for j, choices in allowed.items():
                drawn[:, :, j] = _draw_choices(unit[:, :, j], choices)
            rows = conditional.apply(drawn.reshape(-1, len(space)))
            scores = score(rows)
            parts.append(_candidates("focus", rows, scores, np.full(len(rows), -1)))
            best = scores.reshape(self.n_restarts, -1).argmin(axis=1)
            center = rows.reshape(shape)[np.arange(self.n_restarts), best]
            quarter = (high - low) / 4
            narrow = ~space.categorical & ~np.isnan(center)
            low = np.where(narrow, np.maximum(low, center - quarter), low)
            high = np.where(narrow, np.minimum(high, center + quarter), high)
            _drop_choices(rng, allowed, center)
        return Candidates.joined(parts)

    def _local(
        self,
        rng: np.random.Generator,
        space: SearchSpace,
        conditional: ConditionalParameters,
        score: RowScore,
        starts: Array,
    ) -> list[Candidates]:
        # The last start is the best point of focus search.
        source = np.repeat([*range(len(starts) - 1), -1], self.n_neighbors)
        lines = np.arange(len(starts))
        parts = []
        rows, values = starts, score(starts)
        for step in self.step_sizes:
            near = neighbors(rng, space, conditional, rows, self.n_neighbors, step)
            flat = near.reshape(-1, len(space))
            scores = score(flat)
            parts.append(_candidates("local", flat, scores, source))
            table = scores.reshape(len(starts), -1)
            best = table.argmin(axis=1)
            better = table[lines, best] < values
            rows = np.where(better[:, None], near[lines, best], rows)
            values = np.minimum(values, table[lines, best])
        return parts


def neighbors(
    rng: np.random.Generator,
    space: SearchSpace,
    conditional: ConditionalParameters,
    rows: Array,
    count: int,
    step: float,
) -> Array:
    """Return neighbors of rows: rows × count × parameters.

    A neighbor changes about a third of the parameters, at least one: numbers by Gaussian steps,
    categories to any other choice. The other numbers move by a tenth of a step, because a value
    that was tried before is less informative than one beside it. Inactive parameters are drawn
    at random, in case the neighbor needs them.

    Args:
        rng: Generator.
        space: The parameters.
        conditional: Conditions under which they are active.
        rows: The rows.
        count: Number of neighbors of each.
        step: Step size, in units of the range.
    """
    d = len(space)
    shape = (len(rows), count, d)
    if d == 0:
        return np.zeros(shape)
    changed = rng.random(shape) < np.where(space.categorical, 1 / (2 * d), 0.35)
    sure = rng.integers(d, size=shape[:2])
    changed |= np.arange(d) == sure[:, :, None]
    old = np.broadcast_to(rows[:, None], shape)
    # Grids need steps that reach the next cell.
    width = np.maximum(step, np.where(np.isfinite(space.cells), 0.7 / space.cells, 0.0))
    moved = reflect(old + width * np.where(changed, 1.0, 0.1) * rng.standard_normal(shape))
    other = other_category(rng, space, old)
    near = np.where(space.categorical, np.where(changed, other, old), moved)
    drawn = space.from_unit(rng.random((len(rows) * count, d))).reshape(shape)
    near = np.where(np.isnan(old), drawn, near)
    return conditional.apply(near.reshape(-1, d)).reshape(shape)


def _candidates(operator: str, rows: Array, scores: Array, source: Array) -> Candidates:
    return Candidates(rows, scores, source, np.full(len(rows), operator))


def _draw_choices(unit: Array, choices: Array) -> Array:
    """Return uniform draws among the allowed choices of each restart."""
    listed = np.argsort(~choices, axis=1, kind="stable")  # the allowed ones first
    position = np.floor(unit * choices.sum(axis=1)[:, None]).astype(np.int64)
    found: Array = np.take_along_axis(listed, position, axis=1)
    return found


def _drop_choices(rng: np.random.Generator, allowed: dict[int, Array], best: Array) -> None:
    """Remove one choice that is not the best one from each category of more than two."""
    for j, choices in allowed.items():
        for k, value in enumerate(best[:, j]):
            if np.isnan(value) or choices[k].sum() <= 2:
                continue
            others = np.flatnonzero(choices[k])
            others = others[others != int(value)]
            choices[k, others[rng.integers(len(others))]] = False


@dataclass(frozen=True)
class MaskSearch:
    """Search over masks and hyperparameters.

    Args:
        n_parents: Number of best trials from which masks are made.
        n_masks: Number of new masks of the first round; the others have half as many.
        n_rows: Number of hyperparameter rows per mask.
        n_rounds: Number of rounds; from the second on, the best candidates are the parents.
    """

    n_parents: int = 15
    n_masks: int = 120
    n_rows: int = 6
    n_rounds: int = 3

    def __post_init__(self) -> None:
        for name in ("n_parents", "n_masks", "n_rows", "n_rounds"):
            check_int(name, getattr(self, name), 1)

    def __call__(
        self,
        rng: np.random.Generator,
        table: FeatureTable,
        space: SearchSpace,
        conditional: ConditionalParameters,
        score: Callable[[Array, Array, Array], Array],
        best_rows: Array,
        best_masks: Array,
    ) -> Candidates:
        """Return all candidates of the search.

        Args:
            rng: Generator.
            table: The features.
            space: The hyperparameters.
            conditional: Conditions under which they are active.
            score: Acquisition values of (rows, masks, position of the mask of each row).
            best_rows: Rows of the best trials, the best first.
            best_masks: Their masks.
        """
        count = max(10, min(self.n_masks, _MAX_BITS // max(1, len(table.free) * self.n_rounds)))
        rows, masks = best_rows[: self.n_parents], best_masks[: self.n_parents]
        source = np.arange(len(rows))
        parts: list[Candidates] = []
        for turn in range(self.n_rounds):
            made, origin, names = self._make_masks(
                rng, table, masks, count if turn == 0 else count // 2
            )
            # Nearly the parent's row, and rows near it, with every new mask; new rows with old
            # masks. Not exactly the parent's row: two workers with the same history would
            # propose duplicates.
            step = (0.1, 0.05, 0.02)[min(turn, 2)]
            same = neighbors(rng, space, conditional, rows[origin], 1, 0.005)
            near = neighbors(rng, space, conditional, rows[origin], self.n_rows - 1, step)
            tried = np.concatenate([same, near], axis=1)
            if turn:
                made = np.concatenate([made, masks])
                origin = np.concatenate([origin, np.arange(len(masks))])
                names += ["hyperparameters"] * len(masks)
                again = neighbors(rng, space, conditional, rows, self.n_rows, step)
                tried = np.concatenate([tried, again])
            index = np.repeat(np.arange(len(made)), self.n_rows)
            flat = tried.reshape(len(index), -1)
            scores = score(flat, made, index)
            sources = source[origin][index]
            parts.append(Candidates(flat, scores, sources, np.array(names)[index], made, index))
            best = np.argsort(scores, kind="stable")[: self.n_parents]
            rows, masks, source = flat[best], made[index[best]], sources[best]
        return Candidates.joined(parts)

    def _make_masks(
        self, rng: np.random.Generator, table: FeatureTable, parents: Array, count: int
    ) -> tuple[Array, Array, list[str]]:
        """Return new masks, the positions of their parents, and the names of the operators."""
        add_drop, filter_ensemble = AddDrop(), FilterEnsembleMutation()
        n_filters = len(table.filters)
        # The best parent is three times as likely as the worst.
        pull = np.linspace(3, 1, len(parents))
        origin = rng.choice(len(parents), size=count, p=pull / pull.sum())
        turns = rng.random(count)
        made = np.empty((count, parents.shape[1]), dtype=bool)
        names = []
        for k, (i, turn) in enumerate(zip(origin, turns)):
            weights = simplex_weights(rng, n_filters) if n_filters else np.zeros(0)
            mask = parents[i]
            if turn < 0.45:
                made[k], name = add_drop(rng, mask, table, weights), "add_drop"
            elif turn < 0.65:
                made[k], name = filter_ensemble(rng, mask, table, weights), "filter_ensemble"
            elif turn < 0.9:
                other = parents[rng.integers(len(parents))]
                made[k], name = uniform_mask_crossover(rng, mask, other), "crossover"
            else:
                sample = _MASK_SAMPLERS[k % len(_MASK_SAMPLERS)]
                made[k], name = sample(rng, table, weights), "resample"
            names.append(name)
        return made, origin, names
