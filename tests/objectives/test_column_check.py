from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.spaces import get_learner


def table(n: int = 40) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return X, np.arange(n) % 2


def make(estimator: object, X: pd.DataFrame, y: np.ndarray) -> FeatureSelectionObjective:
    return FeatureSelectionObjective(estimator, X, y, filters=["variance"], holdout=None)


def test_texts_are_refused_with_the_remedy() -> None:
    X, y = table()
    X = X.assign(city=["Rome", "Oslo"] * 20, street=["x", None] * 20)
    match = r"LogisticRegression .* texts, which 'city', 'street' hold .*'Rome'.*OneHotEncoder"
    with pytest.raises(ValueError, match=match):
        make(LogisticRegression(), X, y)


def test_dates_are_refused_with_the_remedy() -> None:
    X, y = table()
    X = X.assign(when=pd.date_range("2026-01-01", periods=40))
    with pytest.raises(ValueError, match=r"Ridge .* dates, which 'when' hold .*\.dt\.days"):
        make(Ridge(), X, y)


def test_an_encoder_makes_texts_usable() -> None:
    X, y = table()
    X = X.assign(city=["Rome", "Oslo"] * 20)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        remainder="passthrough",
    )
    make(make_pipeline(encode, LogisticRegression()), X, y)
    make(get_learner("hist_gradient_boosting")[0], X.astype({"city": "category"}), y)


def test_an_estimator_that_fails_on_numbers_too_is_not_judged() -> None:
    X, y = table()
    make(LogisticRegression(C=-1.0), X.assign(city=["Rome", "Oslo"] * 20), y)


def test_a_rare_class_is_among_the_rows() -> None:
    X, _ = table(2000)
    rare = np.zeros(2000, dtype=int)
    rare[[7, 11, 1203, 1999]] = 1
    with pytest.raises(ValueError, match="cannot be fitted on texts"):
        FeatureSelectionObjective(
            LogisticRegression(),
            X.assign(city=["Rome", "Oslo"] * 1000),
            rare,
            filters=["variance"],
            cv=2,
            holdout=None,
        )
