"""Numbers computed of a configuration: what a study minimises or maximises."""

from optuna_mofs.measures.base import Evaluation, Fold, Measure
from optuna_mofs.measures.capacity import vc_dimension, vc_dimension_measure
from optuna_mofs.measures.effort import prediction_time
from optuna_mofs.measures.fairness import disparity
from optuna_mofs.measures.registry import measure, measure_names

__all__ = [
    "Evaluation",
    "Fold",
    "Measure",
    "disparity",
    "measure",
    "measure_names",
    "prediction_time",
    "vc_dimension",
    "vc_dimension_measure",
]
