"""Which of many candidates to evaluate: a model of the trials, judged by the preference.

The question that a preference asks of a model has as many parts as there are objectives: how low
can the first get; how low the second, where the first reaches its target; and so on. A candidate
is worth the expected improvement of the objective in question times the probability that those
before it reach their targets (as in Gardner et al. 2014, *Bayesian optimization with inequality
constraints*).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from optuna_mofs._typing import Array
from optuna_mofs.fronts.lexicographic import LexicographicOrder
from optuna_mofs.samplers.gaussian.likelihood import most_likely
from optuna_mofs.samplers.gaussian.points import Points
from optuna_mofs.samplers.gaussian.process import Process, normal_scores

#: Trials that predictions are made from, and that length scales are estimated from.
KEEP, LEARN = 80, 50


@dataclass(frozen=True)
class Question:
    """How low can a column get where the columns before it reach their targets?

    Args:
        column: The column.
        best: Its lowest value so far among such trials.
        before: Columns before it that differ among trials, with their targets.
    """

    column: int
    best: float
    before: tuple[tuple[int, float], ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """Every column that the question speaks of."""
        return (*(column for column, _ in self.before), self.column)


def questions(order: LexicographicOrder, values: Array, targets: Array) -> list[Question]:
    """The columns that can be improved, in order of priority.

    Args:
        order: Priorities, tolerances and goals.
        values: Trials × columns, minimised.
        targets: Of the columns, given these trials.
    """
    found = []
    running = np.ones(len(values), dtype=bool)
    before: list[tuple[int, float]] = []
    for column in order.columns:
        seen = values[:, column]
        if np.ptp(seen) > 0:
            best = float(seen[running].min())
            # Nothing is gained beyond a goal.
            if best > order.goals[column]:
                found.append(Question(column, best, tuple(before)))
            before.append((column, float(targets[column])))
        running &= order.reached(column, seen, targets[column])
    return found


def relevant(wanted: Array, leading: Array, most: int) -> Array:
    """Positions of at most ``most`` trials: the best of two rankings, and a spread of the rest.

    Args:
        wanted: Positions of all trials, the best first, by the preference.
        leading: The same if nothing may be given up.
        most: At most so many.
    """
    if len(wanted) <= most:
        return np.arange(len(wanted))
    best = np.zeros(len(wanted), dtype=bool)
    best[wanted[: most // 3]] = best[leading[: most // 3]] = True
    rest = leading[~best[leading]]
    best[rest[np.linspace(0, len(rest) - 1, most - best.sum()).astype(np.int64)]] = True
    return np.flatnonzero(best)


def scales(order: LexicographicOrder, points: Points, values: Array, column: int) -> Array:
    """Length scales of a column's model."""
    few = relevant(order.ranking(values), order.without_tolerances().ranking(values), LEARN)
    chosen = points[few]
    return most_likely(chosen.squares(chosen), normal_scores(values[few, column]))


def worth(
    question: Question, points: Points, values: Array, candidates: Points, scales: dict[int, Array]
) -> Array:
    """What each candidate promises, as a logarithm.

    Args:
        question: What is to be improved.
        points: Trials.
        values: Trials × columns.
        candidates: To be judged.
        scales: Of the columns in the question.
    """
    among, across = points.squares(points), candidates.squares(points)

    def model(column: int, at: float) -> tuple[Array, Array, float]:
        seen = values[:, column]
        z = normal_scores(seen)
        order = np.argsort(seen, kind="stable")
        mean, sd = Process(among, z, scales[column]).predict(across)
        return mean, sd, float(np.interp(at, seen[order], z[order]))

    total = log_improvement(*model(question.column, question.best))
    for column, target in question.before:
        mean, sd, bound = model(column, target)
        total += log_ndtr((bound - mean) / sd)
    return total


def log_improvement(mean: Array, sd: Array, best: float) -> Array:
    """Logarithm of the expected improvement below ``best``.

    Example:
        >>> log_improvement(np.zeros(2), np.ones(2), -np.array([1.0, 60.0])).round(2).tolist()
        [-2.49, -1809.11]
    """
    z = (best - mean) / sd
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.log(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) + z * ndtr(z))
        # Far below nothing is left of the difference; its first term is.
        far = -0.5 * z**2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(np.abs(z))
    gained: Array = np.log(sd) + np.where(z > -8, near, far)
    return gained
