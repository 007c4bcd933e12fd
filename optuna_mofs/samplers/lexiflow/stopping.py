"""When to stop: every goal is met, or the best trial has stayed the same for a while."""

from __future__ import annotations

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs.preferences import LexicographicPreference
from optuna_mofs.study._completed_trials import read_points


class StopWhenSettled:
    """A callback that stops a study once its lexicographic best is good enough or settled.

    It keeps nothing between calls, so it works the same after a study was reopened and with
    several workers.

    Args:
        preference: The preference of the search.
        patience: Stop when the best trial is what it was this many finished trials ago; None to
            stop by goals only.
        goals: Whether to stop as soon as the best trial meets every goal of the preference.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> wanted = LexicographicPreference(goals=[0.5])
        >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> def objective(trial):
        ...     return trial.suggest_float("x", 0, 1)
        >>> study.optimize(objective, n_trials=50, callbacks=[StopWhenSettled(wanted)])
        >>> study.best_value <= 0.5, len(study.trials) < 50
        (True, True)
    """

    def __init__(
        self,
        preference: LexicographicPreference,
        *,
        patience: int | None = None,
        goals: bool = True,
    ) -> None:
        if patience is not None and (not isinstance(patience, int | np.integer) or patience < 1):
            raise ValueError(
                f"patience must be None or an integer of at least 1, but is {patience!r}."
            )
        if patience is None and not (goals and preference.goals is not None):
            raise ValueError(
                "Nothing would ever stop the study: the preference has no goals and patience is "
                "None. Give a patience, or goals to the preference."
            )
        self.preference = preference
        self.patience = patience
        self.goals = goals

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study if there is nothing left to wait for."""
        points = read_points(study)
        now = self.preference.best_row(points)
        if now is None:
            return
        met = self.goals and self.preference.meets_goals(points, now)
        settled = self.patience is not None and now == self.preference.best_row(
            points, but_last=self.patience
        )
        if met or settled:
            study.stop()
