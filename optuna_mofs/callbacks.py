"""Callbacks that stop a study."""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import trials_of
from optuna_mofs._typing import Floats
from optuna_mofs._validation import check_choice, check_float, check_int, check_type
from optuna_mofs.fronts._front import front_of
from optuna_mofs.fronts._hypervolume import hypervolume_over_time
from optuna_mofs.fronts._optima import optimal_rows
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.study._completed_trials import (
    CompletedTrials,
    feature_count,
    is_feasible,
    metric_column,
    read_completed_trials,
    read_metrics,
)
from optuna_mofs.study._feature_sets import selected_mask

#: Number of latest trials from which the duration of the next one is estimated.
_N_DURATIONS = 50


class StoppingCallback(ABC):
    """A callback of ``study.optimize`` that stops the study when a condition holds."""

    @abstractmethod
    def should_stop(self, study: Study) -> bool:
        """Return whether the study should be stopped now."""

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study if :meth:`should_stop`."""
        if self.should_stop(study):
            study.stop()


class StagnationCallback(StoppingCallback):
    """Stop a study when more trials are unlikely to bring a gain.

    The study stops when the probability that the next ``horizon`` trials gain more than
    ``min_gain`` is below ``risk``. The probability comes from the gains so far: if trials were
    drawn independently, trial ``t`` would be the best so far with probability ``1 / t``, so that
    improvements would be a Poisson process with a constant rate in the logarithm of the number of
    trials. With a sampler that learns, or a front of many trials, the rate is different; it is
    estimated from the latter half of the trials, with Jeffreys' prior. After ``k`` improvements in
    the latter half of ``n`` trials, the next ``h`` trials bring none with probability
    ``(a / (a + b)) ** (k + 1/2)``, where ``a = log(2)`` and ``b = log(1 + h / n)``.

    So ``risk`` is the chance of having missed a gain of more than ``min_gain`` by not running
    ``horizon`` more trials; a search that is continued for longer can still gain more. Without any
    improvement in the latter half, it is below 0.1 after 283 trials with the default horizon of
    50, and below 0.2 after 105, which is often too early (docs/benchmarks/stopping.md).

    The callback computes everything from the finished trials (pruned ones count as trials without
    gain), so it works with any sampler, with several workers, and after a study was reopened.

    Args:
        monitor: ``"hypervolume"`` of the front, or ``"pick"``: the trial that :meth:`Front.pick`
            returns, the default model.
        min_gain: Smallest gain that counts: of the hypervolume, relative to its current value; of
            the pick, relative to the worst error (any other number of features counts too).
        horizon: Number of further trials that ``risk`` refers to.
        risk: Largest probability of missing a gain.
        reference: Reference point, as for :meth:`Front.hypervolume`. Its default is only fixed for
            studies of this package's objectives.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     x = trial.suggest_float("x", 0, 1)
        ...     return x, (1 - x) ** 2
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=optuna.samplers.RandomSampler(seed=0)
        ... )
        >>> stop = StagnationCallback(reference=[1, 1])
        >>> study.optimize(objective, n_trials=1000, callbacks=[stop])
        >>> len(study.trials) < 1000, stop.missed_gain_probability(study) < 0.1
        (True, True)
    """

    def __init__(
        self,
        monitor: str = "hypervolume",
        *,
        min_gain: float = 0.01,
        horizon: int = 50,
        risk: float = 0.1,
        reference: Mapping[str, float] | Sequence[float] | None = None,
    ) -> None:
        self.monitor = check_choice("monitor", monitor, ("hypervolume", "pick"))
        self.min_gain = check_float("min_gain", min_gain, 0)
        self.horizon = check_int("horizon", horizon, 1)
        self.risk = check_float("risk", risk, 0, 1)
        self.reference = reference

    def should_stop(self, study: Study) -> bool:
        """Return whether the probability of missing a gain is below ``risk``."""
        return self.missed_gain_probability(study) < self.risk

    def missed_gain_probability(self, study: Study) -> float:
        """Return the probability that the next ``horizon`` trials bring a gain."""
        finished = trials_of(study, states=(TrialState.COMPLETE, TrialState.PRUNED))
        # By time, so that a trial that a slow worker completes late changes nothing before it.
        numbers = [t.number for t in sorted(finished, key=lambda t: t.datetime_complete or _NEVER)]
        position = {number: i for i, number in enumerate(numbers)}
        completed = read_completed_trials(study)
        if not completed.feasible.any():
            return 1.0
        order = np.argsort([position[trial.number] for trial in completed.trials])
        completed = completed.take(order)
        if self.monitor == "pick":
            steps = self._pick_steps(study, completed)
        else:
            steps = self._hypervolume_steps(completed)
        counts = [position[completed.trials[step].number] + 1 for step in steps]
        return gain_probability(counts, len(numbers), self.horizon)

    def _hypervolume_steps(self, completed: CompletedTrials) -> list[int]:
        losses = np.where(completed.feasible[:, None], completed.losses, np.nan)
        curve = hypervolume_over_time(losses, completed.reference_losses(self.reference))
        return _steps(curve, self.min_gain * curve[-1])

    def _pick_steps(self, study: Study, completed: CompletedTrials) -> list[int]:
        known = _PICKS.setdefault(study, {})
        steps: list[int] = []
        last_loss, last_size = np.nan, -1
        margin, key = self.min_gain * _scale(completed), 0
        for i, trial in enumerate(completed.trials):
            key = hash((key, trial.number))
            if key not in known:
                known[key] = _pick_of(completed.take(np.arange(i + 1)))
            loss, size = known[key]
            if size != last_size or not abs(loss - last_loss) <= margin:
                steps.append(i)
                last_loss, last_size = loss, size
        return steps


#: Loss and number of features of the pick after each trial of a study, keyed by the trials so far.
_PICKS: WeakKeyDictionary[Study, dict[int, tuple[float, int]]] = WeakKeyDictionary()
_NEVER = datetime.datetime.max


def _pick_of(completed: CompletedTrials) -> tuple[float, int]:
    front = front_of(completed)
    if not len(front):
        return np.nan, -1
    pick = front.pick()
    loss = float(completed.to_losses(pick.values)[0])
    return loss, feature_count(completed.study, pick) or 0


def _scale(completed: CompletedTrials) -> float:
    """Return the worst value of the first metric, or the range of its values."""
    losses = completed.losses[np.isfinite(completed.losses[:, 0]), 0]
    worst = completed.worst[0]
    return float(np.ptp(losses)) if np.isnan(worst) else abs(float(worst))


def _steps(curve: Floats, margin: float) -> list[int]:
    """Return where a growing curve has gained more than a margin since the previous such step.

    Example:
        >>> _steps(np.array([1.0, 1.0, 1.2, 1.3, 1.4, 1.4]), 0.25)
        [0, 3]
    """
    steps, level = [], 0.0
    for i, value in enumerate(curve.tolist()):
        if value > level + margin:
            steps.append(i)
            level = value
    return steps


def gain_probability(steps: Sequence[int], n_trials: int, horizon: int) -> float:
    """Return the probability that the next trials bring a gain.

    Args:
        steps: Numbers of trials, counted from 1, that brought a gain.
        n_trials: Number of trials so far.
        horizon: Number of further trials.

    Example:
        >>> round(gain_probability([1, 5, 20], 200, 50), 3)
        0.13
        >>> round(gain_probability([1, 5, 20, 180], 200, 50), 3)
        0.342
    """
    if n_trials < 2:
        return 1.0
    half = n_trials // 2
    n_steps = sum(step > half for step in steps)
    seen, ahead = math.log(n_trials / half), math.log1p(horizon / n_trials)
    return 1.0 - float((seen / (seen + ahead)) ** (n_steps + 0.5))


class TimeoutCallback(StoppingCallback):
    """Stop a study when another trial is unlikely to end in time.

    The ``timeout`` of ``study.optimize`` only prevents new trials after that time, so that a
    search takes up to one trial longer. This callback also prevents a trial that would end too
    late, judged by the durations of the last 50 completed trials. Duplicates, which take no time,
    are left out.

    Args:
        timeout: Seconds that the study may take, from the start of the first trial that the
            callback sees.
        quantile: Quantile of these durations that is expected of the next trial: 0.9 for a
            duration that one of ten trials exceeds.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> study.optimize(lambda trial: 0.0, n_trials=5, callbacks=[TimeoutCallback(3600)])
        >>> len(study.trials)
        5
    """

    def __init__(self, timeout: float, *, quantile: float = 0.9) -> None:
        self.timeout = check_float("timeout", timeout, 0)
        self.quantile = check_float("quantile", quantile, 0, 1)
        self._start: datetime.datetime | None = None

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study if another trial is unlikely to end in time."""
        if self._start is None:
            self._start = trial.datetime_start
        super().__call__(study, trial)

    def should_stop(self, study: Study) -> bool:
        """Return whether another trial is unlikely to end in time."""
        if self._start is None:
            return False
        left = self.timeout - (datetime.datetime.now() - self._start).total_seconds()
        return trial_seconds(study, self.quantile) > left


def trial_seconds(study: Study, quantile: float = 0.9) -> float:
    """Return the expected duration of the next trial in seconds, from the last 50 completed ones.

    Args:
        study: The study.
        quantile: Quantile of their durations.

    Returns:
        The duration, 0 if no trial has been completed.
    """
    seconds = [
        trial.duration.total_seconds()
        for trial in trials_of(study, states=(TrialState.COMPLETE,))
        if trial.duration is not None and "duplicate_of" not in trial.user_attrs
    ]
    return float(np.quantile(seconds[-_N_DURATIONS:], quantile)) if seconds else 0.0


class NoNewOptimaCallback(StoppingCallback):
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

    def should_stop(self, study: Study) -> bool:
        """Return whether ``patience`` is exceeded."""
        names, signs = read_metrics(study)
        column = metric_column(self.metric, names)
        read = self._read.setdefault(study, {})
        for other in trials_of(study, states=(TrialState.COMPLETE,)):
            if other.number not in read:
                mask = selected_mask(study, other)
                loss = signs[column] * other.values[column] if is_feasible(other) else np.nan
                size = 0 if mask is None else int(np.count_nonzero(mask))
                read[other.number] = loss, size, b"" if mask is None else mask.tobytes()
        if not read:
            return False
        losses, sizes, keys = zip(*(read[number] for number in sorted(read)))
        return n_trials_without_optimum(losses, sizes, keys, self.tolerance) >= self.patience


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
    # optima suffice. Reversed, so that each set counts from when it was found first.
    rows = optimal_rows(loss, sizes, tolerance).tolist()
    first_rows: dict[bytes, int] = {keys[row]: row for row in reversed(rows)}
    return len(loss) - 1 - max(latest, *first_rows.values())


class LexicographicStoppingCallback(StoppingCallback):
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
        self.preference = check_type("preference", preference, LexicographicPreference)
        self.patience = None if patience is None else check_int("patience", patience, 1)
        if patience is None and preference.goals is None:
            raise ValueError(
                "The study would never stop: the preference has no goals and patience is None. "
                "Set patience, or give goals to the preference."
            )

    def should_stop(self, study: Study) -> bool:
        """Return whether every prioritized metric has met its goal or has not changed."""
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
            return False
        if (values[best] == limits).all():
            return True
        if self.patience is None:
            return False
        earlier = self.preference.best_row(trials, exclude_last=self.patience)
        return earlier is not None and bool((values[earlier] == values[best]).all())
