"""
A first front
=============

This tutorial trades the error of a support vector machine against the number of features it uses,
tunes its hyperparameters in the same search, and fits one of the resulting models.
"""

# %%
# An objective holds the data, the estimator and the measures. By default, the measures are the
# cross-validated error and the fraction of features that are selected. A rule selects the
# features: their number, and weights of filters that rank them. It is applied to each training
# fold, so that no test row takes part in the selection.

from optuna.distributions import FloatDistribution
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler, pareto_front

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
objective = FeatureSelectionObjective(
    make_pipeline(StandardScaler(), SVC()),
    X,
    y,
    space={
        "svc__C": FloatDistribution(2**-10, 2**10, log=True),
        "svc__gamma": FloatDistribution(2**-10, 2**10, log=True),
    },
)

# %%
# The study is an ordinary Optuna study. ``create_study`` calls ``optuna.create_study`` with the
# directions and metric names of the objective. The seed makes the run reproducible.

study = objective.create_study(
    study_name="breast cancer", sampler=FilterEnsembleNSGA2Sampler(seed=1)
)
study.optimize(objective, n_trials=120)

# %%
# The front contains the non-dominated trials: no other trial is better in both metrics. ``error``
# is cross-validated and too low, because each trial is the best of many. ``honest`` is the error
# to expect on new rows, and ``honest_low`` to ``honest_high`` its interval.

front = pareto_front(study, duplicates=False)
front.to_frame()[["n_features", "error", "honest", "honest_low", "honest_high", "features"]]

# %%
# ``honest`` has more: the values of the rules that choose a trial, the best error with at most k
# features for every k, and a warning if the front is not clearly better than chance. See
# :doc:`/selection_bias`.

honest = front.honest()
print("source:", honest.source)
print("best:", honest.picks["best"])
print("pick:", honest.picks["pick"])
print("warning:", honest.warning)
honest.curve.head()

# %%
# Plot the front, with the error to expect on new rows. The hover text of a trial lists its
# features, and the default pick is marked.

from optuna_mofs.visualization import plot_front

plot_front(study)

# %%
# Select a trial: ``pick`` takes the fewest features whose error is within one standard error
# of the lowest one, ``best`` the lowest error with at most three features. ``refit`` fits
# the pipeline of a trial on all rows. The model accepts the full table and uses only the selected
# columns.

pick = front.pick()
small = front.best(max_features=3)
print("pick:", objective.features_for(pick))
print("at most three features:", objective.features_for(small))

model = objective.refit(small)
model.predict(X.head())
