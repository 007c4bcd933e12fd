"""Model-based search: ParEGO and SMS-EGO on mixed, conditional spaces, with and without masks."""

from optuna_mofs.samplers.model_based.infill import LowerConfidenceBound, expected_improvement
from optuna_mofs.samplers.model_based.kriging import Kriging
from optuna_mofs.samplers.model_based.masks import MaskSearch
from optuna_mofs.samplers.model_based.parego import ParEGOSampler
from optuna_mofs.samplers.model_based.sampler import ModelBasedSampler
from optuna_mofs.samplers.model_based.search import InfillSearch
from optuna_mofs.samplers.model_based.smsego import SMSEGOSampler
from optuna_mofs.samplers.model_based.surrogates import Forest, Surrogate

__all__ = [
    "Forest",
    "InfillSearch",
    "Kriging",
    "LowerConfidenceBound",
    "MaskSearch",
    "ModelBasedSampler",
    "ParEGOSampler",
    "SMSEGOSampler",
    "Surrogate",
    "expected_improvement",
]
