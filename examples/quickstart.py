"""A first study: which features does a support vector machine need for the breast cancer data?

It is the study that ``optuna-mofs quickstart`` runs. Start it again and it continues.
"""

import optuna
from sklearn.datasets import load_breast_cancer

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler, pareto_front
from optuna_mofs.spaces import get_learner

# Data: a table of 569 rows and 30 named columns, and two classes.
X, y = load_breast_cancer(return_X_y=True, as_frame=True)

# An estimator (here a pipeline that scales first) and the ranges of its hyperparameters. Any
# scikit-learn estimator with a dictionary of Optuna distributions works too.
estimator, space = get_learner("svm")

# The objective of a trial: choose features and hyperparameters, cross-validate, return the error
# and the fraction of features. Filters rank the features of each training fold once, before the
# first trial.
objective = FeatureSelectionObjective(estimator, X, y, space=space, cv=5)

# The storage of the trials, and the sampler that proposes them.
study = objective.create_study(
    study_name="quickstart",
    storage="sqlite:///optuna_mofs_quickstart.db",
    load_if_exists=True,
    sampler=FilterEnsembleNSGA2Sampler(seed=0),
)
optuna.logging.set_verbosity(optuna.logging.WARNING)
study.optimize(objective, n_trials=80, show_progress_bar=True)

# The trade-off: no trial of the front is worse than another in both error and number of features.
front = pareto_front(study, duplicates=False)
columns = ["n_features", "error", "honest", "honest_low", "honest_high", "features"]
print(front.to_frame()[columns].to_string(max_colwidth=60))
print(f"hypervolume: {front.hypervolume():.4f}")

# "error" is cross-validated and too low, because the best of many trials is also a lucky one.
# "honest" is the error to expect on new rows.
honest = front.honest()
print(f"expect {honest.picks['pick']} from the pick, {honest.picks['best']} from the best trial")
print(honest.warning or "clearly better than a constant model")

# Some ways to choose a trial.
pick = front.pick()  # the fewest features within one standard error of the lowest error
few = front.best(max_features=3)
print(f"pick: {pick.values[0]:.4f} with {objective.features_for(pick)}")
print(f"best with at most three features: {few.values[0]:.4f} with {objective.features_for(few)}")

# A fitted model that takes the full table and uses only the columns it needs.
model = objective.refit(pick)
print(model.predict(X.head()))
