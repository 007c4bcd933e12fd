"""Find all of several feature sets that explain the data equally well.

Two of the factors behind the target are measured by two instruments each, so that four sets of
five features are equally good. A search that reports only one of them hides the others.
"""

import numpy as np
import optuna
from sklearn.linear_model import LinearRegression

from optuna_mofs import FeatureSelectionObjective, GHGASampler, NoNewOptimaCallback, optima
from optuna_mofs.samplers import GHGASettings

optuna.logging.set_verbosity(optuna.logging.WARNING)
TOLERANCE = 0.005

rng = np.random.default_rng(0)
factors = rng.standard_normal((300, 5))
names = ["heat A", "heat B", "rain A", "rain B", "sun", "wind", "soil"]
measured = factors[:, [0, 0, 1, 1, 2, 3, 4]] + 0.05 * rng.standard_normal((300, 7))
noise = rng.standard_normal((300, 33))
X = np.hstack([measured, noise])
y = factors.sum(axis=1)
names += [f"noise {j}" for j in range(33)]

# Masks, because the sets themselves are wanted; all rows, because no error is reported.
objective = FeatureSelectionObjective(
    LinearRegression(),
    X,
    y,
    representation="mask",
    feature_names=names,
    scoring="r2",
    cv=3,
    holdout=None,
)
sampler = GHGASampler(tolerance=TOLERANCE, settings=GHGASettings(n_phase1_iterations=30), seed=0)
study = objective.create_study(sampler=sampler, study_name="instruments")
study.optimize(objective, n_trials=700, callbacks=[NoNewOptimaCallback(200, TOLERANCE)])

found = optima(study, TOLERANCE)
print(f"{len(found)} sets of {found.masks.sum(axis=1)[0]} features, {len(study.trials)} trials")
for features in found.features:
    print(" ", ", ".join(features))
print("in all of them:", ", ".join(found.shared))
print("similarity of each pair of sets:")
print(found.similarity.round(2))
