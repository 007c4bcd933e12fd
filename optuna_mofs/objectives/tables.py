"""From column names, groups, costs and fixed features to a feature table without ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from optuna_mofs.features.table import Array, FeatureTable, group_columns


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
    positions = range(len(names)) if all_fixed else sorted(set(table.positions(fixed)))
    return FeatureTable(names, columns, costs=_costs(table, costs), fixed=tuple(positions))


def _costs(
    table: FeatureTable, costs: Sequence[float] | Mapping[str, float] | None
) -> Array | None:
    if costs is None or not isinstance(costs, Mapping):
        return None if costs is None else np.asarray(costs, dtype=float)
    vector = np.ones(len(table))
    vector[table.positions(costs)] = list(costs.values())
    return vector
