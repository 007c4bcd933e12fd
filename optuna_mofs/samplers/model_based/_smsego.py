"""SMS-EGO (Ponweiser, Wagner, Biermann, Vincze 2008): the largest gain of hypervolume."""

from __future__ import annotations

from functools import partial

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers._context import ProposalContext
from optuna_mofs.samplers._hypervolume_gain import dominance_penalty, hypervolume_gain
from optuna_mofs.samplers._infill import Acquisition, ModelBasedNote, objective_surrogates
from optuna_mofs.samplers._training_data import TrainingData
from optuna_mofs.samplers.model_based._sampler import ModelBasedSampler


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
        surrogate: ``"auto"`` (a Gaussian process on spaces of up to 200 columns, else a forest),
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
        kappa = self._kappa(ctx, data)
        surrogates = objective_surrogates(ctx, data, self.surrogate)
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
