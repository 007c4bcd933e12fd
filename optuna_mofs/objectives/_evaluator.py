"""Cross-validation of one configuration, and detection of duplicate configurations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from optuna_mofs._optuna import trials_of
from optuna_mofs._typing import Array
from optuna_mofs.data._dataset import Dataset, Split, take_rows
from optuna_mofs.features._codec import pack
from optuna_mofs.features._representation import Representation
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.measures import Evaluation, Fold, Measure
from optuna_mofs.study._feature_sets import trial_mask


class Evaluator:
    """Cross-validates configurations: fits on each training fold, measures on each test fold."""

    def __init__(
        self,
        data: Dataset,
        table: FeatureTable,
        *,
        measures: Sequence[Measure],
        scorer: Callable[..., float],
        splits: Sequence[Split],
        n_jobs: int | None = None,
    ) -> None:
        self.data = data
        self.table = table
        self.measures = tuple(measures)
        self.scorer = scorer
        self.splits = list(splits)
        self.n_jobs = n_jobs

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
            mask: Mask of the final model, over all features.
            fold_masks: The mask of each fold.
            splits: Folds to use instead of the fixed ones.

        Returns:
            One value per measure, and the values per fold of those that have them.
        """
        by_fold: dict[str, list[float]] = {}
        measures = [m for m in self.measures if m.fold is not None]
        if measures:
            jobs = (
                delayed(_measure_fold)(estimator, data, split, self.scorer, measures)
                for split, data in zip(
                    splits or self.splits, self._narrowed(fold_masks), strict=True
                )
            )
            if self.n_jobs in (None, 1):
                rows = [function(*args) for function, args, _ in jobs]
            else:
                rows = Parallel(n_jobs=self.n_jobs)(jobs)
            by_fold = {m.name: [row[i] for row in rows] for i, m in enumerate(measures)}
        whole = Evaluation(self.table, mask, list(fold_masks), estimator, self.data.X, self.data.y)
        values = [
            float(np.mean(by_fold[m.name]) if m.whole is None else m.whole(whole))
            for m in self.measures
        ]
        return values, by_fold

    def _narrowed(self, fold_masks: Sequence[Array]) -> Iterator[Dataset]:
        # Workers get only the columns they need, copied once if all folds use the same.
        last = None
        for mask in fold_masks:
            if mask is not last:
                last, data = mask, self.data.narrowed(self.table.columns_of(mask))
            yield data

    def on_test_data(
        self, estimator: Any, columns: Array, X_test: Any, y_test: Array
    ) -> dict[str, float]:
        """Return the fold measures of a model that was fitted on all data, on new data.

        The model was fitted on ``columns`` of X, and ``X_test`` has only these columns.
        """
        fold = Fold(
            estimator=estimator,
            X_train=self.data.columns(columns),
            y_train=self.data.y,
            X_test=X_test,
            y_test=y_test,
            scorer=self.scorer,
            train_weight=self.data.sample_weight,
        )
        return {m.name: float(m.fold(fold)) for m in self.measures if m.fold is not None}


def baseline(classification: bool) -> Any:
    """Return the model of an empty feature set: the majority class, or the mean."""
    return DummyClassifier(strategy="prior") if classification else DummyRegressor()


def fit_options(estimator: Any, weight: Array | None, prefix: str = "") -> dict[str, Array]:
    """Return keyword arguments of ``fit`` that pass the sample weights to the last step."""
    return {} if weight is None else {last_step(estimator, prefix)[1] + "sample_weight": weight}


def last_step(estimator: Any, prefix: str = "") -> tuple[Any, str]:
    """Return the last step of a pipeline, and the prefix of its arguments of ``fit``."""
    while isinstance(estimator, Pipeline | TransformedTargetRegressor):
        if isinstance(estimator, Pipeline):
            name, estimator = estimator.steps[-1]
            prefix += f"{name}__"
        else:
            estimator = estimator.regressor
    return estimator, prefix


def _measure_fold(
    estimator: Any,
    data: Dataset,
    split: Split,
    scorer: Callable[..., float],
    measures: Sequence[Measure],
) -> list[float]:
    train, test = split
    weight = data.sample_weight
    fold = Fold(
        estimator=clone(estimator) if data.shape[1] else baseline(data.classification),
        X_train=take_rows(data.X, train),
        y_train=data.y[train],
        X_test=take_rows(data.X, test),
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


class DuplicateIndex:
    """Completed trials of one study by their configuration, read incrementally.

    A configuration is the mask and the hyperparameters, because different integers can represent
    the same mask. With filters ranked per fold a trial has several masks, so there the parameters
    that select features count too.

    Args:
        representation: Bound to a table; None for no features.
    """

    def __init__(self, representation: Representation | None) -> None:
        self._representation = representation
        self._mask_parameters: frozenset[str] = frozenset()
        if representation is not None and representation.ranks != "fold":
            self._mask_parameters = frozenset(representation.distributions)
        self._by_configuration: dict[Hashable, FrozenTrial] = {}
        self._read: set[int] = set()
        self._read_to = 0

    def find(self, study: Study, trial: Trial, mask: Array) -> FrozenTrial | None:
        """Return the first completed trial with the configuration of a running one, or None."""
        for other in trials_of(study)[self._read_to :]:
            if other.number not in self._read and other.state.is_finished():
                self._read.add(other.number)
                if other.state == TrialState.COMPLETE:
                    self._add(other)
        while self._read_to in self._read:
            self._read.remove(self._read_to)
            self._read_to += 1
        return self._by_configuration.get(self._key(trial, mask))

    def _add(self, trial: FrozenTrial) -> None:
        mask: Array | None = np.zeros(0, dtype=bool)
        if self._representation is not None:
            mask = trial_mask(self._representation, trial)
        if mask is not None:
            self._by_configuration.setdefault(self._key(trial, mask), trial)

    def _key(self, trial: Trial | FrozenTrial, mask: Array) -> Hashable:
        distributions = trial.distributions
        # Choices can be unhashable, and a storage can return another type: compare positions.
        params = frozenset(
            (name, distributions[name].to_internal_repr(value))
            for name, value in trial.params.items()
            if name not in self._mask_parameters
        )
        return pack(mask), params
