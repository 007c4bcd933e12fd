"""Filters that rank features by models of all of them: recursive elimination and the lasso path.

In an elimination, a model is refitted after the least important features have been dropped. A
feature is then compared with those that remain, not with the noise among which it started.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Unpack

import numpy as np
import optuna
import pandas as pd
from scipy.stats import rankdata
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge, lars_path
from sklearn.pipeline import Pipeline
from threadpoolctl import ThreadpoolController

from optuna_mofs._typing import Array, Floats, Indices
from optuna_mofs.filters._data import FilterData, FilterOptions, prepare
from optuna_mofs.filters._forest import forest_importances
from optuna_mofs.filters._registry import FilterFunction, register_filter
from optuna_mofs.filters._univariate import bin_ranks, correlations, unit_rows

_logger = optuna.logging.get_logger("optuna.mofs")

#: With more features, only the best by a univariate score take part in the elimination.
MAX_FEATURES = 2_000
#: Rows × columns of a model; of more rows, a random sample is used.
MAX_ENTRIES = 2_000_000
MIN_ROWS = 500
# Many features are halved, few are dropped carefully: the order of the best ones matters most.
MANY = 200
DROP_OF_MANY = 0.5
DROP_OF_FEW = 0.3
#: This many last features are ordered by one model.
LAST = 5
N_TREES = 100
#: With more rows, each tree gets a bootstrap sample of this size.
MAX_TREE_ROWS = 1_000
MAX_PATH_STEPS = 200
#: Columns of unit variance and scores that agree to this many decimals are equal.
N_DECIMALS = 8


@register_filter
def forest_elimination(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the order of recursive elimination with extremely randomized trees.

    A forest of 100 trees with random thresholds (Geurts et al., 2006) is fitted, the features with
    the lowest impurity importance are dropped, and so on (Díaz-Uriarte and Alvarez de Andrés,
    2006). With more than 2,000 features, it starts with those of the highest information gain.
    Copies of a feature enter once and share its score.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 6))
        >>> scores = forest_elimination(X, X[:, 2] * X[:, 4] > 0, random_state=0)
        >>> sorted(np.argsort(scores)[-2:].tolist())
        [2, 4]
    """
    data = prepare(X, y, options)
    regression = data.task == "regression"

    def importances(values: Array, target: Array) -> Floats:
        # The best threshold of a noise feature fits the noise of few rows; a random one does not.
        is_large = len(target) > MAX_TREE_ROWS
        forest = (ExtraTreesRegressor if regression else ExtraTreesClassifier)(
            n_estimators=N_TREES,
            bootstrap=is_large,
            max_samples=MAX_TREE_ROWS if is_large else None,
            min_samples_leaf=2,
            # A third is better for few features, but slow, and many are only halved.
            max_features=1 / 3 if regression and values.shape[1] <= MANY else "sqrt",
            random_state=data.seed,
            n_jobs=data.n_jobs,
        )
        return forest_importances(forest, values, target)

    def encode(columns: Indices, samples: Indices) -> Array:
        return bin_ranks(data.ranks[np.ix_(columns, samples)], data.n_samples)

    return Candidates(data, data.information.relevance, encode).eliminate(importances)


@register_filter
def linear_elimination(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the order of recursive elimination with a regularized linear model.

    Features are dropped by their squared coefficients (Guyon et al., 2002) in a logistic or ridge
    regression on standardized columns; for a nominal feature, those of its levels are added.
    With more than 2,000 features, it starts with those of the highest correlation with the
    target. Copies of a feature enter once and share its score.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 6))
        >>> sorted(np.argsort(linear_elimination(X, X[:, 0] > X[:, 1]))[-2:].tolist())
        [0, 1]
    """
    data = prepare(X, y, options)
    model = Ridge() if data.task == "regression" else LogisticRegression(max_iter=200)
    return _linear_candidates(data).eliminate(
        lambda values, target: _model_importances(model.fit(values, target))
    )


@register_filter
def l1_path(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the order in which features enter the lasso path, the first one highest.

    The path is that of least squares on standardized columns (Efron et al., 2004), with at most
    200 steps. Each class has a path against the rest, and a feature has its best place, where
    places below the noise level √(2 log p / n) come last: a class that no feature predicts has a
    first one nevertheless. Features that never enter are ordered by their correlation with what
    the path leaves unexplained, those in the same place by their correlation with the target.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 6))
        >>> np.argsort(-l1_path(X, 3 * X[:, 5] + X[:, 1]))[:2].tolist()
        [5, 1]
    """
    data = prepare(X, y, options)
    return _linear_candidates(data).by_path()


def estimator_elimination(estimator: Any) -> tuple[str, FilterFunction] | None:
    """Return a filter that eliminates features by the importances of an estimator.

    The filter fits the estimator (of a pipeline, its last step) to encoded, imputed and
    standardized columns, drops the features with the lowest ``feature_importances_`` or squared
    ``coef_``, and so on; see :func:`linear_elimination`.

    Args:
        estimator: Any estimator with the parameters to use; it is cloned.

    Returns:
        A pair ``("estimator_elimination", function)`` for the argument ``filters`` of ensembles
        and objectives, or None if the estimator has neither attribute after a fit to a small
        table.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from sklearn.svm import LinearSVC
        >>> from optuna_mofs.filters import FilterEnsemble
        >>> name, function = estimator_elimination(LinearSVC())
        >>> ensemble = FilterEnsemble(["auc", (name, function)], random_state=0)
        >>> ensemble.fit(*load_wine(return_X_y=True)).ranks_.shape
        (2, 13)
        >>> estimator_elimination(KNeighborsClassifier()) is None
        True
    """
    values = np.random.default_rng(0).normal(size=(40, 3))
    try:
        learner = _last_step(estimator)
        target = np.arange(40) % 2 if is_classifier(learner) else values[:, 0] - values.min() + 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(learner).fit(values, target)
            found = _model_importances(model)
    except Exception:  # any error of any library: it cannot be used on plain arrays
        return None
    if found.shape != (3,) or not np.isfinite(found).all():
        return None
    return "estimator_elimination", EstimatorElimination(learner, linear=not _has_trees(model))


@dataclass(frozen=True)
class EstimatorElimination:
    """The filter of :func:`estimator_elimination`; an object, so that it can be pickled."""

    estimator: Any
    #: Whether the importances are coefficients.
    linear: bool = True
    #: Called with FilterData.
    shares_data: ClassVar[bool] = True

    def __call__(self, X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
        """Score by the order of elimination; by correlations if the estimator raises."""
        data = prepare(X, y, options)
        model = clone(self.estimator)
        seeds = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
        model.set_params(**dict.fromkeys(seeds, data.seed))
        candidates = _linear_candidates(data, None if self.linear else data.information.relevance)
        try:
            return candidates.eliminate(
                lambda values, target: _model_importances(clone(model).fit(values, target))
            )
        except Exception as error:  # any error of any library must not stop a search
            _logger.warning(f"estimator_elimination failed: {type(error).__name__}: {error}")
            return candidates.eliminate(lambda values, target: np.zeros(values.shape[1]))


def _last_step(estimator: Any) -> Any:
    if isinstance(estimator, Pipeline):
        return _last_step(estimator.steps[-1][1])
    if isinstance(estimator, TransformedTargetRegressor) and estimator.regressor is not None:
        return clone(estimator).set_params(regressor=_last_step(estimator.regressor))
    return estimator


def _has_trees(model: Any) -> bool:
    return hasattr(getattr(model, "regressor_", model), "feature_importances_")


def _model_importances(model: Any) -> Floats:
    """Return one number per column; an AttributeError if the model has none."""
    trees = _has_trees(model)
    model = getattr(model, "regressor_", model)
    if trees:
        return np.asarray(model.feature_importances_, dtype=np.float64)
    return np.asarray((np.atleast_2d(model.coef_) ** 2).sum(axis=0), dtype=np.float64)


def _linear_candidates(data: FilterData, relevance: Floats | None = None) -> Candidates:
    """Return candidates with standardized columns, by default the most correlated ones."""
    if relevance is None:
        relevance = np.abs(correlations(data, data.indicators())).max(axis=1)
        if data.nominal.any():
            # The correlation of a normal pair with that mutual information (Linfoot, 1957), as
            # codes of levels have no order.
            information = np.maximum(data.information.relevance[data.nominal], 0.0)
            relevance[data.nominal] = np.sqrt(1.0 - np.exp(-2.0 * information))

    def encode(columns: Indices, samples: Indices) -> list[Array]:
        """Return the values of a numeric feature, one indicator per level of a nominal one."""
        rows = list(data.rows(columns, samples))
        for k in np.flatnonzero(data.nominal[columns]):
            rows[k] = _indicators(data.codes[columns[k], samples])
        return rows

    return Candidates(data, relevance, encode)


def _indicators(codes: Array) -> Floats:
    """Return one row of zeros and ones per level; one of two levels is enough."""
    levels = np.unique(codes)
    chosen = levels[int(len(levels) == 2) :]
    return np.asarray(codes == chosen[:, None], dtype=np.float64)


class Candidates:
    """The features that a model ranks: varying, distinct, and not more than 2,000.

    They are in an order that depends on their content only, so that a permutation of the columns
    permutes the scores, whatever random numbers a model draws.

    Args:
        data: The prepared data.
        relevance: A univariate score of each feature. The features that are no candidates are
            ranked by it, below all candidates.
        encode: Returns the values of each column at some samples: one row, or several rows.
    """

    def __init__(
        self,
        data: FilterData,
        relevance: Floats,
        encode: Callable[[Indices, Indices], Iterable[Array]],
    ) -> None:
        self.data = data
        self.relevance = data.finish(np.round(relevance, N_DECIMALS))
        columns = np.flatnonzero(~data.constant)
        columns = columns[np.argsort(-self.relevance[columns], kind="stable")][:MAX_FEATURES]
        samples = _sample(data, len(columns))
        self.target: Array = data.y[samples]
        by_content: dict[bytes, tuple[Floats, list[int]]] = {}
        encoded = [np.atleast_2d(block) for block in encode(columns, samples)]
        ends = np.cumsum([len(block) for block in encoded])[:-1]
        rows = np.concatenate(encoded) if encoded else np.empty((0, len(samples)))
        for column, unit in zip(columns.tolist(), np.split(_canonical(rows), ends)):
            by_content.setdefault(unit.tobytes(), (unit, []))[1].append(column)
        # The least relevant first, so that they are dropped first where importances tie.
        contents = sorted(by_content, key=lambda key: (self.relevance[by_content[key][1][0]], key))
        blocks = [by_content[key][0] for key in contents]
        #: Column numbers of each candidate: a feature and its copies.
        self.members = [by_content[key][1] for key in contents]
        self.owner = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
        #: Samples × rows of all candidates.
        self.values = np.concatenate(blocks).T if blocks else np.empty((len(samples), 0))

    def eliminate(self, importances: Callable[[Array, Array], Floats]) -> Floats:
        """Return the scores of all features by the order of elimination.

        ``importances`` takes samples × columns and the target.
        """
        order: list[int] = []
        left = np.arange(len(self.members))
        while len(left):
            inside = np.isin(self.owner, left)
            with _blas_libraries().limit(limits=1), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # models need not converge
                found = importances(np.ascontiguousarray(self.values[:, inside]), self.target)
            total = np.bincount(self.owner[inside], weights=np.nan_to_num(found))[left]
            share = np.round(total / max(total.max(), np.finfo(float).tiny), N_DECIMALS)
            n_dropped = len(left)
            if n_dropped > LAST:
                drop = DROP_OF_MANY if n_dropped > MANY else DROP_OF_FEW
                n_dropped = min(int(np.ceil(drop * n_dropped)), n_dropped - 1)
            dropped = np.argsort(share, kind="stable")[:n_dropped]
            order.extend(left[dropped].tolist())
            left = np.delete(left, dropped)
        return self._scores(order)

    def by_path(self) -> Floats:
        """Return the scores of all features by the order of entry into the lasso path."""
        m = len(self.members)
        place = np.full(m, np.inf)
        remainder, relevance = np.zeros(m), np.zeros(m)
        values = np.asfortranarray(self.values)
        samples = len(self.target)
        noise = np.sqrt(2.0 * np.log(max(m, 1)) / samples)
        regression = self.data.task == "regression"
        targets = self.target[None] if regression else _indicators(self.target)
        for target in unit_rows(targets) if m else ():
            with _blas_libraries().limit(limits=1), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it may stop early at collinear columns
                alphas, _, path = lars_path(
                    values, target, max_iter=MAX_PATH_STEPS, method="lasso"
                )
            entered = path != 0
            first = entered.argmax(axis=1)
            # The correlation with the residual at which a column enters.
            strength = alphas[np.maximum(first - 1, 0)] * np.sqrt(samples)
            first = first + MAX_PATH_STEPS * (strength < noise)
            np.minimum.at(place, self.owner, np.where(entered.any(axis=1), first, np.inf))
            for total, vector in (
                (remainder, target - values @ path[:, -1]),
                (relevance, target),
            ):
                np.maximum.at(total, self.owner, np.abs(vector @ values) / np.sqrt(samples))
        tie = np.where(np.isinf(place), remainder, relevance)
        return self._scores(np.lexsort((np.round(tie, N_DECIMALS), -place)).tolist())

    def _scores(self, order: list[int]) -> Floats:
        """Return one score per feature from the candidates, the least important first."""
        scores = rankdata(self.relevance)
        for place, candidate in enumerate(order, start=1):
            scores[self.members[candidate]] = self.data.n_features + place
        return self.data.finish(scores)


def _canonical(rows: Array) -> Floats:
    """Scale rows to unit variance, the first entry not negative: equal for copies and mirrors."""
    unit = unit_rows(rows.astype(np.float64)) * np.sqrt(rows.shape[1])
    unit = np.round(unit, N_DECIMALS)
    first = unit[np.arange(len(unit)), (unit != 0).argmax(axis=1)]
    return unit * np.where(first < 0, -1.0, 1.0)[:, None] + 0.0  # no negative zero


def _sample(data: FilterData, n_columns: int) -> Indices:
    n_rows = max(MIN_ROWS, MAX_ENTRIES // max(n_columns, 1))
    if n_rows >= data.n_samples:
        return np.arange(data.n_samples)
    order = np.random.default_rng(data.seed).permutation(data.n_samples)
    if data.task == "classification":
        # Half of the sample has as many rows of each class as possible, so that no rare class
        # is left out.
        labels = pd.Series(data.y[order])
        place = labels.groupby(labels).cumcount().to_numpy()
        order = order[np.argsort(place >= n_rows // (2 * data.n_classes) + 1, kind="stable")]
    return np.sort(order[:n_rows])


@cache
def _blas_libraries() -> ThreadpoolController:
    return ThreadpoolController()  # slow: it inspects all loaded libraries
