"""Randomized direct search with lexicographic preferences (Zhang et al. 2023)."""

from optuna_mofs.samplers.lexiflow._local_search import LexiFlowNote, LexiFlowSettings
from optuna_mofs.samplers.lexiflow._sampler import LexiFlowSampler

__all__ = ["LexiFlowNote", "LexiFlowSampler", "LexiFlowSettings"]
