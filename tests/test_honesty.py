from __future__ import annotations

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.storages import InMemoryStorage
from scipy import stats
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    fold_scores,
    honesty,
    nested_cross_validate,
    noise_floor,
    pareto_front,
)
from optuna_mofs.honesty import NestedResult
from optuna_mofs.study._baselines import Baselines
from optuna_mofs.study._description import StudyDescription

N, P = 60, 8


def table(p=P, seed=0):
    """Return rows of which two columns have the class, and the row number as the last column."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(N) % 2)
    X = rng.normal(size=(N, p))
    X[:, :2] += 2.0 * y[:, None]
    return np.column_stack([X, np.arange(N)]), y


def make(X=None, y=None, **options):
    if X is None:
        X, y = table()
    options = {"cv": 3, "filters": ["anova_f"], **options}
    return FeatureSelectionObjective(GaussianNB(), X, y, **options)


def nested(objective, **options):
    options = {"n_trials": 6, "cv": 3, "show_progress_bar": False, **options}
    return nested_cross_validate(objective, **options)


class CountingNB(GaussianNB):
    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        CountingNB.n_fits += 1
        return super().fit(X, y, sample_weight)


# ---- nested cross-validation --------------------------------------------------------------------


def test_each_front_is_refitted_on_the_training_rows_and_tested_on_the_others():
    X, y = table()
    splits = [(np.arange(20, N), np.arange(20)), (np.arange(40), np.arange(40, N))]
    result = nested(make(X, y), cv=splits)
    assert result.frame.columns.tolist() == [
        "fold",
        "pick",
        "number",
        "raw",
        "test",
        "n_features",
        "features",
    ]
    assert result.frame["fold"].value_counts().tolist() == [4, 4]
    for row in result.frame.itertuples():
        train, test = splits[row.fold]
        trial = result.studies[row.fold].trials[row.number]
        assert trial.values[0] == row.raw
        columns = [int(name.removeprefix("x")) for name in row.features]
        assert len(columns) == row.n_features == trial.user_attrs["n_features"]
        if columns:
            model = GaussianNB().fit(X[train][:, columns], y[train])
            error = 1 - model.score(X[test][:, columns], y[test])
            assert row.test == pytest.approx(error)
    for k, study in enumerate(result.studies):
        front = pareto_front(study)
        members = result.fronts[result.fronts["fold"] == k]
        assert members["number"].tolist() == [trial.number for trial in front]
        assert result.optimization_hypervolume[k] == pytest.approx(front.hypervolume())
    assert "2 outer folds: error of the pick" in repr(result)


def test_the_search_sees_no_row_of_the_outer_fold():
    seen: list[set[int]] = []

    def spy(X, y):
        seen.append(set(X[:, -1].astype(int)))
        return np.ones(X.shape[1])

    groups = np.arange(N) // 5
    objective = make(filters=[spy], groups=groups)
    seen.clear()
    nested(objective, n_trials=2, cv=GroupKFold(3))
    assert seen
    assert set().union(*seen) == set(range(N))
    for rows in seen:
        assert len(rows) < N
        assert {row for row in range(N) if groups[row] in groups[list(rows)]} == rows


def test_on_noise_the_test_values_are_those_of_chance():
    rng = np.random.default_rng(0)
    objective = make(rng.normal(size=(N, 300)), np.arange(N) % 2, representation="mask")
    summary = nested(objective, n_trials=12).summary()
    assert summary.loc["best", "raw"] < 0.3
    assert 0.35 < summary.loc["best", "test"] < 0.65
    assert summary.loc["best", "optimism"] > 0.1


def test_a_seed_makes_it_repeatable():
    objective = make()
    frames = [nested(objective, random_state=seed).frame for seed in (0, 0, 1)]
    pd.testing.assert_frame_equal(frames[0], frames[1])
    assert not frames[0].equals(frames[2])


@pytest.mark.parametrize(
    "sampler", [FilterEnsembleNSGA2Sampler(seed=3), optuna.samplers.TPESampler(seed=3)]
)
def test_a_sampler_is_copied_with_another_seed_for_each_fold(sampler):
    studies = nested(make(), sampler=sampler, n_trials=5).studies
    assert len({str([t.params for t in study.trials]) for study in studies}) == 3
    again = nested(make(), sampler=sampler, n_trials=5).studies
    for study, same in zip(studies, again):
        assert [t.params for t in study.trials] == [t.params for t in same.trials]
        assert type(study.sampler) is type(sampler)
        assert study.sampler is not sampler


def test_a_second_call_continues_and_repeats_nothing():
    X, y = table()
    objective = FeatureSelectionObjective(CountingNB(), X, y, cv=3, filters=["anova_f"])
    storage = InMemoryStorage()
    options = {"storage": storage, "study_name": "nested"}
    nested(objective, n_trials=3, **options)
    longer = nested(objective, **options)
    assert sorted(optuna.get_all_study_names(storage)) == [f"nested_fold{k}" for k in range(3)]
    assert [len(study.trials) for study in longer.studies] == [6, 6, 6]
    CountingNB.n_fits = 0
    same = nested(objective, **options)
    assert CountingNB.n_fits == 0
    at_once = nested(objective)
    for other in (same, at_once):
        pd.testing.assert_frame_equal(longer.frame, other.frame)
        pd.testing.assert_frame_equal(longer.fronts, other.fronts)
        assert longer.hypervolume.tolist() == other.hypervolume.tolist()


def test_a_trial_that_was_killed_is_repeated():
    objective, storage = make(), InMemoryStorage()
    options = {"storage": storage, "study_name": "nested"}
    first = nested(objective, n_trials=3, **options).studies[1]
    first.ask()
    trials = nested(objective, n_trials=4, **options).studies[1].trials
    assert [trial.state.name for trial in trials] == ["COMPLETE"] * 3 + ["FAIL", "COMPLETE"]


def test_other_outer_folds_are_refused_in_the_same_studies():
    options = {"storage": InMemoryStorage(), "study_name": "nested", "n_trials": 1}
    nested(make(), **options)
    with pytest.raises(ValueError, match="nested_fold0"):
        nested(make(), random_state=1, **options)


def test_test_values_of_other_rows_are_not_reused():
    storage, (train, test) = InMemoryStorage(), (np.arange(40), np.arange(40, N))
    options = {"storage": storage, "study_name": "nested"}
    first = nested(make(), cv=[(train, test[:7])], **options).frame
    second = nested(make(), cv=[(train, test[7:])], **options).frame
    assert first["number"].tolist() == second["number"].tolist()
    assert first["test"].tolist() != second["test"].tolist()


def test_processes_give_the_same_result(tmp_path, open_sqlite):
    objective = make()
    storage = open_sqlite(tmp_path / "a.db")
    parallel = nested(objective, n_jobs=2, n_trials=3, cv=2, storage=storage, study_name="n")
    pd.testing.assert_frame_equal(parallel.frame, nested(objective, n_trials=3, cv=2).frame)
    assert [study.study_name for study in parallel.studies] == ["n_fold0", "n_fold1"]
    assert [len(study.trials) for study in parallel.studies] == [3, 3]


def test_the_progress_bar_counts_trials(capsys):
    nested(make(), n_trials=2, show_progress_bar=True)
    assert "6/6" in capsys.readouterr().err


def test_the_reference_of_the_hypervolumes_can_be_given():
    near, far = (nested(make(), reference={"error": e, "fraction": 1}) for e in (1, 2))
    assert (far.hypervolume > near.hypervolume + 0.5).all()
    assert (far.optimization_hypervolume > near.optimization_hypervolume + 0.5).all()


def test_a_regression_study_with_a_single_metric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    objective = FeatureSelectionObjective(
        KNeighborsRegressor(),
        X,
        X[:, 0],
        measures=["error"],
        cv=3,
        filters=["pearson"],
        scoring="neg_mean_absolute_error",
    )
    summary = nested(objective, n_trials=10).summary()
    assert 0 < summary.loc["best", "test"] < 0.7


def test_the_verbosity_of_optuna_is_restored():
    optuna.logging.set_verbosity(optuna.logging.INFO)
    objective = make()
    study = nested(objective, n_trials=1, cv=2).studies[0]
    assert optuna.logging.get_verbosity() == optuna.logging.INFO
    with pytest.raises(ValueError, match="Study"):
        noise_floor(study, objective)  # that study has fewer rows
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    noise_floor(study, objective, n_trials=1)
    assert optuna.logging.get_verbosity() == optuna.logging.INFO


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"storage": "sqlite://"}, "study_name"),
        ({"n_trials": 0}, "n_trials must be"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"random_state": -1}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_arguments_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        nested(make(), **options)


def test_given_splits_keep_their_training_rows():
    rows = np.arange(N)
    halves = [(rows[::2], rows[1::2]), (rows[1::2], rows[::2])]
    result = nested(make(cv=halves), cv=[(rows[:40], rows[40:])])
    assert len(fold_scores(result.studies[0].trials[0])["error"]) == 2
    with pytest.raises(ValueError, match="Fold 0 has no test rows among the 30 of 60 rows"):
        nested(make(cv=halves), cv=halves)


def test_a_splitter_of_the_objective_splits_the_training_rows():
    groups = np.arange(N) // 5
    result = nested(make(cv=GroupKFold(3), groups=groups), cv=GroupKFold(3))
    assert len(result.studies) == 3


def result_of(tests, raws, features, direction="minimize"):
    frame = pd.DataFrame(
        {
            "fold": range(len(tests)),
            "pick": "pick",
            "number": 0,
            "raw": raws,
            "test": tests,
            "n_features": [len(names) for names in features],
            "features": features,
        }
    )
    return NestedResult(
        frame, pd.DataFrame(), np.ones(2), np.ones(2), "error", direction, tuple("abcd"), ()
    )


def test_the_summary_has_means_a_t_interval_and_stability():
    tests = [0.2, 0.3, 0.4]
    result = result_of(tests, [0.1, 0.1, 0.25], [("a",), ("a", "b"), ("a",)])
    row = result.summary(0.9).loc["pick"]
    error = np.std(tests, ddof=1) / np.sqrt(3)
    low, high = stats.t.interval(0.9, 2, loc=0.3, scale=error)
    expected = {
        "test": 0.3,
        "standard_error": error,
        "low": low,
        "high": high,
        "raw": 0.15,
        "optimism": 0.15,
        "n_features": 4 / 3,
        # Mean variance of the selection (0, 1/3, 0, 0) by that of random sets of 4/3 features.
        "stability": 1 - (1 / 3 / 4) / (1 / 3 * 2 / 3),
    }
    assert row.to_dict() == pytest.approx(expected)


def test_optimism_follows_the_direction():
    maximized = result_of([0.6, 0.8], [0.9, 0.9], [("a",), ("a",)], "maximize").summary()
    assert maximized.loc["pick", "optimism"] == pytest.approx(0.2)
    assert maximized.loc["pick", "stability"] == 1.0


def test_one_outer_fold_has_no_interval():
    row = result_of([0.2], [0.1], [("a",)]).summary().loc["pick"]
    assert row[["standard_error", "low", "high", "stability"]].isna().all()
    assert row["test"] == 0.2


# ---- noise floor --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def searched():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    objective = make()
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=12)
    return study, objective


def test_the_floor_is_what_the_search_finds_without_information(searched):
    study, objective = searched
    floor = noise_floor(study, objective, n_trials=10, random_state=1)
    assert floor.n_trials == 10
    assert min(floor.values) > 0.3 > 0.2 > pareto_front(study).best().values[0]
    assert list(floor.sizes) == sorted(set(floor.sizes))
    assert list(floor.values) == sorted(floor.values, reverse=True)
    assert Baselines.read(study).noise_floor == floor
    assert len(study.trials) == 12
    assert StudyDescription.require(study).measures[0].name == "error"


def test_the_floor_depends_only_on_the_seed(searched):
    study, objective = searched
    floors = [noise_floor(study, objective, random_state=seed) for seed in (0, 0, 1)]
    assert floors[0] == floors[1] != floors[2]
    assert floors[0].n_trials == 5  # at least, for twelve trials


def test_the_floor_calls_callbacks(searched):
    numbers = []
    noise_floor(*searched, n_trials=2, callbacks=[lambda _, trial: numbers.append(trial.number)])
    assert numbers == [0, 1]


def test_the_filters_of_the_floor_see_the_permuted_labels():
    targets = []

    def spy(X, y):
        targets.append(y.tolist())
        return np.ones(X.shape[1])

    objective = make(filters=[spy])
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    targets.clear()
    noise_floor(study, objective, n_trials=1)
    labels = objective.data.y.tolist()
    assert targets
    for target in targets:
        assert target != labels
        assert sorted(target) == sorted(labels)


def test_another_sampler_of_optuna_can_be_repeated():
    objective = make()
    study = objective.create_study(sampler=optuna.samplers.TPESampler(seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=4)
    floors = [noise_floor(study, objective) for _ in range(2)]
    assert floors[0] == floors[1]


def test_a_floor_of_failed_trials_is_refused(monkeypatch):
    objective = make()
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    monkeypatch.setattr(honesty, "_permuted", lambda y, groups, rng: y)
    monkeypatch.setattr(GaussianNB, "fit", lambda self, X, y, sample_weight=None: 1 / 0)
    with pytest.raises(ValueError, match="None of the 2 trials on permuted labels"):
        noise_floor(study, objective, n_trials=2)


def test_whole_groups_exchange_their_labels():
    groups = np.repeat(np.arange(12), 5)
    y = np.arange(12)[groups] * 10 + np.tile(np.arange(5), 12)
    permuted = honesty._permuted(y, groups, np.random.default_rng(0))
    assert sorted(permuted) == sorted(y)
    assert permuted.tolist() != y.tolist()
    for group in range(12):
        assert len(set(permuted[groups == group] // 10)) == 1
    assert honesty._permuted(y, None, np.random.default_rng(0)).tolist() != permuted.tolist()
