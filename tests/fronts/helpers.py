"""Shared by the tests of fronts: strategies for points, slow and obvious reference code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import optuna
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

quick = settings(max_examples=60)

# Few distinct values: ties and duplicates are the hard cases.
coarse = st.integers(0, 6).map(float)
special = st.sampled_from([0.0, 1.0, 2.0, 3.0, np.inf, -np.inf, np.nan])


def point_arrays(
    values: st.SearchStrategy[float] = coarse,
    *,
    widths: tuple[int, int] = (1, 4),
    min_points: int = 1,
    max_points: int = 12,
) -> st.SearchStrategy[np.ndarray]:
    shapes = st.tuples(st.integers(min_points, max_points), st.integers(*widths))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=values))


def dominates(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.all(a <= b) and np.any(a < b))


def slow_front(points: np.ndarray) -> list[int]:
    valid = [i for i, p in enumerate(points) if not np.isnan(p).any()]
    return [i for i in valid if not any(dominates(points[j], points[i]) for j in valid)]


def slow_volume(points: np.ndarray, reference: Sequence[float]) -> float:
    """Sum the volumes of the grid cells that some point dominates."""
    bound = np.asarray(reference, dtype=float)
    inside = points[(points < bound).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    edges = [np.unique(np.append(inside[:, k], bound[k])) for k in range(len(bound))]
    total = 0.0
    for cell in np.ndindex(*(len(edge) - 1 for edge in edges)):
        corner = np.array([edge[i] for edge, i in zip(edges, cell)])
        if (inside <= corner).all(axis=1).any():
            total += float(np.prod([edge[i + 1] - edge[i] for edge, i in zip(edges, cell)]))
    return total


def make_study(
    values: Sequence[Sequence[float]],
    directions: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    **columns: Sequence[dict],
) -> optuna.Study:
    """Create a study of completed trials.

    ``columns`` are keywords of ``create_trial`` with one entry per trial.
    """
    width = len(values[0]) if len(values) else 2
    study = optuna.create_study(directions=list(directions or ["minimize"] * width))
    if names is not None:
        study.set_metric_names(list(names))
    for i, row in enumerate(values):
        extra = {key: column[i] for key, column in columns.items()}
        study.add_trial(optuna.trial.create_trial(values=[float(v) for v in row], **extra))
    return study
