from optuna_mofs import ParEGOSampler

__all__ = ["ParEGOSampler"]
