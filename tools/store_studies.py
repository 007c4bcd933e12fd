"""Store studies of this version as SQL, for the tests of later versions.

``python -m tools.store_studies`` writes ``tests/study/stored/VERSION-KIND.sql``. Files of earlier
versions stay: every version must read them, or refuse them by name.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from pathlib import Path

import optuna
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier

import optuna_mofs
from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler

FOLDER = Path(__file__).parent.parent / "tests" / "study" / "stored"
#: Representations of the stored studies.
KINDS = {"rule": "filter_ensemble", "mask": "mask"}
N_TRIALS = 8


def make_objective(kind: str) -> FeatureSelectionObjective:
    """Return the objective of a stored study; the tests reopen the study with it."""
    X, y = make_classification(
        60, 15, n_informative=3, n_redundant=0, class_sep=2.0, random_state=0
    )
    return FeatureSelectionObjective(
        KNeighborsClassifier(),
        X.round(2),
        y,
        space={"n_neighbors": optuna.distributions.IntDistribution(1, 9)},
        representation=KINDS[kind],
        filters=("anova_f", "variance"),
        cv=3,
    )


def store(kind: str, file: Path) -> None:
    """Run a study and write its database as SQL."""
    objective = make_objective(kind)
    with tempfile.TemporaryDirectory() as folder:
        study = objective.create_study(
            storage=f"sqlite:///{folder}/a.db",
            study_name=kind,
            sampler=FilterEnsembleNSGA2Sampler(seed=0),
        )
        study.optimize(objective, n_trials=N_TRIALS)
        connection = sqlite3.connect(f"{folder}/a.db")
        file.write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")
        connection.close()


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", default=optuna_mofs.__version__, help="name of the version")
    version = parser.parse_args().version
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    FOLDER.mkdir(exist_ok=True)
    for kind in KINDS:
        store(kind, FOLDER / f"{version}-{kind}.sql")


if __name__ == "__main__":
    main()
