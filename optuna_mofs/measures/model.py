"""Measures of fitted models: errors and rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.measures.base import Fold, Measure


def _error(fold: Fold) -> float:
    return _loss(fold, train=False)


def _training_error(fold: Fold) -> float:
    return _loss(fold, train=True)


def _loss(fold: Fold, *, train: bool) -> float:
    # A scorer of a loss ("neg_...") gives minus the loss; any other is 1 at its best.
    score = fold.score(train=train)
    return -score if is_loss(fold.scorer) else 1.0 - score


def is_loss(scorer: object) -> bool:
    """Whether a scikit-learn scorer negates a loss (as ``neg_mean_squared_error`` does)."""
    return getattr(scorer, "_sign", 1) < 0


def error_measure(scorer: object) -> Measure:
    """1 − score, or the loss itself for scorers of losses, on the test folds."""
    return Measure("error", fold=_error, worst=None if is_loss(scorer) else 1.0)


def training_error_measure(scorer: object) -> Measure:
    """The same on the training folds."""
    worst = None if is_loss(scorer) else 1.0
    return Measure("training_error", fold=_training_error, worst=worst)


def false_negative_rate(fold: Fold) -> float:
    """Share of the positives that are missed; mean over classes if there are more than two.

    Of two classes the positive one is the larger label, as everywhere in scikit-learn. A class
    that the test fold does not hold does not count.
    """
    rates = [
        (weight[truth & ~said].sum(), weight[truth].sum())
        for truth, said, weight in _one_against_rest(fold)
    ]
    return _mean_rate(rates)


def false_positive_rate(fold: Fold) -> float:
    """Share of the negatives taken for positive; mean over classes if there are more than two."""
    rates = [
        (weight[~truth & said].sum(), weight[~truth].sum())
        for truth, said, weight in _one_against_rest(fold)
    ]
    return _mean_rate(rates)


def _one_against_rest(fold: Fold) -> Iterator[tuple[Array, Array, Array]]:
    """For each positive class: who is of it, who is said to be, and the weights."""
    classes = np.unique(np.concatenate([fold.y_train, fold.y_test]))
    weight: Array = np.ones(len(fold.y_test)) if fold.test_weight is None else fold.test_weight
    for positive in classes[1:] if len(classes) == 2 else classes:
        yield fold.y_test == positive, fold.prediction == positive, weight


def _mean_rate(rates: Sequence[tuple[float, float]]) -> float:
    known = [wrong / total for wrong, total in rates if total > 0]
    return float(np.mean(known)) if known else 0.0
