"""Guided hybrid genetic algorithm."""

from optuna_mofs.samplers.ghga._sampler import GHGASampler

__all__ = ["GHGASampler"]
