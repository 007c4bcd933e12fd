"""Boosting with early stopping that is safe inside cross-validation."""

from __future__ import annotations

from inspect import signature
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from optuna_mofs._imports import optional_import
from optuna_mofs._typing import Indices


def validation_split(
    n_rows: int, fraction: float, seed: int, codes: npt.NDArray[Any] | None = None
) -> tuple[Indices, Indices]:
    """Split rows into a part to fit on and a part to watch.

    Args:
        n_rows: Number of rows.
        fraction: Share of the rows to watch (at least one row if possible).
        seed: Same seed, same split.
        codes: Class codes; each class gives its share, and keeps at least one row to fit on.

    Returns:
        Sorted row numbers of both parts; the second is empty if there is nothing to spare.

    Example:
        >>> import numpy as np
        >>> fit, watch = validation_split(10, 0.2, 0, np.array([0] * 5 + [1] * 5))
        >>> len(fit), (watch < 5).sum().item(), (watch >= 5).sum().item()
        (8, 1, 1)
    """
    order = np.random.default_rng(seed).permutation(n_rows)
    if codes is None:
        spare = order[1:]
    else:
        order = order[np.argsort(codes[order], kind="stable")]
        _, first = np.unique(codes[order], return_index=True)
        # The first row of each class stays: a class that is only watched cannot be learned.
        spare = np.delete(order, first)
    wanted = min(max(1, round(fraction * n_rows)), len(spare))
    # Evenly spaced picks of rows sorted by class give every class its share.
    places = ((np.arange(wanted) + 0.5) * len(spare) / max(wanted, 1)).astype(int)
    watch = np.sort(spare[places])
    return np.setdiff1d(np.arange(n_rows), watch), watch


def _library(booster: Any) -> str | None:
    for cls in type(booster).__mro__:
        name = cls.__module__.partition(".")[0]
        if name in ("xgboost", "lightgbm"):
            return name
    return None


class _EarlyStopping(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Split, fit and watch; the classifier and the regressor add the targets' side."""

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
        patience, fraction = self.patience, self.validation_fraction
        if patience is not None and (
            not isinstance(patience, Integral) or isinstance(patience, bool) or patience < 1
        ):
            raise ValueError(
                f"patience={patience!r} is not a positive integer; give the number of rounds "
                "without improvement, or None for no early stopping."
            )
        if not isinstance(fraction, Real) or not 0 < fraction < 1:
            raise ValueError(f"validation_fraction={fraction!r} is not between 0 and 1; try 0.1.")
        if patience is not None and _library(self.booster) is None:
            raise TypeError(
                f"booster={self.booster!r} is neither an xgboost nor a lightgbm estimator; "
                "pass for example XGBClassifier(), or patience=None."
            )

    def _arrays(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        # Plain arrays: both libraries refuse some column names (brackets, JSON characters).
        return validate_data(
            self, X, y, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", **options
        )

    def _fit_booster(
        self, X: npt.NDArray[Any], y: npt.NDArray[Any], weight: Any, codes: Any
    ) -> None:
        booster = clone(self.booster)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        own = booster.get_params(deep=False)
        if self.random_state is not None and own.get("random_state", 0) is None:
            booster.set_params(random_state=seed)
        if weight is not None:
            weight = _check_sample_weight(weight, X)
        fit, watch = np.arange(len(X)), np.empty(0, dtype=np.intp)
        if self.patience is not None:
            fit, watch = validation_split(len(X), self.validation_fraction, seed, codes)
        keywords: dict[str, Any] = {} if weight is None else {"sample_weight": weight[fit]}
        if len(watch):
            watched = None if weight is None else [weight[watch]]
            keywords |= self._watching(booster, X[watch], y[watch], watched)
        self.booster_ = booster.fit(X[fit], y[fit], **keywords)
        self.validation_rows_ = watch
        self.n_rounds_ = self._rounds() if len(watch) else own.get("n_estimators")

    def _watching(self, booster: Any, X: Any, y: Any, weights: Any) -> dict[str, Any]:
        """Keywords of ``fit`` that make each library watch the rows and stop."""
        patience = int(self.patience or 0)
        if _library(booster) == "xgboost":
            booster.set_params(early_stopping_rounds=patience)
            return {"eval_set": [(X, y)], "sample_weight_eval_set": weights, "verbose": False}
        lightgbm = optional_import("lightgbm", "boosting")
        stop = lightgbm.early_stopping(patience, verbose=False)
        keywords = {"callbacks": [stop], "eval_sample_weight": weights}
        if "eval_X" in signature(booster.fit).parameters:  # LightGBM 4.7 renamed it
            return {"eval_X": X, "eval_y": y, **keywords}
        return {"eval_set": [(X, y)], **keywords}

    def _rounds(self) -> int:
        if _library(self.booster_) == "xgboost":
            return int(self.booster_.best_iteration) + 1
        return int(self.booster_.best_iteration_)

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Importances of the fitted booster."""
        check_is_fitted(self)
        return np.asarray(self.booster_.feature_importances_, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class EarlyStoppingClassifier(ClassifierMixin, _EarlyStopping):  # type: ignore[misc]
    """XGBoost or LightGBM classifier that chooses its number of rounds by itself.

    ``fit`` sets aside a seeded, stratified share of *its own* training rows and stops when their
    loss has not improved for ``patience`` rounds, so nothing of a test fold is seen. Binder et
    al. (2020, Table 3) do so on their large data sets with at most 2000 rounds and a patience
    of 10. Labels of any kind are encoded, which XGBoost itself does not do.

    The booster's own parameters are reached as ``booster__learning_rate`` and so on.

    Args:
        booster: ``XGBClassifier`` or ``LGBMClassifier``; its ``n_estimators`` is the most rounds.
        patience: Rounds without improvement before stopping; ``None`` fits all rounds on all rows.
        validation_fraction: Share of the training rows that is only watched.
        random_state: Seeds the split, and the booster if that has no seed of its own.

    Attributes:
        booster_: The fitted booster.
        n_rounds_: Rounds that predictions use.
        validation_rows_: Positions of the watched training rows.

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
        """Fit the booster on part of the rows and watch the rest."""
        self._check_options()
        X, y = self._arrays(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only ({self.classes_[0]!r}); a classifier needs at least two."
            )
        self._fit_booster(X, codes, sample_weight, codes)
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.floating]:
        """Class probabilities, columns in the order of ``classes_``."""
        check_is_fitted(self)
        X = self._arrays(X, reset=False)
        return np.asarray(self.booster_.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Most probable class."""
        chosen = self.predict_proba(X).argmax(axis=1)
        result: npt.NDArray[Any] = self.classes_[chosen]
        return result


class EarlyStoppingRegressor(RegressorMixin, _EarlyStopping):  # type: ignore[misc]
    """XGBoost or LightGBM regressor that chooses its number of rounds by itself.

    See :class:`EarlyStoppingClassifier`; the split is random instead of stratified.

    Args:
        booster: ``XGBRegressor`` or ``LGBMRegressor``; its ``n_estimators`` is the most rounds.
        patience: Rounds without improvement before stopping; ``None`` fits all rounds on all rows.
        validation_fraction: Share of the training rows that is only watched.
        random_state: Seeds the split, and the booster if that has no seed of its own.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the booster on part of the rows and watch the rest."""
        self._check_options()
        X, y = self._arrays(X, y, y_numeric=True)
        self._fit_booster(X, y, sample_weight, None)
        return self

    def predict(self, X: Any) -> npt.NDArray[np.floating]:
        """Predicted targets."""
        check_is_fitted(self)
        return np.asarray(self.booster_.predict(self._arrays(X, reset=False)))
