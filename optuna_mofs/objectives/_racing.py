"""Racing: folds one by one, and a test after each whether the trial can still join the front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from optuna.pruners import WilcoxonPruner
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial
from scipy.stats import t as student

from optuna_mofs._optuna import study_signs
from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice, check_float
from optuna_mofs.data._dataset import Split
from optuna_mofs.measures import Measure
from optuna_mofs.objectives._evaluator import (
    CrossValidation,
    Evaluator,
    FoldResult,
    FrontIndex,
)
from optuna_mofs.study._completed_trials import fold_scores
from optuna_mofs.study._losses import kept_rows, read_losses
from optuna_mofs.study._partial import PartialEstimate

#: Default of ``error_rate``; what it saves and loses is in ``docs/benchmarks/racing.md``.
ERROR_RATE = 0.3
#: Weight, in folds, of the variance that is known before any difference between two folds.
_PRIOR_FOLDS = 4
#: Completed trials from which the variance between folds is estimated, at least.
_MIN_TRIALS = 5


def check_racing(racing: Any) -> float | str | None:
    """Return the error rate, ``"pruner"``, or None for no racing."""
    if racing is None or racing is False:
        return None
    if racing is True:
        return ERROR_RATE
    if isinstance(racing, str):
        return check_choice("racing", racing, ("pruner",))
    return check_float("racing", racing, 0, 0.5, low_is_open=True)


class Stopped(NamedTuple):
    """Why a trial was stopped.

    Attributes:
        estimate: What the trial stores for samplers.
        by_fold: Values of the folds that were fitted, by name.
        reason: For the log.
    """

    estimate: PartialEstimate
    by_fold: dict[str, list[float]]
    reason: str


#: Function of the folds that were fitted and their results that returns why to stop, or None.
Verdict = Callable[[Sequence[int], Sequence[FoldResult]], PartialEstimate | None]
#: Function that fits folds.
FitFolds = Callable[[Sequence[Array], Sequence[Split]], Sequence[FoldResult]]


def fold_by_fold(
    evaluator: Evaluator,
    fit: FitFolds,
    whole: Sequence[float],
    fold_masks: Sequence[Array],
    splits: Sequence[Split],
    order: Sequence[int],
    verdict: Verdict,
) -> CrossValidation | Stopped:
    """Cross-validate in stages of ``n_jobs`` folds, until the verdict is to stop.

    Args:
        evaluator: The cross-validation.
        fit: Fits the folds of a stage.
        whole: Values of the measures that need no fold, NaN for the others.
        fold_masks: The mask of each fold.
        splits: The folds.
        order: Their order.
        verdict: Decides after each stage but the last one.
    """
    found: dict[int, FoldResult] = {}
    step = evaluator.n_workers
    for start in range(0, len(order), step):
        stage = order[start : start + step]
        results = fit([fold_masks[i] for i in stage], [splits[i] for i in stage])
        found.update(zip(stage, results))
        if len(found) < len(order):
            done = sorted(found)
            estimate = verdict(done, [found[i] for i in done])
            if estimate is not None:
                by_fold = evaluator.by_fold([found[i] for i in done])
                reason = f"dominated by trial {estimate.rival}"
                if estimate.rival is None:
                    reason = "the study's pruner"
                return Stopped(estimate, by_fold, f"{reason} after {len(done)} folds")
    return evaluator.combined(whole, [found[i] for i in range(len(order))], splits)


def rivals_of(
    study: Study, measures: Sequence[Measure], front: FrontIndex, whole: Sequence[float]
) -> list[FrozenTrial]:
    """Return the members of the front that are no worse in the measures that need no fold."""
    fixed = [j for j, m in enumerate(measures) if m.whole is not None]
    return front.members_up_to(study, fixed, (np.array(whole) * study_signs(study))[fixed])


class Race:
    """Tests after each fold whether a trial would be dominated after all of them.

    The rivals are the members of the front with values at most those of the trial in all measures
    that need no fold, such as the number of features. The trial is stopped if, for one of them and
    every other measure, the lower confidence bound of the difference after all folds is positive.

    The differences are paired by fold. Those of the other folds are predicted: with ``k`` of ``K``
    folds and variance ``v`` of a fold's difference, the final mean has the variance
    ``v (K - k) / (K k)`` around the present one. ``v`` is the variance of the paired differences
    of rows, divided by the rows of a fold; without losses of single rows, the mean variance
    between folds of the completed trials. The variance between the folds of this trial is added
    with the weight of its degrees of freedom.

    Args:
        measures: The measures of the values.
        loss_measure: The measure with losses of rows, or None if rows are not independent.
        signs: 1 for each minimized value, -1 for each maximized one.
        rivals: Members of the front, see :func:`rivals_of`.
        completed: All completed trials.
        whole: Values of the trial that need no fold, NaN for the others.
        splits: The folds.
        n_rows: Number of rows of the search.
        error_rate: Probability that the test after the first fold stops a trial that would end
            level with its rival. That of later tests falls in proportion to the folds that a stop
            saves.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        loss_measure: Measure | None,
        signs: Array,
        rivals: Sequence[FrozenTrial],
        completed: Sequence[FrozenTrial],
        whole: Sequence[float],
        splits: Sequence[Split],
        n_rows: int,
        error_rate: float,
    ) -> None:
        self._tests = [test for _, test in splits]
        self._n_rows = n_rows
        self._signs = signs
        self._by_fold = [j for j, m in enumerate(measures) if m.whole is None]
        self._names = [m.name for m in measures]
        losses = [j for j, m in enumerate(measures) if m is loss_measure]
        self._loss_column = losses[0] if losses else None
        self._rivals = list(filter(None, map(self._rival, rivals)))
        self._known = np.array(whole) * signs
        self._completed = completed
        self._error_rate = error_rate

    def __call__(self, done: Sequence[int], found: Sequence[FoldResult]) -> PartialEstimate | None:
        """Return the estimate of a trial that is dominated, else None."""
        own = np.array([result.values for result in found]).T
        n_folds = len(self._tests)
        error_rate = self._error_rate * (n_folds - len(done)) / (n_folds - 1)
        best: PartialEstimate | None = None
        for rival in self._rivals:
            bounds, means = [], []
            for j in self._by_fold:
                sign = self._signs[j]
                differences = sign * own[self._position(j)] - rival.folds[j][list(done)]
                means.append(differences.mean())
                variance, freedom = self._variance(rival, j, done, found)
                bounds.append(lower_bound(differences, n_folds, variance, freedom, error_rate))
            bound = min(bounds)
            if bound > 0 and (best is None or bound > best.bound):
                values = self._known.copy()
                values[self._by_fold] = rival.values[self._by_fold] + means
                best = PartialEstimate(
                    values=tuple((values * self._signs).tolist()),
                    folds=tuple(done),
                    rival=rival.number,
                    bound=float(bound),
                )
        return best

    def _position(self, column: int) -> int:
        return self._by_fold.index(column)

    def _rival(self, trial: FrozenTrial) -> _Rival | None:
        scores = fold_scores(trial)
        folds = {}
        for j in self._by_fold:
            values = scores.get(self._names[j], ())
            if len(values) != len(self._tests) or not np.isfinite(values).all():
                return None  # a trial that was added by hand
            folds[j] = self._signs[j] * np.array(values)
        losses = None
        if self._loss_column is not None:
            kept = read_losses(trial)
            if kept is not None:
                losses = np.full(self._n_rows, np.nan)
                losses[kept_rows(self._n_rows)[: len(kept.values)]] = kept.values
        return _Rival(trial.number, np.array(trial.values) * self._signs, folds, losses)

    def _variance(
        self, rival: _Rival, column: int, done: Sequence[int], found: Sequence[FoldResult]
    ) -> tuple[float, float]:
        """Return the variance of a fold's difference, and its degrees of freedom."""
        if column == self._loss_column and rival.losses is not None:
            rows = np.concatenate([self._tests[i] for i in done])
            own = np.concatenate([np.asarray(result.losses) for result in found])
            differences = own - rival.losses[rows]
            differences = differences[np.isfinite(differences)]
            if len(differences) > 2:
                n_per_fold = len(rows) / len(done)
                return float(differences.var(ddof=1)) / n_per_fold, len(differences) - 1
        name, sign = self._names[column], self._signs[column]
        others = [fold_scores(t).get(name, ()) for t in self._completed]
        usable = [values for values in others if len(values) == len(self._tests)]
        if len(usable) < _MIN_TRIALS:
            return np.inf, 1
        differences = sign * np.array(usable, dtype=float) - rival.folds[column]
        return float(np.nanmean(differences.var(axis=1, ddof=1))), len(usable) - 1


class PrunerVerdict:
    """Asks the pruner of a study with one value after each fold.

    It gets the mean of the folds so far, and Optuna's Wilcoxon pruner, which compares instances,
    the value of each fold.

    Args:
        trial: The trial.
        evaluator: The cross-validation.
    """

    def __init__(self, trial: Trial, evaluator: Evaluator) -> None:
        self._trial = trial
        self._name = evaluator.measures[0].name
        self._evaluator = evaluator
        self._n_reported = 0

    def __call__(self, done: Sequence[int], found: Sequence[FoldResult]) -> PartialEstimate | None:
        """Report the new folds, and return the estimate of a trial to prune, else None."""
        values = self._evaluator.by_fold(found)[self._name]
        by_instance = isinstance(self._trial.study.pruner, WilcoxonPruner)
        for i in range(self._n_reported, len(values)):
            self._trial.report(values[i] if by_instance else float(np.mean(values[: i + 1])), i)
        self._n_reported = len(values)
        if not self._trial.should_prune():
            return None
        return PartialEstimate(values=(float(np.mean(values)),), folds=tuple(done))


class _Rival(NamedTuple):
    """A member of the front, minimized."""

    number: int
    values: Array
    folds: dict[int, Array]
    losses: Array | None


def lower_bound(
    differences: Array, n_folds: int, variance: float, freedom: float, error_rate: float
) -> float:
    """Return the lower confidence bound of the mean difference after all folds.

    Args:
        differences: Differences of the folds that were fitted.
        n_folds: Number of all folds.
        variance: Variance of the difference of a fold, by other sources than ``differences``.
        freedom: Degrees of freedom of that variance.
        error_rate: Probability that the mean is below the bound.

    Example:
        >>> round(lower_bound(np.array([0.2]), 5, 0.0025, 30, 0.05), 3)
        0.124
    """
    k = len(differences)
    own = float(differences.var(ddof=1)) if k > 1 else 0.0
    both = (_PRIOR_FOLDS * variance + (k - 1) * own) / (_PRIOR_FOLDS + k - 1)
    error = np.sqrt(both * (n_folds - k) / (n_folds * k))
    return float(differences.mean() - student.ppf(1 - error_rate, freedom) * error)
