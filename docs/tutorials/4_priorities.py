"""
Priorities instead of a front
=============================

In a pipeline nobody looks at a front. Say beforehand what matters first, and get one answer.
"""

# %%
# Error first, but one point of it may be given up for fewer features; below ten features we do not
# care any more, then the prediction should be fast.

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
# LexiFlow follows one configuration from better to better in this order. ``LexicographicStoppingCallback`` ends
# the search when all goals are met or nothing has changed for a while.

study = objective.create_study(sampler=LexiFlowSampler(preference, seed=0))
study.optimize(
    objective, n_trials=120, callbacks=[LexicographicStoppingCallback(preference, patience=60)]
)
best = preference.best(study)
print(len(study.trials), "trials")
print("best:", dict(zip(study.metric_names, best.values)))
print("targets:", preference.targets(study))

# %%
# How the targets tightened:

from optuna_mofs.visualization import plot_lexicographic_targets

plot_lexicographic_targets(study, preference)

# %%
# The same preference picks from any study, whichever sampler made it, and from a front:
# ``pareto_front(study).lexicographic(...)``.

model = objective.refit(best)
model.score(X, y)
