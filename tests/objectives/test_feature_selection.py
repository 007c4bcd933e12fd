"""Evaluation of trials: kinds of data, folds, leakage, weights, spaces, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import optuna
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import TrialState
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupKFold, TimeSeriesSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from optuna_mofs import (
    FilterEnsembleFeatures,
    MaskFeatures,
    SingleFilterFeatures,
    enqueue_features,
    fold_scores,
    selected_features,
    selected_mask,
)
from optuna_mofs.features._stability import selection_instability
from optuna_mofs.filters import FilterEnsemble

from .learners import CountingTree, Watching
from .wine import DEPTH, TREE, P, X, Y, expected_error, objective, run

# ---- data of every kind -----------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.coo_matrix, pd.DataFrame])
@pytest.mark.parametrize("labels", ["two", "three", "words"])
def test_classification_with_every_container(make, labels):
    y = {"two": Y > 0, "three": Y, "words": np.array(["red", "rosé", "white"])[Y]}[labels]
    found = objective(X=make(X), y=y, space=DEPTH)
    study = run(found)
    for trial in study.trials:
        assert trial.state == TrialState.COMPLETE
        errors = expected_error(found, study, trial)
        assert fold_scores(trial)["error"] == pytest.approx(errors.tolist())
        assert trial.user_attrs["fold_std"] == pytest.approx(errors.std(ddof=1), abs=1e-6)
        assert trial.values[0] == pytest.approx(errors.mean())
        assert trial.values[1] == pytest.approx(selected_mask(study, trial).mean())


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_regression(scoring):
    found = objective(
        DecisionTreeRegressor(max_depth=2), y=X[:, 0] + X[:, 5], space=DEPTH, scoring=scoring
    )
    study = run(found)
    scorer = check_scoring(found.estimator, scoring)
    for trial in study.trials:
        columns = np.flatnonzero(selected_mask(study, trial))
        model = found.estimator_for(trial).named_steps["estimator"]
        scores = cross_val_score(
            model, X[:, columns], found.data.y, cv=found.evaluator.splits, scoring=scorer
        )
        assert trial.values[0] == pytest.approx(np.mean(-scores if scoring else 1 - scores))


def test_dataframes_reach_the_estimator_with_their_types(frame):
    data, y = frame
    Watching.seen.clear()
    found = objective(Watching(), data, y, filters=["information_gain"])
    study = run(found, trials=12)
    sizes = set()
    for seen in Watching.seen:
        part = seen["X"]
        assert isinstance(part, pd.DataFrame)
        assert len(part.columns) >= 1
        sizes.add(len(part.columns))
        pd.testing.assert_series_equal(part.dtypes, data.dtypes[list(part.columns)])
        pd.testing.assert_frame_equal(part, data.loc[part.index, list(part.columns)])
    assert len(sizes) > 1
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    # Also in a refit.
    Watching.seen.clear()
    trial = max(study.trials, key=lambda t: t.values[1])
    model = found.refit(trial)
    part = Watching.seen[-1]["X"]
    pd.testing.assert_frame_equal(part, data[selected_features(study, trial)])
    assert model.predict(data).shape == (90,)


def test_lightgbm_gets_categories_and_missing_values(frame):
    data, y = frame
    # There are few rows, so that small categories must count.
    booster = LGBMClassifier(
        n_estimators=20, min_child_samples=2, min_data_per_group=1, verbose=-1, n_jobs=1
    )
    found = objective(
        booster, data, y, space={"num_leaves": IntDistribution(2, 8)}, filters=["auc"]
    )
    study = found.create_study(sampler=RandomSampler(seed=0))
    enqueue_features(study, ["city", "pay"])
    study.optimize(found, n_trials=3)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    # The target depends on the city: as a category, one split finds it.
    assert study.trials[0].values[0] == 0.0
    model = found.refit(study.trials[0])
    assert (model.predict(data) == y).all()
    booster = model.named_steps["estimator"]
    assert booster.booster_.pandas_categorical == [["Bern", "Oslo", "Rome"]]


# ---- folds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
def test_groups_are_never_split(cv):
    groups = np.arange(len(Y)) // 4
    Watching.seen.clear()

    def shares_group(fold):
        train = {tuple(row) for row in np.asarray(fold.X_train)}
        assert not train & {tuple(row) for row in np.asarray(fold.X_test)}
        return 0.0

    marked = np.column_stack([groups, X])
    found = objective(
        Watching(),
        marked,
        representation=None,
        space={"level": FloatDistribution(0, 1)},
        groups=groups,
        cv=cv,
        measures=["error", shares_group],
    )
    study = run(found, trials=1)
    assert study.trials[0].state == TrialState.COMPLETE
    for seen in Watching.seen:
        assert len({row[0] for row in seen["X"]}) < groups.max() + 1
    for train, test in found.evaluator.splits:
        assert not set(groups[train]) & set(groups[test])


def test_splitters_and_lists_of_splits():
    rng = np.random.default_rng(0)
    order = rng.permutation(len(Y))
    found = objective(X=X[order], y=Y[order], cv=TimeSeriesSplit(3))
    study = run(found, trials=2)
    assert [len(train) for train, _ in found.evaluator.splits] == [23, 45, 67]
    assert len(fold_scores(study.trials[0])["error"]) == 3
    listed = [(np.arange(0, 89, 2), np.arange(1, 89, 2))]
    study = run(objective(cv=iter(listed)), trials=2)
    assert len(fold_scores(study.trials[0])["error"]) == 1
    assert "fold_std" not in study.trials[0].user_attrs


def test_folds_are_the_same_for_all_trials_unless_redrawn():
    def rows(fold):
        return float(fold.test_rows[0] + fold.test_rows[-1] / 1000)

    fixed = objective(representation=None, space=DEPTH, measures=["error", rows])
    redrawn = objective(
        representation=None, space=DEPTH, measures=["error", rows], redraw_folds=True
    )
    assert len({t.values[1] for t in run(fixed, 6).trials}) == 1
    study = run(redrawn, 6)
    assert len({t.values[1] for t in study.trials}) > 1
    # The folds of a trial depend only on its number.
    assert [t.values for t in run(redrawn, 6).trials] == [t.values for t in study.trials]


def test_redrawn_folds_evaluate_duplicates_again():
    found = objective(CountingTree(max_depth=2), redraw_folds=True)
    study = found.create_study()
    CountingTree.fits.clear()  # what is evaluated once, before any trial
    for _ in range(2):
        enqueue_features(study, ["x0", "x1"])
    study.optimize(found, n_trials=2)
    assert len(CountingTree.fits) == 6
    assert "duplicate_of" not in study.trials[1].user_attrs


# ---- filters and leaks ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "features",
    [
        FilterEnsembleFeatures(ranks="fold"),
        FilterEnsembleFeatures(ranks="fold", redundancy_penalty=True),
        SingleFilterFeatures(ranks="fold"),
    ],
)
def test_ranks_of_a_fold_use_no_test_rows(features):
    rng = np.random.default_rng(1)
    data = rng.normal(size=(90, 30))
    y = (data[:, 0] + rng.normal(size=90) > 0).astype(int)
    options = {"filters": ["anova_f", "variance"], "representation": features, "cv": 3}
    first = objective(GaussianNB(), data, y, **options)
    params = {"fraction": 0.2, "filter": "anova_f", "weight_anova_f": 0.9, "weight_variance": 0.5}
    params["redundancy_penalty"] = 0.9

    def masks(found):
        chosen = found.representation.bind(found.ranked_table)
        full = found.table.full_mask(chosen.choose(params))
        return full, found._fold_masks(chosen, params, found.evaluator.splits)

    before, fold_masks = masks(first)
    for k, (_, test) in enumerate(first.evaluator.splits):
        spoiled = data.copy()
        # Replace the test fold: one feature determines the target, the others are noise.
        spoiled[test] = rng.normal(size=(len(test), 30))
        spoiled[test, 29] = 100 * y[test]
        second = objective(GaussianNB(), spoiled, y, **options)
        after, spoiled_masks = masks(second)
        np.testing.assert_array_equal(spoiled_masks[k], fold_masks[k])
        others = [j for j in range(3) if j != k]
        assert any((spoiled_masks[j] != fold_masks[j]).any() for j in others)
        assert (after != before).any()


@pytest.mark.parametrize("alike", [True, False])
def test_redundant_features_add_a_redundancy_penalty(alike, open_sqlite, tmp_path):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(60, 4))
    y = (data[:, 0] > 0).astype(int)
    data = np.hstack([data, data + 0.1 if alike else rng.normal(size=(60, 4))])
    options = {"representation": "filter_ensemble", "filters": ["anova_f", "auc"]}
    first = objective(GaussianNB(), data, y, **options)
    storage = open_sqlite(tmp_path / "study.db")
    study = first.create_study(storage=storage, study_name="a", sampler=RandomSampler(seed=0))
    study.optimize(first, n_trials=1)
    assert ("redundancy_penalty" in study.trials[0].params) == alike
    # Another process decides the same, before it has computed filters.
    again = objective(GaussianNB(), data, y, **options)
    other = again.create_study(
        storage=storage, study_name="a", load_if_exists=True, sampler=RandomSampler(seed=1)
    )
    other.optimize(again, n_trials=1)
    assert other.trials[1].params.keys() == study.trials[0].params.keys()
    # Correlations are computed and stored only if they are needed.
    assert (again.ranked_table.similar is not None) == alike


def test_folds_are_fitted_with_their_own_masks_and_instability_uses_them():
    Watching.seen.clear()
    found = objective(
        Watching(),
        representation=FilterEnsembleFeatures(),
        filters=["anova_f", "auc"],
        measures=["error", "instability"],
    )
    study = run(found, trials=4)
    # The estimator with all features is fitted once, before any trial.
    assert len(Watching.seen) == 3 * (1 + len(study.trials))
    assert any(t.values[1] > 0 for t in study.trials)
    fitted = iter(Watching.seen[3:])
    for trial in study.trials:
        count = int(np.ceil(P * trial.params["fraction"]))
        assert trial.user_attrs["n_features"] == count
        raw = np.array([trial.params["weight_anova_f"], trial.params["weight_auc"]])
        masks = []
        for train, _ in found.evaluator.splits:
            ensemble = FilterEnsemble(["anova_f", "auc"])
            score = ensemble.fit(X[train], Y[train]).aggregate(-np.log1p(-raw))
            chosen = np.sort(np.argsort(-score.round(12), kind="stable")[:count])
            np.testing.assert_array_equal(next(fitted)["X"], X[train][:, chosen])
            masks.append(np.isin(np.arange(P), chosen))
        assert trial.values[1] == pytest.approx(selection_instability(np.array(masks)))


def test_ranks_on_all_data_yield_one_mask():
    with pytest.warns(UserWarning, match="selects the same ones in each fold"):
        found = objective(
            GaussianNB(),
            representation=FilterEnsembleFeatures(ranks="all"),
            measures=["instability"],
        )
    assert {t.values[0] for t in run(found, 5).trials} == {0.0}


@pytest.mark.parametrize("representation", ["mask", None])
def test_the_instability_of_a_mask_is_always_zero_and_a_warning_says_so(representation):
    with pytest.warns(UserWarning, match=r"always 0. Use representation='filter_ensemble'"):
        found = objective(
            GaussianNB(),
            representation=representation,
            space={"var_smoothing": FloatDistribution(1e-9, 1.0, log=True)},
            measures=["error", "instability"],
        )
    assert {t.values[1] for t in run(found, 3).trials} == {0.0}


def test_the_instability_of_a_rule_is_an_objective():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = objective(
            GaussianNB(),
            representation="filter_ensemble",
            measures=["error", "instability"],
        )
    assert len({t.values[1] for t in run(found, 8).trials}) > 1


# ---- weights, costs, groups of columns, fixed features ----------------------------------------


@pytest.mark.parametrize("form", ["alone", "pipeline", "nested"])
def test_weights_reach_the_last_step(form):
    weight = np.linspace(1, 2, len(Y))
    estimator = Watching()
    if form != "alone":
        estimator = make_pipeline(StandardScaler(), estimator)
    if form == "nested":
        estimator = make_pipeline(StandardScaler(), estimator)
    found = objective(estimator, sample_weight=weight)
    study = found.create_study()
    Watching.seen.clear()  # what is evaluated once, before any trial
    enqueue_features(study, ["x1"])
    study.optimize(found, n_trials=1)
    assert study.trials[0].state == TrialState.COMPLETE
    assert len(Watching.seen) == 3
    for seen, (train, _) in zip(Watching.seen, found.evaluator.splits):
        np.testing.assert_array_equal(seen["weight"], weight[train])
    found.refit(study.trials[0])
    np.testing.assert_array_equal(Watching.seen[-1]["weight"], weight)


def test_weights_reach_the_regressor_of_a_transformed_target():
    model = TransformedTargetRegressor(make_pipeline(StandardScaler(), Ridge()))
    y = X[:, 0] * 2
    found = objective(model, y=y, sample_weight=np.linspace(1, 2, len(y)))
    study = run(found, trials=2)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    found.refit(study.trials[0])


@pytest.mark.parametrize("as_mapping", [False, True])
def test_feature_costs_replace_the_fraction(as_mapping):
    costs = np.ones(P)
    costs[[2, 7]] = [5, 0.5]
    given = {"x2": 5, "x7": 0.5} if as_mapping else costs.tolist()
    found = objective(feature_costs=given)
    assert found.metric_names == ["error", "cost"]
    study = run(found, trials=6)
    for trial in study.trials:
        assert trial.values[1] == pytest.approx(costs[selected_mask(study, trial)].sum())
    assert found.measures[1].worst_of(found.table) == pytest.approx(costs.sum())


def test_columns_of_a_group_switch_as_one():
    names = [f"v{j}" for j in range(P)]
    groups = {"first": ["v0", "v4"], "last": ["v10", "v11", "v12"]}
    found = objective(
        Watching(),
        feature_names=names,
        feature_groups=groups,
        fixed_features=["v2"],
        measures=["error", "n_features"],
    )
    assert len(found.table) == P - 3
    study = found.create_study()
    Watching.seen.clear()  # what is evaluated once, before any trial
    enqueue_features(study, ["first", "v3"])
    enqueue_features(study, ["last"])
    study.optimize(found, n_trials=2)
    assert [t.values[1] for t in study.trials] == [3, 2]
    rows = found.evaluator.splits[0][0]
    np.testing.assert_array_equal(Watching.seen[0]["X"], X[rows][:, [0, 2, 3, 4]])
    np.testing.assert_array_equal(Watching.seen[3]["X"], X[rows][:, [2, 10, 11, 12]])
    assert selected_features(study, study.trials[0]) == ["first", "v2", "v3"]
    assert found.features_for(study.trials[0]) == ["first", "v2", "v3"]
    model = found.refit(study.trials[0])
    assert model.named_steps["select"].get_support(indices=True).tolist() == [0, 2, 3, 4]


@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_fixed_features_are_always_selected(features):
    found = objective(representation=features, fixed_features=["x3", "x9"])
    study = run(found, trials=6)
    for trial in study.trials:
        mask = selected_mask(study, trial)
        assert mask[[3, 9]].all()
        assert trial.values[1] == pytest.approx(mask.mean())
    assert not {"x3", "x9"} & set(study.trials[0].params)


# ---- the space --------------------------------------------------------------------------------


def conditional(trial):
    kernel = trial.suggest_categorical("kernel", ["rbf", "linear"])
    params = {"svc__kernel": kernel, "svc__C": trial.suggest_float("C", 0.1, 10, log=True)}
    if kernel == "rbf":
        params["svc__gamma"] = trial.suggest_float("gamma", 0.01, 1)
    return params


def test_a_space_that_is_a_function_of_the_trial():
    found = objective(make_pipeline(StandardScaler(), SVC()), space=conditional)
    study = run(found, trials=8)
    kernels = set()
    for trial in study.trials:
        params = found.params_for(trial)
        kernels.add(params["svc__kernel"])
        assert (
            ("svc__gamma" in params)
            == (params["svc__kernel"] == "rbf")
            == ("gamma" in trial.params)
        )
        assert params["svc__C"] == trial.params["C"]
        model = found.estimator_for(trial).named_steps["estimator"]
        if trial.values[1] > 0:
            assert model.get_params()["svc__C"] == trial.params["C"]
            errors = expected_error(found, study, trial)
            assert trial.values[0] == pytest.approx(errors.mean())
    assert kernels == {"rbf", "linear"}


def test_tuning_without_feature_selection():
    found = objective(space=DEPTH, representation=None)
    study = run(found, trials=3)
    for trial in study.trials:
        assert set(trial.params) == {"max_depth"}
        assert trial.values[1] == 1.0
        assert found.mask_for(trial).all()
        assert found.refit(trial).named_steps["estimator"].max_depth == trial.params["max_depth"]


def test_feature_selection_without_tuning():
    study = run(objective(measures=["error"]), trials=3)
    assert set(study.trials[0].params) == {"mask"}
    assert len(study.trials[0].values) == 1


# ---- bad input before the first trial ---------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": X[:-1]}, "X has 88 rows but y has 89"),
        ({"X": X[:, 0]}, "two dimensions"),
        ({"X": X[:, :0]}, "X has 0 columns"),
        ({"y": np.zeros(len(Y))}, "only one class"),
        ({"y": np.where(Y == 0, np.nan, Y)}, "missing values"),
        ({"y": X[:, 0]}, "got 'continuous' values"),
        ({"space": {}}, "space is empty"),
        ({"space": None, "representation": None}, "nothing to search"),
        ({"space": {"depth": IntDistribution(1, 3)}}, "not a parameter of DecisionTreeClassifier"),
        ({"space": lambda trial: {"depth": 3}}, "Invalid parameter 'depth'"),
        ({"filters": ["anova"]}, "Did you mean 'anova_f'"),
        ({"filters": [], "representation": "filter_ensemble"}, "there are none"),
        ({"representation": "masks"}, "representation must be one of"),
        ({"representation": MaskFeatures}, "representation must be one of"),
        ({"fixed_features": ["x13"]}, "no feature 'x13' among 13"),
        ({"fixed_features": "x1"}, r"list of names, got 'x1'. Pass \['x1'\]"),
        ({"fixed_features": [f"x{j}" for j in range(P)]}, "nothing to search|are fixed"),
        ({"feature_costs": [1, 2, 3]}, r"each of the 13 features, got shape \(3,\)"),
        ({"feature_costs": {"x1": -1}}, "'x1' costs -1"),
        ({"feature_names": ["a"]}, "13 columns but feature_names has 1"),
        ({"feature_groups": {"g": ["y1"]}}, "names no column 'y1'"),
        ({"measures": []}, "measures is empty"),
        ({"measures": ["eror"]}, "Did you mean 'error'"),
        ({"measures": ["error", "error"]}, "different names"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": 200}, "200|members"),
        ({"cv": GroupKFold(3)}, "groups"),
        ({"cv": GroupKFold(3), "redraw_folds": True}, "redraw_folds needs cv to be a number"),
        ({"groups": [1, 2]}, "groups must hold"),
        ({"sample_weight": [1, 2]}, "sample_weight must hold"),
        ({"scoring": "acuracy"}, "acuracy"),
        ({"scoring": ["accuracy", "f1"]}, "one scorer"),
        ({"expected_n_features": 0}, "expected_n_features must be"),
        ({"random_state": None}, "random_state must be an integer"),
        ({"random_state": -1}, "at least 0"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"estimator": "svm"}, "fit and get_params"),
        (
            {"estimator": KNeighborsClassifier(), "sample_weight": np.ones(len(Y))},
            "KNeighborsClassifier.fit does not accept it",
        ),
        ({"estimator": Ridge(), "measures": ["fnr"]}, "need a classifier"),
        ({"estimator": Ridge(), "y": np.array(["a", "b"])[Y % 2]}, "y must hold numbers"),
    ],
)
def test_bad_input_is_refused_before_the_first_trial(options, message):
    with pytest.raises(ValueError, match=message):
        objective(**options)


def test_a_class_instead_of_an_estimator_is_refused():
    with pytest.raises(TypeError, match="instance"):
        objective(DecisionTreeClassifier)


@pytest.mark.parametrize("estimator", [KMeans(), IsolationForest()])
def test_an_estimator_without_a_target_is_refused(estimator):
    with pytest.raises(ValueError, match=r"estimator must be a classifier or a regressor, got"):
        objective(estimator)


def test_choices_that_cannot_be_stored_are_refused():
    space = {"scale": CategoricalDistribution([StandardScaler(), "passthrough"])}
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", TREE)])
    with pytest.raises(ValueError, match=r"space\['scale'\] has the choice StandardScaler\(\)"):
        objective(pipeline, space=space)


def test_a_single_measure_needs_no_list():
    assert objective(measures="error").metric_names == ["error"]


def test_infinite_data_is_refused_when_the_study_is_created():
    spoiled = X.copy()
    spoiled[3, 4] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        objective(X=spoiled).create_study()


def test_a_fixed_trial_is_refused():
    with pytest.raises(ValueError, match=r"got FixedTrial. Enqueue known parameters"):
        objective()(optuna.trial.FixedTrial({}))


def test_logistic_regression_on_sparse_data():
    model = LogisticRegression(max_iter=50)
    found = objective(model, sparse.csr_matrix(X / X.max(axis=0)))
    study = run(found, trials=2)
    assert found.refit(study.trials[0]).predict(sparse.csr_matrix(X)).shape == (len(Y),)
