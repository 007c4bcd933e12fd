"""Model-based search: ParEGO and SMS-EGO on mixed, conditional spaces, with and without masks."""

from optuna_mofs.samplers._gaussian_process import Kriging
from optuna_mofs.samplers.model_based._acquisition import (
    LowerConfidenceBound,
    expected_improvement,
)
from optuna_mofs.samplers.model_based._parego import ParEGOSampler
from optuna_mofs.samplers.model_based._sampler import ModelBasedSampler
from optuna_mofs.samplers.model_based._search import InfillSearch, MaskSearch
from optuna_mofs.samplers.model_based._smsego import SMSEGOSampler
from optuna_mofs.samplers.model_based._surrogates import Forest, Surrogate

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
