"""SMSEGOSampler."""

from __future__ import annotations

import numpy as np

from optuna_mofs.samplers.model_based.gain import gain
from optuna_mofs.samplers.model_based.sampler import Learned, ModelBasedSampler
from optuna_mofs.samplers.model_based.view import View


class SMSEGOSampler(ModelBasedSampler):
    """Model-based search that takes the step with the largest gain of hypervolume.

    Ponweiser et al. (2008), on mixed and conditional spaces as Horn and Bischl (2016) do it: one
    surrogate an objective; the gain in hypervolume of a candidate's confidence bounds, with a
    penalty for those that the front dominates or nearly does. The gain is exact for two and three
    objectives, estimated for more. Trials that run at the same time count with their bounds, so
    that workers do not crowd one place of the front. What was changed against the papers is in
    ``docs/samplers/model_based.md``.

    Args:
        **shared: See :class:`ModelBasedSampler`. With ``n_trials`` the tolerance of the penalty
            shrinks towards the end; without it as many trials are thought to be left as are
            finished.

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

    def learn(self, view: View, rng: np.random.Generator, number: int) -> Learned:
        """One surrogate an objective, but for those that are exactly known."""
        bounds = self._bounds(view, rng)
        bound = self._bound(view, number)
        if view.values.shape[1] == 1:
            return lambda seen: bounds(seen, bound)[:, 0], lambda seen: {
                "confidence": bound.weight
            }
        front, epsilon = self._front(view, bounds)
        reference = view.reference()
        return (
            lambda seen: -gain(bounds(seen, bound), front, reference, epsilon),
            lambda seen: {"bounds": view.scale.raw(bounds(seen, bound)[0]).tolist()},
        )
