import optuna
import optunahub
from sklearn.datasets import load_breast_cancer

from optuna_mofs import FeatureSelectionObjective, optima, spaces

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
estimator, _ = spaces.get_learner("logistic_regression")
objective = FeatureSelectionObjective(estimator, X, y, representation="mask")

package = optunahub.load_module("samplers/mofs_ghga")
study = optuna.create_study(
    directions=objective.directions, sampler=package.GHGASampler(tolerance=0.01, seed=0)
)
study.optimize(objective, n_trials=40)

for features in optima(study, 0.01).features:
    print(features)
