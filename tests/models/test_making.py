from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import (
    FeatureSelectionObjective,
    FrontRegressor,
    ModelTypeObjective,
    MOEADSampler,
    front_model,
    pareto_front,
    spaces,
)

X, Y = load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def searched():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    objective = FeatureSelectionObjective(
        DecisionTreeClassifier(),
        X,
        Y,
        space={"max_depth": IntDistribution(1, 6)},
        filters=["anova_f"],
        cv=3,
        measures=["error", "fraction"],
    )
    study = objective.create_study(sampler=MOEADSampler(seed=0, population_size=8))
    study.optimize(objective, n_trials=40)
    return objective, study


def test_one_line_from_a_study(searched):
    objective, study = searched
    model = front_model(study, objective)
    front = pareto_front(study, duplicates=False)
    assert model.names_ == [f"trial {trial.number}" for trial in front]
    assert model.score(X, Y) > 0.9
    assert model.feature_names_in_.tolist() == list(X.columns)


def test_each_member_sees_its_own_columns(searched):
    objective, study = searched
    front = pareto_front(study, duplicates=False)
    model = front_model(front, objective)
    masks = np.array([objective.mask_for(trial) for trial in front])
    assert len(np.unique(masks.sum(axis=1))) > 1
    np.testing.assert_array_equal(model.get_support(), masks.any(axis=0))


def test_trials_of_your_choice_and_the_single_model(searched):
    objective, study = searched
    best = pareto_front(study).best("error")
    model = front_model([best], objective, strategy="knee")
    assert (model.predict(X) == objective.refit(best).predict(X)).all()


def test_unfitted_on_request(searched):
    objective, study = searched
    model = front_model(study, objective, strategy="diverse", fit=False)
    assert not hasattr(model, "estimators_")
    assert model.fit(X, Y).strategy == "diverse"


def test_regressors_are_made_for_regression():
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


def test_nothing_to_make_a_model_of(searched):
    objective, study = searched
    with pytest.raises(ValueError, match="no trials"):
        front_model([], objective)
    with pytest.raises(ValueError, match="have no values"):
        front_model([study.ask()._get_latest_trial()], objective)


def test_the_fronts_of_each_learner_make_one_model():
    learners = {name: spaces.learner(name) for name in ("decision_tree", "knn")}
    objective = ModelTypeObjective(learners, X, Y, measures=["brier", "model_size"], cv=2)
    study = objective.create_study(sampler=MOEADSampler(seed=0, population_size=8))
    study.optimize(objective, n_trials=16)
    model = front_model(study, objective, strategy="focused", each="learner")
    said = " ".join(str(member) for member in model.estimators_)
    assert "DecisionTreeClassifier" in said
    assert "KNeighborsClassifier" in said
    with pytest.raises(ValueError, match="needs a study"):
        front_model(study.trials, objective, each="learner")
