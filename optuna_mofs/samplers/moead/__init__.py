"""MOEA/D: many weighted problems side by side, each helped by its neighbors."""

from optuna_mofs.samplers.moead._sampler import MOEADSampler

__all__ = ["MOEADSampler"]
