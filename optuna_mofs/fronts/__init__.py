"""The non-dominated trials of a study: front, hypervolume, and the choice of one trial.

The array functions minimize all objectives. Functions that take a study, such as
:func:`pareto_front`, :func:`hypervolume_history` and :func:`generalization`, read and return
values in the study's own directions.
"""

from __future__ import annotations

from optuna_mofs.fronts._comparison import (
    attainment_surfaces,
    hypervolume_history,
    hypervolume_table,
    shared_reference,
)
from optuna_mofs.fronts._dominance import entered_front_mask, nondominated_mask, pareto_rank
from optuna_mofs.fronts._front import Front, pareto_front
from optuna_mofs.fronts._generalization import Generalization, generalization
from optuna_mofs.fronts._honest_front import HonestEstimate, HonestFront
from optuna_mofs.fronts._hypervolume import hypervolume, hypervolume_over_time
from optuna_mofs.fronts._lexicographic import lexicographic_index, lexicographic_targets
from optuna_mofs.fronts._optima import Optima, optima, optimal_rows, similarities
from optuna_mofs.fronts._picks import knee_index, one_standard_error_index
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.fronts._resampled import ResampledFronts
from optuna_mofs.fronts._warm_start import WarmStart, WarmStartWarning, warm_start

__all__ = [
    "Front",
    "Generalization",
    "HonestEstimate",
    "HonestFront",
    "LexicographicPreference",
    "Optima",
    "ResampledFronts",
    "WarmStart",
    "WarmStartWarning",
    "attainment_surfaces",
    "entered_front_mask",
    "generalization",
    "hypervolume",
    "hypervolume_history",
    "hypervolume_over_time",
    "hypervolume_table",
    "knee_index",
    "lexicographic_index",
    "lexicographic_targets",
    "nondominated_mask",
    "one_standard_error_index",
    "optima",
    "optimal_rows",
    "pareto_front",
    "pareto_rank",
    "shared_reference",
    "similarities",
    "warm_start",
]
