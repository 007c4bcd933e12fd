"""Randomised direct search with lexicographic preferences (Zhang et al. 2023)."""

from optuna_mofs.samplers.lexiflow.sampler import LexiFlowSampler
from optuna_mofs.samplers.lexiflow.stopping import StopWhenSettled

__all__ = ["LexiFlowSampler", "StopWhenSettled"]
