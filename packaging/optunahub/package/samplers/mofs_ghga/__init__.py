from optuna_mofs import GHGASampler

__all__ = ["GHGASampler"]
