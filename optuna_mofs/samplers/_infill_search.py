"""Search for the best acquisition value: focus search, local search, masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
from optuna_mofs.samplers._candidates import AcquisitionFunction, Candidates
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
        acquisition: AcquisitionFunction,
        starts: Candidates,
    ) -> tuple[Candidates, Array]:
        """Return all candidates of the search, and their acquisition values.

        Args:
            rng: Generator.
            space: The parameters.
            conditional: Conditions under which they are active.
            acquisition: The acquisition function.
            starts: The best trials, the best first.
        """
        parts, values = [], []

        def evaluate(operator: str, rows: Array, parents: Array) -> Array:
            parts.append(Candidates(rows, parents[:, None], np.full(len(rows), operator)))
            values.append(acquisition(parts[-1]))
            return values[-1]

        best = self._focus(rng, space, conditional, evaluate)
        # Local search starts from the best trials and from the best point of focus search.
        parents = np.append(starts.parents[:, 0], -1)
        rows = np.concatenate([starts.rows, best[None]])
        best_values = acquisition(Candidates(rows, parents[:, None], np.full(len(rows), "")))
        lines, parents = np.arange(len(rows)), np.repeat(parents, self.n_neighbors)
        for step in self.step_sizes:
            near = neighbors(rng, space, conditional, rows, self.n_neighbors, step)
            found = evaluate("local", near.reshape(-1, len(space)), parents)
            found = found.reshape(len(rows), -1)
            k = found.argmin(axis=1)
            better = found[lines, k] < best_values
            rows = np.where(better[:, None], near[lines, k], rows)
            best_values = np.minimum(best_values, found[lines, k])
        return Candidates.joined(parts), np.concatenate(values)

    def _focus(
        self,
        rng: np.random.Generator,
        space: SearchSpace,
        conditional: ConditionalParameters,
        evaluate: Callable[[str, Array, Array], Array],
    ) -> Array:
        """Evaluate the candidates of focus search, and return the best."""
        shape = (self.n_restarts, self.n_points, len(space))
        low, high = np.zeros((self.n_restarts, len(space))), np.ones((self.n_restarts, len(space)))
        allowed = {
            int(j): np.ones((self.n_restarts, int(space.cells[j])), dtype=bool)
            for j in np.flatnonzero(space.categorical)
        }
        best, lowest = np.zeros(len(space)), np.inf
        for _ in range(self.n_rounds):
            unit = rng.random(shape)
            drawn = low[:, None] + (high - low)[:, None] * unit
            for j, choices in allowed.items():
                drawn[:, :, j] = _draw_choices(unit[:, :, j], choices)
            rows = conditional.apply(drawn.reshape(-1, len(space)))
            values = evaluate("focus", rows, np.full(len(rows), -1))
            if values.min() < lowest:
                best, lowest = rows[values.argmin()], values.min()
            k = values.reshape(self.n_restarts, -1).argmin(axis=1)
            center = rows.reshape(shape)[np.arange(self.n_restarts), k]
            quarter = (high - low) / 4
            narrow = ~space.categorical & ~np.isnan(center)
            low = np.where(narrow, np.maximum(low, center - quarter), low)
            high = np.where(narrow, np.minimum(high, center + quarter), high)
            _drop_choices(rng, allowed, center)
        return best


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
    that was tried before is less informative than one near it. Inactive parameters are drawn
    at random, in case the neighbor needs them.
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


def _draw_choices(unit: Array, choices: Array) -> Array:
    """Return uniform draws among the allowed choices of each restart."""
    listed = np.argsort(~choices, axis=1, kind="stable")  # the allowed ones first
    position = np.floor(unit * choices.sum(axis=1)[:, None]).astype(np.int64)
    return np.take_along_axis(listed, position, axis=1)


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
        acquisition: AcquisitionFunction,
        starts: Candidates,
    ) -> tuple[Candidates, Array]:
        """Return all candidates of the search, and their acquisition values.

        The arguments are those of :class:`InfillSearch`, after the features.
        """
        count = max(10, min(self.n_masks, _MAX_BITS // max(1, len(table.free) * self.n_rounds)))
        parts, values = [], []
        for turn in range(self.n_rounds):
            rows, masks = starts.rows, starts.masks
            assert masks is not None
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
            flat, parents = tried.reshape(len(index), -1), starts.parents[origin][index]
            parts.append(Candidates(flat, parents, np.array(names)[index], made, index))
            values.append(acquisition(parts[-1]))
            starts = parts[-1][np.argsort(values[-1], kind="stable")[: self.n_parents]]
        return Candidates.joined(parts), np.concatenate(values)

    def _make_masks(
        self, rng: np.random.Generator, table: FeatureTable, parents: Array, count: int
    ) -> tuple[Array, Array, list[str]]:
        """Return new masks, the positions of their parents, and the names of the operators."""
        add_drop, filter_ensemble = AddDrop(), FilterEnsembleMutation()
        # The best parent is three times as likely as the worst.
        pull = np.linspace(3, 1, len(parents))
        origin = rng.choice(len(parents), size=count, p=pull / pull.sum())
        turns = rng.random(count)
        made = np.empty((count, parents.shape[1]), dtype=bool)
        names = []
        for k, (i, turn) in enumerate(zip(origin, turns)):
            weights, mask = simplex_weights(rng, len(table.filters)), parents[i]
            if turn < 0.45:
                made[k], name = add_drop(rng, mask, table, weights), "add_drop"
            elif turn < 0.65:
                made[k], name = filter_ensemble(rng, mask, table, weights), "filter_ensemble"
            elif turn < 0.9:
                other = parents[rng.integers(len(parents))]
                crossed = uniform_mask_crossover(rng, mask, other)
                made[k], name = table.limited(crossed), "crossover"
            else:
                sample = _MASK_SAMPLERS[k % len(_MASK_SAMPLERS)]
                made[k], name = sample(rng, table, weights), "resample"
            names.append(name)
        return made, origin, names
