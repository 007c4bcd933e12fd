"""
From a front to one model
=========================

A front contains many models. Select one of them, or combine them in a vote.
"""

# %%
# This search also selects the learner: one of three, each with its own hyperparameters. A mask
# selects the features.

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from optuna_mofs import ModelTypeObjective, MOEADSampler, front_model, pareto_front, spaces

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

objective = ModelTypeObjective(
    {name: spaces.get_learner(name) for name in ("logistic_regression", "svm", "decision_tree")},
    X_train,
    y_train,
    representation="mask",
    measures=["error", "fraction"],
    cv=3,
)
study = objective.create_study(sampler=MOEADSampler(seed=0))
study.optimize(objective, n_trials=100)
front = pareto_front(study, duplicates=False)
front.to_frame()[["error", "honest", "honest_low", "honest_high", "n_features", "learner"]]

# %%
# A search among masks adapts to the rows that it is tested on, so ``error`` is too low. A fifth of
# the rows was held out of the search; ``honest`` is the error on them. They are few, so the
# interval is wide. See :doc:`/selection_bias`.

honest = front.honest()
print(honest.source, "of", len(objective.holdout_rows), "rows; pick:", honest.picks["pick"])

# %%
# The pipeline of a single trial, fitted on all training rows, including the held-out ones. This
# tutorial has further test rows, which the objective has never seen:

single = objective.refit(front.pick())
print(f"one trial: error {1 - single.score(X_test, y_test):.3f}")

# %%
# The whole front as one classifier. Each member uses its own columns, and members close to the
# ideal point have larger weights. ``strategy="diverse"`` keeps only members that differ in the
# rows they predict correctly. If only the predictions matter, search with losses only
# (``measures=["error", "brier_loss", "log_loss", "auc_loss"]``): then every member of the front
# is good in some respect.

for strategy in ("knee", "weighted", "diverse"):
    model = front_model(study, objective, strategy=strategy)
    error = 1 - model.score(X_test, y_test)
    print(f"{strategy:>8}: error {error:.3f} with {len(model.names_)} members")

# %%
# The model is a scikit-learn estimator: it can be cloned and pickled, and it has ``predict_proba``
# and ``get_support``.

print(list(model.feature_names_in_[model.get_support()])[:5])
model.predict_proba(X_test.head(3)).round(3)
