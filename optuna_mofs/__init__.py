"""Multi-objective feature selection and hyperparameter tuning in one Optuna study."""

from __future__ import annotations

__version__ = "0.1.0"
