"""Model-based search: ParEGO and SMS-EGO on mixed, conditional spaces, with and without masks."""

from optuna_mofs.samplers._gaussian_process import OrdinaryKriging
from optuna_mofs.samplers._infill import Acquisition, ModelBasedNote
from optuna_mofs.samplers._infill_search import InfillSearch, MaskSearch
from optuna_mofs.samplers._surrogates import Forest, Surrogate
from optuna_mofs.samplers._training_data import EncodedBatch, TrainingData
from optuna_mofs.samplers.model_based._parego import ParEGOSampler
from optuna_mofs.samplers.model_based._sampler import ModelBasedSampler, ModelBasedSettings
from optuna_mofs.samplers.model_based._smsego import SMSEGOSampler

__all__ = [
    "Acquisition",
    "EncodedBatch",
    "Forest",
    "InfillSearch",
    "MaskSearch",
    "ModelBasedNote",
    "ModelBasedSampler",
    "ModelBasedSettings",
    "OrdinaryKriging",
    "ParEGOSampler",
    "SMSEGOSampler",
    "Surrogate",
    "TrainingData",
]
