"""Callbacks that stop a study."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import trials_of
from optuna_mofs._validation import check_float, check_int
from optuna_mofs.fronts._optima import optimal_rows
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.study._completed_trials import (
    is_feasible,
    metric_column,
    read_completed_trials,
    read_metrics,
)
from optuna_mofs.study._feature_sets import selected_mask


class NoNewOptimaCallback:
    """Stop a study when a number of completed trials in a row have found no new optimum.

    The criterion recommended by Jung and Zscheischler (2013), section 2.2. A better performance
    is new, and so is a smaller set within the tolerance of the best performance, or another set
    of that size. It is computed from the completed trials, so it works with any sampler and
    after a study was reopened.

    Args:
        patience: Number of completed trials without a new optimum after which the study stops.
        tolerance: How much worse than the best performance an optimum may be, as in
            :func:`optuna_mofs.optima`.
        metric: Name or position of the value that is the performance.

    Example:
        >>> import optuna
        >>> from optuna_mofs import NoNewOptimaCallback, suggest_features
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     mask = suggest_features(trial, ["a", "b", "c"])
        ...     return float(mask[0]), float(mask.sum())
        >>> study = optuna.create_study(
        ...     directions=["maximize", "minimize"], sampler=optuna.samplers.RandomSampler(seed=0)
        ... )
        >>> study.optimize(objective, n_trials=500, callbacks=[NoNewOptimaCallback(20, 0.01)])
        >>> len(study.trials) < 100
        True
    """

    def __init__(
        self, patience: int = 1000, tolerance: float = 0.005, *, metric: str | int = 0
    ) -> None:
        self.patience = check_int("patience", patience, 1)
        self.tolerance = check_float("tolerance", tolerance, 0)
        self.metric = metric
        #: Loss, size and feature set of each completed trial by number; each is read once.
        self._read: WeakKeyDictionary[Study, dict[int, tuple[float, int, bytes]]] = (
            WeakKeyDictionary()
        )

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study if ``patience`` is exceeded."""
        names, signs = read_metrics(study)
        column = metric_column(self.metric, names)
        read = self._read.setdefault(study, {})
        for other in trials_of(study, states=(TrialState.COMPLETE,)):
            if other.number not in read:
                mask = selected_mask(study, other)
                loss = signs[column] * other.values[column] if is_feasible(other) else np.nan
                size = 0 if mask is None else int(np.count_nonzero(mask))
                read[other.number] = loss, size, b"" if mask is None else mask.tobytes()
        if read:
            losses, sizes, keys = zip(*(read[number] for number in sorted(read)))
            if n_trials_without_optimum(losses, sizes, keys, self.tolerance) >= self.patience:
                study.stop()


def n_trials_without_optimum(
    losses: ArrayLike, sizes: ArrayLike, keys: Sequence[bytes], tolerance: float
) -> int:
    """Return how many of the latest trials found no new optimum.

    Args:
        losses: Loss of each trial by trial number, minimized; NaN if it is infeasible.
        sizes: Number of features of each trial.
        keys: Key of each trial's feature set.
        tolerance: See :class:`NoNewOptimaCallback`.

    Example:
        >>> keys = [b"a", b"b", b"b", b"b"]
        >>> n_trials_without_optimum([3.0, 1.0, 1.0, 1.0], [1, 2, 2, 2], keys, 0.0)
        2
    """
    loss = np.asarray(losses, dtype=float)
    if np.isnan(loss).all():
        return len(loss)
    latest = int(np.nanargmin(loss))
    # An optimum that has been replaced is older than the trial that replaced it, so the current
    # optima are enough. Reversed, so that each set counts when it was found first.
    rows = optimal_rows(loss, sizes, tolerance).tolist()
    first_rows: dict[bytes, int] = {keys[row]: row for row in reversed(rows)}
    return len(loss) - 1 - max(latest, *first_rows.values())


class LexicographicStoppingCallback:
    """Stop a study when no metric of a preference is likely to get better.

    The study stops when, in the lexicographic best trial, every prioritized metric has met its
    goal or has not changed for a number of completed trials. A metric without a goal is always
    waited for: a goal for the number of features does not end the search for a lower error.

    The prioritized metrics are those in ``preference.priorities``, or else all metrics of the
    study. The callback keeps no state between calls, so it works the same after a study was
    reopened and with several workers.

    Args:
        preference: The preference of the search.
        patience: Number of completed trials without a change; None to wait until all prioritized
            metrics meet their goals.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> preference = LexicographicPreference(goals=[0.5])
        >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> def objective(trial):
        ...     return trial.suggest_float("x", 0, 1)
        >>> callback = LexicographicStoppingCallback(preference)
        >>> study.optimize(objective, n_trials=50, callbacks=[callback])
        >>> study.best_value <= 0.5, len(study.trials) < 50
        (True, True)
    """

    def __init__(self, preference: LexicographicPreference, *, patience: int | None = 100) -> None:
        self.preference = preference
        self.patience = None if patience is None else check_int("patience", patience, 1)
        if patience is None and preference.goals is None:
            raise ValueError(
                "The study would never stop: the preference has no goals and patience is None. "
                "Set patience, or give goals to the preference."
            )

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study if every prioritized metric has met its goal or has not changed."""
        trials = read_completed_trials(study)
        goals = self.preference.prioritized_goals(trials)
        if self.patience is None and -np.inf in goals.values():
            missing = [trials.metric_names[column] for column, g in goals.items() if g == -np.inf]
            raise ValueError(
                f"The study would never stop: the metrics {missing} have no goal and patience is "
                "None. Set patience, or give the preference goals for them, or priorities "
                "without them."
            )
        columns, limits = list(goals), np.array(list(goals.values()))

        # A value that is better than its goal counts as the goal.
        values = np.maximum(trials.losses[:, columns], limits)
        best = self.preference.best_row(trials)
        if best is None:
            return
        if (values[best] == limits).all():
            study.stop()
        elif self.patience is not None:
            earlier = self.preference.best_row(trials, exclude_last=self.patience)
            if earlier is not None and (values[earlier] == values[best]).all():
                study.stop()
