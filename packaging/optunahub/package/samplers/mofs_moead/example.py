import optuna
import optunahub
from sklearn.datasets import load_breast_cancer

from optuna_mofs import FeatureSelectionObjective, pareto_front, spaces

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
estimator, space = spaces.get_learner("logistic_regression")
objective = FeatureSelectionObjective(estimator, X, y, space=space)

package = optunahub.load_module("samplers/mofs_moead")
study = optuna.create_study(directions=objective.directions, sampler=package.MOEADSampler(seed=0))
study.optimize(objective, n_trials=40)

front = pareto_front(study)
print(front.to_frame()[["n_features", *objective.metric_names]])
print("error to expect on new rows:", front.honest().picks["pick"])
