"""Racing on large tables: parts of the rows first, then the folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from optuna.trial import FrozenTrial
from scipy.stats import norm

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
#: A part of the rows says less than a fold: the error rate is divided by this.
_CAUTION = 3.0
#: Key of the attribute that holds the results of a completed trial.
_KEY = "rungs"


class RungResult(NamedTuple):
    """The mean loss of the test rows of a rung, and the variance of this mean."""

    mean: float
    variance: float


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
    known: Array,
    column: int,
    error_rate: float,
) -> tuple[list[RungResult], PartialEstimate | None]:
    """Return the results of the rungs, and the estimate of a trial that is stopped at one.

    The trial is stopped if its loss exceeds that of a rival on the same rung by more than
    chance explains. The losses are compared as if they were not paired, which is cautious.

    Args:
        rungs: The rungs.
        fit: Fits one of them.
        rivals: Completed trials that are no worse where no fit is needed.
        known: Values of the trial that need no fit, NaN for the others.
        column: Position of the measure with losses of rows.
        error_rate: That of the test after the first fold.
    """
    limit = float(norm.ppf(1 - error_rate / _CAUTION))
    found: list[RungResult] = []
    for i, rung in enumerate(rungs):
        losses = np.asarray(fit(rung).losses, dtype=float)
        found.append(RungResult(float(losses.mean()), float(losses.var(ddof=1) / len(losses))))
        best: PartialEstimate | None = None
        for rival in rivals:
            other = rung_results(rival)
            if len(other) <= i:
                continue
            difference = found[i].mean - other[i].mean
            bound = difference - limit * np.sqrt(found[i].variance + other[i].variance)
            if bound > 0 and (best is None or bound > best.bound):
                values, variances = known.copy(), np.zeros(len(known))
                values[column] = rival.values[column] + difference
                variances[column] = found[i].variance + other[i].variance
                best = PartialEstimate(
                    values=tuple(values.tolist()),
                    folds=(),
                    rival=rival.number,
                    bound=float(bound),
                    n_rows=len(rung[0]),
                    variances=tuple(variances.tolist()),
                )
        if best is not None:
            return found, best
    return found, None


def rungs_attr(found: Sequence[RungResult]) -> dict[str, list[list[float]]]:
    """Return the results of a completed trial as a system attribute."""
    return {_KEY: [list(result) for result in found]} if found else {}


def rung_results(trial: FrozenTrial) -> list[RungResult]:
    """Return the results that :func:`rungs_attr` stored."""
    return [RungResult(*pair) for pair in frozen_attr(trial, _KEY) or []]
