"""Several studies: shared reference point, table of hypervolumes, attainment surfaces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import moocore
import numpy as np
from numpy.typing import ArrayLike, NDArray
from optuna.study import Study

from optuna_mofs.fronts._dominance import as_points, has_no_nan
from optuna_mofs.fronts._front import pareto_front
from optuna_mofs.study._completed_trials import CompletedTrials, per_metric, read_points

if TYPE_CHECKING:
    import pandas as pd

Reference = Mapping[str, float] | Sequence[float] | None


def shared_reference(studies: Sequence[Study], reference: Reference = None) -> dict[str, float]:
    """Return one reference point of the hypervolume for several studies, by metric name.

    Args:
        studies: Studies of the same metrics.
        reference: As for :meth:`Front.hypervolume`. What it leaves out is the worst of the values
            that the studies would use on their own, so that every study is measured by the same.

    Raises:
        ValueError: If the studies have different metrics or directions, or no finished trial.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> studies = [optuna.create_study(directions=["minimize", "maximize"]) for _ in "ab"]
        >>> for study, values in zip(studies, [(0.5, 3), (0.25, 2)]):
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> shared_reference(studies)
        {'value_0': 0.5, 'value_1': 2.0}
    """
    everything = [read_points(study) for study in studies]
    first = same_metrics(everything)
    given = per_metric("reference", reference, None, first.metric_names)
    measured = [points for points in everything if len(points.trials)]
    if not measured and None in given:
        names = ", ".join(repr(points.study.study_name) for points in everything)
        raise ValueError(f"No finished trial in {names}: nothing to compare. Run some trials.")
    if measured:
        losses = np.max([points.reference_losses(reference) for points in measured], axis=0)
        given = first.to_values(losses).tolist()
    return dict(zip(first.metric_names, map(float, given)))


def hypervolume_table(
    studies: Mapping[str, Sequence[Study]], reference: Reference = None
) -> pd.DataFrame:
    """Return the hypervolume of every study: one row a data set or run, one column a method.

    Args:
        studies: By method, each with one study a data set or run, all in the same order: the
            studies of one row are compared with each other.
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

    counts = {name: len(runs) for name, runs in studies.items()}
    if not counts or len(set(counts.values())) > 1 or 0 in counts.values():
        raise ValueError(
            "Every method needs one study a data set or run, in the same order; the numbers of "
            f"studies are {counts}."
        )
    rows: list[dict[str, Any]] = []
    for row in zip(*studies.values()):
        bound = shared_reference(row, reference)
        rows.append(
            {name: pareto_front(study).hypervolume(bound) for name, study in zip(studies, row)}
        )
    return pd.DataFrame(rows, columns=list(studies))


def same_metrics(everything: Sequence[CompletedTrials]) -> CompletedTrials:
    """Return the first of several studies' points, or refuse them if their metrics differ."""
    if not everything:
        raise ValueError("No studies: give at least one.")
    first = everything[0]
    for other in everything[1:]:
        mine, theirs = (list(zip(p.metric_names, p.signs.tolist())) for p in (first, other))
        if mine != theirs:
            raise ValueError(
                f"Studies {first.study.study_name!r} and {other.study.study_name!r} have "
                f"different metrics: {_spoken(first)} and {_spoken(other)}."
            )
    return first


def _spoken(points: CompletedTrials) -> str:
    said = ["minimize" if sign > 0 else "maximize" for sign in points.signs]
    return ", ".join(f"{how} {name!r}" for how, name in zip(said, points.metric_names))


def attainment_surfaces(
    runs: Sequence[ArrayLike], *, levels: Sequence[float] = (0.25, 0.5, 0.75)
) -> dict[float, NDArray[np.float64]]:
    """Return, for each level, the points that at least that share of the runs attained.

    A run attains a point when one of its own points is at least as good in every objective. The
    surface of level 0.5 is the median outcome of the runs, the multi-objective counterpart of a
    median curve (Grunert da Fonseca, Fonseca and Hall, 2001, EMO). A run without usable points
    counts as a run that attained nothing, so a surface can be empty.

    Args:
        runs: One array a run: one row a point, one column an objective to be minimized. Rows with
            a NaN or plus infinity are left out. Two or three objectives.
        levels: Shares of the runs, above 0 and up to 1.

    Returns:
        The corners of each level's surface, sorted by the first objective.

    Example:
        >>> surfaces = attainment_surfaces([[[1, 3], [2, 2]], [[2, 1]]], levels=[0.5, 1.0])
        >>> surfaces[0.5].tolist(), surfaces[1.0].tolist()
        ([[1.0, 3.0], [2.0, 1.0]], [[2.0, 2.0]])
    """
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
            raise ValueError(f"A level is a share of the runs above 0 and up to 1, got {level!r}.")
    usable = [array[has_no_nan(array) & ~np.isposinf(array).any(axis=1)] for array in arrays]
    labels = np.repeat(np.arange(len(usable)), [len(array) for array in usable])
    stacked = np.vstack(usable)
    # Places in the order of each objective stand for the values: infinities are safe with them.
    scales = [np.unique(column) for column in stacked.T]
    places = np.column_stack([np.searchsorted(s, c) for s, c in zip(scales, stacked.T)])
    # A run that attained nothing still counts: as a point that is worse than every other.
    idle = np.setdiff1d(np.arange(len(usable)), labels)
    nothing = np.tile([len(scale) for scale in scales], (len(idle), 1))
    # moocore takes the rows run by run and only counts the labels.
    labels = np.concatenate([labels, idle])
    by_run = np.argsort(labels, kind="stable")
    stacked = np.vstack([places, nothing]).astype(np.float64)
    table = moocore.eaf(stacked[by_run], labels[by_run])
    attained_by = np.rint(table[:, -1] * len(usable) / 100.0)
    surfaces = {}
    for level in levels:
        # Rounding must not ask for one run more: 0.1 + 0.2 of ten runs are three.
        n_runs = max(1, math.ceil(level * len(usable) - 1e-9))
        rows = table[attained_by == n_runs, :-1].astype(np.intp)
        rows = rows[(rows < [len(scale) for scale in scales]).all(axis=1)]
        corners = np.column_stack([scale[column] for scale, column in zip(scales, rows.T)])
        surfaces[float(level)] = corners[np.lexsort(corners.T[::-1])]
    return surfaces
