"""Features, and feature sets as trial parameters."""

from optuna_mofs.features._codec import MaskCodec
from optuna_mofs.features._ranking import feature_table
from optuna_mofs.features._redundancy import Similarity
from optuna_mofs.features._representation import (
    FilterEnsembleFeatures,
    MaskFeatures,
    Representation,
    SingleFilterFeatures,
    get_representation,
)
from optuna_mofs.features._table import FeatureTable, group_columns
from optuna_mofs.features._tree_size import mean_tree_size

__all__ = [
    "FeatureTable",
    "FilterEnsembleFeatures",
    "MaskCodec",
    "MaskFeatures",
    "Representation",
    "Similarity",
    "SingleFilterFeatures",
    "feature_table",
    "get_representation",
    "group_columns",
    "mean_tree_size",
]
