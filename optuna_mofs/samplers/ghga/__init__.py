"""Guided hybrid genetic algorithm."""

from optuna_mofs.samplers.ghga._chains import GHGANote
from optuna_mofs.samplers.ghga._guides import ForestGuide
from optuna_mofs.samplers.ghga._sampler import GHGASampler, GHGASettings

__all__ = ["ForestGuide", "GHGANote", "GHGASampler", "GHGASettings"]
