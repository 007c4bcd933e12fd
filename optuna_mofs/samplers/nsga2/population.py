"""The population at any moment, as a function of the finished trials in order of their number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import unchanged
from optuna_mofs.samplers.operators.survival import survivors

#: Generations kept for late trials; a later one replays the history.
_KEPT = 200


class Population:
    """Survivors of mu + lambda selection, replayed over the history.

    Generation 0 holds the best of the ``first`` finished trials; each further ``offspring`` of
    them compete with the population of the generation before. Nothing waits for a slow trial:
    finished trials fill the generations, whichever they are. The last generations are kept, so
    that a late trial with a low number changes only what came after it.

    Args:
        mu: Size of the population after ``n`` finished trials.
        offspring: Trials of a generation.
        first: Trials of generation 0.
        normalise: Whether crowding distances are normalised.
        unique: Whether points of equal values come last.
    """

    def __init__(
        self,
        mu: Callable[[int], int],
        offspring: int,
        *,
        first: int,
        normalise: bool = True,
        unique: bool = True,
    ) -> None:
        self._mu = mu
        self._offspring = offspring
        self._first = first
        self._options = {"normalise": normalise, "unique": unique}
        self._numbers = np.zeros(0, dtype=np.int64)
        self._generations: list[tuple[int, Array, Array, Array]] = []

    def of(self, numbers: Array, values: Array, violations: Array) -> tuple[Array, Array, Array]:
        """Positions in the history, ranks and crowding distances of the current population."""
        self._forget_changed(numbers)
        if not self._generations:
            self._generations.append((0, *_nobody()))
        done, members, _, _ = self._generations[-1]
        while done < len(numbers):
            step = self._offspring if done else self._first
            if done + step > len(numbers):
                break
            pool = np.concatenate([members, np.arange(done, done + step)])
            done += step
            best, ranks, crowding = survivors(
                values[pool], violations[pool], self._mu(done), **self._options
            )
            members = pool[best]
            self._generations.append((done, members, ranks, crowding))
        del self._generations[:-_KEPT]
        return self._generations[-1][1:]

    def _forget_changed(self, numbers: Array) -> None:
        stable = unchanged(self._numbers, numbers)
        while self._generations and self._generations[-1][0] > stable:
            self._generations.pop()
        self._numbers = numbers.copy()


def _nobody() -> tuple[Array, Array, Array]:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
