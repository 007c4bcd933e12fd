"""Filter ranks of the features, and the expected size of feature sets, before the search."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Literal

import joblib
import numpy as np
import optuna
from scipy.stats import rankdata
from tqdm import tqdm

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice
from optuna_mofs.data._dataset import Dataset
from optuna_mofs.data._target import strata, varying_outputs
from optuna_mofs.features._rank_cache import (
    cache_folder,
    content_key,
    read_arrays,
    write_arrays,
)
from optuna_mofs.features._redundancy import (
    Similarity,
    best_first,
    median_redundancy,
    nearest_features,
)
from optuna_mofs.features._screening import (
    MAX_ROWS,
    N_SAMPLED,
    best_features,
    check_finite,
    column_relevance,
    needs_screening,
    sample_rows,
    take_block,
)
from optuna_mofs.features._table import FeatureTable, feature_layout
from optuna_mofs.features._tree_size import MAX_TREE_ROWS, mean_tree_size
from optuna_mofs.filters import (
    DEFAULT_FILTERS,
    FilterData,
    FilterEnsemble,
    detect_task,
    rank_scores,
    resolve_filters,
)

_logger = optuna.logging.get_logger("optuna.mofs")

#: Number of row sets whose ranks are cached: enough for the folds of a cross-validation, while
#: folds that are drawn again in each trial do not fill the memory.
_MAX_CACHED = 64
#: With more columns, few trees are fitted, and only to the best features.
_MAX_TREE_COLUMNS, _FEW_SUBSETS = 2_000, 10
#: Rankings that take longer are kept on disk, ranked in parallel, and show their progress.
_SLOW_SECONDS = 2.0


class Ranking:
    """Ranks of the features of a data set by an ensemble of filters.

    Args:
        data: The rows to rank on.
        layout: The features without ranks.
        filters: Filters by name or as functions.
        random_state: Seed of the filters.
        expected_n_features: Expected size of a feature set; None to estimate it from the data.
        n_jobs: Number of threads or processes.
        similar: Whether to compute the similarity of features.
    """

    def __init__(
        self,
        data: Dataset,
        layout: FeatureTable,
        filters: Sequence[Any],
        random_state: int,
        expected_n_features: float | None = None,
        n_jobs: int | None = None,
        similar: bool = False,
    ) -> None:
        self.data = data
        self.filters = filters
        names = tuple(name for name, _ in resolve_filters(filters)) if filters else ()
        #: The features and the names of the filters, without ranks.
        self.unranked = replace(layout, filters=names, expected_n_features=expected_n_features)
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.similar = similar
        self._by_rows: dict[bytes, FeatureTable] = {}
        self._lock = threading.Lock()

    @cached_property
    def table(self) -> FeatureTable:
        """The features with ranks of all rows and the expected size."""
        table = self.unranked
        if len(table.free) == 0:
            return table
        if self.data.shape[0] > MAX_ROWS:
            for start in range(0, self.data.shape[0], MAX_ROWS):  # filters see a sample
                rows = np.arange(start, min(start + MAX_ROWS, self.data.shape[0]))
                check_finite(self.data.rows(rows))
        if table.filters:
            table = self.of_rows(np.arange(self.data.shape[0]))
        size = table.expected_n_features
        if size is None:
            size = self._expected_size(table)
        return replace(table, expected_n_features=size)

    def _expected_size(self, table: FeatureTable) -> float:
        """Return the size of trees on the data; with many features, on the best ones."""
        y, columns = self.data.y, table.columns
        options: dict[str, Any] = {"random_state": self.random_state}
        X: Any = self.data if len(y) > MAX_TREE_ROWS else None  # it takes a sample
        if self.data.shape[1] > _MAX_TREE_COLUMNS:
            rows = self._sampled(np.arange(len(y)), MAX_TREE_ROWS)
            if table.ranks is None:
                relevance = self._relevance(rows)
                best = best_features(relevance, columns)
            else:
                best = np.sort(best_first(table.ranks.mean(axis=0), _MAX_TREE_COLUMNS))
            X, columns = _narrowed(self.data.X, rows, best, columns)
            y, options["subsets"] = y[rows], _FEW_SUBSETS
        elif len(y) > MAX_ROWS:
            options["subsets"] = _FEW_SUBSETS
        X = self.data.X if X is None else X
        classification = self.data.classification
        sizes = [
            mean_tree_size(X, output, classification=classification, columns=columns, **options)
            for output in _outputs(y)
        ]
        return max(sizes)

    def _sampled(self, rows: Array, size: int | None = None) -> Array:
        """Return the rows, or a sample of ``size`` of them, by default the size for filters."""
        if len(rows) <= (size or MAX_ROWS):
            return rows
        size = size or N_SAMPLED
        is_class, seed = self.data.classification, self.random_state
        y = strata(self.data.y) if is_class else self.data.y
        return sample_rows(rows, y, classification=is_class, seed=seed, size=size)

    def _relevance(self, rows: Array) -> Array:
        if len(rows) == len(self.data.y):
            return self._relevance_of_all_rows
        return self._column_relevance(rows)

    @cached_property
    def _relevance_of_all_rows(self) -> Array:
        return self._column_relevance(None)

    def _column_relevance(self, rows: Array | None) -> Array:
        data = self.data
        found = [
            column_relevance(data.X, output, rows, classification=data.classification)
            for output in _outputs(data.y)
        ]
        return np.max(found, axis=0)

    def median_redundancy(self) -> float:
        """Return the median redundancy of the features, or of the best ones if there are many."""
        rows = self._sampled(np.arange(self.data.shape[0]))
        columns = self.unranked.columns
        if self._needs_screening(rows):
            best = best_features(self._relevance(rows), columns)
            X, columns = _narrowed(self.data.X, rows, best, columns)
        else:
            X = self._rows_of_all_columns(rows)
        return median_redundancy(FilterData(X, _outputs(self.data.y[rows])[0]), columns)

    def _needs_screening(self, rows: Array) -> bool:
        return needs_screening(len(rows), self.data.shape[1], is_sparse=self.data.is_sparse)

    def _rows_of_all_columns(self, rows: Array) -> Any:
        return self.data.X if len(rows) == self.data.shape[0] else self.data.rows(rows)

    def of_rows(self, rows: Array) -> FeatureTable:
        """Return the features with ranks and similarity computed on some rows only."""
        return self.of_folds([rows])[0]

    def of_folds(self, folds: Sequence[Array]) -> list[FeatureTable]:
        """Return :meth:`of_rows` of several training folds, computed in parallel if it is slow."""
        keys = [rows.tobytes() for rows in folds]
        with self._lock:  # a second thread waits for the result of the first one
            missing = {k: rows for k, rows in zip(keys, folds) if k not in self._by_rows}
            found = dict(zip(missing, self._rank(list(missing.values()))))
            tables = [found[k] if k in found else self._by_rows[k] for k in keys]
            for key, table in found.items():
                if len(self._by_rows) < _MAX_CACHED:
                    self._by_rows[key] = table
        return tables

    def _rank(self, folds: Sequence[Array]) -> list[FeatureTable]:
        """Rank on each fold: from files, else in this process, or in several if it is slow."""
        # Jobs are created lazily, because each has a copy of its rows.
        names: list[str | None] = [None] * len(folds)
        if cache_folder() is not None:
            names = [self._content_key(rows) for rows in folds]
        tables = [self._read(name) for name in names]
        to_do = [i for i, table in enumerate(tables) if table is None]
        jobs = (self._job(folds[i]) for i in to_do)
        total = 0.0
        for i, (arrays, seconds) in zip(to_do, _run(jobs, len(to_do), self.n_jobs)):
            tables[i] = self._with_arrays(arrays)
            name, total = names[i], total + seconds
            if name is not None and seconds > _SLOW_SECONDS:
                write_arrays(name, arrays)
        if total > _SLOW_SECONDS:
            plural = "" if len(to_do) == 1 else "s"
            _logger.info(
                f"Ranked {len(self.unranked)} features by {len(self.unranked.filters)} filters on "
                f"{len(to_do)} set{plural} of rows, which took {total:.0f} seconds of work."
            )
        return [table for table in tables if table is not None]

    @property
    def _task(self) -> Literal["classification", "regression"]:
        return "classification" if self.data.classification else "regression"

    def _content_key(self, rows: Array) -> str | None:
        """Return the name of the result on disk, or None if a filter is the user's own."""
        functions = [function for _, function in resolve_filters(self.filters)]
        options = (self._task, self.random_state, self.unranked.columns, self.similar)
        return content_key(functions, self._data_key, rows, options)

    @cached_property
    def _data_key(self) -> str:
        return str(joblib.hash(self.data.content_parts(), hash_name="sha1"))

    def _job(self, rows: Array) -> _RankingJob:
        columns, relevance, best = self.unranked.columns, None, None
        rows = self._sampled(rows)
        if self._needs_screening(rows):
            relevance = self._relevance(rows)
            best = best_features(relevance, columns)
            if columns is not None:
                relevance = np.array([relevance[list(members)].max() for members in columns])
            X, columns = _narrowed(self.data.X, rows, best, columns)
        else:
            X = self._rows_of_all_columns(rows)
        return _RankingJob(
            X,
            self.data.y[rows],
            ensemble=FilterEnsemble(
                self.filters,
                task=self._task,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            ),
            columns=columns,
            similar=self.similar,
            relevance=relevance,
            best=best,
        )

    def _read(self, name: str | None) -> FeatureTable | None:
        arrays = None if name is None else read_arrays(name)
        try:
            return None if arrays is None else self._with_arrays(arrays)
        except (KeyError, ValueError):  # another version wrote it
            return None

    def _with_arrays(self, arrays: Mapping[str, Array]) -> FeatureTable:
        similar = Similarity(arrays["others"], arrays["shares"]) if self.similar else None
        return replace(self.unranked, ranks=arrays["ranks"], similar=similar)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


@dataclass
class _RankingJob:
    """What a process needs to rank the features on some rows."""

    X: Any
    y: Array
    ensemble: FilterEnsemble
    columns: Sequence[Sequence[int]] | None
    similar: bool
    #: With very many features: a score of each, and the positions of those in X.
    relevance: Array | None = None
    best: Array | None = None

    def __call__(self) -> tuple[dict[str, Array], float]:
        """Return the arrays of a table, and the seconds that they took."""
        start = perf_counter()
        ranks = [
            self.ensemble.fit(self.X, output, feature_groups=self.columns).ranks_
            for output in _outputs(self.y)
        ]
        arrays: dict[str, Array] = {"ranks": _best_ranks(ranks)}
        if self.similar:
            near = nearest_features(FilterData(self.X, _outputs(self.y)[0]), self.columns)
            arrays["others"], arrays["shares"] = near
        if self.relevance is not None and self.best is not None:
            arrays = _of_all_features(arrays, self.relevance, self.best)
        return arrays, perf_counter() - start

    def alone(self) -> tuple[dict[str, Array], float]:
        """Return the same on one thread, for use next to other processes."""
        self.ensemble.set_params(n_jobs=1)
        return self()


def _outputs(y: Array) -> list[Array]:
    """Return the outputs that vary, or one of them if none does."""
    return varying_outputs(y) or [y if y.ndim == 1 else y[:, 0]]


def _best_ranks(ranks: Sequence[Array]) -> Array:
    """Return one rank per feature for several outputs: the best one, ties broken by the mean."""
    if len(ranks) == 1:
        return ranks[0]
    p = ranks[0].shape[1]
    return rank_scores(np.max(ranks, axis=0) + np.mean(ranks, axis=0) / (2 * p))


def _of_all_features(
    arrays: Mapping[str, Array], relevance: Array, best: Array
) -> dict[str, Array]:
    """Return arrays of all features: the best ones as ranked, the others below by relevance."""
    p = len(relevance)
    scores = np.tile(rankdata(relevance), (len(arrays["ranks"]), 1))
    scores[:, best] = p + 1 + p * arrays["ranks"]
    found = {"ranks": rank_scores(scores)}
    if "others" in arrays:
        others = np.zeros((p, arrays["others"].shape[1]), dtype=np.int64)
        shares = np.zeros(others.shape)
        others[best], shares[best] = best[arrays["others"]], arrays["shares"]
        found |= {"others": others, "shares": shares}
    return found


def _narrowed(
    X: Any, rows: Array, features: Array, columns: Sequence[Sequence[int]] | None
) -> tuple[Any, tuple[tuple[int, ...], ...] | None]:
    """Return some rows of some features, and the columns of each feature in the result."""
    every = None if len(rows) == X.shape[0] else rows
    if columns is None:
        return take_block(X, every, features), None
    members = [list(columns[j]) for j in features]
    ends = np.cumsum([len(own) for own in members])
    moved = tuple(tuple(range(e - len(own), e)) for own, e in zip(members, ends.tolist()))
    return take_block(X, every, np.concatenate(members)), moved


def _run(
    jobs: Iterator[_RankingJob], count: int, n_jobs: int | None
) -> Iterator[tuple[dict[str, Array], float]]:
    """Yield the results of ``count`` jobs in order, with a progress bar if they take long."""
    if count == 0:
        return
    first = next(jobs)()  # an estimate of how long the others take
    yield first
    rest = first[1] * (count - 1)
    results: Iterable[Any] = (job() for job in jobs)
    # Processes have to be started and to import this package first.
    if rest > _SLOW_SECONDS and joblib.effective_n_jobs(n_jobs) > 1:
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
        results = parallel(joblib.delayed(job.alone)() for job in jobs)
    yield from tqdm(
        results,
        total=count,
        initial=1,
        desc="Ranking features on training folds",
        unit="fold",
        leave=False,
        disable=None if rest > _SLOW_SECONDS else True,  # None: shown on terminals only
    )


def feature_table(
    X: Any,
    y: Any,
    *,
    task: Literal["auto", "classification", "regression"] = "auto",
    filters: Sequence[Any] = DEFAULT_FILTERS,
    feature_names: Sequence[str] | None = None,
    feature_groups: Mapping[str, Sequence[str]] | None = None,
    fixed_features: Sequence[str] = (),
    feature_costs: Sequence[float] | Mapping[str, float] | None = None,
    expected_n_features: float | None = None,
    min_features: int = 0,
    max_features: int | None = None,
    random_state: int = 0,
) -> FeatureTable:
    """Return the features with filter ranks, for :func:`optuna_mofs.suggest_features`.

    The samplers of this package use the filter ranks and the expected number of features (Binder
    et al. 2020, section 4.3) from the first trial on.

    Args:
        X: Array, DataFrame or sparse matrix.
        y: Target.
        task: ``"classification"``, ``"regression"``, or ``"auto"`` to decide by ``y``.
        filters: Filters by name or as functions; empty for none.
        feature_names: Names of the columns if X has none.
        feature_groups: Names of columns that are one feature, by name of the feature.
        fixed_features: Names of features that are always selected.
        feature_costs: Cost of each feature, as a sequence or by name (1 for those not named).
        expected_n_features: Expected number of features at the start of a search; by default
            that of decision trees on the data.
        min_features: Minimum number of features of a set, fixed ones included.
        max_features: Maximum number of features of a set, fixed ones included.
        random_state: Seed of the filters.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> table = feature_table(X, y, filters=["anova_f"], fixed_features=["alcohol"])
        >>> len(table), len(table.free), table.ranks.shape
        (13, 12, (1, 13))
    """
    check_choice("task", task, ("auto", "classification", "regression"))
    resolved = detect_task(y) if task == "auto" else task
    data = Dataset(X, y, classification=resolved == "classification", feature_names=feature_names)
    layout = feature_layout(
        data.column_names,
        groups=feature_groups,
        fixed=fixed_features,
        costs=feature_costs,
        min_features=min_features,
        max_features=max_features,
    )
    return Ranking(data, layout, filters, random_state, expected_n_features).table
