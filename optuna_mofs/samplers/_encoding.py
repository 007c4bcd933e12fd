"""Rows and feature sets as inputs of a surrogate model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._redundancy import Similarity
from optuna_mofs.features._representation import (
    FilterEnsembleFeatures,
    FilterFeatures,
    weight_parameter,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.samplers._gaussian_process import Points
from optuna_mofs.study._description import StudyDescription

Kept = Callable[[str, Callable[[], Any]], Any]


class SurrogateEncoder:
    """Hyperparameters, and after them the feature set as the surrogate can use it.

    A surrogate that knows configurations by their distances (``by_distance``) sees feature sets as
    points (:class:`FeatureSetEmbedding`); the weights of filters, which only say which features are chosen, it
    does not see: weights far apart may stand for one set. Any other surrogate sees weights as they
    are, and masks by a summary (:class:`MaskSummary`).

    Args:
        history: Finished trials.
        filters: What weights of filters stand for, if the study has such.
        warp: How rows are seen.
        kept: Keeps from trial to trial what was made of each.
        by_distance: Whether the surrogate knows configurations by their distances.
    """

    def __init__(
        self,
        history: History,
        filters: FilterSets | None,
        warp: InputWarping,
        kept: Kept,
        *,
        by_distance: bool,
    ) -> None:
        self._history = history
        self._warp = warp
        self._rows = warp(history.rows)
        self._filters = filters if by_distance else None
        self._masks: FeatureSetEmbedding | MaskSummary | None = None
        table = history.table
        if table is not None:
            make = FeatureSetEmbedding if by_distance else MaskSummary
            self._masks = kept(f"columns of masks {by_distance}", lambda: make(table))
        hidden = () if self._filters is None else self._filters.parameters
        self._encoding = RowEncoding(history.space, self._rows, hidden)
        self._known: dict[int, Array] = kept(f"seen sets {by_distance}", dict)

    @property
    def width(self) -> int:
        """Number of columns, those of a feature set as one."""
        has_sets = self._filters is not None or self._masks is not None
        return self._encoding.width + has_sets

    @property
    def together(self) -> int:
        """The last so many columns are a feature set seen by distance."""
        if self._filters is not None:
            return len(self._filters.view.shown)
        return len(self._masks.shown) if isinstance(self._masks, FeatureSetEmbedding) else 0

    def of_trials(self) -> Array:
        """A row for each finished trial."""
        plain = self._encoding(self._rows)
        if self._filters is None and self._masks is None:
            return plain
        sets = self._history.of_each(self._known, self._sets_of_trials)
        return np.hstack([plain, np.array(sets)])

    def __call__(
        self, rows: Array, masks: Array | None = None, index: Array | None = None
    ) -> Array:
        """A row for each configuration.

        Args:
            rows: Warped rows.
            masks: Distinct masks.
            index: Which mask each row has.
        """
        plain = self._encoding(rows)
        if self._filters is not None:
            return np.hstack([plain, self._of_filters(self._warp.back(rows))])
        if masks is None or index is None:
            return plain
        return np.hstack([plain, self._of_masks(masks)[index]])

    def _sets_of_trials(self, positions: list[int]) -> Array:
        if self._filters is not None:
            return self._of_filters(self._history.rows[positions])
        return self._of_masks(self._history.masks(positions))

    def _of_filters(self, rows: Array) -> Array:
        assert self._filters is not None
        return self._filters.view.points(self._filters(rows))

    def _of_masks(self, masks: Array) -> Array:
        assert self._masks is not None
        seen = self._masks(masks)
        if not isinstance(self._masks, FeatureSetEmbedding):
            return seen
        p = max(1, masks.shape[1])
        sizes = np.log1p(masks.sum(axis=1, keepdims=True)) / np.log1p(p)
        return np.hstack([sizes, seen])


class RowEncoding:
    """Numbers as they are, categories as indicators.

    An inactive category is a level of its own (Horn and Bischl 2016, section II b). An inactive
    number stays NaN: where it is put is for the surrogate to say.

    Args:
        space: The parameters.
        rows: Finished trials, NaN where a parameter was inactive.
        hidden: Names of parameters that are left out.
    """

    def __init__(self, space: SearchSpace, rows: Array, hidden: Collection[str] = ()) -> None:
        shown = np.array([name not in hidden for name in space.names], dtype=bool)
        self._number = np.flatnonzero(~space.categorical & shown)
        pairs = []
        for j in np.flatnonzero(space.categorical & shown):
            missing = bool(np.isnan(rows[:, j]).any())
            # Two choices need one indicator; a third level is "missing".
            first = 1 if space.cells[j] == 2 and not missing else 0
            pairs += [(j, level) for level in range(first, int(space.cells[j]))]
        self._source = np.array([j for j, _ in pairs], dtype=np.int64)
        self._level = np.array([level for _, level in pairs], dtype=float)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self._number) + len(self._source)

    def __call__(self, rows: Array) -> Array:
        """Rows × columns for a surrogate."""
        numbers: Array = rows[:, self._number]
        if not len(self._source):
            return numbers
        return np.hstack([numbers, rows[:, self._source] == self._level])


#: Suggestion of the filter representations that says how many features are taken.
_FRACTION = "fraction"
#: Raw weights are this power of their place.
_POWER = 3


class InputWarping:
    """Rows ↔ rows in which small fractions of features have as much room as large ones.

    Of 60 features the front may need 1 to 8. On a linear scale these share an eighth of the range:
    designs hardly meet them, and a model cannot tell them apart. A fraction ``f`` of ``p``
    features becomes ``log(1 + p f) / log(1 + p)``.

    Weights that are drawn evenly are nearly always a mixture of all filters. The raw weight ``u``
    of an ensemble becomes its cube root, so that one or two filters may have nearly all of the
    weight. All else stays as it is.

    Args:
        names: The parameters.
        described: What the study says of its features, if anything.

    Example:
        >>> InputWarping(["x"], None)(np.array([[0.3]])).tolist()
        [[0.3]]
    """

    def __init__(self, names: list[str], described: StudyDescription | None) -> None:
        self._column: int | None = None
        self._weights: list[int] = []
        if described is None or described.representation is None or described.features is None:
            return
        # Masks that are computed of filter ranks have a fraction.
        if described.representation.ranks is not None and _FRACTION in names:
            self._column = names.index(_FRACTION)
            self._p = max(1, len(described.features.free))
            self._several = len(described.measures) > 1
            if isinstance(described.representation, FilterEnsembleFeatures):
                weights = {weight_parameter(name) for name in described.features.filters}
                self._weights = [j for j, name in enumerate(names) if name in weights]

    def sizes(self, rows: Array) -> Array | None:
        """Number of features of warped rows, or None if there is no fraction among them."""
        if self._column is None:
            return None
        chosen = np.expm1(rows[:, self._column] * np.log1p(self._p))
        # As the representation counts, but for what the way there and back adds.
        sizes: Array = np.ceil(chosen - 1e-7)
        return sizes

    def with_none(self, rows: Array) -> Array:
        """Rows of a design, that of the smallest fraction with no feature at all.

        The empty set is an end of the front of error and size. No draw meets a fraction of 0. With
        one measure, or measures of a user's own, the rows stay as they are.
        """
        if self._column is None or not self._several:
            return rows
        rows = rows.copy()
        rows[rows[:, self._column].argmin(), self._column] = 0.0
        return rows

    def __call__(self, rows: Array) -> Array:
        """Rows of a history as models see them."""
        if self._column is None:
            return rows
        rows = rows.copy()
        fraction = rows[..., self._column]
        rows[..., self._column] = np.log1p(self._p * fraction) / np.log1p(self._p)
        rows[..., self._weights] **= 1 / _POWER
        return rows

    def back(self, rows: Array) -> Array:
        """The inverse."""
        if self._column is None:
            return rows
        rows = rows.copy()
        place = rows[..., self._column]
        rows[..., self._column] = np.expm1(place * np.log1p(self._p)) / self._p
        rows[..., self._weights] **= _POWER
        return rows


#: Masks of at most this many features are shown bit by bit; of larger ones this many bits.
SHOWN_BITS = 32
#: Bits drawn for all candidates together; more features mean fewer candidates.
_DRAWN_BITS = 2_000_000


class MaskSummary:
    """A mask as a fixed number of columns.

    Size (as a fraction and as a logarithm); for each filter the mean rank of the chosen features
    and the share of its favorites that are among them; and the bits of at most 32 features, those
    that the filters like best.

    Args:
        table: The features.
    """

    def __init__(self, table: FeatureTable) -> None:
        p = len(table.free)
        ranks = np.zeros((0, p)) if table.free_ranks is None else table.free_ranks
        self._ranks = np.ascontiguousarray(ranks.T, dtype=np.float32)
        favorites = max(1, min(p, round(table.initial_size)))
        best = np.argsort(-ranks, axis=1, kind="stable")[:, :favorites]
        liked = np.zeros((p, len(ranks)), dtype=np.float32)
        for i, places in enumerate(best):
            liked[places, i] = 1 / favorites
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


#: Features that are shown; of more, those that a filter likes best.
_SHOWN = 500
#: Features that are chosen one after the other, each apart from those before.
_STEPS = 32


class FeatureSetEmbedding:
    """Sets as points of a sphere: the more features two have in common, the closer they are.

    The square of the distance of ``A`` and ``B`` is ``2 - 2 |A & B| / sqrt(|A| |B|)``, whatever
    the number of features. The empty set is the center.

    Args:
        table: The features.

    Example:
        >>> view = FeatureSetEmbedding(FeatureTable(("a", "b", "c", "d")))
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

    def __init__(self, chosen: FilterFeatures, space: SearchSpace) -> None:
        ranks = chosen.table.free_ranks
        if ranks is None:
            raise ValueError(f"The filters {chosen.table.filters} have not ranked the features.")
        self._chosen = chosen
        self.view = FeatureSetEmbedding(chosen.table)
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
    """:func:`select_non_redundant` for many scores at a time.

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


class LogFractionScale:
    """Maps the fraction of features, where a study has one, to a logarithmic scale and back.

    A fraction of ``p`` features goes to [0, 1]: 0 is one feature, 1 is all of them, so that equal
    steps change the number of features by equal factors. Other columns stay as they are.

    Args:
        sizes: Columns that hold a fraction of features, with the number of features.

    Example:
        >>> rows = np.array([[0.01], [0.1], [1.0]])
        >>> LogFractionScale({0: 100}).coordinates(rows).ravel().tolist()
        [0.0, 0.5, 1.0]
    """

    def __init__(self, sizes: Mapping[int, int]) -> None:
        self._sizes = {j: p for j, p in sizes.items() if p > 1}

    @classmethod
    def of(cls, history: History) -> LogFractionScale:
        """Return the scale of a study's hyperparameters."""
        described = history.described
        chosen = None if described is None else described.representation
        sizes = {}
        if chosen is not None and chosen.ranks is not None and _FRACTION in history.space.names:
            sizes[history.space.names.index(_FRACTION)] = len(chosen.table.free)
        return cls(sizes)

    @property
    def columns(self) -> list[int]:
        """Columns that hold a fraction of features."""
        return list(self._sizes)

    def coordinates(self, rows: Array) -> Array:
        """Return rows with fractions of features on the logarithmic scale."""
        if not self._sizes:
            return rows
        rows = rows.copy()
        for j in self._sizes:
            rows[:, j] = self.to_coordinate(j, rows[:, j])
        return rows

    def to_coordinate(self, j: int, value: Any) -> Any:
        """Return the coordinate of a value of column ``j``."""
        p = self._sizes.get(j)
        return value if p is None else 1.0 + np.log(np.maximum(value, 1 / p)) / np.log(p)

    def to_value(self, j: int, coordinate: Any) -> Any:
        """Return the value of column ``j`` at a coordinate, which is clipped to [0, 1]."""
        p = self._sizes.get(j)
        inside = np.minimum(1.0, np.maximum(0.0, coordinate))
        return inside if p is None else p ** (inside - 1.0)


def points_of(history: History, scale: LogFractionScale, positions: Array) -> Points:
    """Return some of the completed trials as inputs of a Gaussian process.

    Args:
        history: The completed trials.
        scale: Scale of the fraction of features.
        positions: Positions of the trials.
    """
    masks = None
    if history.table is not None:
        count = len(history.table.free)
        masks = np.unpackbits(history.packed[positions], axis=1, count=count).astype(bool)
    rows = scale.coordinates(history.rows[positions])
    return Points(rows, history.space.categorical, masks)
