"""
Resume, and several workers on one database
===========================================

A study in a database can be stopped at any time and resumed later, and several processes can work
on it at once.
"""

# %%
# The study is stored in an SQLite file. Use PostgreSQL or MySQL for more than a few workers; only
# the URL changes.

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
# Later, in a new process: reopen the study and continue. All state of the sampler is in the
# database, so the following trials are the same as in an uninterrupted run.

objective, study = open_study()
study.optimize(objective, n_trials=20)
print(len(study.trials), "trials")

# %%
# If the process was killed in the middle of a trial, this call enqueues its configuration again:

print("interrupted trials:", retry_interrupted(study))

# %%
# A study belongs to its data. With one column less, attaching the objective is an error:

X, y = load_wine(return_X_y=True, as_frame=True)
other = FeatureSelectionObjective(GaussianNB(), X.drop(columns="proline"), y)
try:
    other.attach(study)
except ValueError as error:
    print(error)

# %%
# For several workers, run the same script several times, on any machine. Samplers use the
# completed and the running trials of all workers, and no configuration is evaluated twice.

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
pareto_front(study).to_frame()[["error", "honest", "n_features", "features"]]
