"""From column names, groups, costs and fixed features to a feature table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from optuna_mofs._typing import Array
from optuna_mofs.features.table import FeatureTable, group_columns
from optuna_mofs.filters import DEFAULT_FILTERS, detect_task
from optuna_mofs.objectives.dataset import Dataset
from optuna_mofs.objectives.ranking import Ranking


def feature_table(
    X: Any,
    y: Any,
    *,
    task: Literal["auto", "classification", "regression"] = "auto",
    filters: Sequence[Any] = DEFAULT_FILTERS,
    feature_names: Sequence[str] | None = None,
    feature_groups: Mapping[str, Sequence[str]] | None = None,
    fixed_features: Sequence[str] = (),
    costs: Sequence[float] | Mapping[str, float] | None = None,
    mean_size: float | None = None,
    random_state: int = 0,
) -> FeatureTable:
    """Look at the data once, for :func:`optuna_mofs.suggest_features` in your own objective.

    The filter ranks and the size prior (Binder et al. 2020, section 4.3) guide the samplers of
    this package from the first trial on.

    Args:
        X: Array, DataFrame or sparse matrix.
        y: Target.
        task: ``"classification"``, ``"regression"``, or ``"auto"`` to decide by ``y``.
        filters: Filters by name or as functions; empty for none.
        feature_names: Names of the columns if X has none.
        feature_groups: Columns that are one feature (name of the feature to column names).
        fixed_features: Names of features that are always in.
        costs: Cost of each feature, as a sequence or by name (1 for those not named).
        mean_size: Expected number of features at the start of a search; by default that of
            decision trees on the data.
        random_state: Seed of the filters.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> table = feature_table(X, y, filters=["anova_f"], fixed_features=["alcohol"])
        >>> len(table), len(table.free), table.ranks.shape
        (13, 12, (1, 13))
    """
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be 'auto', 'classification' or 'regression', not {task!r}.")
    decided = detect_task(y) if task == "auto" else task
    data = Dataset(X, y, classification=decided == "classification", feature_names=feature_names)
    layout = feature_layout(
        data.column_names, groups=feature_groups, fixed=fixed_features, costs=costs
    )
    return Ranking(data, layout, filters, random_state, mean_size).table


def feature_layout(
    column_names: Sequence[str],
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    fixed: Sequence[str] = (),
    costs: Sequence[float] | Mapping[str, float] | None = None,
    all_fixed: bool = False,
) -> FeatureTable:
    """The features of a data set, before any filter has looked at them.

    Args:
        column_names: Names of the columns of X.
        groups: Columns that are one feature.
        fixed: Names of features that are always in.
        costs: Cost of each feature, or costs by name.
        all_fixed: Whether every feature is always in (no feature selection).

    Example:
        >>> feature_layout(["age", "pay"], costs={"pay": 5}).costs.tolist()
        [1.0, 5.0]
    """
    names, columns = group_columns(column_names, groups)
    table = FeatureTable(names, columns)
    for group, members in (groups or {}).items():
        inside = [name for name in fixed if name in members and name not in names]
        if inside:
            raise ValueError(
                f"{inside[0]!r} is in the group {group!r}, which is chosen as one. "
                f"Fix the group: fixed_features=[{group!r}]."
            )
    positions = range(len(names)) if all_fixed else sorted(set(table.positions(fixed)))
    return FeatureTable(names, columns, costs=_costs(table, costs), fixed=tuple(positions))


def _costs(
    table: FeatureTable, costs: Sequence[float] | Mapping[str, float] | None
) -> Array | None:
    if isinstance(costs, pd.Series) and not isinstance(costs.index, pd.RangeIndex):
        costs = costs.to_dict()
    if costs is None or not isinstance(costs, Mapping):
        return None if costs is None else np.asarray(costs, dtype=float)
    vector = np.ones(len(table))
    vector[table.positions(list(costs))] = list(costs.values())
    return vector
