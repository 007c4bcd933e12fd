"""Measures of predictions: errors, rates, probability losses and disparity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.metrics import roc_auc_score

from optuna_mofs._typing import Array
from optuna_mofs.measures._base import Fold, Measure


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


#: How fast a probability rises with the distance from the boundary: a row on the margin of a
#: support vector machine, whose distance is 1, gets 0.88.
_SLOPE = 2.0
#: The least probability that counts for the logarithm.
_LEAST = 0.01


def class_probabilities(model: Any, X: Any, classes: Array) -> Array:
    """Rows × classes: the model's probabilities, or what comes nearest to them.

    A classifier without ``predict_proba`` is asked for its ``decision_function``, on which a fixed
    logistic curve is laid, and one without either for its prediction, which gets all of it.

    Args:
        model: A fitted classifier.
        X: Rows.
        classes: Sorted classes, those of the model among them.

    Example:
        >>> from sklearn.svm import SVC
        >>> machine = SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
        >>> class_probabilities(machine, [[1.5]], np.array([0, 1])).round(2).tolist()
        [[0.5, 0.5]]
    """
    if hasattr(model, "predict_proba"):
        known = np.asarray(model.predict_proba(X))
    elif hasattr(model, "decision_function"):
        known = _from_distances(np.asarray(model.decision_function(X)))
    else:
        said: Array = np.asarray(model.predict(X))[:, None] == classes
        return said.astype(float)
    shares: Array = np.zeros((known.shape[0], len(classes)))
    shares[:, np.searchsorted(classes, model.classes_)] = known
    return shares


def _from_distances(distances: Array) -> Array:
    if distances.ndim == 1:
        positive = expit(_SLOPE * distances)
        return np.column_stack([1 - positive, positive])
    shares: Array = softmax(_SLOPE * distances, axis=1)
    return shares


def brier_loss(fold: Fold) -> float:
    """Half the squared distance of probabilities from the truth, 0 to 1 (Brier 1950).

    It tells models apart that make the same number of mistakes on a few hundred rows, and so
    ranks them with less noise than the error does.
    """
    shares, truth = _shares_and_truth(fold)
    squares = (shares - truth) ** 2
    return float(np.average(squares.sum(axis=1) / 2, weights=fold.test_weight))


def log_loss(fold: Fold) -> float:
    """Minus the logarithm of the probability of the true class; below 0.01 it counts as 0.01.

    Without that bound a single row of which a model is wrongly sure would decide.
    """
    shares, truth = _shares_and_truth(fold)
    of_truth = np.maximum((shares * truth).sum(axis=1), _LEAST)
    return float(np.average(-np.log(of_truth), weights=fold.test_weight))


def auc_loss(fold: Fold) -> float:
    """1 minus the area under the ROC curve, each class against the others if there are several.

    A class of which the test fold has no row, or nothing but rows, does not count.
    """
    shares, truth = _shares_and_truth(fold)
    columns = [k for k in range(truth.shape[1]) if 0 < truth[:, k].sum() < len(truth)]
    if truth.shape[1] == 2:
        columns = columns[-1:]
    areas = [
        roc_auc_score(truth[:, k], shares[:, k], sample_weight=fold.test_weight) for k in columns
    ]
    return 1.0 - float(np.mean(areas)) if areas else 0.5


def _shares_and_truth(fold: Fold) -> tuple[Array, Array]:
    classes = np.unique(np.concatenate([fold.y_train, fold.y_test]))
    truth: Array = fold.y_test[:, None] == classes
    return class_probabilities(fold.estimator, fold.X_test, classes), truth


def disparity(sensitive: Any, *, positive: Any = None, name: str = "disparity") -> Measure:
    """Statistical disparity (DSP): how much the share predicted positive differs over groups.

    The largest difference of P(ŷ = positive | group) between two groups, 0 at best (statistical
    parity, Perrone et al. 2021, *Fair Bayesian optimization*). The groups need not be a feature
    of the model.

    Args:
        sensitive: Group of each row of the objective's ``X``, in its order: an array or a column
            of a DataFrame. Two or more groups; missing values are a group of their own.
        positive: The class that is wanted; by default the larger label of two.
        name: Name of the measure.

    On test data that the search did not see (:func:`optuna_mofs.generalization`) groups are not
    known and the measure is NaN.

    Example:
        >>> disparity(["a", "a", "b"]).name
        'disparity'
    """
    return Measure(name, fold=_Disparity(_group_codes(sensitive), positive), worst=1.0)


@dataclass(frozen=True, eq=False)
class _Disparity:
    # A class and not a closure, so that objectives can be pickled.
    groups: Array
    positive: Any

    def __call__(self, fold: Fold) -> float:
        if fold.test_rows is None:
            return math.nan
        last = int(fold.test_rows.max())
        if last >= len(self.groups):
            raise ValueError(
                f"sensitive has {len(self.groups)} entries, but X has a row {last}. "
                "Pass one for each row of X."
            )
        wanted = _positive(fold) if self.positive is None else self.positive
        groups = self.groups[fold.test_rows]
        return group_disparity(fold.prediction == wanted, groups, fold.test_weight)


def group_disparity(said: Array, groups: Array, weight: Array | None = None) -> float:
    """The largest difference in the share of ``said`` between two groups.

    Args:
        said: Who is predicted positive.
        groups: Group of each, as integers from 0.
        weight: Weight of each.

    Example:
        >>> group_disparity(np.array([1, 1, 0, 1, 0, 0]) == 1, np.array([0, 0, 0, 1, 1, 1]))
        0.3333333333333333
    """
    total = np.bincount(groups, weight)
    positive = np.bincount(groups, said if weight is None else said * weight)
    there = total > 0
    if np.count_nonzero(there) < 2:
        return 0.0
    return float(np.ptp(positive[there] / total[there]))


def geometric_mean_loss(fold: Fold) -> float:
    """1 − the geometric mean of the recalls of all classes.

    Of two classes that is 1 − √(sensitivity · specificity), appendix C.3 of Zhang et al. (2023)
    after Brookhouse and Freitas (2022). Classes that the test fold does not hold do not count.
    """
    weight = np.ones(len(fold.y_test)) if fold.test_weight is None else fold.test_weight
    recalls = []
    for label in np.unique(fold.y_test):
        truth = fold.y_test == label
        total = float(weight[truth].sum())
        if total > 0:
            recalls.append(float(weight[truth & (fold.prediction == label)].sum()) / total)
    return 1.0 - float(np.prod(recalls) ** (1 / len(recalls))) if recalls else 0.0


def _group_codes(sensitive: Any) -> Array:
    values = np.asarray(sensitive)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(
            "sensitive must hold one group for each row of X, but has shape "
            f"{values.shape}. Pass a column, for example X['sex']."
        )
    if values.dtype.kind == "O":
        values = values.astype(str)
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        raise ValueError(
            f"sensitive has only one group, {str(distinct[0])!r}: there is nothing to compare."
        )
    return codes


def _positive(fold: Fold) -> Any:
    classes = np.unique(np.concatenate([fold.y_train, fold.y_test]))
    if len(classes) != 2:
        raise ValueError(
            f"The disparity of {len(classes)} classes needs to know which one is wanted: "
            f"disparity(..., positive={classes[-1].item()!r})."
        )
    return classes[-1]
