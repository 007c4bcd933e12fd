"""The chosen model: predictions, selected columns, tags, scores."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from optuna_mofs.model_selection._chosen_model import accepts_missing
from tests.model_selection.searches import quick_search


def test_predictions_are_those_of_the_model(fitted, wine):
    X, y = wine
    model = fitted.best_estimator_
    for method in ("predict", "predict_proba", "predict_log_proba"):
        np.testing.assert_array_equal(getattr(fitted, method)(X), getattr(model, method)(X))
    assert fitted.score(X, y) == model.score(X, y)
    assert fitted.classes_.tolist() == [0, 1, 2]
    # Of a DataFrame, the model itself needs only its columns.
    few = X.loc[:, fitted.support_]
    np.testing.assert_array_equal(model.predict(few), fitted.predict(X))


def test_two_columns_of_one_name_are_refused(fitted, wine):
    X, y = wine
    twice = X.set_axis([X.columns[1], *X.columns[1:]], axis=1)
    with pytest.raises(ValueError, match="'malic_acid' occurs twice"):
        quick_search().fit(twice, y)
    with pytest.raises(ValueError, match="'malic_acid' occurs twice"):
        fitted.predict(twice)


def test_methods_are_those_of_the_estimator(fitted):
    assert not hasattr(fitted, "decision_function")
    assert hasattr(quick_search(), "predict_proba")
    assert not hasattr(quick_search(estimator=Ridge()), "predict_proba")
    with pytest.raises(NotFittedError):
        quick_search().predict([[1.0]])


def test_without_refit_there_is_no_model(fitted, wine):
    search = copy.copy(fitted).select(refit=False)
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "classes_")
    with pytest.raises(AttributeError, match=r"predict"):
        search.predict(wine[0])
    assert search.transform(wine[0]).shape[1] == search.n_features_
    assert hasattr(search.select(refit=True), "predict")
    assert not hasattr(quick_search(refit=False), "predict")


def test_it_is_a_selector(fitted, wine):
    X, _ = wine
    names = fitted.get_feature_names_out()
    assert names.tolist() == X.columns[fitted.get_support()].tolist()
    assert fitted.get_support(indices=True).tolist() == np.flatnonzero(fitted.support_).tolist()
    np.testing.assert_array_equal(fitted.transform(X), X[names])
    back = fitted.inverse_transform(fitted.transform(X))
    assert back.shape == X.shape
    assert (back[:, ~fitted.support_] == 0).all()


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output(wine, container):
    frame = pytest.importorskip(container)
    search = quick_search().set_output(transform=container).fit(*wine)
    out = search.transform(wine[0])
    assert isinstance(out, frame.DataFrame)
    assert list(out.columns) == search.get_feature_names_out().tolist()


def test_other_columns_are_refused(fitted, wine):
    X, y = wine
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="12 features"):
        fitted.score(X.to_numpy()[:, 1:], y)


def test_the_score_of_several_scorers_is_that_of_refit(wine):
    X, y = wine
    search = quick_search(scoring=["accuracy", "roc_auc_ovr"], refit="roc_auc_ovr").fit(X, y)
    assert search.multimetric_
    assert set(search.scorer_) == {"accuracy", "roc_auc_ovr"}
    probabilities = search.predict_proba(X)
    assert search.score(X, y) == roc_auc_score(y, probabilities, multi_class="ovr")
    search.select(refit="accuracy")
    assert search.score(X, y) == np.mean(search.predict(X) == y)


def test_arguments_of_score_need_routing(fitted, wine):
    with pytest.raises(ValueError, match="only if metadata routing is enabled"):
        fitted.score(*wine, sample_weight=np.ones(178))


def test_tags_are_those_of_the_estimator():
    tags = get_tags(quick_search(estimator=HistGradientBoostingClassifier()))
    assert tags.estimator_type == "classifier"
    assert tags.input_tags.allow_nan
    assert tags.transformer_tags is not None
    assert get_tags(quick_search(estimator=Ridge())).estimator_type == "regressor"


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (LogisticRegression(), False),
        (HistGradientBoostingClassifier(), True),
        (make_pipeline(SimpleImputer(), LogisticRegression()), True),
        (make_pipeline(StandardScaler(), LogisticRegression()), True),  # the scaler keeps them
        (make_pipeline("passthrough", LogisticRegression()), True),
        (make_pipeline(make_column_transformer((StandardScaler(), [0])), Ridge()), True),
    ],
)
def test_the_first_step_decides_about_missing_values(estimator, expected):
    assert accepts_missing(estimator) == expected


def test_missing_values_in_unused_columns_are_refused(wine):
    X, y = np.array(wine[0]), wine[1]
    search = quick_search(estimator=LogisticRegression(max_iter=50), param_distributions=None)
    search.fit(X, y)
    unused = int(np.flatnonzero(~search.support_)[0])
    X[0, unused] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        search.predict(X)
