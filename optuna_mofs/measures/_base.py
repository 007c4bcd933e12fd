"""Measures, and the folds and configurations that they evaluate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from sklearn.utils import _safe_indexing

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice
from optuna_mofs.features._table import FeatureTable


@dataclass(eq=False)
class Fold:
    """One fitted model of the cross-validation, with the data it was fitted on and tested on.

    ``X_train`` and ``X_test`` have the selected columns only. If no column is selected, the
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
    #: Row numbers of the test fold, to look up data that is not in X, such as a sensitive column.
    test_rows: Array | None = None

    @cached_property
    def prediction(self) -> Array:
        """The predictions on the test fold."""
        return np.asarray(self.estimator.predict(self.X_test))

    def score(self, *, train: bool = False) -> float:
        """Return the objective's score on the test fold, or on the training fold."""
        X, y, weight = (
            (self.X_train, self.y_train, self.train_weight)
            if train
            else (self.X_test, self.y_test, self.test_weight)
        )
        options = {} if weight is None else {"sample_weight": weight}
        return float(self.scorer(self.estimator, X, y, **options))


@dataclass(eq=False)
class Evaluation:
    """One configuration: its feature set and its unfitted estimator.

    Args:
        table: The features.
        mask: Mask over all features that :meth:`FeatureSelectionObjective.refit` would use.
        fold_masks: Mask of each fold (they differ only if filters rank features per fold).
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
        """All rows with the selected columns, which are copied when first needed."""
        return _safe_indexing(self.full_X, self.table.columns_of(self.mask), axis=1)


@dataclass(frozen=True)
class Measure:
    """A number computed from a configuration.

    Pass exactly one of ``fold`` and ``whole``.

    Args:
        name: Its name on axes and in tables.
        fold: Function of a :class:`Fold`; the measure is the mean over folds.
        whole: Function of the :class:`Evaluation`.
        direction: ``"minimize"`` or ``"maximize"``.
        worst: Worst possible or plausible value, the default reference point of the hypervolume;
            None if there is none. It can be a function of the feature table.
        classification_only: Whether it needs a classifier.

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
    classification_only: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(
                f"The name of a measure must be a non-empty string, got {self.name!r}."
            )
        if (self.fold is None) == (self.whole is None):
            raise ValueError(f"Measure {self.name!r} needs exactly one of fold= and whole=.")
        if not callable(self.fold or self.whole):
            raise ValueError(
                f"Measure {self.name!r} needs a function, got {self.fold or self.whole!r}."
            )
        check_choice("direction", self.direction, ("minimize", "maximize"))

    def worst_of(self, table: FeatureTable) -> float | None:
        """Return the worst value for these features."""
        return float(self.worst(table)) if callable(self.worst) else self.worst
