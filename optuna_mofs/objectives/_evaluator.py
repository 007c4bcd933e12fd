"""Cross-validation of one configuration."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn import config_context, get_config
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from optuna_mofs._estimators import requested, routing_is_enabled
from optuna_mofs._typing import Array
from optuna_mofs.data._dataset import Dataset, Split, take_rows
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.measures import Evaluation, Fold, Measure
from optuna_mofs.objectives._narrowing import Columns, NothingLeftError, narrow
from optuna_mofs.objectives._shared_steps import Prepared, SharedSteps


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The result of evaluating one configuration.

    Attributes:
        values: One value per measure.
        by_fold: Values per fold of the measures that have them, by name.
        losses: Loss of each row on the test folds that hold it, their mean if there are several,
            NaN if there is none; None if no measure has losses of rows.
    """

    values: list[float]
    by_fold: dict[str, list[float]]
    losses: Array | None = None


class FoldResult(NamedTuple):
    """The result of one fold.

    Attributes:
        values: One value per measure that has one per fold, the recorded ones last.
        losses: Losses of the test rows, or None.
    """

    values: list[float]
    losses: Array | None


class Evaluator:
    """Cross-validates configurations: fits on each training fold, measures on each test fold.

    Args:
        data: The rows of the search.
        table: The features.
        measures: One per value.
        scorer: Scorer of the error.
        splits: The folds.
        loss_measure: The measure whose losses of rows are returned, or None.
        recorded: Further measures, of which only the values per fold are returned.
        n_jobs: Number of folds fitted in parallel.
    """

    def __init__(
        self,
        data: Dataset,
        table: FeatureTable,
        *,
        measures: Sequence[Measure],
        scorer: Callable[..., float],
        splits: Sequence[Split],
        loss_measure: Measure | None = None,
        recorded: Sequence[Measure] = (),
        n_jobs: int | None = None,
    ) -> None:
        self.data = data
        self.table = table
        self.measures = tuple(measures)
        self.scorer = scorer
        self.splits = list(splits)
        self.loss_measure = loss_measure
        self.recorded = tuple(recorded)
        self.n_jobs = n_jobs
        self._steps = SharedSteps(data, self.splits)

    def __call__(
        self,
        estimator: Any,
        mask: Array,
        fold_masks: Sequence[Array],
        splits: Sequence[Split] | None = None,
    ) -> CrossValidation:
        """Evaluate a configuration.

        Args:
            estimator: Unfitted, with its hyperparameters set.
            mask: Mask of the final model, over all features.
            fold_masks: The mask of each fold.
            splits: Folds to use instead of the fixed ones.
        """
        folds = list(splits or self.splits)
        found = self.fit_folds(estimator, fold_masks, folds)
        whole = self.whole_values(estimator, mask, fold_masks)
        return self.combined(whole, found, folds)

    @property
    def n_workers(self) -> int:
        """Number of folds fitted in parallel."""
        return 1 if self.n_jobs is None else effective_n_jobs(self.n_jobs)

    def fit_folds(
        self, estimator: Any, fold_masks: Sequence[Array], splits: Sequence[Split]
    ) -> list[FoldResult]:
        """Return the results of some folds; none if no measure needs a fit."""
        measures = self._fold_measures
        if not measures:
            return []
        narrowed = zip(splits, self._narrowed(fold_masks), strict=True)
        options = self.scorer, measures, self.loss_measure
        if self.n_jobs in (None, 1):
            results: list[FoldResult] = []
            is_checked = bool(get_config()["skip_parameter_validation"])
            is_timed = any(m.name == "fit_time" for m in self.measures)
            for (split, data), mask in zip(narrowed, fold_masks):
                prepared = None
                if not is_timed:
                    columns = self.table.columns_of(mask)
                    prepared = self._steps.prepared(estimator, split, columns)
                # The parameters are the same in each fold: scikit-learn checks them once.
                with config_context(skip_parameter_validation=is_checked):
                    results.append(_measure_fold(estimator, data, split, *options, prepared))
                is_checked |= bool(mask.any())
            return results
        return Parallel(n_jobs=self.n_jobs)(
            delayed(_measure_fold)(estimator, data, split, *options) for split, data in narrowed
        )

    def whole_values(
        self, estimator: Any, mask: Array, fold_masks: Sequence[Array]
    ) -> list[float]:
        """Return the values of the measures that need no fold, NaN for the others."""
        rows, y = self.data.columns, self.data.y
        whole = Evaluation(self.table, mask, list(fold_masks), estimator, rows, y)
        return [math.nan if m.whole is None else _rounded(m.whole(whole)) for m in self.measures]

    def by_fold(self, found: Sequence[FoldResult]) -> dict[str, list[float]]:
        """Return the values of some folds by the name of the measure."""
        return {m.name: [f.values[i] for f in found] for i, m in enumerate(self._fold_measures)}

    def combined(
        self, whole: Sequence[float], found: Sequence[FoldResult], splits: Sequence[Split]
    ) -> CrossValidation:
        """Return the result of a configuration from those of all its folds."""
        by_fold, losses = self.by_fold(found), None
        if found and self.loss_measure is not None:
            parts = [result.losses for result in found]
            losses = _losses_by_row(self.data.shape[0], [test for _, test in splits], parts)
        values = [
            value if m.fold is None else _rounded(m.of_folds(by_fold[m.name]))
            for m, value in zip(self.measures, whole)
        ]
        return CrossValidation(values, by_fold, losses)

    @property
    def _fold_measures(self) -> list[Measure]:
        return [m for m in (*self.measures, *self.recorded) if m.fold is not None]

    def with_measures(self, measures: Sequence[Measure]) -> Evaluator:
        """Return the same evaluator with other measures and without losses of rows."""
        other = copy.copy(self)
        other.measures, other.loss_measure, other.recorded = tuple(measures), None, ()
        return other

    def losses_on(
        self, estimator: Any, mask: Array, all_data: Dataset, train: Array, test: Array
    ) -> Array:
        """Return the losses of some rows of a model that is fitted on other rows."""
        data = all_data.narrowed(self.table.columns_of(mask))
        measure = self.loss_measure
        found = _measure_fold(estimator, data, (train, test), self.scorer, (), measure)
        return np.asarray(found.losses)

    def _narrowed(self, fold_masks: Sequence[Array]) -> Iterator[Dataset]:
        # Workers get only the columns they need, copied once if all folds use the same.
        last = None
        for mask in fold_masks:
            if mask is not last:
                last, data = mask, self.data.narrowed(self.table.columns_of(mask))
            yield data

    def on_test_data(
        self,
        estimator: Any,
        columns: Array,
        X_test: Any,
        y_test: Array,
        *,
        train: Dataset | None = None,
    ) -> dict[str, float]:
        """Return the fold measures of a fitted model on new data.

        The model was fitted on ``columns`` of ``train`` (by default the rows of the search), and
        ``X_test`` has only these columns.
        """
        data = self.data if train is None else train
        fold = Fold(
            estimator=estimator,
            X_train=data.columns(columns),
            y_train=data.y,
            X_test=X_test,
            y_test=y_test,
            scorer=self.scorer,
            train_weight=data.sample_weight,
        )
        return {m.name: float(m.fold(fold)) for m in self.measures if m.fold is not None}


def baseline(classification: bool) -> Any:
    """Return the model of an empty feature set: the majority class, or the mean."""
    return DummyClassifier(strategy="prior") if classification else DummyRegressor()


def model_of_columns(estimator: Any, data: Dataset) -> Any:
    """Return an unfitted copy of an estimator for the columns of ``data``.

    Without columns, or if the estimator uses none of them, it is the model of an empty set.
    """
    if data.shape[1]:
        kept = data.positions.tolist()
        table = Columns.of_table(data.table_labels, data.n_table_columns, kept, data.X)
        try:
            return narrow(estimator, table)
        except NothingLeftError:
            pass
    return baseline(data.classification)


def fit_options(
    estimator: Any, weight: Array | None, groups: Array | None = None
) -> dict[str, Array]:
    """Return keyword arguments of ``fit``: what is requested, or the weights of the last step.

    Without metadata routing, scikit-learn has no way to pass groups to a step.
    """
    if routing_is_enabled() and not isinstance(estimator, DummyClassifier | DummyRegressor):
        return requested(estimator, "fit", {"sample_weight": weight, "groups": groups})
    return {} if weight is None else {last_step(estimator)[1] + "sample_weight": weight}


def last_step(estimator: Any) -> tuple[Any, str]:
    """Return the last step of a pipeline, and the prefix of its arguments of ``fit``."""
    prefix = ""
    while isinstance(estimator, Pipeline | TransformedTargetRegressor):
        if isinstance(estimator, Pipeline):
            name, estimator = estimator.steps[-1]
            prefix += f"{name}__"
        else:
            estimator = estimator.regressor
    return estimator, prefix


def fit_fold(
    estimator: Any,
    data: Dataset,
    split: Split,
    scorer: Callable[..., float],
    prepared: Prepared | None = None,
) -> Fold:
    """Fit :func:`model_of_columns` on a training fold.

    Args:
        estimator: Unfitted.
        data: The rows of the search, with the selected columns.
        split: Training and test rows.
        scorer: Scorer of the error.
        prepared: The leading steps of a pipeline for these columns, fitted on the training fold.
    """
    train, test = split
    weight = data.sample_weight
    try:
        model = _model_with(prepared, estimator, data)
    except NothingLeftError:
        model, prepared = baseline(data.classification), None
    fold = Fold(
        estimator=model,
        X_train=take_rows(data.X, train),
        y_train=data.y[train],
        X_test=take_rows(data.X, test),
        y_test=data.y[test],
        scorer=scorer,
        train_weight=None if weight is None else weight[train],
        test_weight=None if data.score_weight is None else data.score_weight[test],
        test_rows=data.row_numbers[test],
        train_groups=None if data.groups is None else data.groups[train],
        test_groups=None if data.groups is None else data.groups[test],
    )
    options = fit_options(fold.estimator, fold.train_weight, fold.train_groups)
    start = time.thread_time()
    if prepared is None:
        fold.estimator.fit(fold.X_train, fold.y_train, **options)
    else:
        name, last = model.steps[-1]
        own = {option.removeprefix(f"{name}__"): value for option, value in options.items()}
        last.fit(prepared.X_train, fold.y_train, **own)
        fold.last_step = last, prepared.X_test
    fold.cache["fitted_at"] = time.thread_time()
    fold.cache["fit_seconds"] = fold.cache["fitted_at"] - start
    return fold


def _model_with(prepared: Prepared | None, estimator: Any, data: Dataset) -> Any:
    """Return the model of some columns with leading steps that are fitted, if there are some."""
    if prepared is None:
        return model_of_columns(estimator, data)
    kept = data.positions.tolist()
    at = Columns.of_table(data.table_labels, data.n_table_columns, kept)
    name, last = estimator.steps[-1]
    return Pipeline([*prepared.steps, (name, narrow(last, at))])


def _measure_fold(
    estimator: Any,
    data: Dataset,
    split: Split,
    scorer: Callable[..., float],
    measures: Sequence[Measure],
    loss_measure: Measure | None = None,
    prepared: Prepared | None = None,
) -> FoldResult:
    """Return the value of each measure, and the losses of the test rows or None."""
    fold, test = fit_fold(estimator, data, split, scorer, prepared), split[1]
    values = [_rounded(m.fold(fold), 15) for m in measures if m.fold is not None]
    if loss_measure is None or loss_measure.rows is None:
        return FoldResult(values, None)
    losses = np.asarray(loss_measure.rows(fold), dtype=float)
    if losses.shape != (len(test),):
        raise ValueError(
            f"rows of measure {loss_measure.name!r} must return one loss for each of the "
            f"{len(test)} rows of the test fold, got shape {losses.shape}."
        )
    return FoldResult(values, losses)


def _rounded(value: float, n_digits: int = 12) -> float:
    """Return a value without the noise of floating point, such as 0.30000000000000004.

    Equal values are equal then, and the dashboard shows all digits of a value. Values of folds,
    which are averaged, keep more digits.
    """
    return float(f"{value:.{n_digits}g}")


def _losses_by_row(n_rows: int, tests: Sequence[Array], parts: Sequence[Any]) -> Array:
    """Return the mean loss of each row over the test folds that hold it, NaN if none does."""
    rows, losses = np.concatenate(tests), np.concatenate(parts)
    times = np.bincount(rows, minlength=n_rows)
    with np.errstate(invalid="ignore"):
        return np.bincount(rows, losses, minlength=n_rows) / times
