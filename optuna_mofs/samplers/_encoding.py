"""Rows and feature sets as inputs of surrogate models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._redundancy import BatchSelection, top_masks
from optuna_mofs.features._representation import (
    FilterEnsembleFeatures,
    FilterFeatures,
    weight_parameter,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.samplers._candidates import Candidates
from optuna_mofs.study._description import StudyDescription

#: :meth:`~optuna_mofs.samplers.ProposalContext.study_cache`.
StudyCache = Callable[[str, Callable[[], Any]], Any]
#: Parameter of the filter representations that sets the number of features.
_FRACTION = "fraction"
#: Raw filter weights are this power of their warped value.
_WEIGHT_POWER = 3
#: Maximum number of bits in a mask summary.
MAX_SUMMARY_BITS = 32
#: Maximum number of features in the embedding of a feature set.
_MAX_EMBEDDED = 500


class SurrogateEncoder:
    """Encode configurations: columns of the hyperparameters, then those of the feature set.

    A surrogate that works on distances (``by_distance``) gets feature sets as points of a sphere
    (:class:`FeatureSetEmbedding`) and no filter weights, because distant weights can select the
    same set. Any other surrogate gets filter weights as they are and masks as a summary
    (:class:`MaskSummary`). The encoded sets of the trials are cached.
    """

    def __init__(
        self,
        history: History,
        filters: FilterSets | None,
        warping: InputWarping,
        study_cache: StudyCache,
        *,
        by_distance: bool,
    ) -> None:
        self._history = history
        self._warping = warping
        self._rows = warping(history.rows)
        self._filters = filters if by_distance else None
        self._masks: FeatureSetEmbedding | MaskSummary | None = None
        table = history.table
        if table is not None:
            make = FeatureSetEmbedding if by_distance else MaskSummary
            self._masks = study_cache(f"mask encoder {by_distance}", lambda: make(table))
        hidden = () if self._filters is None else self._filters.parameters
        self._row_encoding = RowEncoding(history.space, self._rows, hidden)
        self._encoded: dict[int, Array] = study_cache(f"encoded sets {by_distance}", dict)
        has_sets = self._filters is not None or self._masks is not None
        #: Number of columns, those of a feature set counted as one.
        self.width = self._row_encoding.width + has_sets
        #: Number of last columns, which embed a feature set.
        self.n_shared_columns = 0
        embedding = self._masks if self._filters is None else self._filters.embedding
        if isinstance(embedding, FeatureSetEmbedding):
            self.n_shared_columns = len(embedding.features)

    def of_trials(self) -> Array:
        """Return one row per completed trial."""
        X = self._row_encoding(self._rows)
        if self._filters is None and self._masks is None:
            return X
        sets = self._history.per_trial(self._encoded, self._sets_of_trials)
        return np.hstack([X, np.array(sets)])

    def __call__(self, candidates: Candidates) -> Array:
        """Return one row per candidate, whose rows are warped."""
        X = self._row_encoding(candidates.rows)
        if self._filters is not None:
            return np.hstack([X, self._filters.embedded(self._warping.inverse(candidates.rows))])
        if self._masks is None or candidates.masks is None:
            return X
        encoded, index = self._masks(candidates.masks), candidates.mask_index
        return np.hstack([X, encoded if index is None else encoded[index]])

    def _sets_of_trials(self, positions: list[int]) -> Array:
        if self._filters is not None:
            return self._filters.embedded(self._history.rows[positions])
        assert self._masks is not None
        return self._masks(self._history.masks(positions))


class RowEncoding:
    """Encode numbers as they are and categories as indicators.

    An inactive category is a level of its own (Horn and Bischl 2016, section II b). An inactive
    number stays NaN; each surrogate replaces it in its own way. Parameters named in ``hidden``
    are left out.
    """

    def __init__(self, space: SearchSpace, rows: Array, hidden: Collection[str] = ()) -> None:
        shown = ~np.isin(space.names, list(hidden))
        self._numbers = np.flatnonzero(~space.categorical & shown)
        pairs = []
        for j in np.flatnonzero(space.categorical & shown):
            missing = bool(np.isnan(rows[:, j]).any())
            # Two choices need one indicator; a third level is "missing".
            first = 1 if space.cells[j] == 2 and not missing else 0
            pairs += [(j, level) for level in range(first, int(space.cells[j]))]
        levels = np.array(pairs, dtype=float).reshape(-1, 2)
        self._source, self._level = levels[:, 0].astype(np.int64), levels[:, 1]
        #: Number of columns.
        self.width = len(self._numbers) + len(pairs)

    def __call__(self, rows: Array) -> Array:
        """Return rows × columns."""
        numbers: Array = rows[:, self._numbers]
        if not len(self._source):
            return numbers
        return np.hstack([numbers, rows[:, self._source] == self._level])


class InputWarping:
    """Warp rows so that small fractions of features get as much of the range as large ones.

    The front of 60 features may need 1 to 8. On a linear scale these share an eighth of the range:
    designs rarely contain them, and a model cannot separate them. A fraction ``f`` of ``p``
    features becomes ``log(1 + p f) / log(1 + p)``.

    Uniform filter weights are nearly always a mixture of all filters. The raw weight ``u`` of an
    ensemble becomes its cube root, so that one or two filters can have nearly all of the weight.
    All other columns stay as they are.
    """

    def __init__(self, names: list[str], described: StudyDescription | None) -> None:
        self._column: int | None = None
        self._weights: list[int] = []
        if described is None or described.representation is None or described.features is None:
            return
        # Representations that compute masks from filter ranks have a fraction.
        if described.representation.ranks is not None and _FRACTION in names:
            self._column = names.index(_FRACTION)
            self._p = max(1, len(described.features.free))
            self._is_multi_objective = len(described.measures) > 1
            if isinstance(described.representation, FilterEnsembleFeatures):
                weights = {weight_parameter(name) for name in described.features.filters}
                self._weights = [j for j, name in enumerate(names) if name in weights]

    def sizes(self, rows: Array) -> Array | None:
        """Return the number of features of warped rows, or None without a fraction."""
        if self._column is None:
            return None
        selected = np.expm1(rows[:, self._column] * np.log1p(self._p))
        # Rounded up as in the representation, except for rounding errors of the warping.
        sizes: Array = np.ceil(selected - 1e-7)
        return sizes

    def with_empty_set(self, rows: Array) -> Array:
        """Return the warped rows of a design, the one of the smallest fraction with none.

        The empty set is an end of the front of error and size, and no random fraction is 0. With
        one measure, or measures of the user's own, the rows stay as they are.
        """
        if self._column is None or not self._is_multi_objective:
            return rows
        rows = rows.copy()
        rows[rows[:, self._column].argmin(), self._column] = 0.0
        return rows

    def __call__(self, rows: Array) -> Array:
        """Return warped rows."""
        if self._column is None:
            return rows
        rows = rows.copy()
        fraction = rows[..., self._column]
        rows[..., self._column] = np.log1p(self._p * fraction) / np.log1p(self._p)
        rows[..., self._weights] **= 1 / _WEIGHT_POWER
        return rows

    def inverse(self, rows: Array) -> Array:
        """Return rows as in the history."""
        if self._column is None:
            return rows
        rows = rows.copy()
        warped = rows[..., self._column]
        rows[..., self._column] = np.expm1(warped * np.log1p(self._p)) / self._p
        rows[..., self._weights] **= _WEIGHT_POWER
        return rows


class MaskSummary:
    """Summarize masks by a fixed number of columns.

    They are the size (as a fraction and as a logarithm), per filter the mean rank of the selected
    features and the fraction of its top features among them, and the bits of at most 32 features,
    those with the highest sum of ranks.
    """

    def __init__(self, table: FeatureTable) -> None:
        p = len(table.free)
        ranks = np.zeros((0, p)) if table.free_ranks is None else table.free_ranks
        self._ranks = np.ascontiguousarray(ranks.T, dtype=np.float32)
        n_top = max(1, min(p, round(table.initial_size)))
        self._top = np.zeros((p, len(ranks)), dtype=np.float32)
        for i, top in enumerate(np.argsort(-ranks, axis=1, kind="stable")[:, :n_top]):
            self._top[top, i] = 1 / n_top
        order = np.argsort(-ranks.sum(axis=0), kind="stable") if len(ranks) else np.arange(p)
        self._shown = np.sort(order[:MAX_SUMMARY_BITS])

    def __call__(self, masks: Array) -> Array:
        """Return masks × columns."""
        bits = masks.astype(np.float32)
        p = max(1, masks.shape[1])
        size = bits.sum(axis=1, keepdims=True)
        mean_rank = np.where(size > 0, bits @ self._ranks / np.maximum(size, 1), 0.5)
        shown = bits[:, self._shown]
        return np.hstack([size / p, np.log1p(size), mean_rank, bits @ self._top, shown])


class FeatureSetEmbedding:
    """Embed feature sets in a sphere, so that sets with more features in common are closer.

    The squared distance of ``A`` and ``B`` is ``2 - 2 |A & B| / sqrt(|A| |B|)``, independent of
    the number of features. The empty set is the center. Of more than 500 features, those that
    some filter ranks highest are embedded.

    Example:
        >>> embedding = FeatureSetEmbedding(FeatureTable(("a", "b", "c", "d")))
        >>> embedding.embed(np.array([[1, 1, 1, 1], [0, 0, 0, 1]], dtype=bool)).tolist()
        [[0.5, 0.5, 0.5, 0.5], [0.0, 0.0, 0.0, 1.0]]
    """

    def __init__(self, table: FeatureTable) -> None:
        p = len(table.free)
        #: Positions of the embedded features among the free ones.
        self.features = np.arange(min(p, _MAX_EMBEDDED))
        if p > _MAX_EMBEDDED and table.free_ranks is not None:
            best_rank = table.free_ranks.max(axis=0)
            order = np.argsort(-best_rank, kind="stable")
            self.features = np.sort(order[:_MAX_EMBEDDED])

    def __call__(self, masks: Array) -> Array:
        """Return the log size and the embedding of masks over the free features."""
        p = max(1, masks.shape[1])
        sizes = np.log1p(masks.sum(axis=1, keepdims=True)) / np.log1p(p)
        return np.hstack([sizes, self.embed(masks[:, self.features])])

    @staticmethod
    def embed(masks: Array) -> Array:
        """Return the embedding of masks over the embedded features."""
        size = masks.sum(axis=1, keepdims=True)
        points: Array = masks / np.sqrt(np.maximum(size, 1), dtype=np.float32)
        return points


class FilterSets:
    """Feature sets that rows of filter weights select, for many rows at once.

    They are those of :meth:`Representation.choose` with ranks of all data, except for sets of more
    than 32 features with a redundancy penalty, see :class:`BatchSelection`.
    """

    def __init__(self, representation: FilterFeatures, space: SearchSpace) -> None:
        table = representation.table
        if table.free_ranks is None:
            raise ValueError(f"The filters {table.filters} have not ranked the features.")
        self._representation = representation
        self.embedding = FeatureSetEmbedding(table)
        self._ranks = table.free_ranks[:, self.embedding.features]
        self._columns = {
            name: j for j, name in enumerate(space.names) if name in representation.distributions
        }
        self._non_redundant = None
        if representation.needs_similar and table.similar is not None:
            features = table.free[self.embedding.features]
            self._non_redundant = BatchSelection(table.similar, features, table.fixed)
        #: Parameters that only determine which features are selected.
        self.parameters = frozenset(self._columns) - {_FRACTION}

    def __call__(self, rows: Array) -> Array:
        """Return rows × embedded features; no features where a row lacks a parameter."""
        complete = self.complete(rows)
        found = np.zeros((len(rows), len(self.embedding.features)), dtype=bool)
        found[complete] = self._select(rows[complete])
        return found

    def embedded(self, rows: Array) -> Array:
        """Return the embedding of the sets."""
        return self.embedding.embed(self(rows))

    def complete(self, rows: Array) -> Array:
        """Return which rows have all parameters of the representation."""
        missing: Array = np.isnan(rows[:, list(self._columns.values())])
        return np.logical_not(missing.any(axis=1))

    def _select(self, rows: Array) -> Array:
        params = {}
        for name, distribution in self._representation.distributions.items():
            values = rows[:, self._columns[name]] if name in self._columns else np.zeros(len(rows))
            # Numbers range from 0 to 1, as in rows.
            choices = getattr(distribution, "choices", None)
            params[name] = values if choices is None else np.array(choices)[values.astype(int)]
        scores = np.round(self._representation.scores(params, self._ranks), 12)
        p = len(self._representation.table.free)
        counts = np.ceil(p * params[_FRACTION] - 1e-9).astype(np.int64)
        if self._non_redundant is None:
            return top_masks(scores, counts)
        return self._non_redundant(scores, counts, self._representation.penalties(params))


def filter_sets(history: History) -> FilterSets | None:
    """Return the feature sets of filter weights, or None if the study has no such parameters."""
    described = history.described
    representation = None if described is None else described.representation
    if not isinstance(representation, FilterFeatures) or representation.table.ranks is None:
        return None
    return FilterSets(representation, history.space)


class LogFractionScale:
    """Map the fraction of features, where a study has one, to a logarithmic scale and back.

    A fraction of ``p`` features goes to [0, 1]: 0 is one feature, 1 is all of them, so that equal
    steps change the number of features by equal factors. Other columns stay as they are.
    ``sizes`` has the number of features of each column that holds a fraction.

    Example:
        >>> rows = np.array([[0.01], [0.1], [1.0]])
        >>> LogFractionScale({0: 100}).coordinates(rows).ravel().round(9).tolist()
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
