"""Measures of the selected features: how many, what they cost, how stable they are."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.measures.base import Evaluation, Measure


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
COUNT = Measure("count", whole=_count, worst=_number_of_features)
COST = Measure("cost", whole=_cost, worst=_total_cost)
INSTABILITY = Measure("instability", whole=_instability, worst=1.0)
