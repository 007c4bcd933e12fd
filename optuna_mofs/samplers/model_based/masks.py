"""Masks of any size for surrogates, and candidates' masks made of those of good trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import (
    ensemble_start,
    prefix_start,
    simplex_weights,
    wide_start,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.samplers.model_based.candidates import Candidates
from optuna_mofs.samplers.operators.mask_change import (
    AddDrop,
    FilterEnsembleMutation,
    uniform_mask_crossover,
)

#: Masks of at most this many features are shown bit by bit; of larger ones this many bits.
SHOWN_BITS = 32
#: Bits drawn for all candidates together; more features mean fewer candidates.
_DRAWN_BITS = 2_000_000


class MaskView:
    """A mask as a fixed number of columns.

    Size (as a fraction and as a logarithm); for each filter the mean rank of the chosen features
    and the share of its favourites that are among them; and the bits of at most 32 features, those
    that the filters like best.

    Args:
        table: The features.
    """

    def __init__(self, table: FeatureTable) -> None:
        p = len(table.free)
        ranks = np.zeros((0, p)) if table.free_ranks is None else table.free_ranks
        self._ranks = np.ascontiguousarray(ranks.T, dtype=np.float32)
        favourites = max(1, min(p, round(table.start_size)))
        best = np.argsort(-ranks, axis=1, kind="stable")[:, :favourites]
        liked = np.zeros((p, len(ranks)), dtype=np.float32)
        for i, places in enumerate(best):
            liked[places, i] = 1 / favourites
        self._liked = liked
        order = np.argsort(-ranks.sum(axis=0), kind="stable") if len(ranks) else np.arange(p)
        self._shown = np.sort(order[:SHOWN_BITS])

    def __call__(self, masks: Array) -> Array:
        """Masks × columns."""
        bits = masks.astype(np.float32)
        p = max(1, masks.shape[1])
        size = bits.sum(axis=1, keepdims=True)
        mean_rank = np.where(size > 0, bits @ self._ranks / np.maximum(size, 1), 0.5)
        shown = bits[:, self._shown]
        return np.hstack([size / p, np.log1p(size), mean_rank, bits @ self._liked, shown])


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
                fresh = (prefix_start, ensemble_start, wide_start)[k % 3]
                made[k], name = fresh(rng, table, weights), "fresh"
            names.append(name)
        return made, origin, names
