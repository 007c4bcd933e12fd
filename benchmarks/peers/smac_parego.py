"""SMAC3's ParEGO for comparison, by ask and tell (``pip install smac``)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs._imports import optional_import

#: Distribution of each parameter, and the category and value that it depends on.
Space = dict[str, tuple[Any, tuple[str, Any] | None]]


class SmacParEGO:
    """SMAC3's facade for hyperparameters with ParEGO and default settings.

    Args:
        space: The parameters.
        n_trials: Budget.
        seed: Seed.
        objectives: Number of values.
    """

    def __init__(self, space: Space, n_trials: int, seed: int, *, objectives: int = 2) -> None:
        smac = optional_import("smac", "bench")
        parego = optional_import("smac.multi_objective.parego", "bench")
        self._runs = optional_import("smac.runhistory.dataclasses", "bench")
        self._cs = optional_import("ConfigSpace", "bench")
        self._space = _config_space(self._cs, space, seed)
        scenario = smac.Scenario(
            self._space,
            objectives=[f"value{j}" for j in range(objectives)],
            deterministic=True,
            n_trials=n_trials,
            seed=seed,
            output_directory=tempfile.mkdtemp(),
        )
        self._facade = smac.HyperparameterOptimizationFacade(
            scenario,
            lambda config, seed=0: 0.0,
            multi_objective_algorithm=parego.ParEGO(scenario),
            logging_level=40,
            overwrite=True,
        )

    def ask(self) -> Any:
        """Return the next trial; its parameters are ``dict(trial.config)``."""
        return self._facade.ask()

    def tell(self, asked: Any, values: tuple[float, ...]) -> None:
        """Report the values of a trial."""
        self._facade.tell(asked, self._runs.TrialValue(cost=list(values)))

    def tell_known(self, params: dict[str, Any], values: tuple[float, ...]) -> None:
        """Report a trial that SMAC3 did not propose."""
        config = self._cs.Configuration(self._space, values=params)
        self.tell(self._runs.TrialInfo(config, seed=0), values)


def run_smac(
    space: Space, evaluate: Callable[[dict[str, Any]], tuple[float, ...]], n_trials: int, seed: int
) -> tuple[list[dict[str, Any]], list[tuple[float, ...]], list[float]]:
    """Return parameters, values and seconds in the optimizer of each trial.

    Args:
        space: The parameters.
        evaluate: The objective.
        n_trials: Budget.
        seed: Seed.
    """
    smac = SmacParEGO(space, n_trials, seed)
    params, values, seconds = [], [], []
    for _ in range(n_trials):
        before = time.thread_time()
        asked = smac.ask()
        spent = time.thread_time() - before
        params.append(dict(asked.config))
        values.append(evaluate(params[-1]))
        before = time.thread_time()
        smac.tell(asked, values[-1])
        seconds.append(spent + time.thread_time() - before)
    return params, values, seconds


def _config_space(cs: Any, space: Space, seed: int) -> Any:
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
