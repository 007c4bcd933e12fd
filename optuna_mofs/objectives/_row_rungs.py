"""Racing on large tables: parts of the rows first, then the folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from optuna.trial import FrozenTrial
from scipy.stats import t as student

from optuna_mofs._optuna import frozen_attr
from optuna_mofs._typing import Array
from optuna_mofs.data._dataset import Split
from optuna_mofs.objectives._evaluator import FoldResult
from optuna_mofs.study._partial import PartialEstimate

#: Tables of more rows are raced on parts of them first.
MIN_ROWS = 20_000
#: Each rung has this many times the training rows of the one before it (successive halving).
FACTOR = 3
#: Training rows of the first rung, at least, and test rows of any, at most.
_MIN_TRAIN, _MAX_TEST = 2_000, 5_000
#: What all rows add differs between models: the error rate is divided by this.
_CAUTION = 3.0
#: Completed trials that a rung is compared with, at least and at most.
_MIN_PEERS, _MAX_PEERS = 8, 200
#: Key of the attribute that holds the losses of a completed trial.
_KEY = "rungs"


def row_rungs(splits: Sequence[Split], n_rows: int, seed: int) -> list[Split]:
    """Return training and test rows of each rung, the smallest first; none for few rows.

    They are random rows of the first fold, the same in all trials; each rung contains the one
    before it, and all have the same test rows.
    """
    if n_rows <= MIN_ROWS:
        return []
    train, test = splits[0]
    rng = np.random.default_rng([seed, 7])
    order, tested = rng.permutation(train), np.sort(rng.permutation(test)[:_MAX_TEST])
    sizes = [len(train) // FACTOR**power for power in (2, 1)]
    return [(np.sort(order[:size]), tested) for size in sizes if size >= _MIN_TRAIN]


def climb(
    rungs: Sequence[Split],
    fit: Callable[[Split], FoldResult],
    rivals: Sequence[FrozenTrial],
    completed: Sequence[FrozenTrial],
    known: Array,
    column: int,
    error_rate: float,
) -> tuple[list[float], PartialEstimate | None]:
    """Return the losses on the rungs, and the estimate of a trial that is stopped at one.

    What all rows add to the loss on a rung is estimated by its mean over the completed trials,
    and its standard deviation says how well a rung predicts. The trial is stopped if a rival has
    a lower loss than the estimate by more than that explains.

    Args:
        rungs: The rungs.
        fit: Fits one of them.
        rivals: Completed trials that are no worse where no fit is needed.
        completed: Completed trials; the latest ones are used.
        known: Values of the trial that need no fit, NaN for the others.
        column: Position of the measure with losses of rows.
        error_rate: That of the tests after folds.
    """
    found: list[float] = []
    peers = [(rung_losses(trial), trial.values[column]) for trial in completed[-_MAX_PEERS:]]
    peers = [(losses, value) for losses, value in peers if len(losses) == len(rungs)]
    rival = min(rivals, key=lambda trial: trial.values[column], default=None)
    for i, rung in enumerate(rungs):
        found.append(float(np.mean(np.asarray(fit(rung).losses))))
        if rival is None or len(peers) < _MIN_PEERS:
            continue
        added = np.array([value - losses[i] for losses, value in peers])
        estimate = found[i] + float(added.mean())
        variance = float(added.var(ddof=1)) * (1 + 1 / len(added))
        limit = float(student.ppf(1 - error_rate / _CAUTION, len(added) - 1))
        bound = estimate - rival.values[column] - limit * np.sqrt(variance)
        if bound > 0:
            values, variances = known.copy(), np.zeros(len(known))
            values[column], variances[column] = estimate, variance
            return found, PartialEstimate(
                values=tuple(values.tolist()),
                folds=(),
                rival=rival.number,
                bound=float(bound),
                n_rows=len(rung[0]),
                variances=tuple(variances.tolist()),
            )
    return found, None


def rungs_attr(losses: Sequence[float]) -> dict[str, list[float]]:
    """Return the losses of a completed trial as a system attribute."""
    return {_KEY: list(losses)} if losses else {}


def rung_losses(trial: FrozenTrial) -> list[float]:
    """Return the losses that :func:`rungs_attr` stored."""
    return list(frozen_attr(trial, _KEY) or [])
