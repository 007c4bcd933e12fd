"""The completed trials of a study as arrays, with names and directions of their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import metric_names, study_signs
from optuna_mofs._typing import Bools, Floats, Indices
from optuna_mofs._validation import check_numbers
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import selected_features, selected_mask, shorten


@dataclass(frozen=True)
class CompletedTrials:
    """The completed trials of a study as losses, with names and signs of the metrics.

    Attributes:
        study: The study.
        trials: Its completed trials by number.
        losses: One row per trial, one column per selected metric; all minimized.
        feasible: One boolean per trial: whether it satisfies all constraints.
        signs: 1 for a minimized metric, -1 for a maximized one.
        metric_names: Names of the selected metrics.
        measure_names: Names under which the objective stored the values per fold.
        worst: The worst possible loss according to the description, NaN where it has none.
        value_indices: Positions of the selected metrics among the values of a trial.
    """

    study: Study
    trials: tuple[FrozenTrial, ...]
    losses: Floats
    feasible: Bools
    signs: Floats
    metric_names: tuple[str, ...]
    measure_names: tuple[str, ...]
    worst: Floats
    value_indices: tuple[int, ...]

    def to_losses(self, values: Any) -> Floats:
        """Return values as losses, all minimized; the last axis holds the metrics."""
        # Adding 0.0 turns -0.0 into 0.0.
        return np.asarray(values, dtype=np.float64) * self.signs + 0.0

    #: Returns losses as values in the study's directions: a change of sign is its own inverse.
    to_values = to_losses

    def take(self, rows: Indices) -> CompletedTrials:
        """Return some of the trials."""
        return replace(
            self,
            trials=tuple(self.trials[row] for row in rows),
            losses=self.losses[rows],
            feasible=self.feasible[rows],
        )

    def column(self, metric: str | int) -> int:
        """Return the column of a metric, given by name or position."""
        return metric_column(metric, self.metric_names)

    def reference_losses(self, reference: Mapping[str, float] | Sequence[float] | None) -> Floats:
        """Return the reference point of the hypervolume, as losses.

        A value comes from ``reference`` if it is given there, else from the description of the
        study, else it is the worst finite value of any completed trial.
        """
        given = per_metric("reference", reference, None, self.metric_names)
        unset = np.array([value is None for value in given])
        point = self.to_losses(
            check_numbers("reference", [np.nan if value is None else value for value in given], 1)
        )
        point[unset] = self.worst[unset]
        for column in np.flatnonzero(unset & np.isnan(point)):
            losses = self.losses[:, column]
            losses = losses[np.isfinite(losses)]
            if len(losses) == 0:
                raise ValueError(
                    f"No reference for metric {self.metric_names[column]!r}: no completed trial "
                    "has a finite value. Pass one with reference={...}."
                )
            point[column] = losses.max()
        return point


def read_completed_trials(
    study: Study, *, targets: Sequence[str | int] | None = None
) -> CompletedTrials:
    """Read the completed trials of a study, with all metrics or only ``targets``."""
    names, signs = read_metrics(study)
    measures = _measures(study, len(signs))
    worst = np.array(
        [np.nan if measure.worst is None else float(measure.worst) for measure in measures]
        or [np.nan] * len(signs)
    )
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    values = np.array([trial.values for trial in trials], dtype=np.float64)
    values = values.reshape(len(trials), len(signs))
    everything = CompletedTrials(
        study=study,
        trials=tuple(trials),
        losses=values * signs + 0.0,
        feasible=np.array([is_feasible(trial) for trial in trials], dtype=np.bool_),
        signs=signs,
        metric_names=names,
        measure_names=tuple(measure.name for measure in measures) or names,
        # An infinite worst value bounds no volume, so it counts as unknown.
        worst=np.where(np.isfinite(worst), worst * signs + 0.0, np.nan),
        value_indices=tuple(range(len(signs))),
    )
    return everything if targets is None else _select(everything, targets)


class Metrics(NamedTuple):
    """Names of a study's values, and their signs: -1 for a maximized one."""

    names: tuple[str, ...]
    signs: Floats


def read_metrics(study: Study) -> Metrics:
    """Return names and signs of a study's values."""
    signs = study_signs(study)
    names = metric_names(study) or [m.name for m in _measures(study, len(signs))]
    # Two of the same name are numbered, so that each name means one metric.
    distinct = [n if names.count(n) == 1 else f"{n}_{i}" for i, n in enumerate(names)]
    return Metrics(tuple(distinct or [f"value_{i}" for i in range(len(signs))]), signs)


def _measures(study: Study, n_values: int) -> tuple[MeasureDescription, ...]:
    description = StudyDescription.read(study)
    measures = tuple(description.measures) if description is not None else ()
    # Another number of them does not belong to these values, as in a study copied by hand.
    return measures if len(measures) == n_values else ()


def _select(points: CompletedTrials, targets: Sequence[str | int]) -> CompletedTrials:
    """Keep only some metrics."""
    if isinstance(targets, str) or not isinstance(targets, Sequence):
        raise ValueError(
            "targets must be a sequence of metric names or positions, got "
            f"{targets!r}; the metrics are {list(points.metric_names)}."
        )
    columns = [points.column(target) for target in targets]
    if not columns or len(set(columns)) < len(columns):
        raise ValueError(f"targets must name at least one metric and none twice, got {targets!r}.")
    return replace(
        points,
        losses=points.losses[:, columns],
        signs=points.signs[columns],
        metric_names=tuple(points.metric_names[column] for column in columns),
        measure_names=tuple(points.measure_names[column] for column in columns),
        worst=points.worst[columns],
        value_indices=tuple(columns),
    )


def is_feasible(trial: FrozenTrial) -> bool:
    """Return whether a trial satisfies its constraints; one without constraints does."""
    return all(value <= 0.0 for value in trial.constraints.values())


def feature_count(study: Study, trial: FrozenTrial) -> int | None:
    """Return the number of features of a trial, or None if it is unknown."""
    stored = trial.user_attrs.get("n_features")
    # An attribute of this name in a study of something else can have any value.
    if isinstance(stored, int) and not isinstance(stored, bool) and stored >= 0:
        return stored
    mask = selected_mask(study, trial)
    return None if mask is None else int(np.count_nonzero(mask))


def feature_text(study: Study, trial: FrozenTrial) -> str | None:
    """Return the names of a trial's features as one string, or None if they are unknown."""
    names = selected_features(study, trial)
    if names is not None:
        return shorten(names)
    stored = trial.user_attrs.get("features")  # of an objective function of the user
    if isinstance(stored, list):
        return ", ".join(map(str, stored))
    return stored if isinstance(stored, str) else None


def metric_column(metric: str | int, names: Sequence[str]) -> int:
    """Return the column of a metric, given by name or position.

    Example:
        >>> metric_column("features", ["error", "features"]), metric_column(0, ["error"])
        (1, 0)
    """
    if isinstance(metric, str):
        if metric in names:
            return list(names).index(metric)
    elif isinstance(metric, int | np.integer) and 0 <= metric < len(names):
        return int(metric)
    raise ValueError(f"No metric {metric!r}; the metrics are {list(names)}.")


def per_metric(what: str, given: Any, default: Any, names: Sequence[str]) -> list[Any]:
    """Return one value per metric of the argument ``what``.

    Args:
        what: Name of the argument, for messages.
        given: A mapping from names or positions, a sequence with one entry per metric, or None.
        default: Value of metrics that are not named.
        names: Names of the metrics.

    Example:
        >>> per_metric("goals", {"features": 500}, None, ["error", "features"])
        [None, 500]
    """
    if isinstance(given, Mapping):
        spread = [default] * len(names)
        for metric, value in given.items():
            spread[metric_column(metric, names)] = value
        return spread
    if given is None:
        return [default] * len(names)
    if isinstance(given, np.ndarray):
        given = np.atleast_1d(given)
    is_several = isinstance(given, Iterable) and not isinstance(given, str)
    spread = list(given) if is_several else [given]
    if len(spread) != len(names):
        raise ValueError(
            f"{what} must have one value for each of {list(names)}, got {given!r}. "
            "Use a mapping from metric names to set only some of them."
        )
    return spread
