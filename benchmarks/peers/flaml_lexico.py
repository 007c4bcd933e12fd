"""FLAML's LexiFlow for comparison (``pip install flaml``; its core needs no extra)."""

from __future__ import annotations

from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import Study

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs._imports import optional_import
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.study._description import StudyDescription


def run_flaml(
    objective: FeatureSelectionObjective,
    study: Study,
    *,
    tolerances: dict[str, float],
    goals: dict[str, float],
    n_trials: int,
    seed: int,
    lexicographic: bool = True,
) -> None:
    """Let FLAML choose the parameters of each trial; its trials end up in ``study``.

    Args:
        objective: With a filter representation or without features; all measures minimized.
        study: An empty study of the objective.
        tolerances: By measure.
        goals: By measure; FLAML calls them targets.
        n_trials: Number of trials.
        seed: Seed of the first point (FLAML's own generator has a fixed seed).
        lexicographic: Whether all measures count, or only the first (CFO).
    """
    tune = optional_import("flaml.tune", "bench")
    described = StudyDescription.read(study)
    assert described is not None
    names = [measure.name for measure in described.measures]

    def evaluate(config: dict[str, Any]) -> dict[str, float]:
        study.enqueue_trial({name: config[name] for name in described.distributions})
        study.optimize(objective, n_trials=1)
        values = study.get_trials(deepcopy=False)[-1].values
        return dict(zip(names, values if values is not None else [1e9] * len(names)))

    space = SearchSpace(described.distributions)
    first = space.decode(space.sample(np.random.default_rng(seed))[0])
    objectives: dict[str, Any] = {
        "metrics": names,
        "modes": ["min"] * len(names),
        "tolerances": {name: tolerances.get(name, 0.0) for name in names},
        "targets": {name: goals.get(name, -float("inf")) for name in names},
    }
    one = {"metric": names[0], "mode": "min", "search_alg": "CFO"}
    tune.run(
        evaluate,
        config={name: _domain(tune, d) for name, d in described.distributions.items()},
        **({"lexico_objectives": objectives} if lexicographic else one),
        points_to_evaluate=[first],
        num_samples=n_trials,
        time_budget_s=None,
        verbose=0,
    )


def _domain(tune: Any, d: BaseDistribution) -> Any:
    if isinstance(d, CategoricalDistribution):
        return tune.choice(list(d.choices))
    if isinstance(d, IntDistribution):
        return (tune.lograndint if d.log else tune.randint)(d.low, d.high + 1)
    assert isinstance(d, FloatDistribution)
    return (tune.loguniform if d.log else tune.uniform)(d.low, d.high)
