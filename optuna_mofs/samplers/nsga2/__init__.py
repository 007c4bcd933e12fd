"""NSGA-II with masks that follow filter ensembles."""

from optuna_mofs.samplers.nsga2._population import HypervolumeSelection, TournamentSelection
from optuna_mofs.samplers.nsga2._sampler import FilterEnsembleNSGA2Sampler, NSGA2Settings
from optuna_mofs.samplers.nsga2._variation import MixedVariation, NSGA2Note, PaperVariation

__all__ = [
    "FilterEnsembleNSGA2Sampler",
    "HypervolumeSelection",
    "MixedVariation",
    "NSGA2Note",
    "NSGA2Settings",
    "PaperVariation",
    "TournamentSelection",
]
