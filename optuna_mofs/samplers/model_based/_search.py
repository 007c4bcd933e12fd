"""Search for the best acquisition value: focus search, local search, masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import (
    sample_ensemble_mask,
    sample_prefix_mask,
    sample_wide_mask,
    simplex_weights,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._search_space import ConditionalParameters, SearchSpace
from optuna_mofs.samplers._encoding import _DRAWN_BITS
from optuna_mofs.samplers._mask_operators import (
    AddDrop,
    FilterEnsembleMutation,
    uniform_mask_crossover,
)
from optuna_mofs.samplers._row_operators import reflect


@dataclass(frozen=True)
class Candidates:
    """Rows, each with one of a list of masks where there are masks.

    Args:
        rows: Candidates × parameters.
        scores: The lower the better.
        source: Position of the good trial that each goes back to, or -1.
        operators: Name of what made each.
        masks: Distinct masks.
        index: Which mask each candidate has.
    """

    rows: Array
    scores: Array
    source: Array
    operators: Array
    masks: Array | None = None
    index: Array | None = None

    def mask(self, k: int) -> Array | None:
        """The mask of the k-th candidate."""
        return None if self.masks is None or self.index is None else self.masks[self.index[k]]

    def masks_of(self, positions: Array) -> Array | None:
        """The masks of some candidates."""
        if self.masks is None or self.index is None:
            return None
        return self.masks[self.index[positions]]

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        """Several as one."""
        flat = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("rows", "scores", "source", "operators")
        }
        lists = [part.masks for part in parts if part.masks is not None]
        if not lists:
            return cls(**flat)
        before = np.cumsum([0, *map(len, lists[:-1])])
        index = [part.index + k for part, k in zip(parts, before)]
        return cls(**flat, masks=np.concatenate(lists), index=np.concatenate(index))


#: Scores of rows, the lower the better.
Score = Callable[[Array], Array]


@dataclass(frozen=True)
class InfillSearch:
    """Effort of the search.

    Args:
        restarts: Independent focus searches.
        rounds: Times a focus search narrows its ranges.
        points: Random points of each round of each restart.
        starts: Good rows from which the local search starts.
        neighbors: Neighbors of each of them in a round.
        steps: Step sizes of the local search's rounds, in units of the range.
    """

    restarts: int = 3
    rounds: int = 3
    points: int = 160
    starts: int = 8
    neighbors: int = 30
    steps: tuple[float, ...] = (0.15, 0.05, 0.015)

    def __post_init__(self) -> None:
        for name in ("restarts", "rounds", "points", "starts", "neighbors"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, but is {getattr(self, name)}.")

    def __call__(
        self,
        rng: np.random.Generator,
        space: SearchSpace,
        activity: ConditionalParameters,
        score: Score,
        good: Array,
    ) -> Candidates:
        """All candidates looked at, with their scores.

        Args:
            rng: Generator.
            space: The parameters.
            activity: Which of them are asked for.
            score: Scores of rows.
            good: Rows to start the local search from, the best first.
        """
        parts = [self._focus(rng, space, activity, score)]
        best = parts[0].rows[[int(parts[0].scores.argmin())]]
        starts = np.concatenate([good[: self.starts], best])
        source = np.append(np.arange(len(starts) - 1), -1)
        parts.extend(self._local(rng, space, activity, score, starts, source))
        return Candidates.joined(parts)

    def _focus(
        self,
        rng: np.random.Generator,
        space: SearchSpace,
        activity: ConditionalParameters,
        score: Score,
    ) -> Candidates:
        d = len(space)
        numbers = ~space.categorical
        low, high = np.zeros((self.restarts, d)), np.ones((self.restarts, d))
        allowed = _all_choices(space, self.restarts)
        parts = []
        for _ in range(self.rounds):
            unit = rng.random((self.restarts, self.points, d))
            drawn = low[:, None] + (high - low)[:, None] * unit
            for j, choices in allowed.items():
                drawn[:, :, j] = _chosen(unit[:, :, j], choices)
            rows = activity.apply(drawn.reshape(-1, d))
            scores = score(rows)
            parts.append(_made("focus", rows, scores, np.full(len(rows), -1)))
            best = scores.reshape(self.restarts, -1).argmin(axis=1)
            at = rows.reshape(self.restarts, self.points, d)[np.arange(self.restarts), best]
            quarter = (high - low) / 4
            narrow = numbers & ~np.isnan(at)
            low = np.where(narrow, np.maximum(low, at - quarter), low)
            high = np.where(narrow, np.minimum(high, at + quarter), high)
            _drop_choices(rng, allowed, at)
        return Candidates.joined(parts)

    def _local(
        self,
        rng: np.random.Generator,
        space: SearchSpace,
        activity: ConditionalParameters,
        score: Score,
        starts: Array,
        source: Array,
    ) -> list[Candidates]:
        parts = []
        at, value = starts, score(starts)
        for step in self.steps:
            near = neighbors(rng, space, at, self.neighbors, step)
            rows = activity.apply(near.reshape(-1, len(space)))
            scores = score(rows)
            parts.append(_made("local", rows, scores, np.repeat(source, self.neighbors)))
            table = scores.reshape(len(at), -1)
            best = table.argmin(axis=1)
            lines = np.arange(len(at))
            better = table[lines, best] < value
            found = rows.reshape(len(at), self.neighbors, -1)[lines, best]
            at = np.where(better[:, None], found, at)
            value = np.minimum(value, table[lines, best])
        return parts


def neighbors(
    rng: np.random.Generator, space: SearchSpace, rows: Array, count: int, step: float
) -> Array:
    """Rows nearby: rows × count × parameters.

    A neighbor changes about a third of the parameters, at least one: numbers by Gaussian steps,
    categories to any other choice. The other numbers move by a tenth of a step: a value tried
    before tells less than one beside it. Parameters that a row lacks are drawn at random, in case
    the neighbor needs them.
    """
    shape = (len(rows), count, len(space))
    changed = rng.random(shape) < np.where(space.categorical, 1 / (2 * len(space)), 0.35)
    sure = rng.integers(len(space), size=shape[:2])
    changed |= np.arange(len(space)) == sure[:, :, None]
    old = np.broadcast_to(rows[:, None], shape)
    # Grids need steps that reach the next cell.
    width = np.maximum(step, np.where(np.isfinite(space.cells), 0.7 / space.cells, 0.0))
    moved = reflect(old + width * np.where(changed, 1.0, 0.1) * rng.standard_normal(shape))
    other = np.floor(
        rng.random(shape) * np.maximum(1, np.where(space.categorical, space.cells - 1, 1))
    )
    other = other + (other >= old)
    near = np.where(space.categorical, np.where(changed, other, old), moved)
    fresh = space.from_unit(rng.random((len(rows) * count, len(space)))).reshape(shape)
    return np.where(np.isnan(old), fresh, near)


def _made(operator: str, rows: Array, scores: Array, source: Array) -> Candidates:
    return Candidates(rows, scores, source, np.full(len(rows), operator))


def _all_choices(space: SearchSpace, restarts: int) -> dict[int, Array]:
    return {
        int(j): np.ones((restarts, int(space.cells[j])), dtype=bool)
        for j in np.flatnonzero(space.categorical)
    }


def _chosen(unit: Array, choices: Array) -> Array:
    """A uniform draw among each restart's choices."""
    listed = np.argsort(~choices, axis=1, kind="stable")  # the allowed ones first
    place = np.floor(unit * choices.sum(axis=1)[:, None]).astype(np.int64)
    found: Array = np.take_along_axis(listed, place, axis=1)
    return found


def _drop_choices(rng: np.random.Generator, allowed: dict[int, Array], best: Array) -> None:
    """Take one choice that is not the best one from each category of more than two."""
    for j, choices in allowed.items():
        for k, value in enumerate(best[:, j]):
            if np.isnan(value) or choices[k].sum() <= 2:
                continue
            others = np.flatnonzero(choices[k])
            others = others[others != int(value)]
            choices[k, others[rng.integers(len(others))]] = False


@dataclass(frozen=True)
class MaskSearch:
    """Effort of the search over masks.

    Args:
        parents: Good trials that masks are made of.
        masks: New masks of the first round; half as many in each of the others.
        rows: Hyperparameter rows tried with each mask.
        rounds: Rounds; from the second on the best candidates are the parents.
    """

    parents: int = 15
    masks: int = 120
    rows: int = 6
    rounds: int = 3

    def __post_init__(self) -> None:
        for name in ("parents", "masks", "rows", "rounds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, but is {getattr(self, name)}.")

    def __call__(
        self,
        rng: np.random.Generator,
        table: FeatureTable,
        parents: tuple[Array, Array],
        nearby: Callable[[Array, int, float], Array],
        score: Callable[[Array, Array, Array], Array],
    ) -> Candidates:
        """Candidates, all rounds together.

        Args:
            rng: Generator.
            table: The features.
            parents: Rows and masks of good trials, the best first.
            nearby: Rows near given ones, of (rows, count, step size): rows × count × parameters.
            score: Scores of (rows, masks, position of each row's mask).
        """
        p = len(table.free)
        count = max(10, min(self.masks, _DRAWN_BITS // max(1, p * self.rounds)))
        rows, masks = parents[0][: self.parents], parents[1][: self.parents]
        source = np.arange(len(rows))
        parts: list[Candidates] = []
        for turn in range(self.rounds):
            made, origin, names = self._masks(
                rng, table, masks, count if turn == 0 else count // 2
            )
            # Nearly the parent's row, and rows near it, with every new mask; new rows with old
            # masks. Not the very row: two workers who see the same trials would make clones.
            step = (0.1, 0.05, 0.02)[min(turn, 2)]
            same = nearby(rows[origin], 1, 0.005)
            near = nearby(rows[origin], self.rows - 1, step)
            tried = np.concatenate([same, near], axis=1)
            if turn:
                made = np.concatenate([made, masks])
                origin = np.concatenate([origin, np.arange(len(masks))])
                names = [*names, *["row"] * len(masks)]
                tried = np.concatenate([tried, nearby(rows, self.rows, step)])
            index = np.repeat(np.arange(len(made)), self.rows)
            flat = tried.reshape(len(index), -1)
            scores = score(flat, made, index)
            goes_back = source[origin][index]
            parts.append(Candidates(flat, scores, goes_back, np.array(names)[index], made, index))
            best = np.argsort(scores, kind="stable")[: self.parents]
            rows, masks, source = flat[best], made[index[best]], goes_back[best]
        return Candidates.joined(parts)

    def _masks(
        self, rng: np.random.Generator, table: FeatureTable, parents: Array, count: int
    ) -> tuple[Array, Array, list[str]]:
        few, some = AddDrop(), FilterEnsembleMutation()
        filters = len(table.filters)
        # The better the parent, the more often; the worst still has a third of the best's chance.
        pull = np.linspace(3, 1, len(parents))
        origin = rng.choice(len(parents), size=count, p=pull / pull.sum())
        turns = rng.random(count)
        made = np.empty((count, parents.shape[1]), dtype=bool)
        names = []
        for k, (i, turn) in enumerate(zip(origin, turns)):
            weights = simplex_weights(rng, filters) if filters else np.zeros(0)
            mask = parents[i]
            if turn < 0.45:
                made[k], name = few(rng, mask, table, weights), "flip"
            elif turn < 0.65:
                made[k], name = some(rng, mask, table, weights), "redraw"
            elif turn < 0.9:
                other = parents[rng.integers(len(parents))]
                made[k], name = uniform_mask_crossover(rng, mask, other), "crossover"
            else:
                fresh = (sample_prefix_mask, sample_ensemble_mask, sample_wide_mask)[k % 3]
                made[k], name = fresh(rng, table, weights), "fresh"
            names.append(name)
        return made, origin, names
