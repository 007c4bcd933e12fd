"""Cross-validation of one configuration: fit on each training fold, measure on each test fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline

from optuna_mofs.features.table import Array, FeatureTable
from optuna_mofs.measures import Evaluation, Fold, Measure
from optuna_mofs.objectives.dataset import Dataset, take_columns, take_rows

Split = tuple[Array, Array]


class Evaluator:
    """Data, folds and measures; a configuration in, values out.

    Args:
        data: The data.
        table: The features.
        measures: One a value.
        scorer: A scikit-learn scorer.
        cv: Number of folds, splitter, or iterable of splits.
        shuffle_seed: Seed that shuffles integer ``cv``; None leaves the order.
        n_jobs: Folds fitted at once.
    """

    def __init__(
        self,
        data: Dataset,
        table: FeatureTable,
        *,
        measures: Sequence[Measure],
        scorer: Callable[..., float],
        cv: Any,
        shuffle_seed: int | None,
        n_jobs: int | None,
    ) -> None:
        self.data = data
        self.table = table
        self.measures = tuple(measures)
        self.scorer = scorer
        self.n_jobs = n_jobs
        self.cv = cv
        self.shuffle_seed = shuffle_seed
        self.splits = self.draw_splits(shuffle_seed)

    def draw_splits(self, seed: int | None) -> list[Split]:
        """Train and test rows of each fold."""
        data = self.data
        splitter = check_cv(self.cv, data.y, classifier=data.classification)
        if isinstance(self.cv, int | None) and seed is not None:
            splitter.shuffle, splitter.random_state = True, seed
        splits = [
            (np.asarray(train), np.asarray(test))
            for train, test in splitter.split(data.X, data.y, data.groups)
        ]
        if not splits:
            raise ValueError(f"cv={self.cv!r} gives no folds.")
        if data.classification:
            for k, (train, _) in enumerate(splits):
                if len(np.unique(data.y[train])) < 2:
                    raise ValueError(
                        f"Training fold {k} of cv={self.cv!r} holds only one class: "
                        f"{data.y[train][0]!r}. Use fewer folds or a stratified splitter."
                    )
        return splits

    def __call__(
        self,
        estimator: Any,
        mask: Array,
        fold_masks: Sequence[Array],
        splits: Sequence[Split] | None = None,
    ) -> tuple[list[float], dict[str, list[float]]]:
        """Evaluate a configuration.

        Args:
            estimator: Unfitted, with its hyperparameters set.
            mask: Over all features, of the final model.
            fold_masks: The mask of each fold.
            splits: Folds to use instead of the fixed ones.

        Returns:
            A value for each measure, and the per-fold values of those that have them.
        """
        fold_measures = [m for m in self.measures if m.fold is not None]
        by_fold: dict[str, list[float]] = {}
        if fold_measures:
            jobs = (
                delayed(_measure_fold)(
                    estimator,
                    self.data,
                    split,
                    self.table.columns_of(fold_mask),
                    self.scorer,
                    fold_measures,
                )
                for split, fold_mask in zip(splits or self.splits, fold_masks)
            )
            if self.n_jobs in (None, 1):
                rows = [function(*args) for function, args, _ in jobs]
            else:
                rows = Parallel(n_jobs=self.n_jobs)(jobs)
            by_fold = {m.name: [row[i] for row in rows] for i, m in enumerate(fold_measures)}
        values = []
        for m in self.measures:
            if m.whole is None:
                values.append(float(np.mean(by_fold[m.name])))
            else:
                columns = self.table.columns_of(mask)
                whole = Evaluation(
                    self.table,
                    mask,
                    list(fold_masks),
                    estimator,
                    self.data.columns(columns),
                    self.data.y,
                )
                values.append(float(m.whole(whole)))
        return values, by_fold

    def on_test_data(
        self, estimator: Any, columns: Array, X_test: Any, y_test: Array
    ) -> dict[str, float]:
        """Fold measures of a model fitted on all data, on data it never saw."""
        fold = Fold(
            estimator=estimator,
            X_train=self.data.columns(columns),
            y_train=self.data.y,
            X_test=take_columns(X_test, columns),
            y_test=np.asarray(y_test),
            scorer=self.scorer,
            train_weight=self.data.sample_weight,
        )
        return {m.name: float(m.fold(fold)) for m in self.measures if m.fold is not None}


def baseline(classification: bool) -> Any:
    """The model of an empty feature set: the majority class, or the mean."""
    return DummyClassifier(strategy="prior") if classification else DummyRegressor()


def fit_options(estimator: Any, weight: Array | None, prefix: str = "") -> dict[str, Array]:
    """Keyword arguments of ``fit`` that bring the sample weights to the last step."""
    if weight is None:
        return {}
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return {f"{prefix}sample_weight": weight}


def _measure_fold(
    estimator: Any,
    data: Dataset,
    split: Split,
    columns: Array,
    scorer: Callable[..., float],
    measures: Sequence[Measure],
) -> list[float]:
    train, test = split
    X = data.columns(columns)
    weight = data.sample_weight
    fold = Fold(
        estimator=clone(estimator) if len(columns) else baseline(data.classification),
        X_train=take_rows(X, train),
        y_train=data.y[train],
        X_test=take_rows(X, test),
        y_test=data.y[test],
        scorer=scorer,
        train_weight=None if weight is None else weight[train],
        test_weight=None if weight is None else weight[test],
        test_rows=test,
    )
    fold.estimator.fit(
        fold.X_train, fold.y_train, **fit_options(fold.estimator, fold.train_weight)
    )
    return [float(m.fold(fold)) for m in measures if m.fold is not None]
