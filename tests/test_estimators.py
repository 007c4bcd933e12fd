"""Copies of estimators."""

from __future__ import annotations

import pytest
from catboost import CatBoostClassifier
from sklearn.base import BaseEstimator, clone
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from optuna_mofs._estimators import unfitted_copy


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
