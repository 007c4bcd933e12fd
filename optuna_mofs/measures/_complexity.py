"""Measures of size: number, cost and stability of features, size and speed of the model."""

from __future__ import annotations

import math
import pickle
import time
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from optuna_mofs._validation import check_int
from optuna_mofs.features._stability import selection_instability
from optuna_mofs.measures._base import Evaluation, Fold, Measure
from optuna_mofs.measures._registry import register_measure

#: Fitted attributes of scikit-learn's linear models and networks.
_COEFFICIENTS = ("coef_", "intercept_", "coefs_", "intercepts_")
#: Attributes that hold fitted models inside a model.
_PARTS = ("estimators_", "best_estimator_", "estimator_", "regressor_", "classifier_")


def _fraction(evaluation: Evaluation) -> float:
    return _n_features(evaluation) / len(evaluation.table)


def _n_features(evaluation: Evaluation) -> float:
    return float(np.count_nonzero(evaluation.mask))


def _cost(evaluation: Evaluation) -> float:
    return evaluation.table.cost(evaluation.mask)


def _instability(evaluation: Evaluation) -> float:
    return selection_instability(np.array(evaluation.fold_masks))


register_measure(Measure("fraction", whole=_fraction, worst=1.0, label="fraction of features"))
register_measure(Measure("n_features", whole=_n_features, worst=len, label="number of features"))
register_measure(
    Measure("cost", whole=_cost, worst=attrgetter("total_cost"), label="cost of features")
)
register_measure(Measure("instability", whole=_instability, worst=1.0))


def model_size(fold: Fold) -> float:
    """Return the size of the pickled fitted estimator in kilobytes."""
    return len(pickle.dumps(fold.estimator, protocol=pickle.HIGHEST_PROTOCOL)) / 1000.0


def parameter_count(fold: Fold) -> float:
    """Return the number of parameters: weights of linear models and networks, nodes of trees.

    The second objective of section 4.1.1 of Zhang et al. (2023).
    """
    count = n_fitted_parameters(fold.estimator)
    if count is None:
        raise ValueError(
            f"The number of parameters of {type(fold.estimator).__name__} is unknown. "
            "Use the measure 'model_size', or a function of your own."
        )
    return float(count)


def n_fitted_parameters(model: Any) -> int | None:
    """Return the number of fitted parameters of a model, or None if it is unknown.

    Example:
        >>> from sklearn.linear_model import LinearRegression
        >>> n_fitted_parameters(LinearRegression().fit([[0, 1], [1, 2], [2, 2]], [0, 1, 2]))
        3
    """
    if hasattr(model, "steps"):
        parts = [part for _, part in model.steps]
    elif hasattr(model, "tree_"):
        return int(model.tree_.node_count)
    elif hasattr(model, "support_vectors_"):
        return int(np.size(model.support_vectors_) + np.size(model.dual_coef_))
    elif any(hasattr(model, name) for name in _COEFFICIENTS):
        found = [getattr(model, name) for name in _COEFFICIENTS if hasattr(model, name)]
        # Networks have a list of arrays, one per layer.
        layers = [part if isinstance(part, list) else [part] for part in found]
        return sum(int(np.size(array)) for arrays in layers for array in arrays)
    elif isinstance(model, DummyClassifier | DummyRegressor):  # for an empty feature set
        return 1
    else:
        parts = []
        for name in _PARTS:
            inner = getattr(model, name, None)
            if inner is not None:
                parts += list(np.ravel(inner)) if isinstance(inner, list | np.ndarray) else [inner]
    counts = [n_fitted_parameters(part) for part in parts]
    known = [count for count in counts if count is not None]
    # Parts of unknown size, such as a scaler in a pipeline, are not counted.
    return sum(known) if known else None


def fit_time(fold: Fold) -> float:
    """Return the CPU seconds that the fit took, NaN for a model that was fitted elsewhere.

    It is the time of the thread that called the fit: other processes and trials that run at the
    same time do not count, and of an estimator with several threads one counts.
    """
    return float(fold.cache.get("fit_seconds", math.nan))


def flops(fold: Fold) -> float:
    """Return the floating-point operations of one prediction of a network or linear model.

    A weight is a multiplication and an addition, a bias an addition; activations are not counted.
    The first of the two efficiencies of section 4.1.1 of Zhang et al. (2023).
    """
    count = n_operations(fold.estimator)
    if count is None:
        raise ValueError(
            f"The number of operations of {type(fold.estimator).__name__} is unknown: expected a "
            "network or a linear model, alone or at the end of a pipeline. Use the measure "
            "'prediction_time', or a function of your own."
        )
    return float(count)


def n_operations(model: Any) -> int | None:
    """Return the floating-point operations of one prediction, or None if they are unknown.

    Example:
        >>> from sklearn.linear_model import LinearRegression
        >>> n_operations(LinearRegression().fit([[0, 1], [1, 2], [2, 2]], [0, 1, 2]))
        5
    """
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    if isinstance(model, DummyClassifier | DummyRegressor):  # for an empty feature set
        return 0
    if hasattr(model, "tree_") or hasattr(model, "support_vectors_"):
        return None
    weights = getattr(model, "coefs_", getattr(model, "coef_", None))
    if weights is None:
        return None
    biases = getattr(model, "intercepts_", getattr(model, "intercept_", 0.0))
    layers = weights if isinstance(weights, list) else [weights]
    shifts = biases if isinstance(biases, list) else [biases]
    return sum(2 * int(np.size(w)) for w in layers) + sum(int(np.size(b)) for b in shifts)


def prediction_time(*, repeats: int = 3, name: str = "prediction_time") -> Measure:
    """Return a measure of the time to predict one row of the test fold, in microseconds.

    It is the CPU time of the thread, so that other processes do not count.

    Args:
        repeats: Number of repeats, of which the fastest counts.
        name: Name of the measure.
    """
    measure = _PredictionTime(check_int("repeats", repeats, 1))
    return Measure(name, fold=measure, average="median", label="microseconds per row")


@dataclass(frozen=True)
class _PredictionTime:
    # A class instead of a closure, so that objectives can be pickled.
    repeats: int

    def __call__(self, fold: Fold) -> float:
        seconds = []
        for _ in range(self.repeats):
            start = time.thread_time()
            fold.estimator.predict(fold.X_test)
            seconds.append(time.thread_time() - start)
        return 1e6 * min(seconds) / max(1, len(fold.y_test))


register_measure(Measure("model_size", fold=model_size))
register_measure(Measure("parameter_count", fold=parameter_count))
register_measure(Measure("fit_time", fold=fit_time, average="median", label="seconds per fit"))
register_measure(Measure("flops", fold=flops, label="floating-point operations"))
register_measure(prediction_time())
