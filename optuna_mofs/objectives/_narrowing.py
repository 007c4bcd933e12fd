"""Estimators that name columns of the table, narrowed to the columns that a trial selects."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from optuna_mofs._estimators import own_params, unfitted_copy

#: Parameters that list columns: of HistGradientBoosting, LightGBM and CatBoost.
_COLUMN_LISTS = (
    "categorical_features",
    "categorical_feature",
    "cat_features",
    "text_features",
    "embedding_features",
)
#: Parameters with one entry per column, or a dictionary by column: of scikit-learn, then of
#: XGBoost, LightGBM and CatBoost.
_COLUMN_VALUES = (
    "monotonic_cst",
    "monotone_constraints",
    "feature_types",
    "feature_weights",
    "feature_contri",
)
#: Parameters with lists of columns that may interact.
_COLUMN_SETS = ("interaction_cst", "interaction_constraints")


@dataclass(frozen=True)
class Columns:
    """The columns that a part of an estimator gets, before and after a selection.

    Args:
        labels: Names of all columns of the table; empty for arrays.
        layout: The column of the table at each position of the part's input, or None if it is
            unknown, for example after an encoder that makes new columns.
        kept: Positions of the selected columns in the table.
        table: The selected columns, if the part gets them as they are, else None.
    """

    labels: tuple[Any, ...]
    layout: tuple[int, ...] | None
    kept: frozenset[int]
    table: Any = None

    @classmethod
    def of_table(
        cls, labels: Sequence[Any], n_columns: int, kept: Iterable[int], table: Any = None
    ) -> Columns:
        """Return the columns of a table."""
        return cls(tuple(labels), tuple(range(n_columns)), frozenset(kept), table)

    def is_gone(self, label: Any) -> bool:
        """Return whether a name is that of a column that is not selected.

        Names that the table does not have come from another step, which may have put its own name
        before that of the column.
        """
        if label not in self.labels and isinstance(label, str):
            label = label.rpartition("__")[2]
        return label in self.labels and self.labels.index(label) not in self.kept

    def narrow(self, columns: Any) -> Any:
        """Return names, positions, booleans or a slice, without columns that are not selected."""
        if isinstance(columns, slice):
            columns = self._listed(columns)
        listed = list(columns)
        if not listed:
            return listed
        if all(isinstance(c, str) for c in listed):
            return [c for c in listed if not self.is_gone(c)]
        if self.layout is None:
            return listed
        if all(isinstance(c, bool | np.bool_) for c in listed):
            return [c for c, j in zip(listed, self.layout) if j in self.kept]
        n, new = len(self.layout), self._new_positions()
        return [new[int(c) % n] for c in listed if int(c) % n in new]

    def narrow_values(self, values: Any) -> Any:
        """Return one value per selected column, as a list or by column."""
        if isinstance(values, Mapping):
            by_column = [(self.narrow([column]), value) for column, value in values.items()]
            return {left[0]: value for left, value in by_column if left}
        if self.layout is None or len(values) != len(self.layout):
            return values
        left = [value for value, j in zip(values, self.layout) if j in self.kept]
        return tuple(left) if isinstance(values, tuple) else left  # XGBoost wants a tuple

    def narrow_sets(self, sets: Sequence[Any]) -> list[Any]:
        """Return lists of selected columns, without empty lists."""
        found = [self.narrow(part) for part in sets]
        return [type(part)(left) for part, left in zip(sets, found) if left]

    def _listed(self, part: slice) -> list[Any]:
        if isinstance(part.start, str) or isinstance(part.stop, str):
            # As in pandas, the end is included.
            names = list(self.labels)
            start = 0 if part.start is None else names.index(part.start)
            stop = len(names) if part.stop is None else names.index(part.stop) + 1
            return names[start : stop : part.step]
        return list(range(len(self.layout or ())))[part]

    def _new_positions(self) -> dict[int, int]:
        kept = [i for i, j in enumerate(self.layout or ()) if j in self.kept]
        return {i: new for new, i in enumerate(kept)}


class NothingLeftError(ValueError):
    """Raised if an estimator uses none of the selected columns."""


def narrow(estimator: Any, columns: Columns) -> Any:
    """Return an unfitted copy of an estimator for the selected columns.

    In every ``ColumnTransformer``, the columns of each transformer are those that are selected,
    and a transformer without columns is left out. Lists of columns such as
    ``categorical_features`` are narrowed too. Parts inside of pipelines, and of any estimator that
    has others as parameters, are treated in the same way; those of a list, as in ``FeatureUnion``,
    are dropped if they use none of the selected columns. Positions in an input whose columns are
    unknown are kept as they are.

    Raises:
        NothingLeftError: If a ``ColumnTransformer`` would drop all selected columns.
        ValueError: If a part is frozen, but not all of its columns are selected.

    Example:
        >>> from sklearn.ensemble import HistGradientBoostingClassifier
        >>> model = HistGradientBoostingClassifier(categorical_features=["city", "job"])
        >>> table = Columns.of_table(["age", "city", "job"], 3, kept=[0, 2])
        >>> narrow(model, table).categorical_features
        ['job']
    """
    return _narrow(unfitted_copy(estimator), columns)[0]


def _narrow(estimator: Any, columns: Columns) -> tuple[Any, Columns]:
    """Narrow an estimator in place, and return it with the columns of its output."""
    output = replace(columns, table=None)
    if not _keeps_columns(estimator):
        output = replace(output, layout=None)
    elif estimator is None or estimator == "passthrough":
        output = columns
    if isinstance(estimator, Pipeline):
        steps, at = [], columns
        for name, step in estimator.steps:
            narrowed, at = _narrow(step, at)
            steps.append((name, narrowed))
        estimator.steps = steps
        return estimator, at
    if isinstance(estimator, ColumnTransformer):
        return _narrow_transformers(estimator, columns)
    if isinstance(estimator, FrozenEstimator):
        _check_frozen(estimator, columns)
        return estimator, output
    if not hasattr(estimator, "get_params"):
        return estimator, output
    params = own_params(estimator) or estimator.get_params(deep=False)
    changed = {}
    for name, value in params.items():
        if value is None or isinstance(value, str):
            continue
        if name in _COLUMN_LISTS:
            changed[name] = columns.narrow(value) or None
        elif name in _COLUMN_VALUES and not isinstance(value, type):
            changed[name] = columns.narrow_values(value) or None
        elif name in _COLUMN_SETS:
            changed[name] = columns.narrow_sets(value) or None
        elif hasattr(value, "get_params") and not isinstance(value, type):
            changed[name] = _narrow(value, columns)[0]
        elif isinstance(value, list) and value and all(map(_is_named_part, value)):
            changed[name] = _narrow_list(value, columns)
    if changed:
        estimator.set_params(**changed)
    return estimator, output


def _narrow_list(parts: Sequence[tuple[str, Any]], columns: Columns) -> list[tuple[str, Any]]:
    """Return the named parts of a union or vote; those that use no selected column are dropped."""
    found: list[tuple[str, Any]] = []
    for name, part in parts:
        try:
            found.append((name, _narrow(part, columns)[0]))
        except NothingLeftError:
            found.append((name, "drop"))
    if all(isinstance(part, str) for _, part in found):
        raise NothingLeftError("No part uses any of the selected columns.")
    return found


def _check_frozen(frozen: FrozenEstimator, columns: Columns) -> None:
    if columns.layout is None or columns.kept.issuperset(columns.layout):
        return
    raise ValueError(
        f"The frozen {type(frozen.estimator).__name__} needs all of its columns, but some are not "
        "selected. Make them one feature, feature_groups={...}, or pass it unfrozen."
    )


def _keeps_columns(step: Any) -> bool:
    """Return whether each column of a step's output is that of its input."""
    if isinstance(step, Pipeline):
        return all(_keeps_columns(part) for _, part in step.steps)
    if isinstance(step, SimpleImputer):
        return not step.add_indicator
    return isinstance(step, OneToOneFeatureMixin) or step is None or step == "passthrough"


def _is_named_part(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and hasattr(value[1], "get_params")


def _narrow_transformers(
    transformer: ColumnTransformer, columns: Columns
) -> tuple[ColumnTransformer, Columns]:
    parts, used, output = [], set[int](), list[int]()
    is_known, has_columns = columns.layout is not None, False
    for name, part, given in transformer.transformers:
        if callable(given):
            chosen = given if isinstance(given, make_column_selector) else Present(given)
            parts.append((name, part, chosen))
            is_known = False
            has_columns |= columns.table is None or len(chosen(columns.table)) > 0
            continue
        is_one = isinstance(given, str | int | np.integer)
        chosen = columns.narrow([given] if is_one else given)
        before = _positions(columns, [given] if is_one else given)
        used |= set(before or ())
        is_dropped = isinstance(part, str) and part == "drop"
        if not is_dropped:
            is_known &= before is not None and _keeps_columns(part)
            output += before or ()
        if not (any(chosen) if _is_mask(chosen) else len(chosen)):
            continue
        inner = None if before is None else tuple(before)
        try:
            narrowed = _narrow(part, replace(columns, layout=inner, table=None))[0]
        except NothingLeftError:  # of a ColumnTransformer inside
            narrowed, is_dropped = "drop", True
        has_columns |= not is_dropped
        parts.append((name, narrowed, chosen[0] if is_one else chosen))
    remainder, rest = transformer.remainder, [j for j in columns.layout or () if j not in used]
    if hasattr(remainder, "get_params"):
        transformer.remainder = _narrow(remainder, replace(columns, layout=None, table=None))[0]
        is_known = False
    if not isinstance(remainder, str) or remainder != "drop":
        # If the columns of the input are unknown, or chosen by a selector, some may be left.
        is_certain = columns.layout is not None and not any(callable(c) for _, _, c in parts)
        has_columns |= not is_certain or not columns.kept.isdisjoint(rest)
        output += rest
    if not has_columns:
        raise NothingLeftError("ColumnTransformer drops all selected columns.")
    # It may be empty: the remainder then has all columns.
    transformer.transformers = parts
    return transformer, Columns(columns.labels, tuple(output) if is_known else None, columns.kept)


def _is_mask(columns: Sequence[Any]) -> bool:
    return all(isinstance(c, bool | np.bool_) for c in columns)


def _positions(columns: Columns, given: Any) -> list[int] | None:
    """Return the columns of the table that names or positions mean, None if they are unknown."""
    listed = columns._listed(given) if isinstance(given, slice) else list(given)
    if listed and all(isinstance(c, str) for c in listed):
        known = [columns.labels.index(c) for c in listed if c in columns.labels]
        return known if len(known) == len(listed) else None
    if columns.layout is None:
        return None
    if listed and _is_mask(listed):
        return [j for c, j in zip(listed, columns.layout) if c]
    return [columns.layout[int(c)] for c in listed]


class Present:
    """A selector of columns, without names that the table does not have.

    Args:
        selector: Function of a table that returns names, positions or booleans.
    """

    def __init__(self, selector: Callable[[Any], Any]) -> None:
        self.selector = selector

    def __call__(self, X: Any) -> Any:
        """Return the columns of X that the selector names."""
        found = self.selector(X)
        names: Iterable[Hashable] = getattr(X, "columns", ())
        if isinstance(found, str):
            return found if found in names else []
        if isinstance(found, slice) or not all(isinstance(name, str) for name in found):
            return found
        return [name for name in found if name in names]
