"""Measures of a configuration, which a study minimizes or maximizes."""

from optuna_mofs.measures._base import Evaluation, Fold, Measure
from optuna_mofs.measures._complexity import prediction_time
from optuna_mofs.measures._prediction import disparity
from optuna_mofs.measures._registry import get_measure, measure_names, register_measure
from optuna_mofs.measures._vc_dimension import vc_dimension, vc_dimension_measure

__all__ = [
    "Evaluation",
    "Fold",
    "Measure",
    "disparity",
    "get_measure",
    "measure_names",
    "prediction_time",
    "register_measure",
    "vc_dimension",
    "vc_dimension_measure",
]
