"""Ranks of several filters on one data set, and their weighted mean."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from optuna_mofs._typing import Floats
from optuna_mofs._validation import check_numbers
from optuna_mofs.filters._data import DEFAULT_BINS, FilterData
from optuna_mofs.filters._registry import (
    DEFAULT_FILTERS,
    FilterSpec,
    resolve_filters,
    takes_filter_data,
)

if TYPE_CHECKING:
    import pandas as pd

N_DIGITS = 12  # scores that agree to this many significant digits are tied


def rank_scores(scores: ArrayLike) -> Floats:
    """Turn scores into equidistant ranks from 0 to 1, where 1 is the most relevant.

    Ties get the mean of their ranks, so scores that are all equal become 0.5; a single feature has
    rank 1. Scores equal to 12 significant digits are tied, so that copies of a feature do not
    differ by the last bit of a sum. NaN is the least relevant.

    Args:
        scores: One vector of scores, or several as rows.

    Example:
        >>> rank_scores([0.3, 0.9, 0.3, float("nan")]).tolist()
        [0.5, 1.0, 0.5, 0.0]
    """
    values = check_numbers("scores", scores)
    if values.ndim == 0 or values.size == 0:
        return np.array(values)
    if values.shape[-1] == 1:
        return np.ones(values.shape)
    values = np.where(np.isnan(values), -np.inf, values)
    normal = np.isfinite(values) & (np.abs(values) > np.finfo(float).tiny)
    fraction, exponent = np.frexp(np.where(normal, values, 1.0))
    values = np.where(normal, np.ldexp(np.round(fraction, N_DIGITS), exponent), values)
    return (rankdata(values, axis=-1) - 1.0) / (values.shape[-1] - 1)


class FilterEnsemble(BaseEstimator):  # type: ignore[misc]
    """An ensemble of feature filters (Binder et al., 2020, Section 4.2).

    Every filter scores every feature; the scores become ranks that are equidistant in [0, 1]. With
    a weight per filter, the score of a feature is the weighted mean of its ranks (eq. 1).

    Args:
        filters: Names (see :func:`~optuna_mofs.filters.filter_names`), functions
            ``f(X, y) -> p scores`` (higher is more relevant; they are called with ``X`` and ``y``
            as given to ``fit``, or with prepared data if they are registered by
            :func:`~optuna_mofs.filters.register_filter`), or pairs ``(name, function)``.
        task: ``"classification"``, ``"regression"``, or ``"auto"`` to decide by ``y``.
        bins: Number of bins of the filters that discretize.
        random_state: Seed of the filters that draw random numbers.
        n_jobs: Number of threads or processes of the filters that support several.

    Attributes:
        names_: Names of the M filters.
        scores_: Scores, M × p. With ``feature_groups``, p is the number of groups.
        ranks_: Ranks, M × p; 1 is the most relevant feature.
        features_: Names of the p features: columns of a DataFrame, else ``x0``, ``x1``, …
        n_features_in_: Number of columns of ``X``.
        feature_names_in_: Column names, if ``X`` is a DataFrame whose names are all strings.
        task_: The task, ``"auto"`` resolved.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> ensemble = FilterEnsemble(["auc", "jmi"], random_state=0).fit(X, y)
        >>> ensemble.ranks_.shape
        (2, 30)
        >>> ensemble.to_frame().index[0]
        'worst perimeter'
        >>> float(ensemble.aggregate([0.7, 0.3]).max())
        1.0
    """

    def __init__(
        self,
        filters: Sequence[FilterSpec] = DEFAULT_FILTERS,
        *,
        task: Literal["auto", "classification", "regression"] = "auto",
        bins: int = DEFAULT_BINS,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.filters = filters
        self.task = task
        self.bins = bins
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: Any, feature_groups: Sequence[ArrayLike] | None = None
    ) -> FilterEnsemble:
        """Score and rank all features.

        Args:
            X: Samples × columns: array, DataFrame or sparse matrix.
            y: Labels or numbers, one per sample.
            feature_groups: One sequence of column numbers per feature, where several columns are
                one feature, such as a one-hot encoded category. In each filter, a feature has the
                score of its best column. Columns in no group are left out.
        """
        resolved = resolve_filters(self.filters)
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):  # one draw, so that all filters share it
            seed = int(check_random_state(seed).randint(2**31 - 1))
        data = FilterData(
            X, y, task=self.task, bins=self.bins, random_state=seed, n_jobs=self.n_jobs
        )
        p = data.n_features
        columns = None if feature_groups is None else _check_groups(feature_groups, p)
        scores = np.empty((len(resolved), p))
        for row, (name, function) in enumerate(resolved):
            result = function(data) if takes_filter_data(function) else function(X, y)
            scores[row] = _check_scores(name, result, p)
        names = getattr(X, "columns", None)
        self.n_features_in_ = p
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        labels = [f"x{k}" for k in range(p)] if names is None else list(names)
        if columns is not None:
            scores = np.column_stack([scores[:, group].max(axis=1) for group in columns])
            labels = _group_labels(columns, labels)
        self.features_ = labels
        self.task_ = data.task
        self.names_ = [name for name, _ in resolved]
        self.scores_ = scores
        self.ranks_ = rank_scores(scores)
        return self

    def aggregate(self, weights: ArrayLike | None = None) -> Floats:
        """Return the weighted mean of the ranks, one number in [0, 1] per feature.

        Args:
            weights: One non-negative weight per filter, scaled to sum 1. ``None``: all equal.
        """
        check_is_fitted(self)
        m = len(self.names_)
        w = check_numbers("weights", np.ones(m) if weights is None else weights)
        if w.shape != (m,):
            raise ValueError(
                f"weights must hold one number per filter ({', '.join(self.names_)}), "
                f"that is {m}, got shape {w.shape}."
            )
        if not np.isfinite(w).all() or (w < 0).any():
            raise ValueError(f"weights must be finite and not negative, got {w.tolist()}.")
        if w.max() == 0:
            raise ValueError(
                "weights must not all be zero. Give at least one filter a positive weight."
            )
        w = w / w.max()  # so that the sum of huge weights is finite
        return (w / w.sum()) @ self.ranks_

    def to_frame(self, weights: ArrayLike | None = None) -> pd.DataFrame:
        """Return the ranks as a table of features × filters, the highest mean rank first.

        Args:
            weights: Weights of the mean, as in :meth:`aggregate`.
        """
        import pandas as pd

        mean = np.round(self.aggregate(weights), N_DIGITS)
        order = np.argsort(-mean, kind="stable")
        return pd.DataFrame(
            self.ranks_[:, order].T,
            index=pd.Index([self.features_[k] for k in order], name="feature"),
            columns=self.names_,
        )


def _check_scores(name: str, result: Any, p: int) -> Floats:
    scores = np.asarray(result, dtype=np.float64)
    if scores.shape != (p,):
        raise ValueError(
            f"Filter {name!r} must return one score for each of the {p} columns, "
            f"got shape {scores.shape}."
        )
    # The maximum over a group that has a NaN would be NaN.
    return np.where(np.isnan(scores), -np.inf, scores)


def _check_groups(groups: Sequence[ArrayLike], p: int) -> list[NDArray[np.int64]]:
    columns = [np.atleast_1d(np.asarray(group)) for group in groups]
    if not columns:
        raise ValueError(
            "feature_groups must not be empty. Pass one sequence of column numbers per feature."
        )
    for k, group in enumerate(columns):
        if group.ndim != 1 or len(group) == 0 or group.dtype.kind not in "iu":
            raise ValueError(
                f"feature_groups[{k}] must have at least one column number, got {groups[k]!r}."
            )
    every = np.concatenate(columns)
    if every.min() < 0 or every.max() >= p:
        raise ValueError(
            f"feature_groups must have columns from 0 to {p - 1}, "
            f"got {every.min()} to {every.max()}."
        )
    if len(np.unique(every)) < len(every):
        raise ValueError("feature_groups must not share columns, nor have a column twice.")
    return [group.astype(np.int64) for group in columns]


def _group_labels(columns: list[NDArray[np.int64]], names: list[Any]) -> list[Any]:
    """Return the name of a single column, or the common prefix of the names of several."""
    labels: list[Any] = []
    for k, group in enumerate(columns):
        if len(group) == 1:
            labels.append(names[group[0]])
            continue
        words = [str(names[column]) for column in group]
        prefix = os.path.commonprefix(words)  # noqa: RUF071 - letters, not components of a path
        labels.append(prefix.rstrip("_=. :-") or f"group{k}")
    if len(set(labels)) < len(labels):
        labels = [
            label if labels.count(label) == 1 else f"{label}#{k}" for k, label in enumerate(labels)
        ]
    return labels
