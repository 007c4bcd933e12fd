"""Boosting with early stopping that is safe inside cross-validation."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from optuna_mofs._imports import optional_import
from optuna_mofs._tables import check_labels, to_pandas
from optuna_mofs._typing import Array, Floats, Indices
from optuna_mofs._validation import check_float, check_int, check_one_kind


def validation_split(
    n_rows: int, fraction: float, seed: int, codes: Array | None = None
) -> tuple[Indices, Indices]:
    """Return sorted row numbers of a training and a validation part.

    ``fraction`` is the share of validation rows; there is at least one, unless no row can be
    spared. With class ``codes`` the split is stratified, and each class has a training row.
    """
    order = np.random.default_rng(seed).permutation(n_rows)
    if codes is None:
        spare = order[1:]
    else:
        order = order[np.argsort(codes[order], kind="stable")]
        _, first = np.unique(codes[order], return_index=True)
        # The first row of each class is a training row: an absent class cannot be learned.
        spare = np.delete(order, first)
    size = min(max(1, round(fraction * n_rows)), len(spare))
    # Evenly spaced positions in rows sorted by class make the split stratified.
    positions = ((np.arange(size) + 0.5) * len(spare) / max(size, 1)).astype(int)
    validation = np.sort(spare[positions])
    return np.setdiff1d(np.arange(n_rows), validation), validation


def _library(booster: Any) -> str | None:
    for cls in type(booster).__mro__:
        name = cls.__module__.partition(".")[0]
        if name in ("xgboost", "lightgbm", "catboost"):
            return name
    return None


class _EarlyStopping(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """The common part of the classifier and the regressor."""

    def __init__(
        self,
        booster: Any,
        *,
        patience: int | None = 10,
        validation_fraction: float = 0.1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.booster = booster
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _check_options(self) -> None:
        fraction = check_float("validation_fraction", self.validation_fraction, 0, 1)
        if fraction in (0, 1):
            raise ValueError(f"validation_fraction must not be {fraction:g}. Try 0.1.")
        if self.patience is None:
            return
        check_int("patience", self.patience, 1)
        if _library(self.booster) is None:
            raise TypeError(
                "booster must be an xgboost, lightgbm or catboost estimator, got "
                f"{self.booster!r}. Pass for example XGBClassifier(), or patience=None."
            )

    def _arrays(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        X = to_pandas(X)
        if isinstance(X, pd.DataFrame) and not all(map(is_numeric_dtype, X.dtypes)):
            return self._frame(X, y, **options)
        # Plain arrays, because both libraries reject some column names (with brackets, or quotes).
        return validate_data(
            self,
            check_labels(X),
            y,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            **options,
        )

    def _frame(
        self, X: pd.DataFrame, y: Any, *, reset: bool = True, y_numeric: bool = False
    ) -> Any:
        """Return a table with text and categories as categories, which are those of ``fit``."""
        validate_data(self, check_labels(X), reset=reset, skip_check_array=True)
        frame = X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1)
        if reset:
            nominal = [name for name, kind in frame.dtypes.items() if not is_numeric_dtype(kind)]
            self.categories_: dict[Any, Any] = {
                name: frame[name].astype("category").dtype for name in nominal
            }
        for name, kind in self.categories_.items():
            # Categories that fit did not see are missing.
            known = frame[name].isin(kind.categories)
            frame[name] = frame[name].astype(object).where(known).astype(kind)
        if _library(self.booster) == "catboost":
            # CatBoost accepts text, but no missing category.
            frame = frame.astype(dict.fromkeys(self.categories_, object))
            frame = frame.fillna(dict.fromkeys(self.categories_, ""))
        if isinstance(y, str):
            return frame
        y = column_or_1d(y, warn=True)
        return frame, y.astype(float) if y_numeric else y

    def _fit_booster(self, X: Any, y: Array, weight: Any, codes: Any) -> None:
        booster = clone(self.booster)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        own = booster.get_params(deep=False)
        library = _library(booster)
        # CatBoost lists only parameters that are set.
        is_seeded = own.get("random_state", own.get("random_seed")) is not None
        if self.random_state is not None and library is not None and not is_seeded:
            booster.set_params(random_state=seed)
        if isinstance(X, pd.DataFrame) and library == "xgboost":
            booster.set_params(enable_categorical=True)
        if isinstance(X, pd.DataFrame) and library == "catboost":
            booster.set_params(cat_features=list(self.categories_))
        if weight is not None:
            weight = _check_sample_weight(weight, X)
        train, validation = np.arange(len(X)), np.empty(0, dtype=np.intp)
        if self.patience is not None:
            train, validation = validation_split(len(X), self.validation_fraction, seed, codes)
        keywords: dict[str, Any] = {} if weight is None else {"sample_weight": weight[train]}
        if len(validation):
            weights = None if weight is None else [weight[validation]]
            held_out = _safe_indexing(X, validation)
            keywords |= self._stopping(booster, held_out, y[validation], weights)
        self.booster_ = booster.fit(_safe_indexing(X, train), y[train], **keywords)
        self.validation_rows_ = validation
        self.n_rounds_ = own.get("n_estimators")
        if len(validation):
            is_xgboost = library == "xgboost"
            best = booster.best_iteration if is_xgboost else booster.best_iteration_
            # LightGBM counts from 1, the others from 0.
            self.n_rounds_ = int(best) + (library != "lightgbm")

    def _stopping(self, booster: Any, X: Any, y: Any, weights: Any) -> dict[str, Any]:
        """Return the arguments of ``fit`` that stop early by the loss on these rows."""
        patience = int(self.patience or 0)
        if _library(booster) == "xgboost":
            booster.set_params(early_stopping_rounds=patience)
            return {"eval_set": [(X, y)], "sample_weight_eval_set": weights, "verbose": False}
        if _library(booster) == "catboost":
            pool = optional_import("catboost", "boosting").Pool
            nominal = booster.get_params().get("cat_features")
            held_out = pool(X, y, weight=weights and weights[0], cat_features=nominal)
            return {"eval_set": held_out, "early_stopping_rounds": patience}
        lightgbm = optional_import("lightgbm", "boosting")
        stop = lightgbm.early_stopping(patience, verbose=False)
        keywords = {"callbacks": [stop], "eval_sample_weight": weights}
        if "eval_X" in signature(booster.fit).parameters:  # renamed in LightGBM 4.7
            return {"eval_X": X, "eval_y": y, **keywords}
        return {"eval_set": [(X, y)], **keywords}

    @property
    def feature_importances_(self) -> Floats:
        """The importances of the fitted booster."""
        check_is_fitted(self)
        return np.asarray(self.booster_.feature_importances_, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class EarlyStoppingClassifier(ClassifierMixin, _EarlyStopping):  # type: ignore[misc]
    """Boosting classifier that chooses its number of rounds by early stopping.

    ``fit`` sets aside a seeded, stratified share of *its own* training rows and stops when their
    loss has not improved for ``patience`` rounds, so that nothing leaks from a test fold. Binder
    et al. (2020, Table 3) do so on their large data sets with at most 2000 rounds and a patience
    of 10. Labels of any type are encoded, which XGBoost itself does not do. Columns of text and
    categories are passed on as categories; those that were not seen in ``fit`` are missing.

    The booster's own parameters are available as ``booster__learning_rate`` and so on.

    Args:
        booster: ``XGBClassifier``, ``LGBMClassifier`` or ``CatBoostClassifier``; ``n_estimators``
            is the maximum number of rounds.
        patience: Number of rounds without improvement before stopping; ``None`` fits all rounds on
            all rows.
        validation_fraction: Share of the training rows that is set aside.
        random_state: Seed of the split, and of the booster if it has no seed of its own.

    Attributes:
        booster_: The fitted booster.
        n_rounds_: Number of rounds that predictions use.
        validation_rows_: Positions of the training rows that were set aside.

    Example:
        >>> from lightgbm import LGBMClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> booster = LGBMClassifier(n_estimators=500, n_jobs=1, verbose=-1)
        >>> model = EarlyStoppingClassifier(booster, random_state=0).fit(X, y)
        >>> 1 <= model.n_rounds_ < 500, len(model.validation_rows_)
        (True, 15)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the booster on part of the rows and stop early by the loss on the others."""
        self._check_options()
        X, y = self._arrays(X, y)
        check_classification_targets(check_one_kind(y))
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have at least two classes, got one class: {self.classes_[0]!r}."
            )
        self._fit_booster(X, codes, sample_weight, codes)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Return class probabilities, with columns in the order of ``classes_``."""
        check_is_fitted(self)
        X = self._arrays(X, reset=False)
        return np.asarray(self.booster_.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])


class EarlyStoppingRegressor(RegressorMixin, _EarlyStopping):  # type: ignore[misc]
    """Boosting regressor that chooses its number of rounds by early stopping.

    See :class:`EarlyStoppingClassifier`; the split is random instead of stratified.

    Args:
        booster: ``XGBRegressor``, ``LGBMRegressor`` or ``CatBoostRegressor``; ``n_estimators`` is
            the maximum number of rounds.
        patience: Number of rounds without improvement before stopping; ``None`` fits all rounds on
            all rows.
        validation_fraction: Share of the training rows that is set aside.
        random_state: Seed of the split, and of the booster if it has no seed of its own.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the booster on part of the rows and stop early by the loss on the others."""
        self._check_options()
        X, y = self._arrays(X, y, y_numeric=True)
        self._fit_booster(X, y, sample_weight, None)
        return self

    def predict(self, X: Any) -> NDArray[np.floating]:
        """Return the predicted targets."""
        check_is_fitted(self)
        return np.asarray(self.booster_.predict(self._arrays(X, reset=False)))
