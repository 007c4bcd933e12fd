"""Callbacks that stop a study."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import trials_of
from optuna_mofs.fronts._optima import optimal_rows
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.study._completed_trials import is_feasible, read_points
from optuna_mofs.study._feature_sets import selected_mask


class NoNewOptimaCallback:
    """Stops a study when nothing new was found for a number of evaluations.

    The criterion that Jung and Zscheischler (2013), section 2.2, recommend. New is a better
    performance, a smaller set within the tolerance of the best performance, or another set of that
    size. It is computed of the finished trials, so it also holds for a study that was reopened,
    and for any sampler.

    Args:
        evaluations: Finished trials without anything new after which the study stops.
        tolerance: What may be lost of the best performance, as in :func:`optuna_mofs.optima`.
        value: Position of the value that is the performance.

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
        self, evaluations: int = 1000, tolerance: float = 0.005, *, value: int = 0
    ) -> None:
        if evaluations < 1:
            raise ValueError(f"evaluations must be at least 1, but is {evaluations}.")
        if not 0 <= tolerance < np.inf:
            raise ValueError(f"tolerance must be a number of at least 0, but is {tolerance}.")
        if value < 0:
            raise ValueError(f"value must be a position from 0, but is {value}.")
        self.evaluations = evaluations
        self.tolerance = tolerance
        self.value = value
        self._read: WeakKeyDictionary[Study, _Read] = WeakKeyDictionary()

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study if its time has come."""
        read = self._read.setdefault(study, _Read(self.value))
        read.update(study)
        if read.losses and self.evaluations <= since_news(
            read.losses, read.sizes, read.keys, self.tolerance
        ):
            study.stop()


def since_news(losses: ArrayLike, sizes: ArrayLike, keys: list[bytes], tolerance: float) -> int:
    """How many of the last trials found nothing new.

    Args:
        losses: Of each trial in order of its number, minimized.
        sizes: Number of features of each.
        keys: The same for the same set.
        tolerance: See :class:`NoNewOptimaCallback`.

    Example:
        >>> since_news([3.0, 1.0, 1.0, 1.0], [1, 2, 2, 2], [b"a", b"b", b"b", b"b"], 0.0)
        2
    """
    loss = np.asarray(losses, dtype=float)
    if np.isnan(loss).all():
        return len(loss)
    news = int(np.nanargmin(loss))
    # Whatever a later find made obsolete is older than that find: today's optima are enough.
    seen: set[bytes] = set()
    for row in optimal_rows(loss, sizes, tolerance).tolist():
        if keys[row] not in seen:
            seen.add(keys[row])
            news = max(news, row)
    return len(loss) - 1 - news


class _Read:
    """Losses, sizes and sets of the finished trials, each read once."""

    def __init__(self, value: int) -> None:
        self._value = value
        self._by_number: dict[int, tuple[float, int, bytes]] = {}
        self.losses: list[float] = []
        self.sizes: list[int] = []
        self.keys: list[bytes] = []

    def update(self, study: Study) -> None:
        if self._value >= len(study.directions):
            raise ValueError(
                f"value is {self._value}, but trials have {len(study.directions)} values; "
                "positions count from 0."
            )
        sign = -1.0 if study.directions[self._value] == StudyDirection.MAXIMIZE else 1.0
        for trial in trials_of(study, states=(TrialState.COMPLETE,)):
            if trial.number not in self._by_number:
                mask = selected_mask(study, trial)
                kept = is_feasible(trial)
                loss = sign * trial.values[self._value] if kept else np.nan
                size = 0 if mask is None else int(np.count_nonzero(mask))
                key = b"" if mask is None else np.packbits(mask).tobytes()
                entry = loss, size, key
                if self._by_number and trial.number < next(reversed(self._by_number)):
                    self._by_number[trial.number] = entry
                    self._by_number = dict(sorted(self._by_number.items()))
                    self.losses, self.sizes, self.keys = (
                        list(column) for column in zip(*self._by_number.values())
                    )
                    continue
                self._by_number[trial.number] = entry
                self.losses.append(loss)
                self.sizes.append(size)
                self.keys.append(key)


class LexicographicStoppingCallback:
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
        >>> study.optimize(objective, n_trials=50, callbacks=[LexicographicStoppingCallback(wanted)])
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
        resolve = self.patience is not None and now == self.preference.best_row(
            points, but_last=self.patience
        )
        if met or resolve:
            study.stop()
