from optuna_mofs import LexiFlowSampler

__all__ = ["LexiFlowSampler"]
