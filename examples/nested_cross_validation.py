"""Which error can be expected on new rows, and which part of the reported one is luck?

The labels of the first table are random, so that no model can have an error below 0.5. The best
cross-validated error is lower, because a search tries many feature sets. The honest error corrects
this without any further fit, and nested cross-validation checks it.
"""

import numpy as np
import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    nested_cross_validate,
    noise_floor,
    pareto_front,
)

optuna.logging.set_verbosity(optuna.logging.WARNING)
rng = np.random.default_rng(0)
noise = rng.normal(size=(100, 500)), np.arange(100) % 2

for name, (X, y) in {"noise": noise, "cancer": load_breast_cancer(return_X_y=True)}.items():
    objective = FeatureSelectionObjective(GaussianNB(), X, y, filters=["anova_f", "auc"])

    # One search, and a few trials on permuted labels: what luck alone finds.
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=30)
    floor = noise_floor(study, objective)
    front = pareto_front(study)
    best, honest = front.best().values[0], front.honest()
    print(f"\n{name}: best error {best:.3f}, with permuted labels {min(floor.values):.3f}")
    print("to expect on new rows:", honest.picks["best"], honest.warning or "")

    # The whole search on each of five outer folds; "test" is the error on rows it has not seen.
    result = nested_cross_validate(objective, n_trials=30, cv=5)
    print(result.summary()[["raw", "test", "low", "high", "n_features"]].round(3))
