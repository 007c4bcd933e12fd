"""Surrogates of the completed trials, and acquisition functions and scalarizations on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.special import ndtr

from optuna_mofs._typing import Array
from optuna_mofs.samplers._candidates import Candidates
from optuna_mofs.samplers._context import ProposalContext
from optuna_mofs.samplers._gaussian_process import (
    GaussianProcess,
    Points,
    RefitSchedule,
    fit_length_scales,
    normal_scores,
    representative_subset,
)

#: Maximum number of trials from which predictions are made.
MAX_TRAINING_TRIALS = 80
#: Maximum number of trials from which length scales are estimated.
MAX_LENGTH_SCALE_TRIALS = 50


class GaussianProcessSurrogates:
    """One Gaussian process per loss, over hyperparameters and masks, fitted when first used.

    The processes predict normal scores of the losses (see :func:`normal_scores`). Length scales
    are estimated from the first trials only (see :class:`RefitSchedule`), so that a resumed study
    gets the same ones.

    Args:
        ctx: The context of the proposal.
        losses: Trials × losses, minimized and finite. Those of a trial must not depend on later
            trials, except with ``first_losses``.
        subset: Positions of the trials from which predictions are made; by default at most 80,
            half of them those whose largest loss is the lowest.
        first_losses: Function of (column, count) that returns this loss of the first trials, and
            the positions of those from which length scales are estimated; by default at most 50,
            evenly spread over the values of the loss.
    """

    def __init__(
        self,
        ctx: ProposalContext,
        losses: Array,
        subset: Array | None = None,
        first_losses: Callable[[int, int], tuple[Array, Array]] | None = None,
    ) -> None:
        if subset is None:
            ranking = np.argsort(losses.max(axis=1), kind="stable")
            n_max = MAX_TRAINING_TRIALS
            subset = np.sort(representative_subset(ranking, n_max, n_max // 2))
        self._history = ctx.history
        self._schedule = ctx.study_cache("length scales", RefitSchedule)
        self._first_losses = first_losses or (lambda column, n: spread_subset(losses[:n, column]))
        self._points = self._trials(subset)
        self._squares = self._points.squared_distances(self._points)
        self._processes: dict[int, GaussianProcess] = {}
        #: Losses × trials from which predictions are made, and their normal scores.
        self.losses = losses[subset].T
        self.scores = np.array([normal_scores(values) for values in self.losses])

    def predict(
        self, candidates: Candidates, columns: Sequence[int] | None = None
    ) -> tuple[Array, Array]:
        """Return means and standard deviations of the normal scores: losses × candidates.

        Args:
            candidates: The candidates.
            columns: The losses; by default all.
        """
        space = self._history.space
        points = Points(
            space.snapped(candidates.rows), space.categorical, candidates.masks_of(slice(None))
        )
        squares = points.squared_distances(self._points)
        columns = range(len(self.losses)) if columns is None else columns
        means, sds = zip(*[self._process(column).predict(squares) for column in columns])
        return np.array(means), np.array(sds)

    def _process(self, column: int) -> GaussianProcess:
        if column not in self._processes:
            scales = self._schedule.fitted(
                column,
                self._history.numbers,
                partial(self._fit_scales, column),
                depends_on=self._history.space.distributions,
            )
            self._processes[column] = GaussianProcess(self._squares, self.scores[column], scales)
        return self._processes[column]

    def _fit_scales(self, column: int, count: int) -> Array:
        values, subset = self._first_losses(column, count)
        points = self._trials(subset)
        squares = points.squared_distances(points)
        return fit_length_scales(squares, normal_scores(values[subset]))

    def _trials(self, positions: Array) -> Points:
        history = self._history
        masks = None if history.table is None else history.masks(positions)
        return Points(history.rows[positions], history.space.categorical, masks)


def spread_subset(values: Array) -> tuple[Array, Array]:
    """Return values, and the positions of at most 50 that are evenly spread over their order."""
    ranking = np.argsort(values, kind="stable")
    return values, np.sort(representative_subset(ranking, MAX_LENGTH_SCALE_TRIALS, 0))


def expected_improvement(mean: Array, sd: Array, best: float | Array) -> Array:
    """Return the expected improvement below ``best`` (Jones et al. 1998).

    Example:
        >>> expected_improvement(np.array([0.0, 1.0]), np.array([1.0, 1.0]), 0.0).round(3).tolist()
        [0.399, 0.083]
    """
    sd = np.maximum(sd, 1e-12)
    return sd * _standard_improvement((best - mean) / sd)


def log_expected_improvement(mean: Array, sd: Array, best: float | Array) -> Array:
    """Return the logarithm of the expected improvement, even where that underflows.

    Example:
        >>> best = -np.array([1.0, 60.0])
        >>> log_expected_improvement(np.zeros(2), np.ones(2), best).round(2).tolist()
        [-2.49, -1809.11]
    """
    z = (best - mean) / sd
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.log(_standard_improvement(z))
        # Far below, the difference cancels; the first term of its asymptotic series remains.
        far = -0.5 * z**2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(np.abs(z))
    return np.log(sd) + np.where(z > -8, near, far)


def _standard_improvement(z: Array) -> Array:
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return density + z * ndtr(z)


def augmented_tchebycheff(losses: Array, weights: Array, rho: float = 0.05) -> Array:
    """Return the augmented Tchebycheff norm ``max(w y) + rho sum(w y)``.

    Args:
        losses: Distances to the ideal point; the last axis holds the objectives.
        weights: Weights of the objectives; broadcast against ``losses``.
        rho: Weight of the sum.

    Example:
        >>> augmented_tchebycheff(np.array([[0.2, 0.8]]), np.array([0.5, 0.5]), 0.0).tolist()
        [0.4]
    """
    weighted = losses * weights
    norm: Array = weighted.max(axis=-1)
    # Without the sum: infinite losses times zero would be NaN.
    return norm + rho * weighted.sum(axis=-1) if rho else norm
