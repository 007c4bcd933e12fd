"""Rows and feature sets as inputs of surrogate models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._codec import count_selected
from optuna_mofs.features._mask_sampling import cost_adjusted
from optuna_mofs.features._redundancy import BatchSelection, selection_order, top_masks
from optuna_mofs.features._representation import FRACTION, FilterFeatures
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History, HistoryFollower
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.samplers._candidates import Candidates
from optuna_mofs.samplers._gaussian_process import SplitInputs

#: :meth:`~optuna_mofs.samplers.ProposalContext.study_cache`.
StudyCache = Callable[[str, Callable[[], Any]], Any]
#: Maximum number of bits in a mask summary.
MAX_SUMMARY_BITS = 32
#: Maximum number of features in the embedding of a feature set.
_MAX_EMBEDDED = 500


class SurrogateEncoder:
    """Encode configurations: columns of the hyperparameters, then those of the feature set.

    A surrogate that works on distances (``by_distance``) gets feature sets as points of a sphere
    (:class:`FeatureSetEmbedding`) and no filter weights, because distant weights can select the
    same set. Any other surrogate gets filter weights as they are and masks as a summary
    (:class:`MaskSummary`). The sets of the trials are cached.
    """

    def __init__(
        self,
        history: History,
        filters: FilterSets | None,
        study_cache: StudyCache,
        *,
        by_distance: bool,
    ) -> None:
        self._history = history
        self._study_cache = study_cache
        self._filters = filters if by_distance else None
        self._masks: FeatureSetEmbedding | MaskSummary | None = None
        table = history.table
        if table is not None:
            make = FeatureSetEmbedding if by_distance else MaskSummary
            self._masks = study_cache(f"mask encoder {by_distance}", lambda: make(table))
        hidden = () if self._filters is None else self._filters.parameters
        self._row_encoding = RowEncoding(history.space, history.rows, hidden)
        self._encoded: dict[int, Array] = study_cache("mask summaries", dict)
        has_sets = self._filters is not None or self._masks is not None
        #: Number of columns, those of a feature set counted as one.
        self.width = self._row_encoding.width + has_sets
        #: Number of last columns, which embed a feature set.
        self.n_shared_columns = 0
        embedding = self._masks if self._filters is None else self._filters.embedding
        if isinstance(embedding, FeatureSetEmbedding):
            self.n_shared_columns = len(embedding.features)

    def of_trials(self, positions: Array) -> SplitInputs:
        """Return some of the completed trials."""
        own = self._row_encoding(self._history.rows[positions])
        if self._filters is None and self._masks is None:
            return SplitInputs(own)
        if self._filters is not None:
            packed = self._filters.packed(self._history, self._study_cache, positions)
            masks = np.unpackbits(packed, axis=1, count=self.n_shared_columns).view(bool)
            return SplitInputs(own, self._filters.embedding.embed(masks))
        assert self._masks is not None
        if self.n_shared_columns:
            return self._split(own, self._masks(self._history.masks(positions)))
        sets = self._history.per_trial(self._encoded, self._summaries, positions)
        return self._split(own, np.array(sets))

    def __call__(self, candidates: Candidates) -> SplitInputs:
        """Return candidates; those of a rule without masks get the sets that it selects."""
        own, masks = self._row_encoding(candidates.rows), candidates.masks
        if self._filters is not None:
            masks = self._filters(candidates.rows) if masks is None else masks
            return SplitInputs(own, self._filters.embedding.embed(masks), candidates.mask_index)
        if self._masks is None or masks is None:
            return SplitInputs(own)
        return self._split(own, self._masks(masks), candidates.mask_index)

    def _split(self, own: Array, sets: Array, index: Array | None = None) -> SplitInputs:
        """Return inputs of which only the last columns of ``sets`` are shared."""
        n_own = sets.shape[1] - self.n_shared_columns
        if n_own:
            columns = sets[:, :n_own]
            own = np.hstack([own, columns if index is None else columns[index]])
        return (
            SplitInputs(own, sets[:, n_own:], index) if self.n_shared_columns else SplitInputs(own)
        )

    def _summaries(self, positions: list[int]) -> Array:
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
    the number of features. The empty set is the center. With more than 500 features, those that
    some filter ranks highest are embedded, half of them with regard to their costs.

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
            tilted = cost_adjusted(np.clip(best_rank, 1e-9, 1 - 1e-9), table.free_costs)
            place = np.minimum(_places(-best_rank), _places(-tilted))
            self.features = np.sort(np.argsort(place, kind="stable")[:_MAX_EMBEDDED])

    def __call__(self, masks: Array) -> Array:
        """Return the log size and the embedding of masks over the free features."""
        p = max(1, masks.shape[1])
        sizes = np.log1p(count_selected(masks)[:, None]) / np.log1p(p)
        return np.hstack([sizes, self.embed(masks[:, self.features])])

    @staticmethod
    def embed(masks: Array) -> Array:
        """Return the embedding of masks over the embedded features."""
        size = count_selected(masks)[:, None]
        return masks / np.sqrt(np.maximum(size, 1), dtype=np.float32)


def _places(values: Array) -> Array:
    """Return the place of each value, the lowest 0, ties by position."""
    places = np.empty(len(values), dtype=np.int64)
    places[np.argsort(values, kind="stable")] = np.arange(len(values))
    return places


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
        costs = table.free_costs
        self._costs = None if costs is None else costs[self.embedding.features]
        self._space = space
        self._distributions = representation.distributions
        self._columns = {n: j for j, n in enumerate(space.names) if n in self._distributions}
        self._non_redundant = None
        if representation.needs_similar and table.similar is not None:
            features = table.free[self.embedding.features]
            self._non_redundant = BatchSelection(table.similar, features, table.fixed)
        #: Parameters of exceptions from the rule.
        self.exception_parameters = representation.exception_parameters
        #: Parameters that only determine which features are selected.
        self.parameters = frozenset(self._columns) - {FRACTION}

    def __call__(self, rows: Array) -> Array:
        """Return rows × embedded features; no features where a row lacks a parameter."""
        complete = self.complete(rows)
        found = np.zeros((len(rows), len(self.embedding.features)), dtype=bool)
        found[complete] = self._select(rows[complete])
        return found

    def packed(
        self, history: History, study_cache: StudyCache, positions: Array | None = None
    ) -> Array:
        """Return the packed sets of completed trials, each computed once."""
        known: dict[int, Array] = study_cache("packed feature sets", dict)

        def make(new: list[int]) -> Array:
            return np.packbits(self(history.rows[new]), axis=1)

        return np.array(history.per_trial(known, make, positions), dtype=np.uint8)

    def prefixes(self, rows: Array, index: Array, sizes: Array) -> Array:
        """Return sets of given sizes by the rankings of given rows.

        A rule selects one feature after the other, so that its smaller sets are part of the larger
        ones: many sizes cost no more than one.

        Args:
            rows: Rows of rules, whose fractions do not matter.
            index: Position of the rule of each set.
            sizes: Size of each set, before exceptions.
        """
        params = self._params(rows)
        scores = self._representation.tilted_scores(params, self._ranks, self._costs)
        penalties = self._representation.penalties(params)
        places = selection_order(self._non_redundant, scores, penalties, int(sizes.max(initial=0)))
        found: Array = places[index] < sizes[:, None]
        for name in self._representation.exception_parameters:
            self._apply_exceptions(found, np.asarray(params[name])[index])
        return found

    def sizes(self, rows: Array) -> Array:
        """Return the number of free features of each row; 0 where it lacks a parameter."""
        if self._representation.exception_parameters:
            limits = self._representation.table.size_limits
            return np.clip(self(rows).sum(axis=1), *limits)
        return self.rule_sizes(rows)

    def rule_sizes(self, rows: Array) -> Array:
        """Return :meth:`sizes` before exceptions, as :meth:`prefixes` takes them."""
        sizes = np.zeros(len(rows), dtype=np.int64)
        complete = self.complete(rows)
        fraction = self._params(rows[complete], only=FRACTION)
        sizes[complete] = self._representation.sizes(fraction)
        return sizes

    def complete(self, rows: Array) -> Array:
        """Return which rows have all parameters of the representation."""
        missing: Array = np.isnan(rows[:, list(self._columns.values())])
        return np.logical_not(missing.any(axis=1))

    def _params(self, rows: Array, only: str | None = None) -> dict[str, Array]:
        """Return the parameters of the representation by name, or one, one value per row."""
        params = {}
        for name, distribution in self._distributions.items():
            if only is not None and name != only:
                continue
            if name in self._columns:
                params[name] = self._space.values(name, rows)
            else:  # a single value: one filter, or one feature
                single: Any = distribution
                value = single.choices[0] if hasattr(single, "choices") else single.low
                params[name] = np.full(len(rows), value)
        return params

    def _select(self, rows: Array) -> Array:
        params = self._params(rows)
        scores = self._representation.tilted_scores(params, self._ranks, self._costs)
        counts = self._representation.sizes(params)
        if self._non_redundant is None:
            found = top_masks(scores, counts)
        else:
            found = self._non_redundant(scores, counts, self._representation.penalties(params))
        for name in self._representation.exception_parameters:
            self._apply_exceptions(found, np.asarray(params[name]))
        return found

    def _apply_exceptions(self, sets: Array, exceptions: Array) -> None:
        position = np.abs(exceptions).astype(np.int64) - 1
        for i, j in zip(*np.nonzero(position[:, None] == self.embedding.features)):
            sets[i, j] = exceptions[i] > 0


def filter_sets(history: History) -> FilterSets | None:
    """Return the feature sets of filter weights, or None if the study has no such parameters."""
    described = history.described
    representation = None if described is None else described.representation
    if not isinstance(representation, FilterFeatures) or representation.table.ranks is None:
        return None
    return FilterSets(representation, history.space)


class TriedFeatureSets:
    """Number of trials per feature set.

    Without a limit, a surrogate proposes the same few features again and again, with slightly
    better hyperparameters each time, although another set would be more informative. A set of
    ``k`` features is exhausted after ``sqrt(k)`` trials. Different filter weights can select the
    same set, especially a small one.
    """

    def __init__(
        self, history: History, filters: FilterSets | None, study_cache: StudyCache
    ) -> None:
        self._filters = filters
        counts = study_cache("tried feature sets", lambda: _SetCounts(filters, study_cache))
        counts.filters = filters
        counts.follow(history)
        self._counts: Counter[bytes] = counts.counts
        self._running: frozenset[bytes] = frozenset()
        rows, masks = history.running_configurations()
        if filters is not None and len(rows):
            masks = filters(rows[filters.complete(rows)])
        if masks is not None and len(masks):
            running = Counter(map(bytes, np.packbits(masks, axis=1)))
            self._counts, self._running = self._counts + running, frozenset(running)

    def exhausted(
        self, rows: Array, masks: Array | None = None, *, may_return: bool = False
    ) -> Array:
        """Return which of the configurations have a feature set that has had enough trials.

        If it ``may_return``, these are only the sets of running trials.
        """
        is_set = np.ones(len(rows), dtype=bool)
        if may_return and not self._running:
            return np.zeros(len(rows), dtype=bool)
        if self._filters is not None:
            is_set = self._filters.complete(rows)
            masks = self._filters(rows) if masks is None else masks
        if masks is None:
            return np.zeros(len(rows), dtype=bool)
        packed = list(map(bytes, np.packbits(masks, axis=1)))
        if may_return:
            is_running = np.array([key in self._running for key in packed], dtype=bool)
            return is_set & is_running
        n_trials = np.array(list(map(self._counts.__getitem__, packed)))
        enough: Array = n_trials >= np.sqrt(np.maximum(1, count_selected(masks)))
        return enough & is_set

    def repeats(self, row: Array, parent: Array | None, rule_columns: Array) -> bool:
        """Return whether a row has the feature set of a trial, and nothing new.

        A set is tried again only if it is that of the parent and hyperparameters changed; without
        features there are none to change.
        """
        if self._filters is None or not self._filters.complete(row[None])[0]:
            return False
        mask = self._filters(row[None])[0]
        if not self._counts[np.packbits(mask).tobytes()]:
            return False
        if parent is None or not mask.any() or (self._filters(parent[None])[0] != mask).any():
            return True
        same = (row == parent) | (np.isnan(row) & np.isnan(parent))
        return bool((same | rule_columns).all())


class _SetCounts(HistoryFollower):
    """Number of completed trials of each packed feature set."""

    def __init__(self, filters: FilterSets | None, study_cache: StudyCache) -> None:
        super().__init__()
        self.filters = filters
        self.counts: Counter[bytes] = Counter()
        self._study_cache = study_cache
        self._n_counted = 0

    def rewind(self, n_trials: int) -> None:
        """Count all trials again, because an older one completed late."""
        self.counts, self._n_counted = Counter(), 0

    def advance(self, history: History) -> None:
        """Count the new trials."""
        if self._n_counted == len(history):
            return
        new = np.arange(self._n_counted, len(history))
        packed = history.packed[new] if len(history.packed) else ()
        if self.filters is not None:
            packed = self.filters.packed(history, self._study_cache, new)
        self.counts.update(map(bytes, packed))
        self._n_counted = len(history)
