"""Other methods of feature selection: genetic algorithms, forward selection, RFE and lasso.

Each function takes a problem, a function that evaluates a mask, a budget and a seed. Every call of
that function counts as one evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from optuna.samplers import NSGAIISampler
from optuna.trial import Trial
from sklearn.feature_selection import RFE
from sklearn.linear_model import LinearRegression, lasso_path

from benchmarks.ghga_problems import TOLERANCE, Problem

Evaluate = Callable[[np.ndarray], float]


def nsga2(problem: Problem, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Run Optuna's NSGAIISampler with one boolean per feature."""
    names = [f"x{j}" for j in range(problem.features)]

    def objective(trial: Trial) -> tuple[float, float]:
        mask = np.array([trial.suggest_categorical(name, [False, True]) for name in names])
        return evaluate(mask), float(mask.sum())

    study = optuna.create_study(
        directions=["maximize", "minimize"], sampler=NSGAIISampler(seed=seed)
    )
    study.optimize(objective, n_trials=budget)


def pymoo_ga(problem: Problem, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Run the GA of pymoo on the paper's cost (eq. 2), with 1 as the best modeling efficiency."""
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.operators.crossover.pntx import TwoPointCrossover
    from pymoo.operators.mutation.bitflip import BitflipMutation
    from pymoo.operators.sampling.rnd import BinaryRandomSampling
    from pymoo.optimize import minimize

    class Cost(ElementwiseProblem):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(n_var=problem.features, n_obj=1, xl=0, xu=1, vtype=bool)

        def _evaluate(self, x: np.ndarray, out: dict[str, Any], *args: Any, **kw: Any) -> None:
            steps = min((1 - evaluate(x.astype(bool))) / TOLERANCE, 900.0)
            out["F"] = np.count_nonzero(x) + 2.0**steps - 1

    algorithm = GA(
        pop_size=100,
        sampling=BinaryRandomSampling(),
        crossover=TwoPointCrossover(),
        mutation=BitflipMutation(),
        eliminate_duplicates=True,
    )
    minimize(Cost(), algorithm, ("n_eval", budget), seed=seed)


def forward(problem: Problem, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Run sequential forward selection."""
    mask = np.zeros(problem.features, dtype=bool)
    while not mask.all():
        scores = {}
        for j in np.flatnonzero(~mask).tolist():
            if budget == 0:
                return
            budget -= 1
            mask[j] = True
            scores[j] = evaluate(mask)
            mask[j] = False
        mask[max(scores, key=lambda j: scores[j])] = True


def rfe(problem: Problem, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Run scikit-learn's RFE: drop the feature with the smallest coefficient until one is left."""
    ranks = RFE(LinearRegression(), n_features_to_select=1).fit(problem.models.X, problem.models.y)
    for size in range(problem.features, 0, -1):
        evaluate(ranks.ranking_ <= size)


def lasso(problem: Problem, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Evaluate the feature sets of scikit-learn's lasso path."""
    X, y = problem.models.X, problem.models.y
    largest = np.abs(X.T @ y).max() / len(y)
    alphas = np.geomspace(largest, largest / 1000, min(budget, 200))
    _, slopes, _ = lasso_path(X, y, alphas=alphas)
    for column in slopes.T:
        evaluate(column != 0)


PEERS = {
    "Optuna NSGAIISampler, bits": nsga2,
    "pymoo GA": pymoo_ga,
    "forward selection": forward,
    "scikit-learn RFE": rfe,
    "lasso path": lasso,
}
