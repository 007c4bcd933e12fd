"""
A first front
=============

What is each feature worth? This script trades the error of a support vector machine against the
number of features it needs, tuning its hyperparameters on the way, and takes one fitted model
home.
"""

# %%
# Any table with a target will do. An objective holds the data, the estimator and what is measured;
# by default that is the cross-validated error and the fraction of the features that are used.

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
# The study is Optuna's own. ``create_study`` is short for ``optuna.create_study`` with the
# objective's directions and metric names. The seed makes the run repeatable.

study = objective.create_study(
    study_name="breast cancer", sampler=FilterEnsembleNSGA2Sampler(seed=1)
)
study.optimize(objective, n_trials=120)

# %%
# The front is what no other trial beats in both metrics.

front = pareto_front(study)
front.to_frame()[["error", "n_features", "features"]]

# %%
# A picture says it sooner. Point at a trial to see its features; the knee is marked.

from optuna_mofs.visualization import plot_front

plot_front(study)

# %%
# Take one model home: at the knee, or the best with at most three features. It is fitted on all
# rows, takes the whole table and looks only at its own columns.

knee = front.knee()
small = front.best(max_features=3)
print("knee:", objective.features_for(knee))
print("three at most:", objective.features_for(small))

model = objective.refit(small)
model.predict(X.head())
