"""SMAC3's ParEGO as a peer, by ask and tell (``pip install smac``)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs._imports import optional_import


def run_smac(
    space: dict[str, tuple[Any, tuple[str, Any] | None]],
    evaluate: Callable[[dict[str, Any]], tuple[float, ...]],
    n_trials: int,
    seed: int,
    *,
    objectives: int = 2,
) -> tuple[list[dict[str, Any]], list[tuple[float, ...]], list[float]]:
    """Parameters, values and seconds in the optimiser of each trial.

    Args:
        space: Distribution of each parameter, and the category and value it depends on.
        evaluate: The objective.
        n_trials: Budget.
        seed: Seed.
        objectives: Number of values.
    """
    smac = optional_import("smac", "bench")
    parego = optional_import("smac.multi_objective.parego", "bench")
    runhistory = optional_import("smac.runhistory.dataclasses", "bench")
    scenario = smac.Scenario(
        _config_space(space, seed),
        objectives=[f"value{j}" for j in range(objectives)],
        deterministic=True,
        n_trials=n_trials,
        seed=seed,
        output_directory=tempfile.mkdtemp(),
    )
    facade = smac.HyperparameterOptimizationFacade(
        scenario,
        lambda config, seed=0: 0.0,
        multi_objective_algorithm=parego.ParEGO(scenario),
        logging_level=40,
        overwrite=True,
    )
    params, values, seconds = [], [], []
    for _ in range(n_trials):
        before = time.thread_time()
        asked = facade.ask()
        spent = time.thread_time() - before
        params.append(dict(asked.config))
        values.append(evaluate(params[-1]))
        before = time.thread_time()
        facade.tell(asked, runhistory.TrialValue(cost=list(values[-1])))
        seconds.append(spent + time.thread_time() - before)
    return params, values, seconds


def _config_space(space: dict[str, tuple[Any, tuple[str, Any] | None]], seed: int) -> Any:
    cs = optional_import("ConfigSpace", "bench")
    made = cs.ConfigurationSpace(seed=seed)
    for name, (distribution, _) in space.items():
        made.add(_parameter(cs, name, distribution))
    for name, (_, condition) in space.items():
        if condition is not None:
            made.add(cs.EqualsCondition(made[name], made[condition[0]], condition[1]))
    return made


def _parameter(cs: Any, name: str, distribution: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return cs.Categorical(name, list(distribution.choices))
    bounds = (distribution.low, distribution.high)
    if isinstance(distribution, IntDistribution):
        return cs.Integer(name, bounds, log=distribution.log)
    assert isinstance(distribution, FloatDistribution)
    return cs.Float(name, bounds, log=distribution.log)
