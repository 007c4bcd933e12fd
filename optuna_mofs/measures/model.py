"""Measures of fitted models: errors and rates."""

from __future__ import annotations

import numpy as np

from optuna_mofs.features.table import Array
from optuna_mofs.measures.base import Fold, Measure


def _loss(fold: Fold, *, train: bool = False) -> float:
    # A scorer of a loss ("neg_...") gives minus the loss; any other is 1 at its best.
    score = fold.score(train=train)
    return -score if is_loss(fold.scorer) else 1.0 - score


def is_loss(scorer: object) -> bool:
    """Whether a scikit-learn scorer negates a loss (as ``neg_mean_squared_error`` does)."""
    return getattr(scorer, "_sign", 1) < 0


def error_measure(scorer: object) -> Measure:
    """1 − score, or the loss itself for scorers of losses, on the test folds."""
    return Measure("error", fold=_loss, worst=None if is_loss(scorer) else 1.0)


def training_error_measure(scorer: object) -> Measure:
    """The same on the training folds."""
    return Measure(
        "training_error",
        fold=lambda fold: _loss(fold, train=True),
        worst=None if is_loss(scorer) else 1.0,
    )


def false_negative_rate(fold: Fold) -> float:
    """Share of the positives that are missed; mean over classes if there are more than two."""
    return _class_rate(fold, lambda truth, said: truth & ~said, lambda truth: truth)


def false_positive_rate(fold: Fold) -> float:
    """Share of the negatives taken for positive; mean over classes if there are more than two."""
    return _class_rate(fold, lambda truth, said: ~truth & said, lambda truth: ~truth)


def _class_rate(fold: Fold, wrong, base) -> float:  # type: ignore[no-untyped-def]
    classes = np.unique(np.concatenate([fold.y_train, fold.y_test]))
    # The positive class of two is the larger label, as everywhere in scikit-learn.
    positives = classes[1:] if len(classes) == 2 else classes
    weight: Array = np.ones(len(fold.y_test)) if fold.test_weight is None else fold.test_weight
    rates = []
    for positive in positives:
        truth = fold.y_test == positive
        said = fold.prediction == positive
        total = weight[base(truth)].sum()
        if total > 0:
            rates.append(weight[wrong(truth, said)].sum() / total)
    return float(np.mean(rates)) if rates else 0.0
