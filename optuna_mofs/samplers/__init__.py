"""Samplers for feature selection and tuning."""

from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers.ghga import GHGASampler
from optuna_mofs.samplers.lexiflow import LexiFlowSampler
from optuna_mofs.samplers.model_based import ParEGOSampler, SMSEGOSampler
from optuna_mofs.samplers.moead import MOEADSampler
from optuna_mofs.samplers.nsga2 import FilterEnsembleNSGA2Sampler

__all__ = [
    "FilterEnsembleNSGA2Sampler",
    "GHGASampler",
    "HistorySampler",
    "LexiFlowSampler",
    "MOEADSampler",
    "ParEGOSampler",
    "Proposal",
    "ProposalContext",
    "SMSEGOSampler",
]
