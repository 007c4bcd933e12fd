"""
Priorities instead of a front
=============================

An automatic pipeline needs one model instead of a front. State your priorities before the search
and get one trial.
"""

# %%
# The error comes first, but one percentage point of it may be given up for fewer features. Ten
# features are few enough; then the model should be small.

from sklearn.datasets import make_classification

from optuna_mofs import (
    FeatureSelectionObjective,
    LexicographicPreference,
    LexicographicStoppingCallback,
    LexiFlowSampler,
    spaces,
)

X, y = make_classification(
    400, 60, n_informative=6, n_redundant=6, class_sep=1.2, random_state=0, shuffle=False
)
estimator, space = spaces.get_learner("decision_tree", random_state=0)
objective = FeatureSelectionObjective(
    estimator, X, y, space=space, measures=["error", "n_features", "model_size"]
)
preference = LexicographicPreference(
    priorities=["error", "n_features", "model_size"],
    tolerances={"error": 0.01},
    goals={"n_features": 10},
)

# %%
# LexiFlow moves from one configuration to a better one in this order.
# ``LexicographicStoppingCallback`` stops the study when every metric has met its goal or has not
# changed for 60 trials. The error has no goal, so the study does not end with the first ten
# features.

study = objective.create_study(sampler=LexiFlowSampler(preference, seed=0))
stop = LexicographicStoppingCallback(preference, patience=60)
study.optimize(objective, n_trials=120, callbacks=[stop])
best = preference.best(study)
print(len(study.trials), "trials")
print("best:", dict(zip(study.metric_names, best.values)))
print("targets:", preference.targets(study))

# %%
# The targets over time:

from optuna_mofs.visualization import plot_lexicographic_targets

plot_lexicographic_targets(study, preference)

# %%
# The same preference selects a trial of any study, whichever sampler it used, and of a front:
# ``pareto_front(study).lexicographic(...)``.

model = objective.refit(best)
model.score(X, y)
