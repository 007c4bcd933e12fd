"""
Your own objective function
===========================

You have an objective function already, with a training loop of your own. One line of it becomes a
feature set.
"""

# %%
# ``suggest_features`` is to features what ``trial.suggest_float`` is to a number. It returns a
# boolean mask.

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
for j in range(30):  # columns that tell nothing
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
# The sampler knew nothing but names. Let filters look at the data once, and it begins with the
# features that they hold for relevant:

table = feature_table(X, y)


def guided(trial):
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
better.optimize(guided, n_trials=60)

reference = [float(y.std()), X.shape[1]]
print("hypervolume by names alone:", round(pareto_front(study).hypervolume(reference), 1))
print("hypervolume with filters:  ", round(pareto_front(better).hypervolume(reference), 1))

# %%
# Where in the search the gain was made:

from optuna_mofs.visualization import plot_hypervolume

plot_hypervolume({"names": study, "filters": better}, reference=reference)
