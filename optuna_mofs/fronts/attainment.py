"""Empirical attainment surfaces of several runs; all objectives are minimised."""

from __future__ import annotations

import math
from collections.abc import Sequence

import moocore
import numpy as np
from numpy.typing import ArrayLike, NDArray

from optuna_mofs.fronts._arrays import as_points, has_no_nan


def attainment_surfaces(
    runs: Sequence[ArrayLike], *, levels: Sequence[float] = (0.25, 0.5, 0.75)
) -> dict[float, NDArray[np.float64]]:
    """Return, for each level, the points that at least that share of the runs attained.

    A run attains a point when one of its own points is at least as good in every objective. The
    surface of level 0.5 is the median outcome of the runs, the multi-objective counterpart of a
    median curve (Grunert da Fonseca, Fonseca and Hall, 2001, EMO). A run without usable points
    counts as a run that attained nothing, so a surface can be empty.

    Args:
        runs: One array a run: one row a point, one column an objective to be minimised. Rows with
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
