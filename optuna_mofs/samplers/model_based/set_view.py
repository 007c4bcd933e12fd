"""Feature sets as points, so that a Gaussian process sees which of them are alike."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._redundancy import Similarity
from optuna_mofs.features._representation import FilterFeatures
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import ParameterSpace

#: Features that are shown; of more, those that a filter likes best.
_SHOWN = 500
#: Features that are chosen one after the other, each apart from those before.
_STEPS = 32


class SetView:
    """Sets as points of a sphere: the more features two have in common, the closer they are.

    The square of the distance of ``A`` and ``B`` is ``2 - 2 |A & B| / sqrt(|A| |B|)``, whatever
    the number of features. The empty set is the centre.

    Args:
        table: The features.

    Example:
        >>> view = SetView(FeatureTable(("a", "b", "c", "d")))
        >>> view(np.array([[1, 1, 1, 1], [0, 0, 0, 1]], dtype=bool)).tolist()
        [[0.5, 0.5, 0.5, 0.5], [0.0, 0.0, 0.0, 1.0]]
    """

    def __init__(self, table: FeatureTable) -> None:
        p = len(table.free)
        #: Positions of the shown among the free features.
        self.shown = np.arange(min(p, _SHOWN))
        if p > _SHOWN and table.free_ranks is not None:
            liked = table.free_ranks.max(axis=0)
            self.shown = np.sort(np.argsort(-liked, kind="stable")[:_SHOWN])

    def __call__(self, masks: Array) -> Array:
        """Sets × shown features, of masks over the free features."""
        return self.points(masks[:, self.shown])

    @staticmethod
    def points(shown: Array) -> Array:
        """The same of masks over the shown features."""
        size = shown.sum(axis=1, keepdims=True)
        points: Array = shown / np.sqrt(np.maximum(size, 1), dtype=np.float32)
        return points


class FilterSets:
    """The sets that rows of filter weights stand for, many rows at a time.

    What :meth:`Representation.choose` says of all data, but for sets of more than 32 features with
    a penalty of redundancy: from the 33rd on a feature is compared with the first 32 only.

    Args:
        chosen: A representation by filters, with ranks.
        space: The parameters.
    """

    def __init__(self, chosen: FilterFeatures, space: ParameterSpace) -> None:
        ranks = chosen.table.free_ranks
        if ranks is None:
            raise ValueError(f"The filters {chosen.table.filters} have not ranked the features.")
        self._chosen = chosen
        self.view = SetView(chosen.table)
        self._ranks = ranks[:, self.view.shown]
        self._columns = {n: j for j, n in enumerate(space.names) if n in chosen.distributions}
        self._apart = None
        if chosen.needs_similar and chosen.table.similar is not None:
            self._apart = _Apart(chosen.table, chosen.table.similar, self.view.shown)
        #: Parameters that say nothing but which features are chosen.
        self.parameters = frozenset(self._columns) - {"fraction"}

    def __call__(self, rows: Array) -> Array:
        """Rows × shown features; none where a row lacks a parameter."""
        there = self.complete(rows)
        found = np.zeros((len(rows), len(self.view.shown)), dtype=bool)
        found[there] = self._sets(rows[there])
        return found

    def complete(self, rows: Array) -> Array:
        """Which rows have all that it takes."""
        missing: Array = np.isnan(rows[:, list(self._columns.values())])
        return np.logical_not(missing.any(axis=1))

    def _sets(self, rows: Array) -> Array:
        params = {name: self._values(name, rows) for name in self._chosen.distributions}
        scores = np.round(self._chosen.scores(params, self._ranks), 12)
        p = len(self._chosen.table.free)
        counts = np.ceil(p * params["fraction"] - 1e-9).astype(np.int64)
        if self._apart is None:
            return _top(scores, counts)
        return self._apart(scores, counts, self._chosen.penalties(params))

    def _values(self, name: str, rows: Array) -> Array:
        distribution = self._chosen.distributions[name]
        place = rows[:, self._columns[name]] if name in self._columns else np.zeros(len(rows))
        choices = getattr(distribution, "choices", None)
        # Numbers go from 0 to 1, as rows do.
        return place if choices is None else np.array(choices)[place.astype(np.int64)]


def filter_sets(history: History) -> FilterSets | None:
    """What weights of filters stand for in a study, if it has such."""
    described = history.described
    chosen = None if described is None else described.representation
    if not isinstance(chosen, FilterFeatures) or chosen.table.ranks is None:
        return None
    return FilterSets(chosen, history.space)


class _Apart:
    """:func:`chosen_apart` for many scores at a time.

    Args:
        table: The features.
        similar: Which of them are alike.
        shown: Positions, among the free features, of those to choose from.
    """

    def __init__(self, table: FeatureTable, similar: Similarity, shown: Array) -> None:
        features = table.free[shown]
        place = np.full(len(table), -1)
        place[features] = np.arange(len(features))
        others, shares = place[similar.others[features]], similar.shares[features]
        like = (others >= 0) & (shares > 0)
        # Who is not like a feature is written as the feature itself, which is out of the running.
        self._others = np.where(like, others, np.arange(len(features))[:, None])
        self._shares = np.where(like, shares, 0.0)
        # What features share with those that are in every set.
        self._first = np.zeros(len(features))
        for j in table.fixed:
            near = place[similar.others[j]]
            np.maximum.at(self._first, near[near >= 0], similar.shares[j][near >= 0])

    def __call__(self, scores: Array, counts: Array, penalties: Array) -> Array:
        # The largest sets first: those that still grow are then a block.
        order = np.argsort(-counts, kind="stable")
        scores, penalties = scores[order], penalties[order, None]
        shared = np.tile(self._first, (len(scores), 1))
        worth = _worth(scores, penalties, shared)
        chosen = np.zeros(worth.shape, dtype=bool)
        steps = min(_STEPS, int(counts.max(initial=0)), worth.shape[1])
        for growing in np.searchsorted(-counts[order], -np.arange(steps), side="left"):
            lines = np.arange(growing)
            best = worth[:growing].argmax(axis=1)
            chosen[lines, best] = True
            at = lines[:, None], self._others[best]
            shared[at] = np.maximum(shared[at], self._shares[best])
            now = _worth(scores[at], penalties[:growing], shared[at])
            worth[at] = np.where(chosen[at], -np.inf, now)
            worth[lines, best] = -np.inf
        worth[chosen] = np.inf
        found = np.empty_like(chosen)
        found[order] = _top(worth, counts[order])
        return found


def _worth(scores: Array, penalties: Array, shared: Array) -> Array:
    # Rounded, so that the last bit of a product does not decide between copies.
    worth: Array = np.round(scores * (1 - penalties * shared), 12)
    return worth


def _top(scores: Array, counts: Array) -> Array:
    """Which scores are among the highest of each line, as many as counted, ties by position."""
    n, p = scores.shape
    counts = np.minimum(counts, p)
    # Above all scores: nothing is chosen.
    rising = np.column_stack([np.sort(scores, axis=1), np.full(n, np.inf)])
    least = rising[np.arange(n), p - counts][:, None]
    found: Array = (scores >= least) & (counts > 0)[:, None]
    for i in np.flatnonzero(found.sum(axis=1) > counts):
        level = np.flatnonzero(scores[i] == least[i])
        found[i, level[len(level) - (found[i].sum() - counts[i]) :]] = False
    return found
