from optuna_mofs import MOEADSampler

__all__ = ["MOEADSampler"]
