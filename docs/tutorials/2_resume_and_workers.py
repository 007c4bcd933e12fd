"""
Resume, and several workers on one database
===========================================

A study that lives in a database can be stopped at any moment and goes on tomorrow; several
processes can work on it at once.
"""

# %%
# Everything goes into one SQLite file. (Use PostgreSQL or MySQL for more than a few workers; only
# the URL changes.)

import subprocess
import sys
import tempfile
from pathlib import Path

import optuna
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    pareto_front,
    retry_interrupted,
)

folder = Path(tempfile.mkdtemp())
storage = f"sqlite:///{folder / 'wine.db'}"


def open_study():
    X, y = load_wine(return_X_y=True, as_frame=True)
    objective = FeatureSelectionObjective(
        GaussianNB(),
        X,
        y,
        space={"var_smoothing": optuna.distributions.FloatDistribution(1e-9, 1.0, log=True)},
    )
    study = objective.create_study(
        storage=storage,
        study_name="wine",
        load_if_exists=True,
        sampler=FilterEnsembleNSGA2Sampler(seed=1),
    )
    return objective, study


objective, study = open_study()
study.optimize(objective, n_trials=30)
print(len(study.trials), "trials")

# %%
# Tomorrow, in a new process: open it again and go on. The sampler keeps nothing that is not in the
# database, so the trials that follow are those that would have followed without the break.

objective, study = open_study()
study.optimize(objective, n_trials=20)
print(len(study.trials), "trials")

# %%
# Had the process been killed in the middle of a trial, its configuration would be tried again
# after this:

print("cut off:", retry_interrupted(study))

# %%
# A study is bound to its data. With a column less it would not be the same question any more:

X, y = load_wine(return_X_y=True, as_frame=True)
other = FeatureSelectionObjective(GaussianNB(), X.drop(columns="proline"), y)
try:
    other.attach(study)
except ValueError as error:
    print(error)

# %%
# Several workers: start the same script several times, here or on other machines. Each sees what
# the others have finished and what they are trying, and no configuration is tried twice.

script = folder / "worker.py"
script.write_text(
    f"""
import optuna
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler

X, y = load_wine(return_X_y=True, as_frame=True)
objective = FeatureSelectionObjective(
    GaussianNB(), X, y,
    space={{"var_smoothing": optuna.distributions.FloatDistribution(1e-9, 1.0, log=True)}},
)
study = optuna.load_study(
    storage={storage!r}, study_name="wine", sampler=FilterEnsembleNSGA2Sampler(seed=1)
)
study.optimize(objective, n_trials=15)
"""
)
workers = [subprocess.Popen([sys.executable, str(script)]) for _ in range(2)]
print("exit codes:", [worker.wait() for worker in workers])

objective, study = open_study()
print(len(study.trials), "trials")
pareto_front(study).to_frame()[["error", "n_features", "features"]]
