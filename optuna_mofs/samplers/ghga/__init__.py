"""Guided hybrid genetic algorithm."""

from optuna_mofs.samplers.ghga.sampler import GHGASampler

__all__ = ["GHGASampler"]
