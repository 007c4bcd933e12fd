"""Measures of size: number, cost and stability of features, size and speed of the model."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from optuna_mofs._typing import Array
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.measures._base import Evaluation, Fold, Measure


def _fraction(evaluation: Evaluation) -> float:
    return float(np.count_nonzero(evaluation.mask)) / len(evaluation.table)


def _count(evaluation: Evaluation) -> float:
    return float(np.count_nonzero(evaluation.mask))


def _cost(evaluation: Evaluation) -> float:
    return evaluation.table.cost(evaluation.mask)


def _instability(evaluation: Evaluation) -> float:
    return selection_instability(np.array(evaluation.fold_masks))


def selection_instability(masks: Array) -> float:
    """How much feature sets differ over folds: 0 all the same, about 1 as different as chance.

    One minus the stability of Nogueira, Sechidis, Brown (2018, JMLR 18), which is corrected
    for chance and allows sets of different sizes: the mean variance of the selection of a feature
    over the one expected of random sets of the same mean size. Sets that avoid each other exceed
    1, by at most 1 / (folds − 1).

    Args:
        masks: Folds × features.

    Example:
        >>> selection_instability(np.array([[True, False], [True, False]]))
        0.0
    """
    folds, p = masks.shape
    share = masks.mean() if p else 0.0
    if folds < 2 or share in (0.0, 1.0):
        return 0.0
    variance = masks.mean(axis=0) * (1 - masks.mean(axis=0)) * folds / (folds - 1)
    return float(variance.mean() / (share * (1 - share)))


def _number_of_features(table: FeatureTable) -> float:
    return float(len(table))


def _total_cost(table: FeatureTable) -> float:
    return table.total_cost


FRACTION = Measure("fraction", whole=_fraction, worst=1.0)
N_FEATURES = Measure("n_features", whole=_count, worst=_number_of_features)
COST = Measure("cost", whole=_cost, worst=_total_cost)
INSTABILITY = Measure("instability", whole=_instability, worst=1.0)
#: Attributes in which scikit-learn's linear models and networks keep what they learned.
_LEARNED = ("coef_", "intercept_", "coefs_", "intercepts_")
#: Attributes that hold fitted models inside a model.
_PARTS = ("estimators_", "best_estimator_", "estimator_", "regressor_", "classifier_")


def model_size(fold: Fold) -> float:
    """Size of the fitted estimator in kilobytes, as it is stored (pickled)."""
    return len(pickle.dumps(fold.estimator, protocol=pickle.HIGHEST_PROTOCOL)) / 1000.0


def parameter_count(fold: Fold) -> float:
    """Number of learned numbers: weights of linear models and networks, nodes of trees.

    The second objective of section 4.1.1 of Zhang et al. (2023).
    """
    count = learned_numbers(fold.estimator)
    if count is None:
        raise ValueError(
            f"Nothing says how many numbers {type(fold.estimator).__name__} learned. "
            "Use the measure 'model_size', or a function of your own."
        )
    return float(count)


def learned_numbers(model: Any) -> int | None:
    """How many numbers a fitted model learned, or None where nothing says so.

    Example:
        >>> from sklearn.linear_model import LinearRegression
        >>> learned_numbers(LinearRegression().fit([[0, 1], [1, 2], [2, 2]], [0, 1, 2]))
        3
    """
    if hasattr(model, "steps"):
        parts = [part for _, part in model.steps]
    elif hasattr(model, "tree_"):
        return int(model.tree_.node_count)
    elif hasattr(model, "support_vectors_"):
        return int(np.size(model.support_vectors_) + np.size(model.dual_coef_))
    elif any(hasattr(model, name) for name in _LEARNED):
        return sum(_size(getattr(model, name)) for name in _LEARNED if hasattr(model, name))
    elif isinstance(model, DummyClassifier | DummyRegressor):  # of an empty feature set
        return 1
    else:
        parts = []
        for name in _PARTS:
            held = getattr(model, name, None)
            if held is not None:
                parts += list(np.ravel(held)) if isinstance(held, list | np.ndarray) else [held]
    counts = [learned_numbers(part) for part in parts]
    known = [count for count in counts if count is not None]
    # A scaler in a pipeline is no reason not to count the model behind it.
    return sum(known) if known else None


def prediction_time(*, repeats: int = 3, name: str = "prediction_time") -> Measure:
    """Time to predict one row of the test fold, in microseconds: the quickest of some repeats.

    Args:
        repeats: Number of repeats; other processes can only make one slower.
        name: Name of the measure.
    """
    if not isinstance(repeats, int) or repeats < 1:
        raise ValueError(f"repeats must be an integer of at least 1, but is {repeats!r}.")

    return Measure(name, fold=_PredictionTime(repeats))


@dataclass(frozen=True)
class _PredictionTime:
    # A class and not a closure, so that objectives can be pickled.
    repeats: int

    def __call__(self, fold: Fold) -> float:
        seconds = []
        for _ in range(self.repeats):
            start = time.perf_counter()
            fold.estimator.predict(fold.X_test)
            seconds.append(time.perf_counter() - start)
        return 1e6 * min(seconds) / max(1, len(fold.y_test))


def _size(learned: list[Array] | Array) -> int:
    return sum(map(np.size, learned)) if isinstance(learned, list) else int(np.size(learned))
