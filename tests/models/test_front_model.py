from __future__ import annotations

import pickle

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from optuna_mofs import (
    FeatureSelectionObjective,
    FrontRegressor,
    ModelTypeObjective,
    MOEADSampler,
    front_model,
    pareto_front,
    spaces,
)
from optuna_mofs.columns import ColumnSelector
from optuna_mofs.measures._prediction import class_probabilities
from optuna_mofs.models import FrontClassifier

X, Y = load_wine(return_X_y=True)
FRAME = pd.DataFrame(X, columns=[f"w{j}" for j in range(13)])
LOSSES = [[0.0, 3.0], [0.2, 1.0], [1.0, 0.0]]


@parametrize_with_checks(
    [FrontClassifier(), FrontRegressor()]
    + [FrontClassifier(strategy=s) for s in ("knee", "diverse", "focused")]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def members():
    return [
        ("tree", make_pipeline(ColumnSelector([0, 6]), DecisionTreeClassifier(random_state=0))),
        ("bayes", make_pipeline(ColumnSelector([6, 9]), GaussianNB())),
        ("svm", make_pipeline(ColumnSelector([9]), SVC(random_state=0))),
    ]


def test_the_knee_is_the_member_closest_to_the_ideal_point():
    model = FrontClassifier(members(), LOSSES, strategy="knee").fit(X, Y)
    assert model.names_ == ["bayes"]
    alone = members()[1][1].fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X))
    assert model.get_support(indices=True).tolist() == [6, 9]


def test_all_members_vote_by_their_weights():
    model = FrontClassifier(members(), LOSSES).fit(X, Y)
    fitted = [m.fit(X, Y) for _, m in members()]
    # One of them is an SVC, which has no predict_proba.
    parts = [class_probabilities(m, X, np.arange(3)) for m in fitted]
    expected = sum(w * p for w, p in zip(model.weights_, parts))
    np.testing.assert_allclose(model.predict_proba(X), expected)
    assert model.get_support().sum() == 3
    hard = FrontClassifier(members(), LOSSES, voting="hard").fit(X, Y)
    shares = np.unique(hard.predict_proba(X).round(6))
    assert len(shares) <= 2**3


def test_diverse_members_are_a_subset_with_the_closest_first():
    model = FrontClassifier(members(), LOSSES, strategy="diverse").fit(X, Y)
    assert model.names_[0] == "bayes"
    assert 1 <= len(model.estimators_) <= 3
    assert model.weights_.sum() == pytest.approx(1)


@pytest.mark.parametrize("strategy", ["knee", "weighted", "diverse", "focused"])
def test_names_of_columns_and_classes_are_kept_and_it_can_be_pickled(strategy):
    words = np.array(["a", "b", "c"])[Y]
    model = FrontClassifier(members(), LOSSES, strategy=strategy).fit(FRAME, words)
    again = pickle.loads(pickle.dumps(model))
    assert again.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert set(again.predict(FRAME)) <= {"a", "b", "c"}
    assert again.score(FRAME, words) > 0.6
    with pytest.raises(ValueError, match="feature names"):
        again.predict(FRAME.iloc[:, ::-1])


def test_sparse_data_reach_members_that_accept_them():
    model = FrontClassifier([("line", LogisticRegression(C=1e-4))])
    assert model.fit(sparse.csr_matrix(X), Y).predict(sparse.csr_matrix(X)).shape == Y.shape


def test_sample_weights_reach_the_members():
    heavy = np.where(Y == 2, 1000.0, 1e-6)
    model = FrontClassifier([("most", DummyClassifier())])
    assert set(model.fit(X, Y, sample_weight=heavy).predict(X)) == {2}


@pytest.mark.parametrize("strategy", ["knee", "weighted", "diverse", "focused"])
def test_regressors_predict_the_weighted_mean(strategy):
    rows, target = load_diabetes(return_X_y=True)
    both = [("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3, random_state=0))]
    model = FrontRegressor(both, [[0.0, 1.0], [1.0, 0.0]], strategy=strategy).fit(rows, target)
    assert model.score(rows, target) > 0.3
    if strategy == "weighted":
        mean = np.mean([m.fit(rows, target).predict(rows) for _, m in both], axis=0)
        np.testing.assert_allclose(model.predict(rows), mean)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "best"}, "strategy.*best"),
        ({"voting": "loud"}, "voting.*loud"),
        ({"estimators": []}, "empty"),
        ({"losses": [[1.0]]}, "losses.*3 estimators"),
        ({"losses": [[1.0], [np.nan], [2.0]]}, "losses.*finite"),
        ({"losses": [[-1.0], [2.0], [1.0]], "strategy": "focused"}, "never negative"),
    ],
)
def test_bad_options_are_refused_in_fit(options, message):
    with pytest.raises(ValueError, match=message):
        FrontClassifier(**options).fit(X, Y)


MAKING_X, MAKING_Y = load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def searched():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    objective = FeatureSelectionObjective(
        DecisionTreeClassifier(),
        MAKING_X,
        MAKING_Y,
        space={"max_depth": IntDistribution(1, 6)},
        filters=["anova_f"],
        cv=3,
        measures=["error", "fraction"],
    )
    study = objective.create_study(sampler=MOEADSampler(seed=0, population_size=8))
    study.optimize(objective, n_trials=40)
    return objective, study


def test_a_model_from_a_study(searched):
    objective, study = searched
    model = front_model(study, objective)
    front = pareto_front(study, duplicates=False)
    assert model.names_ == [f"trial {trial.number}" for trial in front]
    assert model.score(MAKING_X, MAKING_Y) > 0.9
    assert model.feature_names_in_.tolist() == list(MAKING_X.columns)


def test_each_member_uses_its_own_columns(searched):
    objective, study = searched
    front = pareto_front(study, duplicates=False)
    model = front_model(front, objective)
    masks = np.array([objective.mask_for(trial) for trial in front])
    assert len(np.unique(masks.sum(axis=1))) > 1
    np.testing.assert_array_equal(model.get_support(), masks.any(axis=0))


def test_a_model_from_selected_trials(searched):
    objective, study = searched
    best = pareto_front(study).best("error")
    model = front_model([best], objective, strategy="knee")
    assert (model.predict(MAKING_X) == objective.refit(best).predict(MAKING_X)).all()


def test_an_unfitted_model(searched):
    objective, study = searched
    model = front_model(study, objective, strategy="diverse", fit=False)
    assert not hasattr(model, "estimators_")
    assert model.fit(MAKING_X, MAKING_Y).strategy == "diverse"


def test_a_regression_study_yields_a_regressor():
    rows, target = load_diabetes(return_X_y=True)
    objective = FeatureSelectionObjective(
        Ridge(),
        rows,
        target,
        space={"alpha": FloatDistribution(1e-3, 10, log=True)},
        filters=["anova_f"],
        cv=2,
    )
    study = objective.create_study(sampler=MOEADSampler(seed=0, population_size=4))
    study.optimize(objective, n_trials=8)
    model = front_model(study, objective)
    assert isinstance(model, FrontRegressor)
    assert model.score(rows, target) > 0.2


def test_no_trials_to_combine_are_refused(searched):
    objective, study = searched
    with pytest.raises(ValueError, match="no trials"):
        front_model([], objective)
    with pytest.raises(ValueError, match="have no values"):
        front_model([study.ask()._get_latest_trial()], objective)


def test_the_fronts_of_each_learner_form_one_model():
    learners = {name: spaces.get_learner(name) for name in ("decision_tree", "knn")}
    objective = ModelTypeObjective(
        learners, MAKING_X, MAKING_Y, measures=["brier_loss", "model_size"], cv=2
    )
    study = objective.create_study(sampler=MOEADSampler(seed=0, population_size=8))
    study.optimize(objective, n_trials=16)
    model = front_model(study, objective, strategy="focused", by="learner")
    text = " ".join(str(member) for member in model.estimators_)
    assert "DecisionTreeClassifier" in text
    assert "KNeighborsClassifier" in text
    with pytest.raises(ValueError, match="needs a study"):
        front_model(study.trials, objective, by="learner")
