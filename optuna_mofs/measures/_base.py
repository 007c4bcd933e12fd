"""Measures, and the folds and configurations that they evaluate."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, Literal

import numpy as np

from optuna_mofs._estimators import requested, routing_is_enabled
from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice
from optuna_mofs.features._table import FeatureTable


def score_options(
    scorer: Any, weight: Array | None, groups: Array | None = None
) -> dict[str, Array]:
    """Return the keyword arguments of a scorer: what it requests, or the weights."""
    if routing_is_enabled() and hasattr(scorer, "get_metadata_routing"):
        return requested(scorer, "score", {"sample_weight": weight, "groups": groups})
    return {} if weight is None else {"sample_weight": weight}


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
    train_groups: Array | None = None
    test_groups: Array | None = None
    #: The last step of the estimator and the test rows as it gets them, if they are known.
    last_step: tuple[Any, Any] | None = None
    #: Results that several functions of the fold share, by name.
    cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def predictor(self) -> tuple[Any, Any]:
        """A model with the predictions of the estimator, and the test rows as it gets them."""
        return self.last_step or (self.estimator, self.X_test)

    @cached_property
    def prediction(self) -> Array:
        """The predictions on the test fold."""
        model, X_test = self.predictor
        return self._like_target(model.predict(X_test))

    def _like_target(self, found: Any) -> Array:
        """Return predictions; those of CatBoost for several classes have one column."""
        array: Array = np.asarray(found)
        is_column = array.ndim == 2 and array.shape[1] == 1 and self.y_test.ndim == 1
        return array[:, 0] if is_column else array

    def score(self, *, train: bool = False) -> float:
        """Return the objective's score on the test fold, or on the training fold."""
        if not train:
            return self._test_score
        options = score_options(self.scorer, self.train_weight, self.train_groups)
        return float(self.scorer(self.estimator, self.X_train, self.y_train, **options))

    @cached_property
    def _test_score(self) -> float:
        scorer, metric = self.scorer, getattr(self.scorer, "_score_func", None)
        model, X_test = self.estimator, self.X_test
        if metric is not None:
            model, X_test = self.predictor

            # Losses of rows need the predictions that the scorer passes to its metric.
            @wraps(metric)
            def record(y: Any, predicted: Any, **options: Any) -> Any:
                self.cache["response"] = self._like_target(predicted)
                return metric(y, predicted, **options)

            scorer = copy.copy(scorer)
            scorer._score_func = record  # type: ignore[attr-defined]
        options = score_options(scorer, self.test_weight, self.test_groups)
        return float(scorer(model, X_test, self.y_test, **options))

    @property
    def response(self) -> Array:
        """What the metric compares with the target of the test fold: labels, numbers or scores."""
        if not hasattr(self.scorer, "_score_func"):
            return self.prediction
        self.score()
        return self.cache["response"]


@dataclass(eq=False)
class Evaluation:
    """One configuration: its feature set and its unfitted estimator.

    Args:
        table: The features.
        mask: Mask over all features that :meth:`FeatureSelectionObjective.refit` would use.
        fold_masks: Mask of each fold (they differ only if filters rank features per fold).
        estimator: The unfitted estimator with the trial's hyperparameters.
        rows: Function that returns all rows of some columns.
        y: The target.
    """

    table: FeatureTable
    mask: Array
    fold_masks: list[Array]
    estimator: Any
    rows: Callable[[Array], Any]
    y: Array

    @cached_property
    def X(self) -> Any:  # noqa: N802
        """All rows with the selected columns, which are copied when first needed."""
        return self.rows(self.table.columns_of(self.mask))


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
        rows: Function of a :class:`Fold` that returns one loss per row of the test fold, whose
            mean (weighted by ``fold.test_weight``) is the value of the fold. With it a study can
            estimate the values on new rows, corrected for selection bias.
        worst_is_constant: Whether the value of a constant model, where it is finite, takes the
            place of ``worst``.
        average: How the values of the folds become one: ``"mean"``, or ``"median"`` for times,
            where a single fold can be far off.
        label: What it measures, for display: ``"1 - roc_auc"``, ``"RMSE"``. Default: its name.

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
    rows: Callable[[Fold], Array] | None = None
    label: str = ""
    worst_is_constant: bool = False
    average: Literal["mean", "median"] = "mean"

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
        if self.rows is not None and (self.fold is None or not callable(self.rows)):
            raise ValueError(
                f"Measure {self.name!r} needs functions fold= and rows= of a fold for losses of "
                f"rows, got fold={self.fold!r} and rows={self.rows!r}."
            )
        check_choice("direction", self.direction, ("minimize", "maximize"))
        check_choice("average", self.average, ("mean", "median"))

    def of_folds(self, values: Sequence[float]) -> float:
        """Return the value of a configuration from those of its folds."""
        return float(np.median(values) if self.average == "median" else np.mean(values))

    def worst_of(self, table: FeatureTable, constant: float = math.nan) -> float | None:
        """Return the worst value for these features, given the value of a constant model."""
        if self.worst_is_constant and math.isfinite(constant):
            return constant
        return float(self.worst(table)) if callable(self.worst) else self.worst
