"""Feature sets as trial suggestions."""

from optuna_mofs.features.codec import MaskCodec
from optuna_mofs.features.prior import mean_tree_size
from optuna_mofs.features.representation import (
    FilterEnsembleFeatures,
    MaskFeatures,
    Representation,
    SingleFilterFeatures,
    representation,
)
from optuna_mofs.features.similarity import Similarity
from optuna_mofs.features.table import FeatureTable, group_columns

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
