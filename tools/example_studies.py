"""The studies in the pictures of the documentation.

The searches were run once and are stored as a compressed Optuna journal beside the pictures, so
that the pictures can be recreated quickly and do not change with the samplers:

    python -m tools.example_studies DIR     # minutes; then python -m tools.make_figures

DIR has sonar.npz and madelon.npz, each with the arrays X and y.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import NSGAIISampler, RandomSampler, TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    LexicographicPreference,
    LexiFlowSampler,
    ParEGOSampler,
    noise_floor,
    resampled_fronts,
)
from optuna_mofs.spaces import get_learner

STORED = Path(__file__).parents[1] / "docs" / "figures" / "example_studies.log.gz"

#: Preference in the figures of lexicographic targets.
PREFERENCE = LexicographicPreference(
    priorities=["error", "fraction"], tolerances={"error": 0.01, "fraction": 0.05}
)
METHODS = ("FilterEnsembleNSGA2Sampler", "TPESampler", "RandomSampler")
SEEDS = 5
TRIALS = 80


def load(folder: Path) -> dict[str, Study]:
    """Return all example studies by name, unpacked into a folder."""
    path = folder / "example_studies.log"
    with gzip.open(STORED, "rb") as packed, path.open("wb") as log:
        shutil.copyfileobj(packed, log)
    storage = JournalStorage(JournalFileBackend(str(path)))
    names = optuna.get_all_study_names(storage)
    return {name: optuna.load_study(study_name=name, storage=storage) for name in names}


def runs(studies: dict[str, Study]) -> dict[str, list[Study]]:
    """Return several seeds per method on one data set."""
    return {m: [studies[f"{m} seed {seed}"] for seed in range(SEEDS)] for m in METHODS}


def by_data_set(studies: dict[str, Study]) -> dict[str, list[Study]]:
    """Return one study per method and data set, in the order of :func:`data_sets`."""
    return {m: [studies[f"{m} on {name}"] for name, _, _ in data_sets()] for m in METHODS}


def data_sets() -> Iterator[tuple[str, Any, Any]]:
    """Yield small data sets of scikit-learn."""
    yield ("iris", *load_iris(return_X_y=True))
    yield ("wine", *load_wine(return_X_y=True))
    yield ("breast cancer", *load_breast_cancer(return_X_y=True))
    X, y = load_digits(return_X_y=True)
    yield "digits", X[:400], y[:400]
    for p, useful, noise in ((20, 3, 0.0), (40, 5, 0.1), (80, 8, 0.0), (150, 6, 0.05)):
        X, y = make_classification(
            200, p, n_informative=useful, n_redundant=useful, flip_y=noise, random_state=p
        )
        yield f"{p} columns", X, y


def main(data: Path) -> None:
    """Run all searches and store them; ``data`` is the folder of sonar and madelon."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "example_studies.log"
        storage = JournalStorage(JournalFileBackend(str(path)))
        for study in (*_honest_searches(data), *_searches(), _resampled()):
            print(f"{study.study_name}: {len(study.trials)} trials", flush=True)
            optuna.copy_study(
                from_study_name=study.study_name,
                from_storage=study._storage,
                to_storage=storage,
            )
        STORED.parent.mkdir(exist_ok=True)
        with path.open("rb") as log, gzip.GzipFile(STORED, "wb", mtime=0) as packed:
            shutil.copyfileobj(log, packed)
    print(f"{STORED}: {STORED.stat().st_size / 1000:.0f} kB")


def _honest_searches(data: Path) -> Iterator[Study]:
    """Yield one study of noise, and studies of two data sets and of breast cancer."""
    estimator, space = get_learner("logistic_regression")
    X, y = np.random.default_rng(0).normal(size=(100, 2000)), np.arange(100) % 2
    # Filter ranks of all rows, on which luck finds most; held-out rows show it.
    masks = FeatureSelectionObjective(estimator, X, y, space=space, representation="mask")
    yield _run(masks, "noise", FilterEnsembleNSGA2Sampler(seed=0), 60, floor=True)
    estimator, space = get_learner("svm")
    for name, n_rows in (("sonar", None), ("madelon", 600)):
        stored = np.load(data / f"{name}.npz", allow_pickle=True)
        rows = np.random.default_rng(0).permutation(len(stored["y"]))[:n_rows]
        objective = FeatureSelectionObjective(
            estimator, stored["X"][rows], stored["y"][rows], space=space
        )
        yield _run(objective, name, ParEGOSampler(seed=0), 100, floor=True)
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    svm = FeatureSelectionObjective(estimator, X, y, space=space)
    yield _run(svm, "breast cancer", FilterEnsembleNSGA2Sampler(seed=0), 120, floor=True)


def _resampled() -> Study:
    """Return a study that holds the fronts of resamples of breast cancer."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    estimator, space = get_learner("logistic_regression")
    objective = FeatureSelectionObjective(
        estimator, X, y, space=space, filters=["anova_f", "jmi"], cv=3
    )
    found = resampled_fronts(objective, n_trials=30, n_resamples=16)
    study = optuna.create_study(directions=objective.directions, study_name="resamples")
    found.write(study)
    return study


def _searches() -> Iterator[Study]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    estimator, space = get_learner("svm")
    yield _run(
        FeatureSelectionObjective(
            estimator,
            X,
            y,
            space=space,
            representation="mask",
            measures=["error", "fraction", "fnr"],
        ),
        "breast cancer by priority",
        LexiFlowSampler(PREFERENCE, seed=0),
        100,
    )
    bayes = FeatureSelectionObjective(
        GaussianNB(), X, y, representation=FilterEnsembleFeatures(ranks="all"), cv=3
    )
    yield _run(bayes, "filter ensemble", NSGAIISampler(seed=0, population_size=20), 200)
    X, y = make_classification(
        200, 100, n_informative=8, n_redundant=8, flip_y=0.05, random_state=1
    )
    options: dict[str, Any] = {"representation": "mask", "cv": 3, "holdout": None}
    hidden = FeatureSelectionObjective(GaussianNB(), X, y, **options)
    for method in METHODS:
        for seed in range(SEEDS):
            yield _values_only(_run(hidden, f"{method} seed {seed}", _sampler(method, seed)))
    for i, (name, X, y) in enumerate(data_sets()):
        one = FeatureSelectionObjective(GaussianNB(), X, y, **options)
        for method in METHODS:
            yield _values_only(_run(one, f"{method} on {name}", _sampler(method, i)))


def _sampler(method: str, seed: int) -> optuna.samplers.BaseSampler:
    samplers = {
        "FilterEnsembleNSGA2Sampler": FilterEnsembleNSGA2Sampler,
        "TPESampler": TPESampler,
        "RandomSampler": RandomSampler,
    }
    sampler: optuna.samplers.BaseSampler = samplers[method](seed=seed)
    return sampler


def _run(
    objective: FeatureSelectionObjective,
    name: str,
    sampler: optuna.samplers.BaseSampler,
    n_trials: int = TRIALS,
    *,
    floor: bool = False,
) -> Study:
    study = objective.create_study(study_name=name, sampler=sampler)
    study.optimize(objective, n_trials=n_trials)
    if floor:
        noise_floor(study, objective)
    return study


def _values_only(study: Study) -> Study:
    """Return a study with only metrics and values, which is all that comparisons use."""
    copy = optuna.create_study(study_name=study.study_name, directions=study.directions)
    copy.set_metric_names(study.metric_names or [])
    for trial in study.get_trials(deepcopy=False):
        if trial.values is not None:
            values = np.round(trial.values, 6).tolist()
            copy.add_trial(optuna.trial.create_trial(values=values))
    return copy


if __name__ == "__main__":
    main(Path(sys.argv[1]))
