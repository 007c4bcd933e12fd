"""Feature sets as trial suggestions."""

from optuna_mofs.features._codec import MaskCodec
from optuna_mofs.features._ranking import mean_tree_size
from optuna_mofs.features._redundancy import Similarity
from optuna_mofs.features._representation import (
    FilterEnsembleFeatures,
    MaskFeatures,
    Representation,
    SingleFilterFeatures,
    representation,
)
from optuna_mofs.features._table import FeatureTable, group_columns

__all__ = [
    "FeatureTable",
    "FilterEnsembleFeatures",
    "MaskCodec",
    "MaskFeatures",
    "Representation",
    "Similarity",
    "SingleFilterFeatures",
    "group_columns",
    "mean_tree_size",
    "representation",
]
