"""What a measure is, and what it may look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from sklearn.utils import _safe_indexing

from optuna_mofs._typing import Array
from optuna_mofs.features._table import FeatureTable


@dataclass(eq=False)
class Fold:
    """One fitted model of the cross-validation, with the data it was fitted on and tested on.

    ``X_train`` and ``X_test`` hold the selected columns only. Without any selected column the
    estimator is scikit-learn's dummy (the majority class, or the mean).
    """

    estimator: Any
    X_train: Any
    y_train: Array
    X_test: Any
    y_test: Array
    scorer: Callable[..., float]
    train_weight: Array | None = None
    test_weight: Array | None = None
    #: The rows of the test fold, to look up things beside X (a sensitive column, say).
    test_rows: Array | None = None

    @cached_property
    def prediction(self) -> Array:
        """Predictions on the test fold."""
        return np.asarray(self.estimator.predict(self.X_test))

    def score(self, *, train: bool = False) -> float:
        """The objective's score on the test fold, or on the training fold."""
        X, y, weight = (
            (self.X_train, self.y_train, self.train_weight)
            if train
            else (self.X_test, self.y_test, self.test_weight)
        )
        options = {} if weight is None else {"sample_weight": weight}
        return float(self.scorer(self.estimator, X, y, **options))


@dataclass(eq=False)
class Evaluation:
    """A configuration as a whole: the feature set, before or beside any fitted model.

    Args:
        table: The features.
        mask: Over all features, as :meth:`FeatureSelectionObjective.refit` would use it.
        fold_masks: The mask of each fold (they differ only for filters ranked by fold).
        estimator: The unfitted estimator with the trial's hyperparameters.
        full_X: All rows with all columns.
        y: The target.
    """

    table: FeatureTable
    mask: Array
    fold_masks: list[Array]
    estimator: Any
    full_X: Any  # noqa: N815
    y: Array

    @cached_property
    def X(self) -> Any:  # noqa: N802
        """All rows with the selected columns; copied only when a measure asks for them."""
        return _safe_indexing(self.full_X, self.table.columns_of(self.mask), axis=1)


@dataclass(frozen=True)
class Measure:
    """A number computed of a configuration.

    Give exactly one of ``fold`` and ``whole``.

    Args:
        name: Its name on axes and in tables.
        fold: Function of a :class:`Fold`; the measure is the mean over folds.
        whole: Function of the :class:`Evaluation`.
        direction: ``"minimize"`` or ``"maximize"``.
        worst: Worst sensible value, the default reference point of the hypervolume; None if there
            is none. It may be a function of the feature table.

    Example:
        >>> depth = Measure("depth", fold=lambda fold: fold.estimator.get_depth())
        >>> depth.direction
        'minimize'
    """

    name: str
    fold: Callable[[Fold], float] | None = None
    whole: Callable[[Evaluation], float] | None = None
    direction: Literal["minimize", "maximize"] = "minimize"
    worst: float | Callable[[FeatureTable], float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"A measure needs a name, but has {self.name!r}.")
        if (self.fold is None) == (self.whole is None):
            raise ValueError(f"Measure {self.name!r} needs exactly one of fold= and whole=.")
        if not callable(self.fold or self.whole):
            raise ValueError(
                f"Measure {self.name!r} needs a function, but has {self.fold or self.whole!r}."
            )
        if self.direction not in ("minimize", "maximize"):
            raise ValueError(
                f"Measure {self.name!r}: direction must be 'minimize' or 'maximize', "
                f"but is {self.direction!r}."
            )

    def worst_of(self, table: FeatureTable) -> float | None:
        """The worst sensible value for these features."""
        return self.worst(table) if callable(self.worst) else self.worst
