"""Measures of how fairly and evenly a classifier errs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.measures.base import Fold, Measure


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

    On test data that the search did not see (:func:`optuna_mofs.generalisation`) groups are not
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
