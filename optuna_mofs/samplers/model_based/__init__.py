"""Model-based search: ParEGO and SMS-EGO on mixed, conditional spaces, with and without masks."""

from optuna_mofs.samplers._gaussian_process import OrdinaryKriging
from optuna_mofs.samplers.model_based._acquisition import Acquisition, ModelBasedNote
from optuna_mofs.samplers.model_based._parego import ParEGOSampler
from optuna_mofs.samplers.model_based._sampler import ModelBasedSampler, ModelBasedSettings
from optuna_mofs.samplers.model_based._search import InfillSearch, MaskSearch
from optuna_mofs.samplers.model_based._smsego import SMSEGOSampler
from optuna_mofs.samplers.model_based._surrogates import Forest, Surrogate
from optuna_mofs.samplers.model_based._training_data import EncodedBatch, TrainingData

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
