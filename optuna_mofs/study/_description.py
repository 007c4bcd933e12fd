"""What an objective writes into a study, so that samplers, fronts and plots can read it.

Objectives and samplers never import each other: they meet here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.study import Study

from optuna_mofs._optuna import read_study_attr, write_study_attr
from optuna_mofs.features._representation import Representation, get_representation
from optuna_mofs.features._table import FeatureTable

_KEY = "description"
_READ: WeakKeyDictionary[Study, StudyDescription] = WeakKeyDictionary()


@dataclass(frozen=True)
class MeasureDescription:
    """Name, direction and worst sensible value of one objective value."""

    name: str
    direction: str = "minimize"
    worst: float | None = None


@dataclass(frozen=True, eq=False)
class StudyDescription:
    """The meaning of a study's parameters and values.

    Args:
        features: The features, or None for a study without feature selection.
        representation: How a feature set is suggested; None without features.
        space: Distributions of the hyperparameters known in advance (a conditional space given as
            a function is not).
        measures: One a value, in order; empty if unknown (a user's own objective function).
        active_if: For parameters of ``space`` that are not in every trial: the parameter that
            decides, and the choices of it with which they are there.
        conditions: What else must be the same for values to be comparable (rows, folds, scoring,
            …), each as a short text.
    """

    features: FeatureTable | None = None
    representation: Representation | None = None
    space: Mapping[str, BaseDistribution] | None = None
    measures: tuple[MeasureDescription, ...] = ()
    active_if: Mapping[str, tuple[str, Sequence[Any]]] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)

    @property
    def mask_parameters(self) -> tuple[str, ...]:
        """Names of the suggestions that together form the mask."""
        return () if self.representation is None else self.representation.mask_parameters

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """All suggestions known in advance, features first."""
        features = {} if self.representation is None else self.representation.distributions
        return {**features, **(self.space or {})}

    def is_active(self, name: str, params: Mapping[str, Any]) -> bool:
        """Whether a trial with these parameters has the one that is named."""
        decides, choices = self.active_if.get(name, (None, ()))
        return decides is None or params.get(decides) in choices

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "features": None if self.features is None else self.features.to_json(),
            "representation": (
                None if self.representation is None else self.representation.to_json()
            ),
            "space": {k: distribution_to_json(d) for k, d in (self.space or {}).items()},
            "measures": [[m.name, m.direction, m.worst] for m in self.measures],
            "active_if": {k: [on, list(choices)] for k, (on, choices) in self.active_if.items()},
            "conditions": dict(self.conditions),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StudyDescription:
        """The inverse of :meth:`to_json`."""
        table = None if data["features"] is None else FeatureTable.from_json(data["features"])
        bound = None
        if data["representation"] is not None and table is not None:
            bound = get_representation(data["representation"]).bind(table)
        return cls(
            features=table,
            representation=bound,
            space={k: json_to_distribution(d) for k, d in data["space"].items()},
            measures=tuple(MeasureDescription(*m) for m in data["measures"]),
            active_if={k: (on, choices) for k, (on, choices) in data.get("active_if", {}).items()},
            conditions=data.get("conditions", {}),
        )

    @classmethod
    def read(cls, study: Study) -> StudyDescription | None:
        """The description in a study, or None. Read once for each study object."""
        if study not in _READ:
            data = read_study_attr(study, _KEY)
            if data is None:
                return None
            _READ[study] = cls.from_json(data)
        return _READ[study]

    def write(self, study: Study) -> None:
        """Put the description into a study that has none, or check that it fits the one there.

        Raises:
            ValueError: If the study was made with other features, parameters or measures.
        """
        found = StudyDescription.read(study)
        if found is None:
            write_study_attr(study, _KEY, self.to_json())
            return
        differences = found.differences(self)
        if differences:
            raise ValueError(
                f"Study {study.study_name!r} does not fit this objective: "
                + "; ".join(differences)
                + ". Reopen it with the data and space it was made with, or use a new study_name."
            )

    def differences(self, new: StudyDescription) -> list[str]:
        """What ``new`` says differently, in words; empty if both describe the same search."""
        found = self.feature_differences(new)
        found += _space_differences(self.space or {}, new.space or {})
        mine = [(m.name, m.direction) for m in self.measures]
        theirs = [(m.name, m.direction) for m in new.measures]
        if mine != theirs:
            found.append(f"measures {_spoken(mine)} in the study, {_spoken(theirs)} now")
        found += [
            f"{name}: {self.conditions[name]} in the study, {now} now"
            for name, now in new.conditions.items()
            if self.conditions.get(name, now) != now
        ]
        return found

    def feature_differences(self, new: StudyDescription) -> list[str]:
        """What ``new`` says differently of the features and of how a set is suggested."""
        found = _table_differences(self.features, new.features)
        mine = None if self.representation is None else self.representation.to_json()
        theirs = None if new.representation is None else new.representation.to_json()
        if mine != theirs:
            found.append(f"feature representation {mine} in the study, {theirs} now")
        elif self.representation is not None and self.representation.ranks is not None:
            # Masks are only guided by filters; these representations are made of them.
            old_filters = () if self.features is None else self.features.filters
            new_filters = () if new.features is None else new.features.filters
            if old_filters != new_filters:
                found.append(f"filters {list(old_filters)} in the study, {list(new_filters)} now")
        return found


def _table_differences(old: FeatureTable | None, new: FeatureTable | None) -> list[str]:
    if old is None or new is None:
        return [] if old is new else ["features are selected in only one of the two"]
    if old.names != new.names:
        gone = [name for name in old.names if name not in new.place]
        come = [name for name in new.names if name not in old.place]
        if not gone and not come:
            first = next(a for a, b in zip(old.names, new.names) if a != b)
            return [f"features are in another order, from {first!r} on"]
        return [
            f"{len(old)} features in the study, {len(new)} now"
            + (f", no longer there: {_some(gone)}" if gone else "")
            + (f", new: {_some(come)}" if come else "")
        ]
    found = []
    if old.columns != new.columns and old.column_sets != new.column_sets:
        pairs = zip(old.names, old.column_sets, new.column_sets)
        name, before, after = next(pair for pair in pairs if pair[1] != pair[2])
        found.append(f"feature {name!r} has columns {before} in the study, {after} now")
    if set(old.fixed) != set(new.fixed):
        found.append(
            f"fixed features {[old.names[j] for j in old.fixed]} in the study, "
            f"{[new.names[j] for j in new.fixed]} now"
        )
    if old.costs is not None or new.costs is not None:
        ones = np.ones(len(old))
        costs = ones if old.costs is None else old.costs
        now = ones if new.costs is None else new.costs
        found += [
            f"feature {old.names[j]!r} costs {costs[j]} in the study, {now[j]} now"
            for j in np.flatnonzero(costs != now)[:1]
        ]
    return found


def _space_differences(
    old: Mapping[str, BaseDistribution], new: Mapping[str, BaseDistribution]
) -> list[str]:
    found = []
    if set(old) - set(new):
        found.append(f"parameters no longer there: {_some(sorted(set(old) - set(new)))}")
    if set(new) - set(old):
        found.append(f"new parameters: {_some(sorted(set(new) - set(old)))}")
    # As JSON, which a study keeps: there a tuple among the choices is a list.
    found += [
        f"parameter {name!r} is {old[name]} in the study, {new[name]} now"
        for name in sorted(set(old) & set(new))
        if distribution_to_json(old[name]) != distribution_to_json(new[name])
    ]
    return found


def _spoken(measures: list[tuple[str, str]]) -> str:
    return ", ".join(f"{direction} {name!r}" for name, direction in measures) or "unknown"


def _some(names: list[str], limit: int = 5) -> str:
    shown = ", ".join(repr(n) for n in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
