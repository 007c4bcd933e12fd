"""The description of a study that an objective writes and samplers, fronts and plots read.

Objectives and samplers never import each other: this is their only interface.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.study import Study

from optuna_mofs._optuna import PREFIX, read_study_attr, write_study_attr
from optuna_mofs._validation import DamagedAttributeError, check_choice, expect_type, reading
from optuna_mofs.features._representation import Representation, get_representation
from optuna_mofs.features._table import FeatureTable

_KEY = "description"
#: Number of the format. A change that earlier versions cannot read needs a new one, a migration in
#: :func:`_migrated`, and stored studies of the new version (``python -m tools.store_studies``).
SCHEMA = 1
#: The default of a parameter that is one divided by the number of selected features.
PER_FEATURE = "1 / size"
_CACHE: WeakKeyDictionary[Study, StudyDescription] = WeakKeyDictionary()


class LaterVersionError(DamagedAttributeError):
    """Raised for a study that a later version of this package has written."""


def _version() -> str:
    return str(sys.modules["optuna_mofs"].__version__)  # it imports this module


def _migrated(data: dict[str, Any]) -> dict[str, Any]:
    """Return a description of any earlier schema in the present one."""
    schema = expect_type("schema", data.get("schema", 0), int)
    if schema > SCHEMA:
        raise LaterVersionError(
            f"was written by optuna-mofs {data.get('written_by', 'of a later version')} with "
            f"schema {schema}, but version {_version()} reads schemas up to {SCHEMA}. Update it: "
            "pip install --upgrade optuna-mofs."
        )
    # Schema 0 had no number, and at first no defaults.
    return {"defaults": {}, **data} if schema == 0 else data


@dataclass(frozen=True)
class MeasureDescription:
    """Name, direction, worst sensible value and human name of one objective value."""

    name: str
    direction: str = "minimize"
    worst: float | None = None
    #: What it measures, for display: ``"1 - roc_auc"``. Empty if the name is enough.
    label: str = ""


def _measure(data: Any) -> MeasureDescription:
    found = MeasureDescription(*expect_type("measure", data, list))
    expect_type("name of a measure", found.name, str)
    expect_type("label of a measure", found.label, str)
    if found.worst is not None:
        expect_type("worst value of a measure", found.worst, int, float)
    check_choice("direction", found.direction, ("minimize", "maximize"))
    return found


@dataclass(frozen=True, eq=False)
class StudyDescription:
    """The meaning of a study's parameters and values.

    Args:
        features: The features, or None for a study without feature selection.
        representation: How a feature set is suggested; None without features.
        space: Distributions of the hyperparameters known in advance (a conditional space given as
            a function is not).
        measures: One per value, in order; empty if unknown (a user's own objective function).
        active_if: For parameters of ``space`` that are not in every trial: the parameter they
            depend on, and the choices of it for which they are active.
        conditions: What else must be equal for values to be comparable (rows, folds, scoring, …),
            as short strings.
        defaults: The estimator's own values of hyperparameters, where a search can start;
            :data:`PER_FEATURE` depends on the number of features.
    """

    features: FeatureTable | None = None
    representation: Representation | None = None
    space: Mapping[str, BaseDistribution] | None = None
    measures: tuple[MeasureDescription, ...] = ()
    active_if: Mapping[str, tuple[str, Sequence[Any]]] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mask_parameters(self) -> tuple[str, ...]:
        """Names of the parameters that together form the mask."""
        return () if self.representation is None else self.representation.mask_parameters

    @property
    def rule_parameters(self) -> tuple[str, ...]:
        """Names of the parameters of a rule that selects features; none with masks."""
        chosen = self.representation
        return () if chosen is None or chosen.mask_parameters else tuple(chosen.distributions)

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Distributions of all parameters that are known in advance, features first."""
        features = {} if self.representation is None else self.representation.distributions
        return {**features, **(self.space or {})}

    def is_active(self, name: str, params: Mapping[str, Any]) -> bool:
        """Return whether a parameter is active in a trial with these parameters."""
        parent, choices = self.active_if.get(name, (None, ()))
        return parent is None or params.get(parent) in choices

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "features": None if self.features is None else self.features.to_json(),
            "representation": (
                None if self.representation is None else self.representation.to_json()
            ),
            "space": {k: distribution_to_json(d) for k, d in (self.space or {}).items()},
            "measures": [[m.name, m.direction, m.worst, m.label] for m in self.measures],
            "active_if": {k: [parent, list(c)] for k, (parent, c) in self.active_if.items()},
            "conditions": dict(self.conditions),
            "defaults": dict(self.defaults),
            "schema": SCHEMA,
            "written_by": _version(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StudyDescription:
        """Return the description of JSON values: the inverse of :meth:`to_json`."""
        data = _migrated(expect_type("it", data, dict))
        table = None if data["features"] is None else FeatureTable.from_json(data["features"])
        bound = None
        if data["representation"] is not None and table is not None:
            bound = get_representation(data["representation"]).bind(table)
        return cls(
            features=table,
            representation=bound,
            space={k: json_to_distribution(d) for k, d in data["space"].items()},
            measures=tuple(_measure(m) for m in data["measures"]),
            active_if={
                k: (expect_type("active_if", parent, str), expect_type("active_if", c, list))
                for k, (parent, c) in data["active_if"].items()
            },
            conditions=expect_type("conditions", data["conditions"], dict),
            defaults=expect_type("defaults", data["defaults"], dict),
        )

    @classmethod
    def read(cls, study: Study) -> StudyDescription | None:
        """Return the description in a study, or None. It is read once per study object."""
        if study not in _CACHE:
            data = read_study_attr(study, _KEY)
            if data is None:
                return None
            with reading(PREFIX + _KEY, f"study {study.study_name!r}"):
                try:
                    _CACHE[study] = cls.from_json(data)
                except LaterVersionError as error:
                    raise LaterVersionError(f"Study {study.study_name!r} {error}") from None
        return _CACHE[study]

    @classmethod
    def require(cls, study: Study) -> StudyDescription:
        """Return the description in a study that has one."""
        found = cls.read(study)
        assert found is not None
        return found

    def write(self, study: Study) -> None:
        """Write the description into a study that has none, or compare it with the one there.

        Raises:
            ValueError: If the study was created with other features, parameters or measures.
        """
        found = StudyDescription.read(study)
        if found is None:
            write_study_attr(study, _KEY, self.to_json())
            return
        differences = found.differences(self)
        if differences:
            raise ValueError(
                f"Study {study.study_name!r} does not match this objective: "
                f"{'; '.join(differences)}. Reopen it with the data and space it was created "
                "with, or use another study name."
            )

    def differences(self, new: StudyDescription) -> list[str]:
        """Return in words what differs in ``new``; empty if both describe the same search."""
        found = self.feature_differences(new)
        found += _space_differences(self.space or {}, new.space or {})
        mine, theirs = _format_measures(self.measures), _format_measures(new.measures)
        if mine != theirs:
            found.append(f"measures {mine} in the study, {theirs} now")
        found += [
            f"{name}: {self.conditions[name]} in the study, {now} now"
            for name, now in new.conditions.items()
            if self.conditions.get(name, now) != now
        ]
        return found

    def feature_differences(self, new: StudyDescription) -> list[str]:
        """Return in words what differs in the features and in how a set is suggested."""
        found = _table_differences(self.features, new.features)
        mine = None if self.representation is None else self.representation.to_json()
        theirs = None if new.representation is None else new.representation.to_json()
        if mine != theirs:
            found.append(f"feature representation {mine} in the study, {theirs} now")
        elif self.representation is not None and self.representation.ranks is not None:
            # Filters only guide masks, but they define the sets of these representations.
            old_filters = () if self.features is None else self.features.filters
            new_filters = () if new.features is None else new.features.filters
            if old_filters != new_filters:
                found.append(f"filters {list(old_filters)} in the study, {list(new_filters)} now")
        return found


def _table_differences(old: FeatureTable | None, new: FeatureTable | None) -> list[str]:
    if old is None or new is None:
        return [] if old is new else ["features are selected in only one of the two"]
    if old.names != new.names:
        gone = [name for name in old.names if name not in new.position]
        come = [name for name in new.names if name not in old.position]
        if not gone and not come:
            first = next(a for a, b in zip(old.names, new.names) if a != b)
            return [f"features are in a different order, from {first!r} on"]
        return [
            f"{len(old)} features in the study, {len(new)} now"
            + (f", missing: {_format_names(gone)}" if gone else "")
            + (f", new: {_format_names(come)}" if come else "")
        ]
    found = []
    if old.columns != new.columns and old.column_sets != new.column_sets:
        pairs = zip(old.names, old.column_sets, new.column_sets)
        name, stored, given = next(pair for pair in pairs if pair[1] != pair[2])
        found.append(f"feature {name!r} has columns {stored} in the study, {given} now")
    if set(old.fixed) != set(new.fixed):
        found.append(
            f"fixed features {[old.names[j] for j in old.fixed]} in the study, "
            f"{[new.names[j] for j in new.fixed]} now"
        )
    if old.size_limits != new.size_limits:
        found.append(
            f"{old.min_features} to {_format_limit(old)} features in the study, "
            f"{new.min_features} to {_format_limit(new)} now"
        )
    before, now = (np.ones(len(t)) if t.costs is None else t.costs for t in (old, new))
    found += [
        f"feature {old.names[j]!r} costs {before[j]} in the study, {now[j]} now"
        for j in np.flatnonzero(before != now)[:1]
    ]
    return found


def _format_limit(table: FeatureTable) -> str:
    limit = table.max_features
    return f"{len(table)}" if limit is None else f"{limit}"


def _space_differences(
    old: Mapping[str, BaseDistribution], new: Mapping[str, BaseDistribution]
) -> list[str]:
    names = {"missing": sorted(set(old) - set(new)), "new": sorted(set(new) - set(old))}
    found = [f"{kind} parameters: {_format_names(names[kind])}" for kind in names if names[kind]]
    # Compared as JSON, in which a tuple among the choices becomes a list.
    found += [
        f"parameter {name!r} is {old[name]} in the study, {new[name]} now"
        for name in sorted(set(old) & set(new))
        if distribution_to_json(old[name]) != distribution_to_json(new[name])
    ]
    return found


def _format_measures(measures: Sequence[MeasureDescription]) -> str:
    return ", ".join(f"{m.direction} {m.name!r}" for m in measures) or "unknown"


def _format_names(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
