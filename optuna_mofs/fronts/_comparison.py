"""Hypervolume of studies over time and side by side; attainment surfaces of several runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import moocore
import numpy as np
from numpy.typing import ArrayLike
from optuna.study import Study

from optuna_mofs._typing import Floats
from optuna_mofs.fronts._dominance import as_points, has_no_nan
from optuna_mofs.fronts._front import pareto_front
from optuna_mofs.fronts._hypervolume import hypervolume_over_time
from optuna_mofs.study._completed_trials import CompletedTrials, per_metric, read_completed_trials

if TYPE_CHECKING:
    import pandas as pd

Reference = Mapping[str, float] | Sequence[float] | None


def hypervolume_history(study: Study, reference: Reference = None) -> pd.Series[float]:
    """Return the dominated hypervolume after each completed trial.

    Args:
        study: Any Optuna study.
        reference: As for :meth:`Front.hypervolume`. One reference point is used for the whole
            history, so the last value is the hypervolume of the study's front.

    Returns:
        A series indexed by trial number, one entry per completed trial. A trial that violates a
        constraint adds nothing.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize", "minimize"])
        >>> for values in [(0.5, 0.5), (0.75, 0.75), (0.25, 0.5)]:
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> hypervolume_history(study, reference=[1, 1]).tolist()
        [0.25, 0.25, 0.375]
    """
    import pandas as pd

    points = read_completed_trials(study)
    numbers = pd.Index([trial.number for trial in points.trials], name="number", dtype="int64")
    if not points.feasible.any():
        return pd.Series(np.zeros(len(numbers)), index=numbers, name="hypervolume")
    # A NaN adds nothing to the volume.
    losses = np.where(points.feasible[:, None], points.losses, np.nan)
    volumes = hypervolume_over_time(losses, points.reference_losses(reference))
    return pd.Series(volumes, index=numbers, name="hypervolume")


def shared_reference(studies: Sequence[Study], reference: Reference = None) -> dict[str, float]:
    """Return one reference point of the hypervolume for several studies, by metric name.

    Args:
        studies: Studies of the same metrics.
        reference: As for :meth:`Front.hypervolume`. For a metric that it leaves out, the worst of
            the values that the studies would use on their own.

    Raises:
        ValueError: If the studies have different metrics or directions, or no completed trial.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> studies = [optuna.create_study(directions=["minimize", "maximize"]) for _ in "ab"]
        >>> for study, values in zip(studies, [(0.5, 3), (0.25, 2)]):
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> shared_reference(studies)
        {'value_0': 0.5, 'value_1': 2.0}
    """
    read = [read_completed_trials(study) for study in studies]
    first = check_same_metrics(read)
    bound = per_metric("reference", reference, None, first.metric_names)
    not_empty = [points for points in read if len(points.trials)]
    if not not_empty and None in bound:
        names = ", ".join(repr(points.study.study_name) for points in read)
        raise ValueError(f"No completed trial in {names}: nothing to compare. Run some trials.")
    if not_empty:
        losses = np.max([points.reference_losses(reference) for points in not_empty], axis=0)
        bound = first.to_values(losses).tolist()
    return dict(zip(first.metric_names, map(float, bound)))


def hypervolume_table(
    studies: Mapping[str, Sequence[Study]], reference: Reference = None
) -> pd.DataFrame:
    """Return the hypervolume of every study: one row per data set or run, one column per method.

    Args:
        studies: Per method, one study per data set or run, all in the same order: the studies of
            one row are compared with each other.
        reference: As for :func:`shared_reference`, which is applied to each row.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> a, b = (optuna.create_study(directions=["minimize"] * 2) for _ in "ab")
        >>> a.add_trial(optuna.trial.create_trial(values=(0.5, 0.5)))
        >>> b.add_trial(optuna.trial.create_trial(values=(0.5, 0.25)))
        >>> hypervolume_table({"a": [a], "b": [b]}, reference=[1, 1]).to_numpy().tolist()
        [[0.25, 0.375]]
    """
    import pandas as pd

    for name, runs in studies.items():
        if not isinstance(runs, Sequence) or not all(isinstance(run, Study) for run in runs):
            raise TypeError(f"Expected a list of studies for method {name!r}, got {runs!r}.")
    counts = {name: len(runs) for name, runs in studies.items()}
    if not counts or len(set(counts.values())) > 1 or 0 in counts.values():
        raise ValueError(
            "Expected one study per data set or run for every method, in the same order, got "
            f"these numbers of studies: {counts}."
        )
    rows: list[list[float]] = []
    for row in zip(*studies.values()):
        bound = shared_reference(row, reference)
        rows.append([pareto_front(study).hypervolume(bound) for study in row])
    return pd.DataFrame(rows, columns=list(studies))


def check_same_metrics(read: Sequence[CompletedTrials]) -> CompletedTrials:
    """Return the first of several studies, or raise if their metrics differ."""
    if not read:
        raise ValueError("No studies: give at least one.")
    first, *others = read
    for other in others:
        here, there = _format_metrics(first), _format_metrics(other)
        if here != there:
            raise ValueError(
                f"Studies {first.study.study_name!r} and {other.study.study_name!r} have "
                f"different metrics: {here} and {there}."
            )
    return first


def _format_metrics(points: CompletedTrials) -> str:
    directions = ["minimize" if sign > 0 else "maximize" for sign in points.signs]
    return ", ".join(f"{d} {name!r}" for d, name in zip(directions, points.metric_names))


def attainment_surfaces(
    runs: Sequence[ArrayLike], *, levels: Sequence[float] = (0.25, 0.5, 0.75)
) -> dict[float, Floats]:
    """Return, for each level, the points that at least that fraction of the runs attained.

    A run attains a point if one of its own points is at least as good in every objective. The
    surface of level 0.5 is the median outcome of the runs, the multi-objective counterpart of a
    median curve (Grunert da Fonseca, Fonseca and Hall, 2001, EMO). A run without valid points
    counts as a run that attained nothing, so a surface can be empty.

    Args:
        runs: One array per run, with one row per point and one column per objective, all
            minimized. Rows with a NaN or plus infinity are left out. Two or three objectives.
        levels: Fractions of the runs, above 0 and at most 1.

    Returns:
        The corners of each level's surface, sorted by the first objective.

    Example:
        >>> surfaces = attainment_surfaces([[[1, 3], [2, 2]], [[2, 1]]], levels=[0.5, 1.0])
        >>> surfaces[0.5].tolist(), surfaces[1.0].tolist()
        ([[1.0, 3.0], [2.0, 1.0]], [[2.0, 2.0]])
    """
    if not isinstance(runs, Iterable) or isinstance(runs, str | Mapping):
        raise ValueError(f"runs must be a list with one array of points per run, got {runs!r}.")
    arrays = [as_points(run) for run in runs]
    if not arrays:
        raise ValueError("No runs: give at least one array of points.")
    widths = {array.shape[1] for array in arrays}
    if len(widths) > 1 or not widths <= {2, 3}:
        raise ValueError(
            "Attainment surfaces need runs of the same two or three objectives, got "
            f"{sorted(widths)} columns. Choose the columns to compare."
        )
    for level in levels:
        if not 0.0 < level <= 1.0:
            raise ValueError(
                f"levels must be fractions of the runs above 0 and at most 1, got {level!r}."
            )
    valid = [array[has_no_nan(array) & ~np.isposinf(array).any(axis=1)] for array in arrays]
    labels = np.repeat(np.arange(len(valid)), [len(array) for array in valid])
    stacked = np.vstack(valid)
    # The rank of a value in its column replaces the value, because infinities are unsafe here.
    scales = [np.unique(column) for column in stacked.T]
    ranks = np.column_stack([np.searchsorted(s, c) for s, c in zip(scales, stacked.T)])
    # A run without points still counts: as a point that is worse than every other.
    empty = np.setdiff1d(np.arange(len(valid)), labels)
    worst = np.tile([len(scale) for scale in scales], (len(empty), 1))
    # moocore expects the rows run by run and only counts the labels.
    labels = np.concatenate([labels, empty])
    by_run = np.argsort(labels, kind="stable")
    stacked = np.vstack([ranks, worst]).astype(np.float64)
    table = moocore.eaf(stacked[by_run], labels[by_run])
    attained_by = np.rint(table[:, -1] * len(valid) / 100.0)
    surfaces = {}
    for level in levels:
        # Rounding errors must not require one more run: 0.1 + 0.2 of ten runs are three.
        n_runs = max(1, math.ceil(level * len(valid) - 1e-9))
        rows = table[attained_by == n_runs, :-1].astype(np.intp)
        rows = rows[(rows < [len(scale) for scale in scales]).all(axis=1)]
        corners = np.column_stack([scale[column] for scale, column in zip(scales, rows.T)])
        surfaces[float(level)] = corners[np.lexsort(corners.T[::-1])]
    return surfaces
