"""Compare tuning first and selecting features afterwards with a joint search.

The non-joint variants of Binder et al. (2020), section 5.3, and the joint search with the same
number of trials:

- GA-MO-FE-NJ: tune the hyperparameters on all features, then fix them and search feature sets.
- BO-MO-FE-NJ: tune hyperparameters and filter weights for the error alone, then fix them and try
  fractions of features at equal distances.
- BO-MO-FE: search everything at once with ParEGO.
"""

import numpy as np
import optuna
from optuna.samplers import PartialFixedSampler
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    ParEGOSampler,
    pareto_front,
    spaces,
)

optuna.logging.set_verbosity(optuna.logging.WARNING)
N_TUNING, N_SELECTION = 25, 35

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, y = X.iloc[:300], y.iloc[:300]
svm = make_pipeline(StandardScaler(), SVC())
space = spaces.svm(prefix="svc__")
ensemble = FilterEnsembleFeatures.from_paper()


def objective(representation, measures=("error", "fraction")):
    # Without held-out rows, so that all variants search on the same ones.
    return FeatureSelectionObjective(
        svm,
        X,
        y,
        space=space,
        representation=representation,
        measures=measures,
        cv=3,
        holdout=None,
    )


# GA-MO-FE-NJ. Step 1: one measure, no feature selection.
tuning = objective(None, ["error"])
tuned = tuning.create_study(sampler=ParEGOSampler(seed=0))
tuned.optimize(tuning, n_trials=N_TUNING)
# Step 2: fix the best hyperparameters and search masks.
selection = objective("mask")
ga = selection.create_study(
    sampler=PartialFixedSampler(tuned.best_params, FilterEnsembleNSGA2Sampler(seed=0))
)
ga.optimize(selection, n_trials=N_SELECTION)

# BO-MO-FE-NJ. Step 1: hyperparameters, filter weights and fraction for the error alone (BO-SO-FE).
single = objective(ensemble, ["error"])
best = single.create_study(sampler=ParEGOSampler(seed=0))
best.optimize(single, n_trials=N_TUNING)
# Step 2: fix everything else and try fractions at equal distances.
fractions = objective(ensemble)
bo = fractions.create_study()
for fraction in np.linspace(1 / N_SELECTION, 1, N_SELECTION):
    bo.enqueue_trial({**best.best_params, "fraction": float(fraction)})
bo.optimize(fractions, n_trials=N_SELECTION)

# BO-MO-FE: everything at once.
together = objective(ensemble)
joint = together.create_study(sampler=ParEGOSampler(seed=0))
joint.optimize(together, n_trials=N_TUNING + N_SELECTION)

# These are cross-validated values of filters that have seen all rows, so they are too good.
for name, study in (("GA-MO-FE-NJ", ga), ("BO-MO-FE-NJ", bo), ("BO-MO-FE, joint", joint)):
    front = pareto_front(study)
    fewest = front.to_frame()[["error", "n_features"]].round(4).head(3).to_dict("records")
    print(f"{name}: hypervolume {front.hypervolume():.4f}, front begins {fewest}")
