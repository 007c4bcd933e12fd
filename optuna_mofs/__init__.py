"""Multi-objective feature selection and hyperparameter tuning in one Optuna study."""

from __future__ import annotations

from optuna_mofs.callbacks import StopWhenNothingNew
from optuna_mofs.dashboard import DashboardFigures
from optuna_mofs.features import (
    FeatureTable,
    FilterEnsembleFeatures,
    MaskFeatures,
    SingleFilterFeatures,
)
from optuna_mofs.filters import FilterEnsemble
from optuna_mofs.fronts import (
    Front,
    Optima,
    generalisation,
    hypervolume_history,
    optima,
    pareto_front,
)
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.measures import Measure
from optuna_mofs.models import FrontClassifier, FrontRegressor, front_model
from optuna_mofs.objectives import (
    FeatureSelectionObjective,
    ModelTypeObjective,
    NothingWorksError,
    feature_table,
)
from optuna_mofs.samplers import (
    FilterEnsembleNSGA2Sampler,
    GHGASampler,
    LexiFlowSampler,
    MOEADSampler,
    ParEGOSampler,
    SMSEGOSampler,
    StopWhenSettled,
)
from optuna_mofs.study._feature_sets import selected_features, selected_mask, suggest_features
from optuna_mofs.study._queue import enqueue_features, retry_interrupted

__version__ = "0.1.0"

__all__ = [
    "DashboardFigures",
    "FeatureSelectionObjective",
    "FeatureTable",
    "FilterEnsemble",
    "FilterEnsembleFeatures",
    "FilterEnsembleNSGA2Sampler",
    "Front",
    "FrontClassifier",
    "FrontRegressor",
    "GHGASampler",
    "LexiFlowSampler",
    "LexicographicPreference",
    "MOEADSampler",
    "MaskFeatures",
    "Measure",
    "ModelTypeObjective",
    "NothingWorksError",
    "Optima",
    "ParEGOSampler",
    "SMSEGOSampler",
    "SingleFilterFeatures",
    "StopWhenNothingNew",
    "StopWhenSettled",
    "__version__",
    "enqueue_features",
    "feature_table",
    "front_model",
    "generalisation",
    "hypervolume_history",
    "optima",
    "pareto_front",
    "retry_interrupted",
    "selected_features",
    "selected_mask",
    "suggest_features",
]
