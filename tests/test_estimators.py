"""Copies of estimators."""

from __future__ import annotations

import pytest
from catboost import CatBoostClassifier
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from optuna_mofs import FeatureSelectionSearchCV
from optuna_mofs._estimators import (
    accepts_outputs,
    check_is_estimator,
    own_params,
    unfitted_copy,
)


def test_a_copy_is_not_fitted():
    fitted = GaussianNB(var_smoothing=0.5).fit([[0.0], [1.0]], [0, 1])
    copied = unfitted_copy(fitted)
    assert copied.var_smoothing == 0.5
    assert not hasattr(copied, "classes_")


def test_catboost_copies_its_lists():
    model = make_pipeline(CatBoostClassifier(cat_features=["city"]))
    with pytest.raises(RuntimeError, match="Cannot clone"):
        clone(model)
    copied = unfitted_copy(model)
    copied[0].set_params(cat_features=["job"])
    assert model[0].get_params()["cat_features"] == ["city"]


def test_other_errors_are_raised():
    class Broken(BaseEstimator):
        def __init__(self):
            raise RuntimeError("no license")

    with pytest.raises(RuntimeError, match="no license"):
        unfitted_copy(Broken.__new__(Broken))


def test_which_estimators_accept_several_targets():
    labels = [RidgeClassifier(), KNeighborsClassifier(), MultiOutputClassifier(SVC())]
    assert all(accepts_outputs(estimator, labels=True) for estimator in labels)
    assert not accepts_outputs(RidgeClassifier())
    assert accepts_outputs(make_pipeline(StandardScaler(), GridSearchCV(Ridge(), {})))
    assert not accepts_outputs(GridSearchCV(SVR(), {}))


@pytest.mark.parametrize("given", [None, "svm", StandardScaler.fit, GaussianNB])
def test_what_is_no_estimator_is_refused(given):
    with pytest.raises((TypeError, ValueError), match=r"estimator must (have|be an instance)"):
        check_is_estimator(given)
    with pytest.raises((TypeError, ValueError), match=r"estimator must (have|be an instance)"):
        FeatureSelectionSearchCV(given).fit([[0.0], [1.0]], [0, 1])


def test_a_copy_is_that_of_scikit_learn():
    model = make_pipeline(StandardScaler(with_mean=False), "passthrough", SVC(C=2.0))
    found = unfitted_copy(model.fit([[0.0], [1.0]], [0, 1]))
    expected = clone(model)
    assert repr(found) == repr(expected)
    assert found.steps is not model.steps
    for (_, own), (_, other) in zip(found.steps, expected.steps):
        assert type(own) is type(other)
        assert getattr(own, "__dict__", None) == getattr(other, "__dict__", None)


def test_copies_keep_requests_outputs_and_parameters_that_are_objects():
    scaler = StandardScaler().set_output(transform="pandas")
    assert vars(unfitted_copy(scaler)) == vars(clone(scaler))
    with config_context(enable_metadata_routing=True):
        svc = SVC().set_fit_request(sample_weight=True)
        assert repr(unfitted_copy(svc)._metadata_request) == repr(svc._metadata_request)
    weights = {0: 1.0, 1: 2.0}
    assert unfitted_copy(SVC(class_weight=weights)).class_weight is not weights


@pytest.mark.parametrize("estimator", [SVC(), make_pipeline(StandardScaler(), SVC())])
def test_own_parameters_are_those_of_scikit_learn(estimator):
    assert own_params(estimator) == estimator.get_params(deep=False)
    assert own_params("passthrough") is None
