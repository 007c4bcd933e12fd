"""
Your own objective function
===========================

If you already have an objective function, with your own training loop, one line adds feature
selection to it.
"""

# %%
# ``suggest_features`` suggests a feature set, as ``trial.suggest_float`` suggests a number. It
# returns a boolean mask.

import numpy as np
import optuna
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from optuna_mofs import (
    FilterEnsembleNSGA2Sampler,
    feature_table,
    pareto_front,
    selected_features,
    suggest_features,
)

X, y = load_diabetes(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
for j in range(30):  # irrelevant columns
    X[f"noise{j}"] = rng.normal(size=len(X))


def objective(trial):
    mask = suggest_features(trial, list(X.columns))
    if not mask.any():
        return float(y.std()), 0
    model = Ridge(alpha=trial.suggest_float("alpha", 1e-3, 1e3, log=True))
    scores = cross_val_score(model, X.loc[:, mask], y, scoring="neg_root_mean_squared_error")
    return -scores.mean(), int(mask.sum())


study = optuna.create_study(
    directions=["minimize", "minimize"], sampler=FilterEnsembleNSGA2Sampler(seed=0)
)
study.set_metric_names(["RMSE", "features"])
study.optimize(objective, n_trials=60)
for trial in pareto_front(study)[:4]:
    print(trial.values, selected_features(study, trial))

# %%
# So far, the sampler has only the names of the features. ``feature_table`` ranks them by filters,
# so that the search starts with those that look relevant:

table = feature_table(X, y)


def ranked_objective(trial):
    mask = suggest_features(trial, table)
    if not mask.any():
        return float(y.std()), 0
    model = Ridge(alpha=trial.suggest_float("alpha", 1e-3, 1e3, log=True))
    scores = cross_val_score(model, X.loc[:, mask], y, scoring="neg_root_mean_squared_error")
    return -scores.mean(), int(mask.sum())


better = optuna.create_study(
    directions=["minimize", "minimize"], sampler=FilterEnsembleNSGA2Sampler(seed=0)
)
better.set_metric_names(["RMSE", "features"])
better.optimize(ranked_objective, n_trials=60)

reference = [float(y.std()), X.shape[1]]
print("hypervolume with names only:", round(pareto_front(study).hypervolume(reference), 1))
print("hypervolume with filters:   ", round(pareto_front(better).hypervolume(reference), 1))

# %%
# The filters have seen all rows, and so the cross-validated errors are too low. Your own function
# stores no losses of rows, so there are no honest values: test the models on rows that neither
# ``feature_table`` nor the search has seen, or use ``FeatureSelectionObjective``.
#
# The hypervolume over the trials of both studies:

from optuna_mofs.visualization import plot_hypervolume

plot_hypervolume({"names": study, "filters": better}, reference=reference)
