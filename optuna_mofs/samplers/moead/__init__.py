"""MOEA/D: many weighted problems side by side, each helped by its neighbours."""

from optuna_mofs.samplers.moead.sampler import MOEADSampler

__all__ = ["MOEADSampler"]
