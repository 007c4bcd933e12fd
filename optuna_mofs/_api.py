"""The public names of the package; ``optuna_mofs`` loads them when the first one is used."""

from __future__ import annotations

from optuna_mofs._storage import journal, storage
from optuna_mofs.callbacks import (
    LexicographicStoppingCallback,
    NoNewOptimaCallback,
    StagnationCallback,
    TimeoutCallback,
)
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
    warm_start,
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
from optuna_mofs.stability import ResampledFronts, resampled_fronts
from optuna_mofs.study import (
    enqueue_features,
    fold_scores,
    retry_interrupted,
    selected_features,
    selected_mask,
    suggest_features,
)

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
    "ResampledFronts",
    "SMSEGOSampler",
    "SingleFilterFeatures",
    "StagnationCallback",
    "TimeoutCallback",
    "enqueue_features",
    "feature_table",
    "fold_scores",
    "front_model",
    "generalization",
    "hypervolume_history",
    "journal",
    "nested_cross_validate",
    "noise_floor",
    "optima",
    "pareto_front",
    "resampled_fronts",
    "retry_interrupted",
    "selected_features",
    "selected_mask",
    "storage",
    "suggest_features",
    "warm_start",
]
