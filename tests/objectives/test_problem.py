"""Held-out rows, losses of rows, baselines, and objectives on some of the rows."""

from __future__ import annotations

import json
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import TrialState
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, make_scorer, matthews_corrcoef
from sklearn.model_selection import PredefinedSplit, RepeatedKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    ModelTypeObjective,
    enqueue_features,
    pareto_front,
)
from optuna_mofs.measures import Measure, disparity
from optuna_mofs.study._baselines import Baselines
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._losses import (
    kept_rows,
    read_loss_measure,
    read_losses,
    read_row_groups,
    read_row_weights,
)
from tests.objectives.learners import Breaking, CountingTree, Watching
from tests.objectives.wine import DEPTH, TREE, P, X, Y, objective, run

N = len(Y)


# ---- which rows are held out ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "n_held_out"),
    [
        ({}, 18),
        ({"representation": FilterEnsembleFeatures(ranks="all")}, 18),
        ({"representation": FilterEnsembleFeatures(ranks="fold")}, 0),
        ({"representation": None, "space": DEPTH}, 0),
        ({"representation": FilterEnsembleFeatures(), "holdout": 0.3}, 27),
        ({"holdout": 20}, 20),
        ({"holdout": [5, 50, 7]}, 3),
        ({"holdout": None}, 0),
        ({"X": X[::3], "y": Y[::3]}, 0),
        ({"y": np.where(np.arange(N) < 4, 9, Y)}, 0),
        ({"store_losses": False}, 0),
        ({"measures": ["n_features"]}, 0),
        ({"scoring": make_scorer(matthews_corrcoef)}, 0),
        ({"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)}, 18),
        ({"cv": TimeSeriesSplit(3), "y": np.random.default_rng(0).permutation(Y)}, 0),
    ],
)
def test_rows_that_are_held_out(options, n_held_out):
    found = objective(**{"holdout": "auto", **options})
    n = found.all_data.shape[0]
    assert found.data.shape == (n - n_held_out, P)
    if n_held_out == 0:
        assert found.holdout_rows is None
        assert found.data is found.all_data
        return
    rows = np.concatenate([found.search_rows, found.holdout_rows])
    assert sorted(rows) == list(range(n))
    np.testing.assert_array_equal(found.data.X, X[found.search_rows])
    np.testing.assert_array_equal(found.data.y, Y[found.search_rows])
    for train, test in found.evaluator.splits:
        assert max(train.max(), test.max()) < n - n_held_out


def test_a_splitter_splits_the_rows_of_the_search():
    last = np.arange(len(Y) - 25, len(Y))
    shuffled = np.random.default_rng(0).permutation(Y)
    found = objective(y=shuffled, cv=TimeSeriesSplit(4), holdout=last)
    expected = list(TimeSeriesSplit(4).split(np.zeros(len(Y) - 25)))
    assert len(found.evaluator.splits) == 4
    for (train, test), (a, b) in zip(found.evaluator.splits, expected):
        np.testing.assert_array_equal(train, a)
        np.testing.assert_array_equal(test, b)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"holdout": "half"}, "holdout must be one of 'auto', got 'half'"),
        ({"holdout": 2}, "fewer|number of classes"),
        ({"holdout": 0.2, "X": X[::3], "y": Y[::3]}, "at least 40 rows"),
        ({"holdout": 0.2, "store_losses": False}, "needs losses of rows"),
        ({"holdout": 0.2, "scoring": make_scorer(matthews_corrcoef)}, "a scoring such as"),
    ],
)
def test_holdouts_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        objective(**options)


def test_neither_filters_nor_folds_see_held_out_rows():
    seen = []

    def watch(X, y):
        seen.append(X)
        return X.sum(axis=0)

    Watching.seen.clear()
    found = objective(Watching(), holdout="auto", filters=[watch])
    study = found.create_study(sampler=RandomSampler(seed=0))
    study.optimize(found, n_trials=3)
    held_out = {row.tobytes() for row in X[found.holdout_rows]}
    assert all(held_out.isdisjoint(row.tobytes() for row in part) for part in seen)
    assert {len(fit["X"]) for fit in Watching.seen} == {47, 48, 71}
    allowed = {column.tobytes() for column in found.data.X.T}
    for fit in Watching.seen:
        if len(fit["X"]) == 71:  # fitted on all rows of the search, for the held-out rows
            assert all(column.tobytes() in allowed for column in fit["X"].T)


def test_refit_uses_all_rows_and_their_weights():
    weight = np.linspace(1, 2, N)
    Watching.seen.clear()
    found = objective(Watching(), holdout=0.2, sample_weight=weight)
    study = run(found, 1)
    found.refit(study.trials[0])
    np.testing.assert_array_equal(Watching.seen[-1]["weight"], weight)
    np.testing.assert_array_equal(Watching.seen[-1]["y"], Y)


def test_the_training_error_of_a_refitted_model_is_that_of_all_rows():
    found = objective(holdout=0.2, measures=["error", "training_error"])
    study = run(found, 3)
    trial = max(study.trials, key=lambda trial: trial.user_attrs["n_features"])
    model = found.refit(trial)
    assert found.test_values(model, trial, X[:9], Y[:9])[1] == 1 - accuracy_score(
        Y, model.predict(X)
    )


@pytest.mark.parametrize("kind", ["frame", "pickled"])
def test_holdout_of_frames_and_copies(kind):
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(P)], index=np.arange(N) + 500)
    found = objective(X=frame, holdout=0.2)
    if kind == "pickled":
        found = pickle.loads(pickle.dumps(found))
    study = run(found, 3)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert len(read_losses(study.trials[0], "holdout").values) == len(found.holdout_rows)


def test_given_folds_lose_their_held_out_rows():
    folds = np.arange(N) % 3
    found = objective(holdout=[0, 1, 2, 3], cv=PredefinedSplit(folds))
    for k, (train, test) in enumerate(found.evaluator.splits):
        assert found.search_rows[test].tolist() == [r for r in range(4, N) if folds[r] == k]
        assert len(train) + len(test) == N - 4


def test_a_sensitive_column_belongs_to_the_rows_of_x():
    sensitive = np.arange(N) % 2

    def check(fold):
        assert (Y[fold.test_rows] == fold.y_test).all()
        return 0.0

    found = objective(holdout=0.2, measures=["error", disparity(sensitive, positive=0), check])
    assert [trial.state for trial in run(found, 2).trials] == [TrialState.COMPLETE] * 2


# ---- losses of trials -------------------------------------------------------------------------


def test_the_mean_of_losses_is_the_value_of_a_trial():
    found = objective(cv=[(np.arange(0, N, 2), np.arange(1, N, 2))])
    for trial in run(found, 4).trials:
        losses = read_losses(trial).values
        assert np.isnan(losses).sum() == np.ceil(N / 2)
        assert np.nanmean(losses) == pytest.approx(trial.values[0])
        test = np.isin(kept_rows(N), np.arange(1, N, 2))
        assert not np.isnan(losses[test]).any()


def test_losses_are_predictions_of_the_folds():
    found = objective()
    study = run(found, 2)
    trial = max(study.trials, key=lambda trial: trial.user_attrs["n_features"])
    model, expected = found.estimator_for(trial), np.zeros(N)
    for train, test in found.evaluator.splits:
        expected[test] = model.fit(X[train], Y[train]).predict(X[test]) != Y[test]
    np.testing.assert_array_equal(read_losses(trial).values, expected[kept_rows(N)])


def test_losses_can_be_left_out():
    study = run(objective(store_losses=False), 2)
    assert [read_losses(trial) for trial in study.trials] == [None, None]
    assert read_loss_measure(study) is None


def test_losses_belong_to_the_first_measure_that_has_them():
    found = objective(GaussianNB(), measures=["n_features", "log_loss", "error"])
    study = run(found, 2)
    assert read_loss_measure(study) == "log_loss"
    for trial in study.trials:
        assert read_losses(trial).values.mean() == pytest.approx(trial.values[1], rel=0.01)


def test_duplicates_have_the_losses_of_the_first():
    found = objective(holdout=0.2, space=DEPTH)
    study = found.create_study()
    for _ in range(2):
        enqueue_features(study, ["x0", "x6"], {"max_depth": 2})
    study.optimize(found, n_trials=2)
    first, second = study.trials
    assert second.user_attrs["duplicate_of"] == 0
    for source in ("cross_validation", "holdout"):
        assert read_losses(first, source) is not None
        np.testing.assert_array_equal(
            read_losses(first, source).values, read_losses(second, source).values
        )


def test_failed_trials_have_none():
    found = objective(Breaking(most=3), holdout=0.2)
    study = found.create_study()
    enqueue_features(study, [f"x{j}" for j in range(5)])
    study.optimize(found, n_trials=1)
    assert study.trials[0].state == TrialState.FAIL
    assert read_losses(study.trials[0]) is None


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_member_of_the_front_has_losses_on_held_out_rows(n_jobs):
    found = objective(holdout=0.2, space=DEPTH)
    study = found.create_study(sampler=RandomSampler(seed=0))
    study.optimize(found, n_trials=25, n_jobs=n_jobs)
    front = pareto_front(study)
    assert len(front) > 1
    for trial in front:
        model = found.estimator_for(trial).fit(found.data.X, found.data.y)
        test = found.holdout_rows[kept_rows(len(found.holdout_rows))]
        np.testing.assert_array_equal(
            read_losses(trial, "holdout").values, model.predict(X[test]) != Y[test]
        )
    held = [read_losses(trial, "holdout") is not None for trial in study.trials]
    assert held[0]
    assert not all(held)


def test_a_model_that_cannot_be_fitted_for_held_out_rows_completes(caplog):
    class Large(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None, check_input=True):
            if len(X) > 60:
                raise RuntimeError("too many rows")
            return super().fit(X, y, sample_weight)

    study = run(objective(Large(), holdout=0.2), 2)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 2
    assert read_losses(study.trials[0]) is not None
    assert read_losses(study.trials[0], "holdout") is None


def test_groups_and_weights_of_kept_rows():
    groups, weight = np.arange(N) // 3, np.linspace(1, 2, N)
    found = objective(groups=groups, sample_weight=weight, holdout=0.2)
    study = run(found, 1)
    for source, rows in (("cross_validation", found.search_rows), ("holdout", found.holdout_rows)):
        rows = rows[kept_rows(len(rows))]
        codes = read_row_groups(study, source)
        np.testing.assert_array_equal(codes, np.unique(groups[rows], return_inverse=True)[1])
        np.testing.assert_allclose(read_row_weights(study, source), weight[rows], rtol=1e-3)
        losses = read_losses(study.trials[0], source).values
        assert len(losses) == len(rows)


def test_losses_are_one_write_and_few_bytes(tmp_path, open_sqlite):
    rng = np.random.default_rng(0)
    wide, y = rng.normal(size=(500, 12)), rng.integers(2, size=500)
    sizes, writes = {}, {}
    for store_losses in (False, True):
        path = tmp_path / f"{store_losses}.db"
        found = objective(GaussianNB(), wide, y, cv=2, store_losses=store_losses)
        study = found.create_study(storage=open_sqlite(path), sampler=RandomSampler(seed=0))
        before = os.path.getsize(path)
        study.optimize(found, n_trials=20)
        sizes[store_losses] = os.path.getsize(path) - before
        writes[store_losses] = sum(len(trial.system_attrs) for trial in study.trials)
    assert writes[True] == writes[False] + 20
    assert sizes[True] < 1.3 * sizes[False]


def test_losses_that_are_no_bits_are_sampled():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 4)), rng.normal(size=3000)
    study = run(objective(Ridge(), X, y, holdout=0.5, filters=()), 1)
    data = study.trials[0].system_attrs["mofs:losses"]
    assert set(data) == {"cross_validation", "holdout"}
    for part in data.values():
        assert len(json.dumps(part)) < 200


# ---- baselines --------------------------------------------------------------------------------


def worst(study):
    return [measure.worst for measure in StudyDescription.require(study).measures]


def test_the_constant_and_all_features_are_evaluated_like_trials():
    found = objective(GaussianNB(), measures=["error", "n_features"])
    study = found.create_study()
    enqueue_features(study, [])
    enqueue_features(study, found.table.names)
    study.optimize(found, n_trials=2)
    baselines = Baselines.read(study)
    assert baselines.constant == tuple(study.trials[0].values)
    assert baselines.all_features == tuple(study.trials[1].values)
    assert worst(study) == [baselines.constant[0], P]


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [("balanced_accuracy", 2 / 3), ("roc_auc_ovr", 0.5), (None, None), ("f1_macro", None)],
)
def test_the_worst_error_is_that_of_the_constant(scoring, expected):
    found = objective(GaussianNB(), scoring=scoring)
    study = found.create_study()
    assert worst(study)[0] == found.baselines.constant[0]
    if expected is not None:
        assert worst(study)[0] == pytest.approx(expected)


def test_losses_and_plain_functions_have_a_reference():
    y = X[:, 0] + np.random.default_rng(0).normal(size=N)

    def minus_mse(model, X, y):
        return -np.mean((model.predict(X) - y) ** 2)

    for scoring in ("neg_mean_squared_error", minus_mse):
        found = objective(Ridge(), y=y, scoring=scoring)
        study = run(found, 10)
        constant = np.mean(
            [np.mean((y[test] - y[train].mean()) ** 2) for train, test in found.evaluator.splits]
        )
        added = 0.0 if isinstance(scoring, str) else 1.0
        assert worst(study)[0] == pytest.approx(constant + added)
        assert pareto_front(study).hypervolume() > 0


def test_an_undefined_constant_leaves_the_worst_value():
    def score(model, X, y):
        return np.nan if not hasattr(model, "theta_") else 0.5

    study = objective(GaussianNB(), scoring=score).create_study()
    assert np.isnan(Baselines.read(study).constant[0])
    assert worst(study) == [1.0, 1.0]


def test_a_measure_that_needs_the_estimator_has_no_constant():
    depth = Measure("depth", fold=lambda fold: fold.estimator.get_depth())
    study = objective(TREE, measures=["error", depth]).create_study()
    constant = Baselines.read(study).constant
    assert 0 < constant[0] < 1
    assert np.isnan(constant[1])


def test_an_estimator_that_fails_on_all_features_has_no_such_baseline():
    study = objective(Breaking(most=3)).create_study()
    baselines = Baselines.read(study)
    assert baselines.all_features is None
    assert baselines.constant is not None


def test_baselines_are_evaluated_once(tmp_path, open_sqlite):
    storage = open_sqlite(tmp_path / "a.db")
    CountingTree.fits.clear()
    found = objective(CountingTree(max_depth=2))
    for name in "ab":
        found.create_study(storage=storage, study_name=name)
    assert len(CountingTree.fits) == 3
    again = objective(CountingTree(max_depth=2))
    study = again.create_study(storage=storage, study_name="a", load_if_exists=True)
    assert len(CountingTree.fits) == 3
    assert Baselines.read(study) == found.baselines


def test_several_learners_share_all_this():
    learners = {"bayes": (GaussianNB(), None), "tree": (DecisionTreeClassifier(), DEPTH)}
    found = ModelTypeObjective(
        learners, X, Y, representation="mask", measures=["error", "n_features"], cv=3
    )
    assert len(found.holdout_rows) == 18
    study = found.create_study(sampler=RandomSampler(seed=0))
    study.optimize(found, n_trials=3)
    assert read_losses(study.trials[0]).values.mean() == pytest.approx(
        study.trials[0].values[0], abs=0.02
    )
    assert read_losses(study.trials[0], "holdout") is not None
    assert Baselines.read(study).all_features is None
    assert worst(study)[0] == Baselines.read(study).constant[0]


# ---- objectives on some rows ------------------------------------------------------------------


def test_an_objective_on_some_rows_is_one_of_a_smaller_table():
    rows = np.random.default_rng(0).permutation(N)[:60]
    whole = objective(holdout=0.2, space=DEPTH, groups=np.arange(N) // 2)
    part = whole.on_rows(rows)
    same = objective(X=X[rows], y=Y[rows], space=DEPTH, groups=rows // 2)
    assert part.holdout_rows is None
    assert part.data.shape == (60, P)
    assert [t.values for t in run(part).trials] == [t.values for t in run(same).trials]
    # The original is unchanged.
    assert whole.data.shape[0] == whole.search_rows.size == N - len(whole.holdout_rows)
    assert type(part) is type(whole)
    assert part.estimator is whole.estimator


def test_an_objective_on_some_rows_can_have_another_target():
    whole = objective()
    assert whole.baselines.all_features[0] < 0.3
    permuted = np.random.default_rng(0).permutation(Y)
    part = whole.on_rows(np.arange(N), y=permuted)
    np.testing.assert_array_equal(part.data.y, permuted)
    assert part.baselines.all_features[0] > 0.4
    with pytest.raises(ValueError, match="does not match"):
        part.attach(whole.create_study())


@pytest.mark.parametrize(
    "cv", [PredefinedSplit(np.arange(N) % 3), iter([(np.arange(40), np.arange(40, N))])]
)
def test_given_folds_are_kept_on_some_rows(cv):
    whole = objective(cv=cv)
    rows = np.arange(N)[::-2]
    part = whole.on_rows(rows).on_rows(np.arange(len(rows)))
    for (train, test), (some_train, some_test) in zip(
        whole.evaluator.splits, part.evaluator.splits, strict=True
    ):
        assert set(rows[some_train]) == set(train) & set(rows)
        assert set(rows[some_test]) == set(test) & set(rows)


def test_rows_that_do_not_exist():
    with pytest.raises(ValueError, match=f"rows must hold numbers of rows from 0 to {N - 1}"):
        objective().on_rows([0, N])


def test_another_holdout_is_refused():
    study = objective(holdout=0.2).create_study()
    with pytest.raises(ValueError, match=r"holdout: 18 rows \w+ in the study, none now"):
        objective(holdout=None).attach(study)
    objective(holdout=0.2).attach(study)


def test_numbers_need_a_regressor():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"214 different numbers in 442 rows.*Pass a regressor"):
        FeatureSelectionObjective(GaussianNB(), X, y)
