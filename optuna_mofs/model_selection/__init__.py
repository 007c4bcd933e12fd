"""Feature selection and tuning as a scikit-learn estimator."""

from optuna_mofs.model_selection._search import FeatureSelectionSearchCV

__all__ = ["FeatureSelectionSearchCV"]
