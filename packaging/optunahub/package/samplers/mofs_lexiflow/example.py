import optuna
import optunahub
from sklearn.datasets import load_breast_cancer

from optuna_mofs import FeatureSelectionObjective, LexicographicPreference, spaces

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
estimator, space = spaces.get_learner("logistic_regression")
objective = FeatureSelectionObjective(estimator, X, y, space=space)

# Errors within 0.01 of the lowest count as equal; among them, fewer features are better.
preference = LexicographicPreference(tolerances={"error": 0.01})

package = optunahub.load_module("samplers/mofs_lexiflow")
study = optuna.create_study(
    directions=objective.directions, sampler=package.LexiFlowSampler(preference, seed=0)
)
study.optimize(objective, n_trials=40)

best = preference.best(study)
print(best.values, objective.features_for(best))
