"""Measures of what a fitted model takes: bytes, learned numbers, time to predict."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from optuna_mofs._typing import Array
from optuna_mofs.measures.base import Fold, Measure

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
