"""Choose among several learners, tune them, and combine the front into one model.

Each trial chooses a learner and its hyperparameters. Its values are the cross-validated error and
the VC dimension: how many random labels such a model could memorize.
"""

import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from optuna_mofs import ModelTypeObjective, MOEADSampler, front_model, pareto_front
from optuna_mofs.spaces import get_learner

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# Any pair of an estimator and a space works; these are ready to use.
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

# No trial of the front is worse than another in both values.
front = pareto_front(study, duplicates=False)
for trial in front:
    print(f"{objective.learner_for(trial):20} error {trial.values[0]:.3f}", end="")
    print(f"  VC dimension {trial.values[1]:.0f}")

# One model: the knee, the whole front, or the members that differ most.
for strategy in ("knee", "weighted", "diverse"):
    model = front_model(study, objective, strategy=strategy)
    print(f"{strategy}: {model.score(X_test, y_test):.3f} with {len(model.estimators_)} members")
