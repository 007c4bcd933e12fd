"""Copies of estimators."""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import clone


def unfitted_copy(estimator: Any) -> Any:
    """Return a clone of an estimator, also if it copies its arguments.

    CatBoost copies lists such as ``cat_features``, which scikit-learn's ``clone`` refuses.

    Example:
        >>> from sklearn.naive_bayes import GaussianNB
        >>> unfitted_copy(GaussianNB(var_smoothing=0.1))
        GaussianNB(var_smoothing=0.1)
    """
    try:
        return clone(estimator)
    except RuntimeError as error:
        if "Cannot clone" not in str(error):
            raise
        return copy.deepcopy(estimator)
