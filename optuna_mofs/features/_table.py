"""The features of a study: names, columns, costs, fixed features and filter ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_numbers, did_you_mean
from optuna_mofs.features._codec import pack_array, unpack_array
from optuna_mofs.features._limits import check_limits, limit_mask, n_masks
from optuna_mofs.features._redundancy import Similarity

#: Name of the filter that scores all features equally.
CONSTANT_FILTER = "constant"


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features that a search selects from.

    A feature is selected as a whole: usually one column of ``X``, or a group of columns such as
    the one-hot columns of a category. A *mask* is a boolean array over the *free* features, those
    that are not fixed; :meth:`full_mask` adds the fixed ones, :meth:`columns_of` returns the
    columns of ``X``.

    Args:
        names: Unique name of each feature.
        columns: Columns of ``X`` of each feature; by default feature ``j`` is column ``j``.
        costs: Cost of each feature; by default 1.
        fixed: Positions of the features that are always selected.
        filters: Names of the filters that computed ``ranks``.
        ranks: Filter ranks in [0, 1], filters × features, 1 the most relevant; None if unknown. A
            study stores them as multiples of half a step of equidistant ranks, which is exact for
            those of :class:`~optuna_mofs.FilterEnsemble`.
        expected_n_features: Expected number of selected free features at the start of a search
            (the geometric prior of Binder et al. 2020, section 4.3.1); None for ``sqrt(p)``.
        similar: Which features are nearly redundant; None if unknown.
        min_features: Least number of features of a set, fixed ones included.
        max_features: Largest number of features of a set, fixed ones included; None for no limit.

    Example:
        >>> table = FeatureTable(names=("age", "city", "pay"), columns=((0,), (1, 2), (3,)))
        >>> table.columns_of(np.array([True, True, False]))
        array([0, 1, 2])
    """

    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...] | None = None
    costs: Array | None = None
    fixed: tuple[int, ...] = ()
    filters: tuple[str, ...] = ()
    ranks: Array | None = field(default=None, repr=False)
    expected_n_features: float | None = None
    similar: Similarity | None = field(default=None, repr=False)
    min_features: int = 0
    max_features: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.names, str):
            raise ValueError(f"names must be a list of names, got the string {self.names!r}.")
        self._set("names", tuple(map(str, self.names)))
        self._set("fixed", tuple(int(j) for j in self.fixed))
        self._set("filters", tuple(self.filters))
        p = len(self.names)
        if p == 0:
            raise ValueError("There are no features: X has 0 columns. Pass at least one.")
        if len(set(self.names)) != p:
            repeated = next(name for name, times in Counter(self.names).items() if times > 1)
            raise ValueError(f"Feature names must be unique, but {repeated!r} occurs twice.")
        if len(set(self.fixed)) != len(self.fixed) or not all(0 <= j < p for j in self.fixed):
            raise ValueError(
                f"fixed must have different positions in 0..{p - 1}, got {self.fixed}."
            )
        if self.columns is not None:
            self._set("columns", _check_columns(self.columns, self.names))
        if self.costs is not None:
            self._set("costs", _check_costs(self.costs, self.names))
        if self.ranks is not None:
            self._set("ranks", _check_ranks(self.ranks, (len(self.filters), p)))
        expected = self.expected_n_features
        is_number = isinstance(expected, int | float | np.integer | np.floating)
        if expected is not None and not (is_number and 0 < expected < np.inf):
            raise ValueError(
                f"expected_n_features must be a number above 0 and finite, got {expected!r}."
            )
        if self.similar is not None and len(self.similar.others) != p:
            raise ValueError(
                f"similar must have one row for each of the {p} features, "
                f"got {len(self.similar.others)} rows."
            )
        check_limits(self.min_features, self.max_features, p, len(self.fixed))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def position(self) -> dict[str, int]:
        """The position of each feature by name."""
        return {name: j for j, name in enumerate(self.names)}

    @cached_property
    def free(self) -> Array:
        """The positions of the features that are not fixed."""
        return np.setdiff1d(np.arange(len(self)), np.asarray(self.fixed, dtype=int))

    @cached_property
    def free_ranks(self) -> Array | None:
        """The filter ranks of the free features."""
        return None if self.ranks is None else self.ranks[:, self.free]

    @cached_property
    def free_costs(self) -> Array | None:
        """The costs of the free features, or None if all cost 1."""
        return None if self.costs is None else self.costs[self.free]

    @cached_property
    def with_constant_filter(self) -> FeatureTable:
        """The same table with a last filter that ranks all features equally, if it has ranks."""
        if self.ranks is None or CONSTANT_FILTER in self.filters:
            return self
        ranks = np.vstack([self.ranks, np.full(len(self), 0.5)])
        return replace(self, filters=(*self.filters, CONSTANT_FILTER), ranks=ranks)

    @property
    def initial_size(self) -> float:
        """The expected number of selected free features at the start of a search."""
        size = self.expected_n_features
        return float(np.sqrt(len(self.free))) if size is None else size

    @cached_property
    def size_limits(self) -> tuple[int, int]:
        """The least and the largest number of free features of a set."""
        return check_limits(self.min_features, self.max_features, len(self), len(self.fixed))

    def allows(self, mask: Array) -> bool:
        """Return whether a mask over the free features is within the limits."""
        low, high = self.size_limits
        return bool(low <= np.count_nonzero(mask) <= high)

    def limited(self, mask: Array, score: Array | None = None) -> Array:
        """Return a mask over the free features within the limits, see :func:`limit_mask`."""
        return limit_mask(mask, *self.size_limits, score)

    @property
    def n_masks(self) -> float:
        """The number of masks over the free features within the limits, at most 2^1000."""
        return n_masks(len(self.free), *self.size_limits)

    def full_mask(self, mask: Array) -> Array:
        """Turn a mask over the free features into one over all features."""
        full = np.zeros(len(self), dtype=bool)
        full[list(self.fixed)] = True
        full[self.free] = mask
        return full

    def columns_of(self, full_mask: Array) -> Array:
        """Return the columns of ``X`` of a mask over all features, ascending."""
        chosen = np.flatnonzero(full_mask)
        if self.columns is None:
            return chosen
        return np.sort(np.array([c for j in chosen for c in self.columns[j]], dtype=int))

    @property
    def column_sets(self) -> tuple[tuple[int, ...], ...]:
        """The columns of ``X`` of each feature."""
        return self.columns or tuple((j,) for j in range(len(self)))

    def cost(self, full_mask: Array) -> float:
        """Return the total cost of a mask over all features."""
        if self.costs is None:
            return float(np.count_nonzero(full_mask))
        return float(self.costs[full_mask].sum())

    @property
    def total_cost(self) -> float:
        """The total cost of all features."""
        return self.cost(np.ones(len(self), dtype=bool))

    def names_of(self, full_mask: Array) -> list[str]:
        """Return the names of the features in a mask over all features."""
        return [self.names[j] for j in np.flatnonzero(full_mask)]

    def mask_of(self, names: Iterable[str]) -> Array:
        """Return the mask of the named features over the free ones; fixed ones are ignored."""
        full = np.zeros(len(self), dtype=bool)
        full[self.positions(names)] = True
        return full[self.free]

    def positions(self, names: Iterable[str]) -> list[int]:
        """Return the positions of features by name, or raise if one is unknown."""
        if isinstance(names, str):
            raise ValueError(f"Features must be a list of names, got {names!r}. Pass [{names!r}].")
        found = []
        for name in names:
            if name not in self.position:
                hint = did_you_mean(name, self.names)
                raise ValueError(f"There is no feature {name!r} among {len(self)}.{hint}")
            found.append(self.position[name])
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON values, with compressed ranks."""
        return {
            "names": list(self.names),
            "columns": None if self.columns is None else [list(c) for c in self.columns],
            "costs": None if self.costs is None else self.costs.tolist(),
            "fixed": list(self.fixed),
            "filters": list(self.filters),
            "ranks": None if self.ranks is None else _pack_ranks(self.ranks),
            "expected_n_features": self.expected_n_features,
            "similar": None if self.similar is None else self.similar.to_json(),
            "min_features": self.min_features,
            "max_features": self.max_features,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FeatureTable:
        """Return the table that :meth:`to_json` described."""
        filters = tuple(data["filters"])
        shape = (len(filters), len(data["names"]))
        return cls(
            names=tuple(data["names"]),
            columns=None if data["columns"] is None else tuple(map(tuple, data["columns"])),
            costs=None if data["costs"] is None else np.asarray(data["costs"], dtype=float),
            fixed=tuple(data["fixed"]),
            filters=filters,
            ranks=None if data["ranks"] is None else _unpack_ranks(data["ranks"], shape),
            expected_n_features=data["expected_n_features"],
            similar=None if data.get("similar") is None else Similarity.from_json(data["similar"]),
            min_features=data.get("min_features", 0),
            max_features=data.get("max_features"),
        )


def group_columns(
    column_names: Sequence[str], groups: Mapping[str, Sequence[str]] | None
) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...] | None]:
    """Return names and columns of the features when some columns are one feature.

    A group is at the position of its first column.

    Args:
        column_names: Names of the columns of ``X``.
        groups: Names of columns by name of their group; other columns are features of their own.

    Example:
        >>> group_columns(["age", "city=Rome", "city=Oslo"], {"city": ["city=Rome", "city=Oslo"]})
        (('age', 'city'), ((0,), (1, 2)))
    """
    is_list = isinstance(column_names, Iterable) and not isinstance(column_names, Mapping)
    if not is_list or not all(isinstance(name, str) for name in column_names):
        raise ValueError(f"column_names must be a list of strings, got {repr(column_names)[:80]}.")
    if not groups:
        return tuple(column_names), None
    if not isinstance(groups, Mapping):
        raise ValueError(
            "Feature groups must be a dict from the name of a group to its columns, got "
            f"{groups!r}."
        )
    position = {name: j for j, name in enumerate(column_names)}
    owner: dict[int, str] = {}
    for group, members in groups.items():
        if isinstance(members, str) or not isinstance(members, Collection):
            raise ValueError(
                f"Feature group {group!r} must be a list of columns, got {members!r}. "
                f"Pass [{members!r}]."
            )
        if len(members) == 0:
            raise ValueError(
                f"Feature group {group!r} has no columns. Name at least one, or remove it."
            )
        for member in members:
            if not isinstance(member, str) or member not in position:
                hint = did_you_mean(member, column_names)
                raise ValueError(f"Feature group {group!r} names no column {member!r}.{hint}")
            if position[member] in owner:
                raise ValueError(
                    f"Column {member!r} is in two feature groups: "
                    f"{owner[position[member]]!r} and {group!r}. Leave it in one."
                )
            owner[position[member]] = group
    for group in groups:
        if group in position and owner.get(position[group]) != group:
            raise ValueError(
                f"Feature group {group!r} has the name of a column that is not in it. "
                "Rename the group, or add the column to it."
            )
    members_of: dict[str, list[int]] = {}
    for j, name in enumerate(column_names):
        members_of.setdefault(owner.get(j, name), []).append(j)
    return tuple(members_of), tuple(map(tuple, members_of.values()))


def _check_columns(columns: Any, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    found = tuple(tuple(int(c) for c in members) for members in columns)
    if len(found) != len(names):
        raise ValueError(
            f"columns must have one list for each of the {len(names)} features, got {len(found)}."
        )
    seen: set[int] = set()
    for name, members in zip(names, found):
        if not members:
            raise ValueError(f"Feature {name!r} has no columns. Name at least one, or remove it.")
        for column in members:
            if column < 0 or column in seen:
                raise ValueError(
                    f"Feature {name!r} has column {column}, which is "
                    + ("negative." if column < 0 else "already a column of a feature.")
                )
            seen.add(column)
    return found


def _check_costs(costs: Any, names: Sequence[str]) -> Array:
    found: Array = check_numbers("costs", costs)
    if found.shape != (len(names),):
        raise ValueError(
            f"costs must have one number for each of the {len(names)} features, "
            f"got shape {found.shape}. Pass costs by name to leave some at 1."
        )
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(bad):
        raise ValueError(
            f"costs must be finite and at least 0, but feature {names[bad[0]]!r} "
            f"costs {found[bad[0]]}."
        )
    return found


def _check_ranks(ranks: Any, shape: tuple[int, int]) -> Array:
    found = np.asarray(ranks, dtype=float)
    if found.shape != shape:
        raise ValueError(
            f"ranks must have shape (filters, features) = {shape}, got {found.shape}."
        )
    if found.size and not (found.min() >= 0 and found.max() <= 1):
        raise ValueError(
            f"ranks must be in [0, 1], got {found.min()} to {found.max()}. "
            "Convert scores to ranks by optuna_mofs.filters.rank_scores."
        )
    return found


# Ranks are equidistant with averaged ties: multiples of half a step, which pack well as integers.
def _pack_ranks(ranks: Array) -> str:
    return pack_array(np.rint(ranks * 2 * max(1, ranks.shape[1] - 1)).astype("<u4"))


def _unpack_ranks(text: str, shape: tuple[int, int]) -> Array:
    packed = unpack_array(text, "<u4", shape[0] * shape[1])
    return packed.reshape(shape) / (2 * max(1, shape[1] - 1))


def feature_layout(
    column_names: Sequence[str],
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    fixed: Sequence[str] = (),
    costs: Sequence[float] | Mapping[str, float] | None = None,
    min_features: int = 0,
    max_features: int | None = None,
    all_fixed: bool = False,
) -> FeatureTable:
    """Return the features of a data set, without filter ranks.

    With ``all_fixed`` every feature is always selected: there is no feature selection.
    """
    # Columns of a table can be named by integers.
    if groups is not None:
        groups = {
            str(group): members if isinstance(members, str) else [str(m) for m in members]
            for group, members in groups.items()
        }
    fixed = fixed if isinstance(fixed, str) else [str(name) for name in fixed]
    names, columns = group_columns(column_names, groups)
    table = FeatureTable(names, columns)
    for group, members in (groups or {}).items():
        inside = [name for name in fixed if name in members and name not in names]
        if inside:
            raise ValueError(
                f"{inside[0]!r} is in the group {group!r}, which is selected as a whole. "
                f"Fix the group: fixed_features=[{group!r}]."
            )
    if all_fixed and max_features is not None and max_features < len(names):
        raise ValueError(
            f"max_features={max_features} needs a representation of feature sets, but all "
            f"{len(names)} features are kept (representation=None). Pass representation='auto'."
        )
    positions = range(len(names)) if all_fixed else sorted(set(table.positions(fixed)))
    return FeatureTable(
        names,
        columns,
        costs=_costs(table, costs),
        fixed=tuple(positions),
        min_features=min_features,
        max_features=max_features,
    )


def _costs(
    table: FeatureTable, costs: Sequence[float] | Mapping[str, float] | None
) -> Array | None:
    if isinstance(costs, pd.Series) and not isinstance(costs.index, pd.RangeIndex):
        costs = costs.to_dict()
    if costs is None:
        return None
    if not isinstance(costs, Mapping):
        given: Array = check_numbers("feature_costs", costs)
        return given
    vector = np.ones(len(table))
    vector[table.positions(map(str, costs))] = check_numbers("feature_costs", list(costs.values()))
    return vector
