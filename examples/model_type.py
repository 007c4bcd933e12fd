"""From several learners to one model: which learner, which settings, and then the front as one.

Each trial picks a learner and its hyperparameters. Its values are the cross-validated error and
the VC dimension: how many random labels such a model could memorize.
"""

import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from optuna_mofs import ModelTypeObjective, MOEADSampler, front_model, pareto_front
from optuna_mofs.spaces import get_learner

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# Any pair of estimator and space does; these are ready-made.
names = ["svm", "decision_tree", "logistic_regression", "knn"]
objective = ModelTypeObjective(
    {name: get_learner(name) for name in names},
    X_train,
    y_train,
    measures=["error", "vc_dimension"],
)

study = objective.create_study(sampler=MOEADSampler(seed=0))
optuna.logging.set_verbosity(optuna.logging.WARNING)
study.optimize(objective, n_trials=60, show_progress_bar=True)

# From simple models to complex ones; no trial is worse than another in both values.
front = pareto_front(study, duplicates=False)
for trial in front:
    print(f"{objective.learner_for(trial):20} error {trial.values[0]:.3f}", end="")
    print(f"  VC dimension {trial.values[1]:.0f}")

# One model that predicts: the knee, all of the front, or members that differ.
for strategy in ("knee", "weighted", "diverse"):
    model = front_model(study, objective, strategy=strategy)
    print(f"{strategy}: {model.score(X_test, y_test):.3f} with {len(model.estimators_)} members")
