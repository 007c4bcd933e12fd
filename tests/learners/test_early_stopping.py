from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from optuna_mofs.learners import EarlyStoppingClassifier, EarlyStoppingRegressor
from optuna_mofs.learners._early_stopping import validation_split


def make(library, task, n_estimators=100, **options):
    module = pytest.importorskip(library)
    short = {"xgboost": "XGB", "lightgbm": "LGBM"}[library]
    quiet = {"verbosity": 0} if library == "xgboost" else {"verbose": -1}
    cls = getattr(module, short + task)
    booster = cls(n_estimators=n_estimators, n_jobs=1, learning_rate=0.2, **quiet)
    wrapper = EarlyStoppingClassifier if task == "Classifier" else EarlyStoppingRegressor
    return wrapper(booster, **options)


def conforming():
    for library in ("xgboost", "lightgbm"):
        try:
            yield make(library, "Classifier", 20)
            yield make(library, "Regressor", 20)
        except pytest.skip.Exception:
            continue


def expected_failures(estimator):
    reason = "a repeated row may be fitted once and watched once, a weighted row cannot"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(list(conforming()), expected_failed_checks=expected_failures)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@settings(max_examples=60)
@given(
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    fraction=st.floats(0.01, 0.99),
    seed=st.integers(0, 1000),
)
def test_split_is_stratified_and_keeps_every_class(counts, fraction, seed):
    codes = np.repeat(np.arange(len(counts)), counts)
    np.random.default_rng(seed).shuffle(codes)
    n = len(codes)
    fit, watch = validation_split(n, fraction, seed, codes)
    np.testing.assert_array_equal(np.sort(np.concatenate([fit, watch])), np.arange(n))
    assert set(codes[fit]) == set(codes)
    spare = n - len(counts)
    assert len(watch) == min(max(1, round(fraction * n)), spare)
    for code, count in enumerate(counts):
        share = len(watch) * (count - 1) / max(spare, 1)
        assert abs((codes[watch] == code).sum() - share) <= 1 + 1e-9
    again = validation_split(n, fraction, seed, codes)
    np.testing.assert_array_equal(again[1], watch)


def test_split_without_classes():
    fit, watch = validation_split(50, 0.2, 3)
    assert (len(fit), len(watch)) == (40, 10)
    assert not np.array_equal(watch, validation_split(50, 0.2, 4)[1])
    assert len(validation_split(1, 0.2, 0)[1]) == 0


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
class TestBoth:
    def test_it_stops_early_and_learns(self, library):
        X, y = load_breast_cancer(return_X_y=True)
        model = make(library, "Classifier", 2000, random_state=0)
        assert cross_val_score(model, X, y, cv=3).mean() > 0.92
        model.fit(X, y)
        assert 1 <= model.n_rounds_ < 400
        assert len(model.validation_rows_) == 57
        X, y = load_diabetes(return_X_y=True)
        model = make(library, "Regressor", 2000, random_state=0)
        assert cross_val_score(model, X, y, cv=3).mean() > 0.3
        assert 1 <= model.fit(X, y).n_rounds_ < 400

    def test_more_patience_never_stops_sooner(self, library):
        X, y = load_diabetes(return_X_y=True)
        rounds = [
            make(library, "Regressor", 300, patience=p, random_state=0).fit(X, y).n_rounds_
            for p in (1, 10, 100)
        ]
        assert rounds == sorted(rounds)
        assert rounds[0] < rounds[2]

    def test_watched_rows_are_not_fitted(self, library):
        X, y = load_diabetes(return_X_y=True)
        model = make(library, "Regressor", 30, patience=30, random_state=0).fit(X, y)
        rows = np.setdiff1d(np.arange(len(X)), model.validation_rows_)
        alone = clone(model.booster).set_params(n_estimators=model.n_rounds_)
        alone.set_params(random_state=model.booster_.random_state).fit(X[rows], y[rows])
        np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-5)

    @pytest.mark.parametrize("labels", [["no", "yes"], [-1, 1], [3, 7], [False, True]])
    def test_labels_of_any_kind(self, library, labels):
        X, y = load_breast_cancer(return_X_y=True)
        y = pd.Series(np.asarray(labels)[y], index=np.arange(len(y)) + 100)
        for patience in (None, 5):
            model = make(library, "Classifier", 20, patience=patience).fit(X, y)
            assert list(model.classes_) == labels
            assert (model.predict(X) == y.to_numpy()).mean() > 0.95

    def test_no_patience_fits_every_row(self, library):
        X, y = load_diabetes(return_X_y=True)
        model = make(library, "Regressor", 20, patience=None, random_state=0).fit(X, y)
        alone = clone(model.booster).set_params(random_state=model.booster_.random_state)
        np.testing.assert_allclose(model.predict(X), alone.fit(X, y).predict(X), rtol=1e-6)
        assert model.n_rounds_ == 20
        assert len(model.validation_rows_) == 0

    def test_parameters_reach_the_booster(self, library):
        model = clone(make(library, "Classifier")).set_params(
            booster__max_depth=3, booster__learning_rate=0.07, patience=4
        )
        assert model.get_params()["booster__max_depth"] == 3
        X, y = load_breast_cancer(return_X_y=True)
        model.fit(X, y)
        assert model.booster_.get_params()["learning_rate"] == 0.07
        assert model.booster is not model.booster_
        assert model.booster.get_params()["random_state"] is None

    def test_seed_decides(self, library):
        X, y = load_diabetes(return_X_y=True)
        one, two, three = (
            make(library, "Regressor", random_state=seed).set_params(booster__subsample=0.5)
            for seed in (1, 1, 2)
        )
        first = one.fit(X, y).predict(X)
        np.testing.assert_array_equal(first, two.fit(X, y).predict(X))
        assert not np.array_equal(first, three.fit(X, y).predict(X))

    def test_booster_is_seeded_unless_it_has_its_own(self, library):
        X, y = load_diabetes(return_X_y=True)
        model = make(library, "Regressor", 3, patience=None)
        assert model.fit(X, y).booster_.random_state is None
        seeds = {model.set_params(random_state=s).fit(X, y).booster_.random_state for s in (1, 2)}
        assert len(seeds - {None}) == 2
        model.set_params(booster__random_state=7)
        assert model.fit(X, y).booster_.random_state == 7

    def test_odd_names_gaps_one_column_and_pickling(self, library):
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        X = X.iloc[:, [20]].rename(columns=lambda name: f'[{name}], <"x": 1>')
        X.iloc[::7, 0] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # LightGBM before 4.6 with an argument that scikit-learn has renamed.
            warnings.filterwarnings("ignore", "'force_all_finite'", FutureWarning)
            model = make(library, "Classifier", 30).fit(X, y)
            predicted = model.predict(X)
        assert list(model.feature_names_in_) == list(X.columns)
        assert model.feature_importances_.shape == (1,)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), predicted)

    def test_a_class_of_one_row_is_fitted(self, library):
        X, y = load_breast_cancer(return_X_y=True)
        y[5] = 2
        for seed in range(5):
            model = make(library, "Classifier", 5, random_state=seed).fit(X, y)
            assert 5 not in model.validation_rows_
            assert model.predict_proba(X).shape == (len(X), 3)

    def test_weights_are_used(self, library):
        X, y = load_breast_cancer(return_X_y=True)
        weight = np.where(y == 1, 1e-3, 1.0)
        model = make(library, "Classifier", 20, random_state=0)
        plain = (model.fit(X, y).predict(X) == 1).sum()
        assert (model.fit(X, y, sample_weight=weight).predict(X) == 1).sum() < plain

    def test_one_class_raises(self, library):
        with pytest.raises(ValueError, match="one class"):
            make(library, "Classifier").fit(np.eye(4), ["a"] * 4)

    @pytest.mark.parametrize("option", [{"patience": 0}, {"patience": 1.5}])
    def test_bad_patience(self, library, option):
        with pytest.raises(ValueError, match="patience must be an integer of at least 1"):
            make(library, "Regressor", **option).fit(np.eye(4), np.arange(4))

    @pytest.mark.parametrize("fraction", [0, 1, -0.1, "a"])
    def test_bad_fraction(self, library, fraction):
        with pytest.raises(ValueError, match="validation_fraction"):
            make(library, "Regressor", validation_fraction=fraction).fit(np.eye(4), np.arange(4))


def test_other_estimators_only_without_patience():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(TypeError, match="booster must be an xgboost, lightgbm or catboost"):
        EarlyStoppingClassifier(SVC()).fit(X, y)
