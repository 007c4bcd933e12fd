"""Search for the best promise: focus search over the space, local search around good trials.

Focus search is Algorithm 2 of Horn and Bischl (2016), with its lines 8 to 10 as their code has
them: a quarter of the range to either side of the best point. All restarts go side by side, so
that the surrogate is asked a few times for many points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._search_space import Activity, ParameterSpace
from optuna_mofs.samplers.model_based.candidates import Candidates
from optuna_mofs.samplers.operators.rows import reflect

#: Scores of rows, the lower the better.
Score = Callable[[Array], Array]


@dataclass(frozen=True)
class InfillSearch:
    """Effort of the search.

    Args:
        restarts: Independent focus searches.
        rounds: Times a focus search narrows its ranges.
        points: Random points of each round of each restart.
        starts: Good rows from which the local search starts.
        neighbours: Neighbours of each of them in a round.
        steps: Step sizes of the local search's rounds, in units of the range.
    """

    restarts: int = 3
    rounds: int = 3
    points: int = 160
    starts: int = 8
    neighbours: int = 30
    steps: tuple[float, ...] = (0.15, 0.05, 0.015)

    def __post_init__(self) -> None:
        for name in ("restarts", "rounds", "points", "starts", "neighbours"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, but is {getattr(self, name)}.")

    def __call__(
        self,
        rng: np.random.Generator,
        space: ParameterSpace,
        activity: Activity,
        score: Score,
        good: Array,
    ) -> Candidates:
        """All candidates looked at, with their scores.

        Args:
            rng: Generator.
            space: The parameters.
            activity: Which of them are asked for.
            score: Scores of rows.
            good: Rows to start the local search from, the best first.
        """
        parts = [self._focus(rng, space, activity, score)]
        best = parts[0].rows[[int(parts[0].scores.argmin())]]
        starts = np.concatenate([good[: self.starts], best])
        source = np.append(np.arange(len(starts) - 1), -1)
        parts.extend(self._local(rng, space, activity, score, starts, source))
        return Candidates.joined(parts)

    def _focus(
        self, rng: np.random.Generator, space: ParameterSpace, activity: Activity, score: Score
    ) -> Candidates:
        d = len(space)
        numbers = ~space.categorical
        low, high = np.zeros((self.restarts, d)), np.ones((self.restarts, d))
        allowed = _all_choices(space, self.restarts)
        parts = []
        for _ in range(self.rounds):
            unit = rng.random((self.restarts, self.points, d))
            drawn = low[:, None] + (high - low)[:, None] * unit
            for j, choices in allowed.items():
                drawn[:, :, j] = _chosen(unit[:, :, j], choices)
            rows = activity.apply(drawn.reshape(-1, d))
            scores = score(rows)
            parts.append(_made("focus", rows, scores, np.full(len(rows), -1)))
            best = scores.reshape(self.restarts, -1).argmin(axis=1)
            at = rows.reshape(self.restarts, self.points, d)[np.arange(self.restarts), best]
            quarter = (high - low) / 4
            narrow = numbers & ~np.isnan(at)
            low = np.where(narrow, np.maximum(low, at - quarter), low)
            high = np.where(narrow, np.minimum(high, at + quarter), high)
            _drop_choices(rng, allowed, at)
        return Candidates.joined(parts)

    def _local(
        self,
        rng: np.random.Generator,
        space: ParameterSpace,
        activity: Activity,
        score: Score,
        starts: Array,
        source: Array,
    ) -> list[Candidates]:
        parts = []
        at, value = starts, score(starts)
        for step in self.steps:
            near = neighbours(rng, space, at, self.neighbours, step)
            rows = activity.apply(near.reshape(-1, len(space)))
            scores = score(rows)
            parts.append(_made("local", rows, scores, np.repeat(source, self.neighbours)))
            table = scores.reshape(len(at), -1)
            best = table.argmin(axis=1)
            lines = np.arange(len(at))
            better = table[lines, best] < value
            found = rows.reshape(len(at), self.neighbours, -1)[lines, best]
            at = np.where(better[:, None], found, at)
            value = np.minimum(value, table[lines, best])
        return parts


def neighbours(
    rng: np.random.Generator, space: ParameterSpace, rows: Array, count: int, step: float
) -> Array:
    """Rows nearby: rows × count × parameters.

    A neighbour changes about a third of the parameters, at least one: numbers by Gaussian steps,
    categories to any other choice. The other numbers move by a tenth of a step: a value tried
    before tells less than one beside it. Parameters that a row lacks are drawn at random, in case
    the neighbour needs them.
    """
    shape = (len(rows), count, len(space))
    changed = rng.random(shape) < np.where(space.categorical, 1 / (2 * len(space)), 0.35)
    sure = rng.integers(len(space), size=shape[:2])
    changed |= np.arange(len(space)) == sure[:, :, None]
    old = np.broadcast_to(rows[:, None], shape)
    # Grids need steps that reach the next cell.
    width = np.maximum(step, np.where(np.isfinite(space.cells), 0.7 / space.cells, 0.0))
    moved = reflect(old + width * np.where(changed, 1.0, 0.1) * rng.standard_normal(shape))
    other = np.floor(
        rng.random(shape) * np.maximum(1, np.where(space.categorical, space.cells - 1, 1))
    )
    other = other + (other >= old)
    near = np.where(space.categorical, np.where(changed, other, old), moved)
    fresh = space.from_unit(rng.random((len(rows) * count, len(space)))).reshape(shape)
    return np.where(np.isnan(old), fresh, near)


def _made(operator: str, rows: Array, scores: Array, source: Array) -> Candidates:
    return Candidates(rows, scores, source, np.full(len(rows), operator))


def _all_choices(space: ParameterSpace, restarts: int) -> dict[int, Array]:
    return {
        int(j): np.ones((restarts, int(space.cells[j])), dtype=bool)
        for j in np.flatnonzero(space.categorical)
    }


def _chosen(unit: Array, choices: Array) -> Array:
    """A uniform draw among each restart's choices."""
    listed = np.argsort(~choices, axis=1, kind="stable")  # the allowed ones first
    place = np.floor(unit * choices.sum(axis=1)[:, None]).astype(np.int64)
    found: Array = np.take_along_axis(listed, place, axis=1)
    return found


def _drop_choices(rng: np.random.Generator, allowed: dict[int, Array], best: Array) -> None:
    """Take one choice that is not the best one from each category of more than two."""
    for j, choices in allowed.items():
        for k, value in enumerate(best[:, j]):
            if np.isnan(value) or choices[k].sum() <= 2:
                continue
            others = np.flatnonzero(choices[k])
            others = others[others != int(value)]
            choices[k, others[rng.integers(len(others))]] = False
