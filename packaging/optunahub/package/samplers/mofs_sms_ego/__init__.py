from optuna_mofs import SMSEGOSampler

__all__ = ["SMSEGOSampler"]
