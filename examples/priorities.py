"""One trial instead of a front, for an automatic pipeline.

The error comes first, but values within 0.01 of the best count as equal; then the number of
features, of which five are few enough; then the stability of the selection across folds. The
study stops when each of them has met its goal or has not changed for 60 trials.
"""

import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from optuna_mofs import (
    FeatureSelectionObjective,
    LexicographicPreference,
    LexicographicStoppingCallback,
    LexiFlowSampler,
    spaces,
)

optuna.logging.set_verbosity(optuna.logging.WARNING)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
objective = FeatureSelectionObjective(
    make_pipeline(StandardScaler(), KNeighborsClassifier()),
    X,
    y,
    space=spaces.knn(prefix="kneighborsclassifier__"),
    measures=["error", "n_features", "instability"],
)
preference = LexicographicPreference(
    ["error", "n_features", "instability"], tolerances={"error": 0.01}, goals={"n_features": 5}
)
study = objective.create_study(sampler=LexiFlowSampler(preference, seed=0))
study.optimize(
    objective,
    n_trials=150,
    callbacks=[LexicographicStoppingCallback(preference, patience=60)],
)

best = preference.best(study)
print("targets:", {name: round(value, 4) for name, value in preference.targets(study).items()})
print(
    f"trial {best.number} of {len(study.trials)}:", dict(zip(objective.metric_names, best.values))
)
print("operator:", best.user_attrs["operator"], "| features:", best.user_attrs["n_features"])

model = objective.refit(best)
print("classes of the first rows:", model.predict(X)[:5])
