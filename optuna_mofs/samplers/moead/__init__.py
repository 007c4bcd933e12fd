"""MOEA/D: many weighted subproblems side by side, each helped by its neighbors."""

from optuna_mofs.samplers.moead._offspring import DifferentialVariation
from optuna_mofs.samplers.moead._sampler import MOEADSampler, MOEADSettings
from optuna_mofs.samplers.moead._subproblems import MOEADNote

__all__ = ["DifferentialVariation", "MOEADNote", "MOEADSampler", "MOEADSettings"]
