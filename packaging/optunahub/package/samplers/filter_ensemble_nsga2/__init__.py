from optuna_mofs import FilterEnsembleNSGA2Sampler

__all__ = ["FilterEnsembleNSGA2Sampler"]
