"""Regression problems with four optima each, evaluated from Gram matrices in less than 1 ms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

import benchmarks.common  # noqa: F401  first: it sets threads

TOLERANCE = 0.005
Halves = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class LinearModels:
    """Modeling efficiency (eq. 4) of linear regressions on feature sets, from Gram matrices."""

    def __init__(
        self, X: np.ndarray, y: np.ndarray, X_valid: np.ndarray, y_valid: np.ndarray
    ) -> None:
        spread = X.std(axis=0)
        train, valid = (X - X.mean(axis=0)) / spread, (X_valid - X_valid.mean(axis=0)) / spread
        target, valid_target = y - y.mean(), y_valid - y_valid.mean()
        self.X, self.y = train, target
        self._gram, self._right = train.T @ train, train.T @ target
        self._valid_gram, self._valid_right = valid.T @ valid, valid.T @ valid_target
        self._total = float(valid_target @ valid_target)

    def __call__(self, mask: np.ndarray) -> float:
        """Return the modeling efficiency; the means of both halves are removed, as in eq. 4."""
        inside = np.flatnonzero(mask)
        if not len(inside):
            return 0.0
        block = np.ix_(inside, inside)
        slopes = np.linalg.solve(self._gram[block], self._right[inside])
        fitted = slopes @ self._valid_gram[block] @ slopes
        left = self._total - 2 * slopes @ self._valid_right[inside] + fitted
        return float(1 - left / self._total)


@dataclass(frozen=True)
class Problem:
    """A regression problem.

    Args:
        models: Returns the modeling efficiency of a mask.
        wanted: The optima, sets × features.
    """

    models: LinearModels
    wanted: np.ndarray

    @property
    def features(self) -> int:
        """Number of features."""
        return self.wanted.shape[1]

    def which(self, mask: np.ndarray) -> list[int]:
        """Return the position of the optimum that a mask equals, if any."""
        found: list[int] = np.flatnonzero((self.wanted == mask).all(axis=1)).tolist()
        return found


def _masks(sets: list[list[int]], p: int) -> np.ndarray:
    masks = np.zeros((len(sets), p), dtype=bool)
    for mask, inside in zip(masks, sets):
        mask[inside] = True
    return masks


def ratios(seed: int, copies: float = 0.2) -> Halves:
    """Return the data of Jung and Zscheischler (2013), section 3.1.

    Noise levels are read as standard deviations; ``copies`` is that of the copies. The third line
    of the construction is garbled in print; features 26 and 27 are scaled so that the sums over
    16..25 and over 18..27 are equal.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1000, 250))
    X[:, 10:15] *= (X[:, :5].sum(axis=1) / X[:, 10:15].sum(axis=1))[:, None]
    X[:, 15:25] *= (X[:, :10].sum(axis=1) / X[:, 15:25].sum(axis=1))[:, None]
    X[:, 25:27] *= (X[:, 15:17].sum(axis=1) / X[:, 25:27].sum(axis=1))[:, None]
    for i in range(27, 56):
        X[:, i] = X[:, i - 27] + copies * rng.standard_normal(1000)
    y = X[:, :10].sum(axis=1)
    noisy = X[:500] + 0.1 * rng.standard_normal((500, 250))
    return noisy, y[:500], X[500:], y[500:]


def twins(seed: int) -> Halves:
    """Return data with eight factors, two of which are measured by two features each.

    The other factors are measured by one feature each. Each of the ten features has noise of 0.03.
    There are noisier copies of them (0.3), and 130 features of noise.
    """
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((800, 8))
    X = rng.standard_normal((800, 150))
    X[:, :10] = factors[:, [0, 0, 1, 1, 2, 3, 4, 5, 6, 7]] + 0.03 * rng.standard_normal((800, 10))
    X[:, 10:20] = X[:, :10] + 0.3 * rng.standard_normal((800, 10))
    y = factors.sum(axis=1)
    return X[:400], y[:400], X[400:], y[400:]


_RATIOS = [[*range(10)], [*range(5, 15)], [*range(15, 25)], [*range(17, 27)]]
#: Data of a seed, optima, and number of features.
PROBLEMS: dict[str, tuple[Callable[[int], Halves], list[list[int]], int]] = {
    "ratios": (ratios, _RATIOS, 250),
    # The level of the copies, N(0, 0.2), read as a variance.
    "ratios, noisier copies": (partial(ratios, copies=0.2**0.5), _RATIOS, 250),
    "twins": (twins, [[a, b, *range(4, 10)] for a in (0, 1) for b in (2, 3)], 150),
}


@lru_cache(maxsize=2)
def problem(name: str, seed: int) -> Problem:
    """Return the first draw whose optima all reach 0.999 (``twins``: 0.998).

    The ratios are heavy-tailed, so most draws do not.
    """
    data, sets, p = PROBLEMS[name]
    wanted = _masks(sets, p)
    for attempt in range(1000):
        models = LinearModels(*data(1000 * attempt + seed))
        if min(models(mask) for mask in wanted) >= 0.998 + 0.001 * name.startswith("ratios"):
            return Problem(models, wanted)
    raise RuntimeError(f"No draw of {name!r} with good optima.")
