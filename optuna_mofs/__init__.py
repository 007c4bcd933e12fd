"""Multi-objective feature selection and hyperparameter tuning in one Optuna study."""

from __future__ import annotations

from optuna_mofs._storage import storage
from optuna_mofs.callbacks import LexicographicStoppingCallback, NoNewOptimaCallback
from optuna_mofs.dashboard import DashboardFigures
from optuna_mofs.features import (
    FeatureTable,
    FilterEnsembleFeatures,
    MaskFeatures,
    SingleFilterFeatures,
    feature_table,
)
from optuna_mofs.filters import FilterEnsemble
from optuna_mofs.fronts import (
    Front,
    LexicographicPreference,
    Optima,
    generalization,
    hypervolume_history,
    optima,
    pareto_front,
)
from optuna_mofs.honesty import NestedResult, nested_cross_validate, noise_floor
from optuna_mofs.measures import Measure
from optuna_mofs.model_selection import FeatureSelectionSearchCV
from optuna_mofs.models import FrontClassifier, FrontRegressor, front_model
from optuna_mofs.objectives import (
    AllTrialsFailedError,
    FeatureSelectionObjective,
    ModelTypeObjective,
)
from optuna_mofs.samplers import (
    FilterEnsembleNSGA2Sampler,
    GHGASampler,
    LexiFlowSampler,
    MOEADSampler,
    ParEGOSampler,
    SMSEGOSampler,
)
from optuna_mofs.study import (
    enqueue_features,
    retry_interrupted,
    selected_features,
    selected_mask,
    suggest_features,
)

__version__ = "0.1.0"

__all__ = [
    "AllTrialsFailedError",
    "DashboardFigures",
    "FeatureSelectionObjective",
    "FeatureSelectionSearchCV",
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
    "LexicographicStoppingCallback",
    "MOEADSampler",
    "MaskFeatures",
    "Measure",
    "ModelTypeObjective",
    "NestedResult",
    "NoNewOptimaCallback",
    "Optima",
    "ParEGOSampler",
    "SMSEGOSampler",
    "SingleFilterFeatures",
    "__version__",
    "enqueue_features",
    "feature_table",
    "front_model",
    "generalization",
    "hypervolume_history",
    "nested_cross_validate",
    "noise_floor",
    "optima",
    "pareto_front",
    "retry_interrupted",
    "selected_features",
    "selected_mask",
    "storage",
    "suggest_features",
]
