from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import IntDistribution
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import fbeta_score, make_scorer, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import FeatureSelectionObjective, ModelTypeObjective
from optuna_mofs.objectives._fingerprint import comparable_conditions

X, Y = load_wine(return_X_y=True)
TREE = DecisionTreeClassifier(max_depth=2)


def _objective(**changes: Any) -> FeatureSelectionObjective:
    options: dict[str, Any] = {"estimator": GaussianNB(), "X": X, "y": Y, "filters": ()}
    return FeatureSelectionObjective(**{**options, **changes})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"X": X[:-5], "y": Y[:-5]}, "rows: 178 rows in the study, 173 rows now"),
        ({"X": np.roll(X, 1, axis=0)}, "table: X "),
        ({"y": np.roll(Y, 1)}, "target: "),
        ({"cv": 3}, "folds: 5 folds"),
        ({"random_state": 7}, "folds: "),
        ({"holdout": 0.25}, "holdout: 36 rows"),
        ({"holdout": None}, "none now"),
        ({"redraw_folds": True}, "5 drawn again for each trial now"),
        ({"scoring": "balanced_accuracy"}, "scoring: the estimator's own in the study"),
        ({"sample_weight": np.ones(178)}, "weights: none in the study"),
        (
            {"estimator": make_pipeline(StandardScaler(), GaussianNB())},
            "estimator: GaussianNB in the study, StandardScaler + GaussianNB now",
        ),
    ],
)
def test_incomparable_conditions_are_refused(changes: dict[str, Any], named: str) -> None:
    study = _objective().create_study()
    with pytest.raises(ValueError, match="does not match") as refused:
        _objective(**changes).attach(study)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        (
            TREE,
            DecisionTreeClassifier(max_depth=3),
            "max_depth=2 in the study, max_depth=3",
        ),
        (TREE, DecisionTreeClassifier(), "max_depth=2 in the study, the estimator's own defaults"),
        (
            make_pipeline(StandardScaler(), GaussianNB()),
            make_pipeline(StandardScaler(with_mean=False), GaussianNB()),
            "standardscaler__with_mean=False now",
        ),
        (
            make_pipeline(FunctionTransformer(np.log1p), GaussianNB()),
            make_pipeline(FunctionTransformer(np.sqrt), GaussianNB()),
            "functiontransformer__func=sqrt now",
        ),
        (
            make_pipeline(ColumnTransformer([("all", StandardScaler(), [0, 1])]), GaussianNB()),
            make_pipeline(ColumnTransformer([("all", MinMaxScaler(), [0, 1])]), GaussianNB()),
            "columntransformer__transformers=[['all', MinMaxScaler, [0, 1]]] now",
        ),
    ],
)
def test_another_model_is_refused(before: Any, after: Any, named: str) -> None:
    study = _objective(estimator=before).create_study()
    _objective(estimator=clone(before)).attach(study)
    with pytest.raises(ValueError, match="does not match") as refused:
        _objective(estimator=after).attach(study)
    assert named in str(refused.value)


def test_searched_and_technical_parameters_are_ignored() -> None:
    space = {"max_depth": IntDistribution(1, 5)}
    study = _objective(estimator=DecisionTreeClassifier(), space=space).create_study()
    _objective(estimator=TREE, space=space).attach(study)
    forests = [RandomForestClassifier(n_jobs=jobs, verbose=jobs) for jobs in (1, 2)]
    _objective(estimator=forests[1]).attach(_objective(estimator=forests[0]).create_study())


def test_long_lists_are_distinguished() -> None:
    def first(count: int) -> Any:
        columns = [("all", StandardScaler(), [f"column {j}" for j in range(count)])]
        return make_pipeline(ColumnTransformer(columns), GaussianNB())

    texts = [
        comparable_conditions(_objective().data, [first(count)], make_scorer(roc_auc_score), 5)
        for count in (400, 401)
    ]
    assert texts[0]["parameters"] != texts[1]["parameters"]
    assert len(texts[0]["parameters"]) < 200


def test_the_parameters_of_each_learner_count() -> None:
    def several(depth: int) -> ModelTypeObjective:
        tree = DecisionTreeClassifier(max_depth=depth)
        learners = {"tree": (tree, None), "bayes": (GaussianNB(), None)}
        return ModelTypeObjective(learners, X, Y)

    study = several(2).create_study()
    several(2).attach(study)
    with pytest.raises(ValueError, match="max_depth=2 in the study, max_depth=3 now"):
        several(3).attach(study)


def test_equal_conditions_are_accepted() -> None:
    study = _objective(scoring="f1_macro").create_study()
    _objective(scoring="f1_macro").attach(study)


@pytest.mark.parametrize("kind", [pd.DataFrame, sparse.csr_array, lambda table: table[::, :]])
def test_tables_of_all_kinds_are_recognized(kind: Any) -> None:
    study = _objective(X=kind(X)).create_study()
    _objective(X=kind(X.copy())).attach(study)
    other = X.copy()
    other[3, 2] += 1e-9
    with pytest.raises(ValueError, match="table: X"):
        _objective(X=kind(other)).attach(study)


def test_a_study_of_an_own_objective_has_no_conditions() -> None:
    study = optuna.create_study(directions=["minimize"] * 2)
    _objective().attach(study)


def test_scorers_are_distinguished_by_sign_and_response_method() -> None:
    scorers = [
        make_scorer(roc_auc_score),
        make_scorer(roc_auc_score, greater_is_better=False),
        make_scorer(roc_auc_score, response_method="predict_proba"),
    ]
    names = [
        comparable_conditions(_objective().data, [GaussianNB()], s, 5)["scoring"] for s in scorers
    ]
    assert names == ["roc_auc_score", "-roc_auc_score", "roc_auc_score of 'predict_proba'"]


def test_scorers_are_distinguished_by_their_options() -> None:
    names = [
        comparable_conditions(
            _objective().data, [GaussianNB()], make_scorer(fbeta_score, beta=beta), 5
        )["scoring"]
        for beta in (1, 2)
    ]
    assert names == ["fbeta_score {'beta': 1}", "fbeta_score {'beta': 2}"]
