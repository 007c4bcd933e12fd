"""Probabilities of classes from any classifier, and how wrong they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.metrics import roc_auc_score

from optuna_mofs._typing import Array
from optuna_mofs.measures.base import Fold

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
