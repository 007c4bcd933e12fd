"""SMS-EGO (Ponweiser, Wagner, Biermann, Vincze 2008): the largest gain of hypervolume."""

from __future__ import annotations

from functools import partial

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers._context import ProposalContext
from optuna_mofs.samplers.model_based._acquisition import (
    Acquisition,
    ModelBasedNote,
    dominance_penalty,
)
from optuna_mofs.samplers.model_based._sampler import ModelBasedSampler
from optuna_mofs.samplers.model_based._training_data import TrainingData

#: Random points that estimate the gain with more than three objectives.
_N_DRAWS = 2000


def penalized_gain(points: Array, front: Array, reference: Array, epsilon: Array) -> Array:
    """Return the hypervolume that each point adds, or minus its dominance penalty.

    Example:
        >>> front, reference = np.array([[0.0, 1.0], [1.0, 0.0]]), np.full(2, 2.0)
        >>> points = np.array([[0.5, 0.5], [1.0, 1.0]])
        >>> penalized_gain(points, front, reference, np.zeros(2)).tolist()
        [0.25, -1.0]
    """
    gain = -dominance_penalty(points, front, epsilon)
    free = np.flatnonzero(gain >= 0)
    if len(free):
        gain[free] = hypervolume_gain(points[free], front, reference)
    return gain


def hypervolume_gain(points: Array, front: Array, reference: Array) -> Array:
    """Return the hypervolume that each point adds to that of the front."""
    inside = front[(front < reference).all(axis=1)]
    m = points.shape[1]
    if m == 1:
        best = min([float(reference[0]), *inside[:, 0]])
        below: Array = np.maximum(best - points[:, 0], 0.0)
        return below
    if m == 2:
        return _gain_2d(points, inside, reference)
    if m == 3:
        return _gain_3d(points, inside, reference)
    return _estimated_gain(points, inside, reference)


def _gain_2d(points: Array, front: Array, reference: Array) -> Array:
    """Return the exact gain by strips between the members of the front, for all points at once."""
    front = moocore.filter_dominated(front) if len(front) > 1 else front
    front = front[np.argsort(front[:, 0])]
    edges = np.concatenate([front[:, 0], reference[:1]])  # right ends of the strips
    tops = np.concatenate([reference[1:], front[:, 1]])
    left = np.maximum(points[:, :1], np.concatenate([[-np.inf], edges[:-1]]))
    area: Array = np.einsum(
        "ij,ij->i", np.maximum(edges - left, 0.0), np.maximum(tops - points[:, 1:], 0.0)
    )
    return area


def _gain_3d(points: Array, front: Array, reference: Array) -> Array:
    """Return the exact gain by slabs along the third objective, in each the gain in the plane."""
    front = front[np.argsort(front[:, 2])]
    ends = np.concatenate([front[:, 2], reference[2:]])
    volume = np.zeros(len(points))
    start = -np.inf
    for k, end in enumerate(ends):
        height = np.maximum(end - np.maximum(points[:, 2], start), 0.0)
        above = np.flatnonzero(height > 0)
        if len(above):
            plane = _gain_2d(points[above, :2], front[:k, :2], reference[:2])
            volume[above] += height[above] * plane
        start = end
    return volume


def _estimated_gain(points: Array, front: Array, reference: Array) -> Array:
    """Return the share of random points that each point would be the first to dominate."""
    low = np.minimum(points.min(axis=0), reference)
    draws = low + (reference - low) * np.random.default_rng(0).random((_N_DRAWS, points.shape[1]))
    open_ = draws
    for member in front:
        open_ = open_[~(member <= open_).all(axis=1)]
    share = np.array([np.count_nonzero((point <= open_).all(axis=1)) for point in points])
    volume: Array = share / _N_DRAWS * np.prod(reference - low)
    return volume


class SMSEGOSampler(ModelBasedSampler):
    """Model-based search that maximizes the gain of hypervolume.

    Ponweiser et al. (2008), on mixed and conditional spaces as in Horn and Bischl (2016): one
    surrogate per objective, and the gain in hypervolume of a candidate's lower confidence bounds,
    with a penalty for those that the front epsilon-dominates. The gain is exact for two and three
    objectives, estimated for more. Running trials count with their bounds, so that parallel
    workers do not propose the same region of the front. The changes to the papers are in
    ``docs/samplers/model_based.md``; :meth:`from_paper` is without most of them.

    Args:
        n_trials: Number of trials planned, if known: a small budget gets a smaller initial design,
            and the tolerance of the penalty shrinks towards the end. If None, as many trials are
            assumed to be left as are completed.
        n_startup_trials: Completed trials before the first surrogate; by default 4 per parameter,
            8 to 24.
        surrogate: ``"auto"`` (a Gaussian process on spaces of few columns, else a forest),
            ``"forest"``, ``"gaussian_process"``, a scikit-learn regressor with predictive
            uncertainty, or a function that returns a model; see :class:`ModelBasedSampler`.
        kappa: Weight of the standard deviation in the lower confidence bound; by default 0.25, and
            1 if the surrogate gets feature sets.
        settings: Further settings.
        seed: Seed; if None, one is drawn and kept in the study.

    Example:
        >>> import optuna
        >>> from optuna_mofs import SMSEGOSampler
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     x = trial.suggest_float("x", -4, 4)
        ...     return (x - 1) ** 2, (x + 1) ** 2
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=SMSEGOSampler(seed=0)
        ... )
        >>> study.optimize(objective, n_trials=14)
        >>> len(study.best_trials) >= 4
        True
    """

    _surrogate_targets = ("objectives",)

    def fit_acquisition(self, ctx: ProposalContext, data: TrainingData) -> Acquisition:
        """Return minus the gain of hypervolume; with one objective its bound."""
        surrogates, kappa = self._objective_surrogates(ctx, data), self._kappa(ctx, data)
        if data.values.shape[1] == 1:
            return Acquisition(
                lambda batch: surrogates.lower_bounds(batch, kappa)[:, 0],
                ModelBasedNote(kappa=kappa),
            )
        front, epsilon = self._front(ctx, data, surrogates)
        reference = data.reference()

        bounds = partial(surrogates.lower_bounds, kappa=kappa)
        return Acquisition(
            lambda batch: -penalized_gain(bounds(batch), front, reference, epsilon),
            ModelBasedNote(kappa=kappa),
            bounds,
        )
