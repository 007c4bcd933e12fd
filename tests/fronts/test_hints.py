from __future__ import annotations

import numpy as np
import optuna
from sklearn.linear_model import LogisticRegression

from optuna_mofs import FeatureSelectionObjective, Front, pareto_front
from optuna_mofs.fronts._hints import leak_hint


def _front(*, leaks: bool) -> Front:
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 3))
    X[:, 1] = 5.0 * y if leaks else X[:, 1] + y
    objective = FeatureSelectionObjective(
        LogisticRegression(), X, y, filters=["anova_f"], representation="mask", holdout=None
    )
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for chosen in (1, 0, 2):
        study.enqueue_trial({f"x{j}": j == chosen for j in range(3)})
    study.optimize(objective, n_trials=3)
    return pareto_front(study)


def test_a_copy_of_the_target_is_named() -> None:
    found = leak_hint(_front(leaks=True))
    assert found is not None
    assert found[0] == "x1"
    assert found[1].startswith("'x1' alone is nearly perfect (error 0)")


def test_a_good_feature_is_not() -> None:
    assert leak_hint(_front(leaks=False)) is None
