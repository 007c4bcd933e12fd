"""Copies of estimators."""

from __future__ import annotations

import pytest
from catboost import CatBoostClassifier
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
from optuna_mofs._estimators import accepts_outputs, check_is_estimator, unfitted_copy


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
