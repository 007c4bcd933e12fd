"""Feature filters, their registry, and the ensemble of ranks (Binder et al., 2020).

A filter is a function ``f(X, y) -> scores`` that returns one score per feature, higher is more
relevant:

>>> from sklearn.datasets import load_iris
>>> from optuna_mofs.filters import auc
>>> auc(*load_iris(return_X_y=True)).round(2).tolist()
[0.81, 0.75, 0.83, 0.83]
"""

from __future__ import annotations

from optuna_mofs.data._target import detect_task
from optuna_mofs.filters._data import DEFAULT_BINS, FilterData
from optuna_mofs.filters._elimination import (
    estimator_elimination,
    forest_elimination,
    l1_path,
    linear_elimination,
)
from optuna_mofs.filters._ensemble import FilterEnsemble, rank_scores
from optuna_mofs.filters._information import chi2, cmim, information_gain, jmi, mrmr
from optuna_mofs.filters._registry import (
    DEFAULT_FILTERS,
    PAPER_FILTERS,
    RULE_FILTERS,
    filter_names,
    get_filter,
    register_filter,
    resolve_filters,
)
from optuna_mofs.filters._relief import relieff
from optuna_mofs.filters._univariate import (
    anova_f,
    auc,
    constant,
    mutual_information,
    pearson,
    random_forest,
    spearman,
    variance,
)

__all__ = [
    "DEFAULT_BINS",
    "DEFAULT_FILTERS",
    "PAPER_FILTERS",
    "RULE_FILTERS",
    "FilterData",
    "FilterEnsemble",
    "anova_f",
    "auc",
    "chi2",
    "cmim",
    "constant",
    "detect_task",
    "estimator_elimination",
    "filter_names",
    "forest_elimination",
    "get_filter",
    "information_gain",
    "jmi",
    "l1_path",
    "linear_elimination",
    "mrmr",
    "mutual_information",
    "pearson",
    "random_forest",
    "rank_scores",
    "register_filter",
    "relieff",
    "resolve_filters",
    "spearman",
    "variance",
]
