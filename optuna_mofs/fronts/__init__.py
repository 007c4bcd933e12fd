"""Fronts: the non-dominated trials of a study, what they are worth, and picks from them.

The array functions minimise all objectives and know nothing of studies; :func:`pareto_front`,
:func:`hypervolume_history` and :func:`generalisation` take a study in its own directions.
"""

from __future__ import annotations

from optuna_mofs.fronts.attainment import attainment_surfaces
from optuna_mofs.fronts.comparison import hypervolume_table, shared_reference
from optuna_mofs.fronts.dominance import newcomers_mask, nondominated_mask, pareto_rank
from optuna_mofs.fronts.front import Front, pareto_front
from optuna_mofs.fronts.generalise import Generalisation, generalisation
from optuna_mofs.fronts.knees import knee_index
from optuna_mofs.fronts.lexicographic import lexicographic_index, lexicographic_targets
from optuna_mofs.fronts.optima import Optima, optima, optimal_rows, similarities
from optuna_mofs.fronts.parsimony import one_standard_error_index
from optuna_mofs.fronts.progress import hypervolume_history
from optuna_mofs.fronts.volume import hypervolume, hypervolume_over_time

__all__ = [
    "Front",
    "Generalisation",
    "Optima",
    "attainment_surfaces",
    "generalisation",
    "hypervolume",
    "hypervolume_history",
    "hypervolume_over_time",
    "hypervolume_table",
    "knee_index",
    "lexicographic_index",
    "lexicographic_targets",
    "newcomers_mask",
    "nondominated_mask",
    "one_standard_error_index",
    "optima",
    "optimal_rows",
    "pareto_front",
    "pareto_rank",
    "shared_reference",
    "similarities",
]
