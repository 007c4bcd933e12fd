"""GHGA of Jung and Zscheischler (2013) as printed, on arrays, with the readings it leaves open.

It is written from Algorithms 1 to 4 and sections 2.2 to 2.5 alone, without Optuna and without the
package, so that it also is what ``GHGASampler.from_paper`` is tested against.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import benchmarks.common  # noqa: F401  first: it sets threads

# isort: split
from sklearn.ensemble import RandomForestRegressor

#: b(c) of Algorithm 4, which the paper does not define: function of (size, t(c)).
BUDGETS: dict[str, Callable[[int, int], float]] = {
    "size": lambda size, chosen: size,
    "half": lambda size, chosen: size / 2,
    "tenth": lambda size, chosen: size / 10,
    "root": lambda size, chosen: size**0.5,
    "chosen": lambda size, chosen: chosen,
    "ten per choice": lambda size, chosen: 10 * chosen,
    "size per choice": lambda size, chosen: size * chosen,
    "size by choices": lambda size, chosen: size / chosen,
    "unlimited": lambda size, chosen: float("inf"),
}


@dataclass(frozen=True)
class Reading:
    """What the paper leaves open, or prints in two ways; the defaults are what it prints.

    Args:
        guide: ``"forest"``, ``"frequency"``, ``"random"`` or ``"none"``.
        tolerance: ε.
        n_start: Number of random chromosomes, which the paper does not give.
        start: ``"half"``: each gene with probability 1/2; ``"uniform"``: a size from 1 to n.
        median: ``"stop"``: R ends at the first chromosome that is not above the median;
            ``"skip"``: it leaves these out.
        strict: Whether a chromosome must be above the median, or at least there.
        best: Whether A(1) is always in R, or only if it is not inert.
        budget: Name of b(c), see :data:`BUDGETS`.
        cap: Upper limit of the mutation rate.
        to_archived: Whether an elimination may move to a smaller set that was evaluated before.
        crowding: Whether R takes only chromosomes that are less crowded than all before.
        b_ties: Whether B takes chromosomes as far from inert ones as those before.
        n_trees: Trees of the forest.
        max_features: Part of the features that a split considers.
        n_phase1: λ; by default 2 n. The others are the paper's Greek letters, with its defaults.
    """

    guide: str = "random"
    tolerance: float = 0.005
    n_start: int = 20
    start: str = "half"
    median: str = "stop"
    strict: bool = True
    best: bool = True
    budget: str = "size"
    cap: float = np.inf
    to_archived: bool = False
    crowding: bool = True
    b_ties: bool = False
    n_trees: int = 100
    max_features: float = 1 / 3
    n_phase1: int | None = None  # λ
    retrain: int = 50  # ψ
    delta: float = 0.5
    rho: int = 5
    theta: float = 0.5
    phi: float = 0.05
    kappa: int = 5


class LiteralGHGA:
    """The archive A and the steps of Algorithm 1.

    Args:
        efficiency: EVAL: returns m(c).
        n: Number of features.
        reading: The reading.
        seed: Seed.
    """

    def __init__(
        self, efficiency: Callable[[np.ndarray], float], n: int, reading: Reading, seed: int = 0
    ) -> None:
        self.efficiency, self.n, self.reading = efficiency, n, reading
        self._n_phase1 = 2 * n if reading.n_phase1 is None else reading.n_phase1
        self.rng = np.random.default_rng(seed)
        self._C = np.zeros((64, n), dtype=np.float32)
        self._rows = np.zeros((4, 64))
        self.C = self._C[:0]
        #: m, n_c1, evaluated leave-one-out sets, and the sum over A of n_u1.
        self.M, self.sizes, self.leave_one_out, self.overlap = self._rows[:, :0]
        self.T: dict[bytes, int] = {}
        self._position: dict[bytes, int] = {}

    # ---- EVAL and the cost function -----------------------------------------------------------

    def evaluate(self, c: np.ndarray) -> None:
        """Add c to A, unless it is there."""
        if c.tobytes() in self._position:
            return
        k = self._position[c.tobytes()] = len(self.M)
        if k == len(self._C):
            self._C = np.concatenate([self._C, np.zeros_like(self._C)])
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)], axis=1)
        row = self._C[k] = c.astype(np.float32)
        common, sizes, size = self._C[:k] @ row, self._rows[1, :k], row.sum()
        self._rows[2, :k][(common == size) & (sizes == size + 1)] += 1
        self._rows[3, :k] += common
        smaller = int(((common == sizes) & (sizes == size - 1)).sum())
        self._rows[:, k] = self.efficiency(c), size, smaller, common.sum() + size
        self.C = self._C[: k + 1]
        self.M, self.sizes, self.leave_one_out, self.overlap = self._rows[:, : k + 1]

    @property
    def costs(self) -> np.ndarray:
        """J_A: equations 2 and 3."""
        steps = np.minimum((self.M.max() - self.M) / self.reading.tolerance, 900)
        cost: np.ndarray = self.sizes + 2**steps - 1
        return cost

    @property
    def flags(self) -> np.ndarray:
        """Z_A: which chromosomes are inert."""
        inert: np.ndarray = (self.leave_one_out == self.sizes) & (self.sizes > 0)
        return inert

    def dissimilarity(self, k: int, others: np.ndarray) -> np.ndarray:
        """Equation 1."""
        sizes = self.sizes
        scale = np.sqrt(np.maximum(1, sizes[k] * sizes[others]))
        distance: np.ndarray = 1 - (self.C[others] @ self.C[k]) / scale
        return distance

    # ---- Algorithms 2 and 3 -------------------------------------------------------------------

    def population(self) -> np.ndarray:
        """Algorithm 2."""
        reading, J, Z, sizes = self.reading, self.costs, self.flags, self.sizes
        S = self.overlap / np.maximum(1, sizes)
        order, median = np.lexsort((np.arange(len(J)), -self.M, J)), np.median(self.M)
        R: list[int] = [int(order[0])] if reading.best or not Z[order[0]] else []
        least = S[R[0]] if R else np.inf
        for k in order[1:] if R else order:
            above = self.M[k] > median or (not reading.strict and self.M[k] == median)
            if not above:
                if reading.median == "stop":
                    break
                continue
            if Z[k] or sizes[k] == 0 or (reading.crowding and S[k] >= least):
                continue
            inside = (self.C @ self.C[k] == sizes) & (J[k] >= J)
            inside[k] = False
            if inside.any():  # h = 1
                continue
            near = 0 if not R else (self.dissimilarity(k, np.array(R)) < reading.delta).sum()
            if near < reading.rho:
                R.append(int(k))
                least = min(least, S[k])
        return np.array(R if R else order[:1])

    def eliminable(self, R: np.ndarray) -> np.ndarray:
        """Algorithm 3."""
        inert = np.flatnonzero(self.flags)
        if not len(inert):
            return R
        D = np.array([self.dissimilarity(k, inert).min() for k in R])
        B, largest = [R[0]], D[0]
        for k, distance in zip(R[1:], D[1:]):
            if distance > largest or (self.reading.b_ties and distance == largest):
                B.append(k)
                largest = distance
        return np.array(B)

    # ---- section 2.4 --------------------------------------------------------------------------

    def rate(self, iteration: int) -> float:
        """Return the mutation rate r1."""
        reading = self.reading
        last, theta = self._n_phase1, reading.theta
        if iteration > last:
            return reading.phi
        rate = (last**theta - iteration**theta) / (last**theta - 1) + reading.phi
        return min(reading.cap, max(rate, reading.phi))

    def children(self, R: np.ndarray, rate: float) -> list[np.ndarray]:
        """Select two parents, cross them, and return both children, mutated."""
        rng = self.rng
        first = rng.choice(R)
        two = rng.choice(R, 2)
        second = two[np.argmin(self.dissimilarity(first, two))]
        a, b = self.C[first] > 0, self.C[second] > 0
        both, different = a & b, a ^ b
        p = (a.sum() - both.sum()) / max(1, different.sum())
        taken = different & (rng.random(self.n) < p)
        return [self._mutated(child, rate) for child in (both | taken, both | different & ~taken)]

    def _mutated(self, c: np.ndarray, rate: float) -> np.ndarray:
        n1 = c.sum()
        r0 = rate * n1 / max(1, self.n - n1)
        mutated: np.ndarray = c ^ (self.rng.random(self.n) < np.where(c, rate, r0))
        return mutated

    # ---- section 2.5 --------------------------------------------------------------------------

    def train(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return the guide, which predicts modeling efficiencies."""
        if self.reading.guide == "frequency":
            frequency = self.C.sum(axis=0)
            return lambda candidates: candidates @ frequency
        if self.reading.guide == "forest":
            forest = RandomForestRegressor(
                self.reading.n_trees,
                max_features=self.reading.max_features,
                min_samples_leaf=5,
                random_state=int(self.rng.integers(2**31)),
            )
            forest.fit(self.C, self.M)
            trees = [tree.tree_ for tree in forest.estimators_]

            def predict(candidates: np.ndarray) -> np.ndarray:
                rows = np.ascontiguousarray(candidates, dtype=np.float32)
                return np.mean([tree.predict(rows)[:, 0] for tree in trees], axis=0)

            return predict
        return lambda candidates: self.rng.random(len(candidates))

    def eliminate(
        self, k: int, guide: Callable[[np.ndarray], np.ndarray], stop: Callable[[], bool]
    ) -> None:
        """Algorithm 4."""
        c = self.C[k] > 0
        self.T[c.tobytes()] = self.T.get(c.tobytes(), 0) + 1
        most = BUDGETS[self.reading.budget](int(c.sum()), self.T[c.tobytes()])
        count, moved = 0, True
        while count <= most and c.sum() >= 1 and moved:
            leave = np.flatnonzero(c)
            smaller = np.repeat(c[None], len(leave), axis=0)
            smaller[np.arange(len(leave)), leave] = False
            order = np.argsort(-guide(smaller), kind="stable")
            moved = False
            for candidate in smaller[order]:
                if count > most or moved or stop():
                    break
                known = candidate.tobytes() in self._position
                if known and not self.reading.to_archived:
                    continue
                if not known:
                    self.evaluate(candidate)
                    count += 1
                if self._cost(candidate) < self._cost(c):
                    c, moved = candidate, True

    def _cost(self, c: np.ndarray) -> float:
        k = self._position[c.tobytes()]
        steps = min((self.M.max() - self.M[k]) / self.reading.tolerance, 900)
        return float(self.sizes[k] + 2**steps - 1)

    # ---- Algorithm 1 --------------------------------------------------------------------------

    def run(self, stop: Callable[[], bool], max_iterations: int = 10**9) -> None:
        """Search until ``stop()`` or for some iterations, of which some evaluate nothing new."""
        reading, rng = self.reading, self.rng
        self.evaluate(np.ones(self.n, dtype=bool))
        for _ in range(reading.n_start):
            if reading.start == "half":
                self.evaluate(rng.random(self.n) < 0.5)
            else:
                c = np.zeros(self.n, dtype=bool)
                c[rng.permutation(self.n)[: rng.integers(1, self.n + 1)]] = True
                self.evaluate(c)
        iteration, trained, guide = 1, 0, None
        while not stop() and iteration <= max_iterations:
            R = self.population()
            for child in self.children(R, self.rate(iteration)):
                self.evaluate(child)
            if iteration > self._n_phase1 and reading.guide != "none":
                if guide is None or len(self.M) > reading.retrain + trained:
                    guide, trained = self.train(), len(self.M)
                B = self.eliminable(R)
                size = -(-len(B) // reading.kappa)
                self.eliminate(int(B[rng.permutation(len(B))[:size].min()]), guide, stop)
            iteration += 1
