"""Racing: folds one by one, and a test after each whether the trial can still join the front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from optuna.pruners import WilcoxonPruner
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial
from scipy.stats import norm

from optuna_mofs._optuna import study_signs
from optuna_mofs._typing import Array
from optuna_mofs._validation import check_float
from optuna_mofs.data._dataset import Split
from optuna_mofs.measures import Measure
from optuna_mofs.objectives._completed import FrontIndex
from optuna_mofs.objectives._evaluator import (
    CrossValidation,
    Evaluator,
    FoldResult,
)
from optuna_mofs.study._losses import kept_rows, read_losses
from optuna_mofs.study._partial import PartialEstimate, fold_scores

#: Default of ``error_rate``; what it saves and loses is in ``docs/benchmarks/racing.md``.
ERROR_RATE = 0.2
#: Completed trials from which the variance between folds is estimated, at least.
_MIN_TRIALS = 5
#: Trials that a race compares with: the latest ones, and the members of the front.
_MAX_PEERS = 200
#: Rows from which a variance is estimated, at least, and rows added as a prior.
_MIN_PAIRS, _PRIOR_PAIRS = 5, 5
#: Rounding errors of an estimate; trials with equal predictions are level.
_TOLERANCE = 1e-9


def check_racing(racing: Any) -> float | str | None:
    """Return the error rate, ``"pruner"``, or None for no racing."""
    if racing is None or racing is False:
        return None
    if racing is True:
        return ERROR_RATE
    if racing == "pruner":
        return "pruner"
    if isinstance(racing, str):
        raise ValueError(
            "racing must be True, False, 'pruner' or the error rate of a test (above 0, at most "
            f"0.5), got {racing!r}."
        )
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


class Peer(NamedTuple):
    """What a race compares with: the folds of a completed trial, minimized.

    Attributes:
        number: Number of the trial.
        values: Its values.
        folds: Measures that need folds × folds.
        losses: Losses of the kept rows, or None.
    """

    number: int
    values: Array
    folds: Array
    losses: Array | None


class PeerReader:
    """Reads completed trials as peers, each of them once.

    Args:
        measures: The measures of the values.
        signs: 1 for each minimized value, -1 for each maximized one.
        splits: The folds.
        loss_measure: The measure with losses of rows, or None if rows are not independent.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        signs: Array,
        splits: Sequence[Split],
        loss_measure: Measure | None,
    ) -> None:
        #: Positions of the measures that need folds.
        self.by_fold = [j for j, m in enumerate(measures) if m.whole is None]
        self.signs = signs
        self.tests = [test for _, test in splits]
        #: Position among them of the measure with losses of rows, or None.
        self.loss_position = next(
            (i for i, j in enumerate(self.by_fold) if measures[j] is loss_measure), None
        )
        self._names = [measures[j].name for j in self.by_fold]
        self._known: dict[int, Peer | None] = {}

    def __call__(self, trials: Sequence[FrozenTrial]) -> list[Peer]:
        """Return the trials with values of all folds as peers, ordered by number."""
        for trial in trials:
            if trial.number not in self._known:
                self._known[trial.number] = self._peer(trial)
        found = map(self._known.__getitem__, sorted(trial.number for trial in trials))
        return [peer for peer in found if peer is not None]

    def _peer(self, trial: FrozenTrial) -> Peer | None:
        scores = fold_scores(trial)
        rows = [scores.get(name, ()) for name in self._names]
        if any(len(row) != len(self.tests) for row in rows):
            return None  # a trial that was added by hand
        folds = self.signs[self.by_fold, None] * np.array(rows, dtype=float)
        if not np.isfinite(folds).all():
            return None
        kept = None if self.loss_position is None else read_losses(trial)
        losses = None if kept is None else np.asarray(kept.values, dtype=float)
        return Peer(trial.number, np.array(trial.values) * self.signs, folds, losses)


class Race:
    """Tests after each fold whether a trial would be dominated after all of them.

    The values after all folds are estimated from every completed trial: its value plus the mean
    difference on the same folds. Differences are weighted by the inverse of their squared
    variance, because similar trials differ least from fold to fold. The trial is stopped if the
    estimates are worse than the values of a rival by more than chance explains: a member of the
    front that is no worse in any measure that needs no fold, such as the number of features.

    A difference has the variance of the paired losses of rows divided by the rows of a fold, or
    more if the folds of the completed trials vary more than their rows explain; without losses
    of single rows it is twice the variance between folds that is left of a trial when the means
    of the folds are removed. With ``k`` of ``K`` folds and variance ``v`` of a fold, the final
    mean has the variance ``v (K - k) / (K k)`` around the present one. Half of it is noise of
    the other trials, which their number averages out.

    Args:
        reader: Reads completed trials.
        rivals: Members of the front, see :func:`rivals_of`.
        completed: All completed trials.
        whole: Values of the trial that need no fold, NaN for the others.
        n_rows: Number of rows of the search.
        error_rate: Probability that a test stops a trial that would end level with its rival.
    """

    def __init__(
        self,
        reader: PeerReader,
        rivals: Sequence[FrozenTrial],
        completed: Sequence[FrozenTrial],
        whole: Sequence[float],
        n_rows: int,
        error_rate: float,
    ) -> None:
        self._reader = reader
        self._rivals = reader(rivals)
        latest = {t.number: t for t in [*completed[-_MAX_PEERS:], *rivals]}
        self._peers = reader([t for t in latest.values() if "duplicate_of" not in t.user_attrs])
        self._known = np.array(whole) * reader.signs
        self._n_rows = n_rows
        self._limit = float(norm.ppf(1 - error_rate))

    def __call__(self, done: Sequence[int], found: Sequence[FoldResult]) -> PartialEstimate | None:
        """Return the estimate of a trial that is dominated, else None."""
        if not self._rivals:
            return None
        reader, signs = self._reader, self._reader.signs
        own = signs[reader.by_fold] * np.array([result.values for result in found])
        values, variances = self._known.copy(), np.zeros(len(self._known))
        for i, j in enumerate(reader.by_fold):
            differences = own[:, i] - np.array([peer.folds[i][done] for peer in self._peers])
            ends = np.array([peer.values[j] for peer in self._peers]) + differences.mean(axis=1)
            rows = self._row_variances(done, found) if i == reader.loss_position else None
            each = self._fold_variances(i, rows)
            if each is None:
                return None
            values[j], variances[j] = weighted_estimate(ends, each, len(done), len(reader.tests))
        margins = self._limit * np.sqrt(variances[reader.by_fold])
        best: PartialEstimate | None = None
        for rival in self._rivals:
            worse = values[reader.by_fold] - rival.values[reader.by_fold]
            bound = float((worse - margins).min())
            if bound > _TOLERANCE and (best is None or bound > best.bound):
                best = PartialEstimate(
                    values=tuple((values * signs).tolist()),
                    folds=tuple(done),
                    rival=rival.number,
                    bound=bound,
                    variances=tuple(variances.tolist()),
                )
        return best

    def _row_variances(
        self, done: Sequence[int], found: Sequence[FoldResult]
    ) -> tuple[Array, float] | None:
        """Return the variance of a fold's difference to each peer by its rows, and among peers."""
        losses = [peer.losses for peer in self._peers if peer.losses is not None]
        if len(losses) < len(self._peers):
            return None
        own = np.full(self._n_rows, np.nan)
        for i, result in zip(done, found):
            own[self._reader.tests[i]] = result.losses
        n_kept = min(map(len, losses))  # the first ones of one permutation
        theirs = np.array([kept[:n_kept] for kept in losses])
        differences = own[kept_rows(self._n_rows)[:n_kept]] - theirs
        differences = differences[:, np.isfinite(differences).all(axis=0)]
        if differences.shape[1] < _MIN_PAIRS:
            return None
        n_per_fold = np.mean([len(test) for test in self._reader.tests])
        centered = theirs - theirs.mean(axis=0)
        among = np.nanmean(np.nanvar(centered, axis=1, ddof=1))
        n_pairs = differences.shape[1]
        each = differences.var(axis=1, ddof=1)
        # Equal predictions for few rows are no proof of equal models: add a few rows for which
        # the trials differ as much as two of the others.
        each = (n_pairs * each + _PRIOR_PAIRS * 2 * among) / (n_pairs + _PRIOR_PAIRS)
        return each / n_per_fold, float(among / n_per_fold)

    def _fold_variances(self, i: int, rows: tuple[Array, float] | None) -> Array | None:
        """Return the variance of a fold's difference to each peer, or None if it is not known."""
        folds = np.array([peer.folds[i] for peer in self._peers])
        between = np.nan
        if len(folds) >= _MIN_TRIALS:
            between = float((folds - folds.mean(axis=0)).var(axis=1, ddof=1).mean())
        if rows is None:
            return None if np.isnan(between) else np.full(len(folds), 2 * between)
        each, among = rows
        is_more = not np.isnan(between) and between > among > 0
        return each * (between / among) if is_more else each


def weighted_estimate(
    ends: Array, variances: Array, n_done: int, n_folds: int
) -> tuple[float, float]:
    """Return the value after all folds, and its variance.

    Args:
        ends: What each of the other trials predicts.
        variances: Variance of the difference of a fold to each of them.
        n_done: Number of folds that were fitted.
        n_folds: Number of all folds.

    Example:
        >>> value, variance = weighted_estimate(np.array([0.2, 0.3]), np.array([0.01, 0.02]), 1, 5)
        >>> round(value, 3), round(variance, 5)
        (0.22, 0.00806)
    """
    smallest = max(float(variances.min()), 1e-12)
    weights = (smallest / np.maximum(variances, smallest)) ** 2
    weights /= weights.sum()
    # Noise of the others has the share 1/2 of each difference, and is averaged.
    share = (1 + float(weights @ weights)) / 2
    left = (n_folds - n_done) / (n_folds * n_done)
    return float(weights @ ends), float(weights @ variances) * share * left


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
