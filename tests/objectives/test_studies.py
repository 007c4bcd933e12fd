"""An objective and its study: description, reopening, other samplers, other processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.samplers import NSGAIISampler, RandomSampler, TPESampler
from optuna.trial import TrialState
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    MaskFeatures,
    Measure,
    enqueue_features,
    selected_features,
    selected_mask,
)
from optuna_mofs.filters import FilterEnsemble
from optuna_mofs.study._description import StudyDescription

X, Y = load_wine(return_X_y=True)
SPACE = {"var_smoothing": FloatDistribution(1e-9, 1, log=True)}


def objective(X=X, y=Y, **options):
    options = {
        "filters": ["anova_f"],
        "expected_n_features": 4,
        "cv": 3,
        "space": SPACE,
        "representation": "mask",
        "holdout": None,
        **options,
    }
    return FeatureSelectionObjective(GaussianNB(), X, y, **options)


def test_the_name_of_a_study_that_could_not_be_created_is_free_again():
    storage = optuna.storages.InMemoryStorage()
    broken = X.copy()
    broken[0, 0] = np.inf
    with pytest.raises(ValueError, match="X holds infinity"):
        objective(broken).create_study(storage=storage, study_name="wine")
    made = objective().create_study(storage=storage, study_name="wine")
    assert made.study_name == "wine"
    # An existing study is not deleted.
    with pytest.raises(ValueError, match="does not match"):
        objective(X[1:], Y[1:]).create_study(
            storage=storage, study_name="wine", load_if_exists=True
        )
    assert optuna.get_all_study_names(storage) == ["wine"]


# ---- what is written --------------------------------------------------------------------------


def test_directions_and_metric_names_are_set():
    best = Measure("accuracy", fold=lambda fold: fold.score(), direction="maximize", worst=0.0)
    found = objective(measures=["error", best, "n_features"])
    assert found.directions == ["minimize", "maximize", "minimize"]
    study = found.create_study()
    assert study.metric_names == ["error", "accuracy", "n_features"]
    described = StudyDescription.read(study)
    assert [(m.name, m.direction, m.worst) for m in described.measures] == [
        ("error", "minimize", found.baselines.constant[0]),
        ("accuracy", "maximize", 0.0),
        ("n_features", "minimize", 13.0),
    ]


def test_metric_names_of_the_user_are_kept():
    found = objective()
    study = optuna.create_study(directions=found.directions)
    study.set_metric_names(["Fehler", "Anteil"])
    found.attach(study)
    assert study.metric_names == ["Fehler", "Anteil"]


def test_the_description_is_complete_before_the_first_suggestion():
    seen = []

    class Looks(RandomSampler):
        def infer_relative_search_space(self, study, trial):
            seen.append(StudyDescription.read(study))
            return {}

    found = objective(feature_costs={"x1": 3})
    study = optuna.create_study(directions=found.directions, sampler=Looks(seed=0))
    study.optimize(found, n_trials=1)
    described = seen[0]
    ensemble = FilterEnsemble(["anova_f"], random_state=0).fit(X, Y)
    np.testing.assert_allclose(described.features.ranks, ensemble.ranks_, atol=1e-12)
    assert described.features.expected_n_features == 4
    assert described.features.costs[1] == 3
    assert described.space == SPACE
    assert set(described.distributions) == {"mask", "var_smoothing"}


def test_attaching_twice_changes_nothing():
    found = objective()
    study = found.create_study()
    before = study._storage.get_study_system_attrs(study._study_id)
    found.attach(study)
    assert study._storage.get_study_system_attrs(study._study_id) == before


# ---- reopening --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory, open_sqlite):
    """Return a database with one study per representation."""
    storage = open_sqlite(tmp_path_factory.mktemp("studies") / "a.db")
    for name, features in [("mask", "mask"), ("ensemble", "filter_ensemble")]:
        found = objective(representation=features)
        study = found.create_study(storage=storage, study_name=name, sampler=RandomSampler(seed=0))
        study.optimize(found, n_trials=1)
    return storage


def reopen(storage, found, name="mask"):
    return found.create_study(
        storage=storage, study_name=name, load_if_exists=True, sampler=RandomSampler(seed=1)
    )


def test_the_same_objective_continues_the_study(made):
    found = objective()
    study = reopen(made, found)
    before = len(study.trials)
    study.optimize(found, n_trials=1)
    assert len(study.trials) == before + 1
    reopen(made, objective(representation="filter_ensemble"), "ensemble")
    # Other filters only guide the search of masks.
    reopen(made, objective(filters=["variance"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": X[:, :12]}, "13 features in the study, 12 now, missing: 'x12'"),
        ({"feature_names": [f"y{j}" for j in range(13)]}, "missing: 'x0'.*new: 'y0'"),
        ({"feature_groups": {"g": ["x0", "x1"]}}, "12 now, missing: 'x0', 'x1', new: 'g'"),
        ({"fixed_features": ["x3"]}, r"fixed features \[\] in the study, \['x3'\] now"),
        (
            {"feature_costs": {"x2": 7}, "measures": ["error", "fraction"]},
            "'x2' costs 1.0 in the study",
        ),
        ({"representation": "filter_ensemble"}, "feature representation .*filter_ensemble.* now"),
        ({"representation": MaskFeatures(form="bits")}, "'form': 'bits'"),
        ({"representation": None}, "feature representation"),
        (
            {"space": {"var_smoothing": FloatDistribution(1e-5, 1, log=True)}},
            "parameter 'var_smoothing' is FloatDistribution.*1e-09.* in the study",
        ),
        (
            {"space": {**SPACE, "priors": FloatDistribution(0, 1)}},
            "new parameters: 'priors'",
        ),
        ({"space": None}, "missing parameters: 'var_smoothing'"),
        (
            {"measures": ["error", "n_features"]},
            "minimize 'fraction' in the study, minimize 'error', minimize 'n_features' now",
        ),
        ({"measures": ["error"]}, r"has directions \['minimize', 'minimize'\]"),
        (
            {
                "measures": [
                    "error",
                    Measure("fraction", fold=lambda fold: 0.0, direction="maximize"),
                ]
            },
            r"directions \['minimize', 'minimize'\], but this objective returns .*'maximize'",
        ),
    ],
)
def test_a_study_that_does_not_match_is_refused(made, options, message):
    with pytest.raises(ValueError, match=message):
        reopen(made, objective(**options))


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        (FilterEnsembleFeatures(), {"filters": ["auc"]}, r"\['anova_f'\] in the study, \['auc'\]"),
        (FilterEnsembleFeatures(ranks="all"), {}, "'ranks': 'fold'.*'ranks': 'all'"),
    ],
)
def test_other_filters_of_a_filter_representation_are_refused(made, features, options, message):
    with pytest.raises(ValueError, match=message):
        reopen(made, objective(representation=features, **options), "ensemble")


def test_a_refused_study_loses_nothing(made):
    study = optuna.load_study(study_name="mask", storage=made)
    before = len(study.trials)
    wrong = objective(X=X[:, :12])
    with pytest.raises(ValueError, match="12 now"):
        study.optimize(wrong, n_trials=1, catch=())
    again = optuna.load_study(study_name="mask", storage=made)
    assert len(StudyDescription.read(again).features) == 13
    complete = [t for t in again.trials if t.state == TrialState.COMPLETE]
    assert len(complete) >= min(before, 1)
    assert all(selected_mask(again, t) is not None for t in complete)


# ---- other samplers, SQLite, a new process ----------------------------------------------------

SAMPLERS = {"random": RandomSampler, "tpe": TPESampler, "nsga2": NSGAIISampler}
SIZES = (30, 500)
TRIALS = 30


def wide(p):
    rng = np.random.default_rng(p)
    data = rng.normal(size=(60, p))
    return data, (data[:, 0] + data[:, 1] > 0).astype(int)


def wide_objective(p):
    return objective(*wide(p), expected_n_features=5, cv=2)


# The new process makes its objectives from these words alone.
CONTINUE = """
import json, sys
import optuna
sys.path.insert(0, sys.argv[2])
from test_studies import SAMPLERS, SIZES, wide_objective
from optuna_mofs import selected_features
optuna.logging.set_verbosity(optuna.logging.ERROR)
found = {}
for p in SIZES:
    objective = wide_objective(p)
    for name in SAMPLERS:
        study = optuna.load_study(
            study_name=f"{name}-{p}", storage=sys.argv[1], sampler=SAMPLERS[name](seed=1)
        )
        study.optimize(objective, n_trials=1)
        found[study.study_name] = [selected_features(study, t) for t in study.trials]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def continued(tmp_path_factory, open_sqlite):
    """Run thirty trials per sampler and size, then one more in another process."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = tmp_path_factory.mktemp("samplers") / "a.db"
    storage = open_sqlite(path)
    for p in SIZES:
        found = wide_objective(p)
        for name, sampler in SAMPLERS.items():
            options = {"population_size": 10} if name == "nsga2" else {}
            study = found.create_study(
                storage=storage, study_name=f"{name}-{p}", sampler=sampler(seed=0, **options)
            )
            study.optimize(found, n_trials=TRIALS)
    result = subprocess.run(
        [sys.executable, "-c", CONTINUE, f"sqlite:///{path}", str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return open_sqlite(path), json.loads(result.stdout)


@pytest.mark.parametrize("p", SIZES)
@pytest.mark.parametrize("name", SAMPLERS)
def test_thirty_trials_in_sqlite_and_one_more_in_a_new_process(continued, name, p):
    storage, seen_by_the_other = continued
    study = optuna.load_study(study_name=f"{name}-{p}", storage=storage)
    assert [t.number for t in study.trials] == list(range(TRIALS + 1))
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    found = wide_objective(p)
    masks = []
    for trial in study.trials:
        mask = selected_mask(study, trial)
        masks.append(mask.tobytes())
        assert trial.values[1] == pytest.approx(mask.mean())
        assert trial.user_attrs["n_features"] == mask.sum()
        assert len(trial.params) == 2
        assert selected_features(study, trial) == seen_by_the_other[study.study_name][trial.number]
        np.testing.assert_array_equal(found.mask_for(trial), mask)
    assert len(set(masks)) > TRIALS // 2


def test_a_copied_study_keeps_its_sets_and_continues(continued, tmp_path, open_sqlite):
    source, _ = continued
    target = open_sqlite(tmp_path / "b.db")
    optuna.copy_study(from_study_name="random-500", from_storage=source, to_storage=target)
    before = optuna.load_study(study_name="random-500", storage=source)
    after = optuna.load_study(study_name="random-500", storage=target)
    for one, other in zip(before.trials, after.trials, strict=True):
        assert selected_features(before, one) == selected_features(after, other)
    assert after.metric_names == ["error", "fraction"]
    found = wide_objective(500)
    found.attach(after)
    enqueue_features(after, ["x3", "x499"], {"var_smoothing": 0.5})
    after.optimize(found, n_trials=1)
    assert selected_features(after, after.trials[-1]) == ["x3", "x499"]
    assert after.trials[-1].params["var_smoothing"] == 0.5
    with pytest.raises(ValueError, match="'var_smothing', which is not a parameter"):
        enqueue_features(after, [], {"var_smothing": 0.5})
