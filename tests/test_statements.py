"""Number of statements and transactions of one trial on SQLite, compared with plain Optuna."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
import sqlalchemy
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, NSGAIISampler
from optuna.storages import RDBStorage
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    GHGASampler,
    LexiFlowSampler,
    MOEADSampler,
    ParEGOSampler,
    SMSEGOSampler,
)
from optuna_mofs.study._feature_sets import suggest

SPACE = {
    "max_depth": IntDistribution(1, 9),
    "min_samples_leaf": IntDistribution(1, 20),
    "ccp_alpha": FloatDistribution(0.0, 0.1),
}
#: Of plain Optuna: statements, and transactions, most of which wait for the disk.
LIMITS = {"statements": 1.2, "commits": 1.4}
SAMPLERS = {
    "nsga2": lambda: FilterEnsembleNSGA2Sampler(seed=0, population_size=4),
    "moead": lambda: MOEADSampler(seed=0, population_size=4),
    "lexiflow": lambda: LexiFlowSampler(seed=0, n_startup_trials=3),
    "ghga": lambda: GHGASampler(seed=0, n_startup_trials=3),
    "parego": lambda: ParEGOSampler(seed=0, n_startup_trials=4),
    "smsego": lambda: SMSEGOSampler(seed=0, n_startup_trials=4),
}


def costs(study: optuna.Study, storage: RDBStorage, objective: Any) -> Counter[str]:
    """Return the costs of the tenth trial."""
    study.optimize(objective, n_trials=9)
    found: Counter[str] = Counter()
    events = (("statements", "before_cursor_execute"), ("commits", "commit"))
    for what, name in events:
        sqlalchemy.event.listen(storage.engine, name, lambda *_, w=what: found.update([w]))
    study.optimize(objective, n_trials=1)
    return Counter(found)  # a copy: reading the trials afterward does not count


def plain_costs(storage: RDBStorage, names: list[str]) -> Counter[str]:
    """Return the costs of Optuna's NSGA-II with some of the three hyperparameters and floats."""

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        for name in names:
            suggest(trial, name, SPACE.get(name, FloatDistribution(0, 1)))
        return trial.number % 3, trial.number % 5

    # Optuna's sampler writes least in a generation, which here is the first one.
    sampler = NSGAIISampler(seed=0)
    study = optuna.create_study(directions=["minimize"] * 2, storage=storage, sampler=sampler)
    return costs(study, storage, objective)


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("representation", ["mask", "filter_ensemble"])
def test_a_trial_costs_little_more_than_its_parameters(
    name: str,
    representation: str,
    data: tuple[Any, Any],
    open_sqlite: Callable[[Path], RDBStorage],
    tmp_path: Path,
) -> None:
    if name == "ghga" and representation != "mask":
        pytest.skip("GHGA searches masks")
    sampler: BaseSampler = SAMPLERS[name]()
    objective = FeatureSelectionObjective(
        DecisionTreeClassifier(random_state=0),
        *data,
        space=SPACE,
        representation=representation,
        filters=["anova_f", "auc"],
        cv=2,
    )
    storage = open_sqlite(tmp_path / "ours.db")
    study = objective.create_study(storage=storage, sampler=sampler)
    ours = costs(study, storage, objective)
    params = study.trials[0].params
    # A packed mask is no hyperparameter: whatever it costs is ours.
    plain = plain_costs(open_sqlite(tmp_path / "plain.db"), [n for n in params if n != "mask"])
    for what, limit in LIMITS.items():
        assert ours[what] <= limit * plain[what], (what, ours, plain)
