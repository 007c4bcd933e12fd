"""pymoo's NSGA-II on bits and numbers, with masks of geometric size as its first population."""

from __future__ import annotations

from typing import Any

import numpy as np
from optuna.study import Study
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.problem import ElementwiseProblem
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.crossover.ux import UniformCrossover
from pymoo.operators.mutation.pm import PM
from pymoo.optimize import minimize

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.features._mask_sampling import geometric_size, subset_of_size
from optuna_mofs.history._search_space import SearchSpace


class _Problem(ElementwiseProblem):  # type: ignore[misc]
    def __init__(self, objective: FeatureSelectionObjective, study: Study) -> None:
        self.objective, self.study = objective, study
        self.names = objective.table.names
        self.space = SearchSpace(objective.space)
        n = len(self.names) + len(self.space)
        super().__init__(n_var=n, n_obj=2, xl=np.zeros(n), xu=np.ones(n))

    def _evaluate(self, x: np.ndarray, out: dict[str, Any]) -> None:
        p = len(self.names)
        row = self.space.from_unit(np.minimum(x[None, p:], 1 - 1e-9))[0]
        bits = dict(zip(self.names, (x[:p] > 0.5).tolist()))
        self.study.enqueue_trial({**bits, **self.space.decode(row)})
        self.study.optimize(self.objective, n_trials=1)
        values = self.study.get_trials(deepcopy=False)[-1].values
        out["F"] = [1.0, 1.0] if values is None else values


class _Crossover(Crossover):  # type: ignore[misc]
    def __init__(self, p: int) -> None:
        super().__init__(2, 2, prob=0.9)
        self.p, self.bits, self.numbers = p, UniformCrossover(), SBX(eta=15)

    def _do(self, problem: Any, X: np.ndarray, **options: Any) -> np.ndarray:
        bits = self.bits._do(problem, X[:, :, : self.p], **options)
        sub = ElementwiseProblem(
            n_var=X.shape[2] - self.p, xl=problem.xl[self.p :], xu=problem.xu[self.p :]
        )
        numbers = self.numbers._do(sub, X[:, :, self.p :], **options)
        return np.concatenate([bits, numbers], axis=2)


class _Mutation(Mutation):  # type: ignore[misc]
    def __init__(self, p: int) -> None:
        super().__init__(prob=0.9)
        self.p, self.numbers = p, PM(eta=20)

    def _do(self, problem: Any, X: np.ndarray, random_state: Any = None, **options: Any) -> Any:
        rng = random_state or np.random
        flips = rng.random((len(X), self.p)) < 1 / self.p
        bits = np.where(flips, 1 - X[:, : self.p], X[:, : self.p])
        sub = ElementwiseProblem(
            n_var=X.shape[1] - self.p, xl=problem.xl[self.p :], xu=problem.xu[self.p :]
        )
        numbers = self.numbers._do(sub, X[:, self.p :], random_state=random_state, **options)
        return np.concatenate([bits, numbers], axis=1)


def run_pymoo(
    objective: FeatureSelectionObjective,
    study: Study,
    expected_n_features: float,
    n_trials: int,
    seed: int,
) -> None:
    """Fill a study (of the bits form) with the trials of pymoo's NSGA-II."""
    problem = _Problem(objective, study)
    p = len(problem.names)
    rng = np.random.default_rng(seed)
    start = rng.random((50, problem.n_var))
    for row in start:
        row[:p] = subset_of_size(rng, geometric_size(rng, expected_n_features, p), p)
    algorithm = NSGA2(pop_size=50, sampling=start, crossover=_Crossover(p), mutation=_Mutation(p))
    minimize(problem, algorithm, ("n_eval", n_trials), seed=seed, verbose=False)
