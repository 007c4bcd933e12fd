"""What a study knows of its features: names, columns, costs, which are fixed, filter ranks."""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from optuna_mofs._typing import Array
from optuna_mofs._validation import did_you_mean
from optuna_mofs.features._redundancy import Similarity


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features a search may choose from, one row each.

    A feature is what switches as one: usually a column of ``X``, or a group of columns such as
    the one-hot columns of a category. A *mask* is a boolean array over the *free* features, those
    that are not fixed; :meth:`full_mask` adds the fixed ones, :meth:`columns_of` gives the columns
    of ``X``.

    Args:
        names: Name of each feature, unique.
        columns: Columns of ``X`` of each feature; by default feature ``j`` is column ``j``.
        costs: Cost of each feature; by default 1.
        fixed: Positions of the features that are always in.
        filters: Names of the filters behind ``ranks``.
        ranks: Filter ranks in [0, 1], filters × features, 1 the most relevant; None if unknown. A
            study keeps them to half a step of an equidistant ranking, which is what
            :class:`~optuna_mofs.FilterEnsemble` gives.
        expected_n_features: Expected number of chosen free features at the start of a search (the geometric
            prior of Binder et al. 2020, section 4.3.1); None for a default of about ``sqrt(p)``.
        similar: Which features say nearly the same; None if unknown.

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

    def __post_init__(self) -> None:
        if isinstance(self.names, str):
            raise ValueError(f"names must be a list of names, but is the text {self.names!r}.")
        self._set("names", tuple(map(str, self.names)))
        self._set("fixed", tuple(int(j) for j in self.fixed))
        self._set("filters", tuple(self.filters))
        p = len(self.names)
        if p == 0:
            raise ValueError("There are no features: X has 0 columns. Pass at least one.")
        if len(set(self.names)) != p:
            twice = next(name for name, times in Counter(self.names).items() if times > 1)
            raise ValueError(f"Feature names must be unique, but {twice!r} occurs twice.")
        if len(set(self.fixed)) != len(self.fixed) or not all(0 <= j < p for j in self.fixed):
            raise ValueError(
                f"fixed must hold different positions in 0..{p - 1}, but is {self.fixed}."
            )
        if self.columns is not None:
            self._set("columns", _checked_columns(self.columns, self.names))
        if self.costs is not None:
            self._set("costs", _checked_costs(self.costs, self.names))
        if self.ranks is not None:
            self._set("ranks", _checked_ranks(self.ranks, (len(self.filters), p)))
        if self.expected_n_features is not None and not 0 < self.expected_n_features < np.inf:
            raise ValueError(
                f"expected_n_features must be above 0 and finite, but is {self.expected_n_features}."
            )
        if self.similar is not None and len(self.similar.others) != p:
            raise ValueError(
                f"similar must have a row for each of the {p} features, "
                f"but has {len(self.similar.others)}."
            )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def place(self) -> dict[str, int]:
        """Position of each feature by name."""
        return {name: j for j, name in enumerate(self.names)}

    @cached_property
    def free(self) -> Array:
        """Positions of the features that may be switched."""
        return np.setdiff1d(np.arange(len(self)), np.asarray(self.fixed, dtype=int))

    @cached_property
    def free_ranks(self) -> Array | None:
        """Filter ranks of the free features."""
        return None if self.ranks is None else self.ranks[:, self.free]

    @cached_property
    def free_costs(self) -> Array | None:
        """Costs of the free features, or None if all cost the same."""
        return None if self.costs is None else self.costs[self.free]

    @property
    def initial_size(self) -> float:
        """Expected number of free features at the start of a search."""
        return (
            float(np.sqrt(len(self.free)))
            if self.expected_n_features is None
            else self.expected_n_features
        )

    def full_mask(self, mask: Array) -> Array:
        """Turn a mask over the free features into one over all features."""
        full = np.zeros(len(self), dtype=bool)
        full[list(self.fixed)] = True
        full[self.free] = mask
        return full

    def columns_of(self, full_mask: Array) -> Array:
        """Columns of ``X`` that a mask over all features stands for, ascending."""
        chosen = np.flatnonzero(full_mask)
        if self.columns is None:
            return chosen
        return np.sort(np.array([c for j in chosen for c in self.columns[j]], dtype=int))

    @property
    def column_sets(self) -> tuple[tuple[int, ...], ...]:
        """Columns of ``X`` of each feature, spelled out."""
        return self.columns or tuple((j,) for j in range(len(self)))

    def cost(self, full_mask: Array) -> float:
        """Total cost of a mask over all features."""
        if self.costs is None:
            return float(np.count_nonzero(full_mask))
        return float(self.costs[full_mask].sum())

    @property
    def total_cost(self) -> float:
        """Cost of all features together."""
        return self.cost(np.ones(len(self), dtype=bool))

    def names_of(self, full_mask: Array) -> list[str]:
        """Names of the features in a mask over all features."""
        return [self.names[j] for j in np.flatnonzero(full_mask)]

    def mask_of(self, names: Iterable[str]) -> Array:
        """The mask over the free features that holds the named ones (fixed ones may be named)."""
        full = np.zeros(len(self), dtype=bool)
        full[self.positions(names)] = True
        return full[self.free]

    def positions(self, names: Iterable[str]) -> list[int]:
        """Positions of features by name, with a helpful error for an unknown one."""
        if isinstance(names, str):
            raise ValueError(f"Name features in a list, [{names!r}], not as the text {names!r}.")
        found = []
        for name in names:
            if name not in self.place:
                hint = did_you_mean(name, self.names)
                raise ValueError(f"There is no feature {name!r} among {len(self)}.{hint}")
            found.append(self.place[name])
        return found

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values; the ranks as compressed half-ranks."""
        return {
            "names": list(self.names),
            "columns": None if self.columns is None else [list(c) for c in self.columns],
            "costs": None if self.costs is None else self.costs.tolist(),
            "fixed": list(self.fixed),
            "filters": list(self.filters),
            "ranks": None if self.ranks is None else _pack_ranks(self.ranks),
            "expected_n_features": self.expected_n_features,
            "similar": None if self.similar is None else self.similar.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FeatureTable:
        """The inverse of :meth:`to_json`."""
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
        )


def group_columns(
    column_names: Sequence[str], groups: Mapping[str, Sequence[str]] | None
) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...] | None]:
    """Names and columns of features when some columns belong together.

    A group stands where its first column stood.

    Args:
        column_names: Names of the columns of ``X``.
        groups: Name of a group to the names of its columns; other columns stand alone.

    Example:
        >>> group_columns(["age", "city=Rome", "city=Oslo"], {"city": ["city=Rome", "city=Oslo"]})
        (('age', 'city'), ((0,), (1, 2)))
    """
    if not groups:
        return tuple(column_names), None
    place = {name: j for j, name in enumerate(column_names)}
    owner: dict[int, str] = {}
    for group, members in groups.items():
        if isinstance(members, str):
            raise ValueError(
                f"Feature group {group!r} must list its columns, [{members!r}], "
                f"but is the text {members!r}."
            )
        if len(members) == 0:
            raise ValueError(f"Feature group {group!r} has no columns. Name them, or drop it.")
        for member in members:
            if member not in place:
                hint = did_you_mean(member, column_names)
                raise ValueError(f"Feature group {group!r} names no column {member!r}.{hint}")
            if place[member] in owner:
                raise ValueError(
                    f"Column {member!r} is in two feature groups: "
                    f"{owner[place[member]]!r} and {group!r}. Leave it in one."
                )
            owner[place[member]] = group
    for group in groups:
        if group in place and owner.get(place[group]) != group:
            raise ValueError(
                f"Feature group {group!r} has the name of a column that is not in it. "
                "Rename the group, or put the column into it."
            )
    members_of: dict[str, list[int]] = {}
    for j, name in enumerate(column_names):
        members_of.setdefault(owner.get(j, name), []).append(j)
    return tuple(members_of), tuple(map(tuple, members_of.values()))


def _checked_columns(columns: Any, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    found = tuple(tuple(int(c) for c in members) for members in columns)
    if len(found) != len(names):
        raise ValueError(
            f"columns must hold a list for each of the {len(names)} features, "
            f"but has {len(found)}."
        )
    seen: set[int] = set()
    for name, members in zip(names, found):
        if not members:
            raise ValueError(f"Feature {name!r} has no columns. Give it one, or drop it.")
        for column in members:
            if column < 0 or column in seen:
                raise ValueError(
                    f"Feature {name!r} has column {column}, which is "
                    + ("negative." if column < 0 else "already a column of a feature.")
                )
            seen.add(column)
    return found


def _checked_costs(costs: Any, names: Sequence[str]) -> Array:
    found = np.asarray(costs, dtype=float)
    if found.shape != (len(names),):
        raise ValueError(
            f"costs must hold one number for each of the {len(names)} features, "
            f"but has shape {found.shape}. Give costs by name to leave some at 1."
        )
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(bad):
        raise ValueError(
            f"costs must be finite and at least 0, but feature {names[bad[0]]!r} "
            f"costs {found[bad[0]]}."
        )
    return found


def _checked_ranks(ranks: Any, shape: tuple[int, int]) -> Array:
    found = np.asarray(ranks, dtype=float)
    if found.shape != shape:
        raise ValueError(
            f"ranks must have shape (filters, features) = {shape}, but has {found.shape}."
        )
    if found.size and not (found.min() >= 0 and found.max() <= 1):
        raise ValueError(
            f"ranks must lie in [0, 1], but go from {found.min()} to {found.max()}. "
            "Turn scores into ranks by optuna_mofs.filters.rank_scores."
        )
    return found


# Ranks are equidistant with averaged ties, that is multiples of half a step: integers pack well.
def _pack_ranks(ranks: Array) -> str:
    halves = np.rint(ranks * 2 * max(1, ranks.shape[1] - 1)).astype("<u4")
    return base64.b64encode(zlib.compress(halves.tobytes(), 6)).decode("ascii")


def _unpack_ranks(text: str, shape: tuple[int, int]) -> Array:
    halves = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u4")
    return halves.reshape(shape) / (2 * max(1, shape[1] - 1))


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
