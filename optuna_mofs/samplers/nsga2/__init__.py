"""NSGA-II with masks that follow filter ensembles."""

from optuna_mofs.samplers.nsga2._sampler import FilterEnsembleNSGA2Sampler

__all__ = ["FilterEnsembleNSGA2Sampler"]
