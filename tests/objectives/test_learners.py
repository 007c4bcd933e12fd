"""One learner or several, as suggestions of a trial."""

from __future__ import annotations

import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import FixedTrial, create_trial
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs.objectives.learners import LEARNER, OneLearner, SeveralLearners

COST = FloatDistribution(0.1, 10, log=True)
DEPTH = IntDistribution(1, 9)
GIVEN = {
    "svm": (SVC(), {"C": COST}),
    "tree": (DecisionTreeClassifier(), {"max_depth": DEPTH}),
    "bayes": (GaussianNB(), None),
}


def test_only_the_parameters_of_the_chosen_learner_are_suggested():
    several = SeveralLearners(GIVEN, 7)
    trial = FixedTrial({LEARNER: "tree", "tree__max_depth": 4, "svm__C": 1.0})
    params = several.suggest(trial)
    assert params == {LEARNER: "tree", "max_depth": 4}
    assert set(trial.distributions) == {LEARNER, "tree__max_depth"}
    model = several.configured(params)
    assert isinstance(model, DecisionTreeClassifier)
    assert (model.max_depth, model.random_state) == (4, 7)


def test_finished_trials_are_read_again():
    several = SeveralLearners(GIVEN, 0)
    trial = create_trial(
        params={LEARNER: "svm", "svm__C": 2.0},
        distributions={LEARNER: several.distributions[LEARNER], "svm__C": COST},
        values=[0.0],
    )
    assert several.params_of(trial) == {LEARNER: "svm", "C": 2.0}
    lacking = create_trial(
        params={LEARNER: "svm"},
        distributions={LEARNER: several.distributions[LEARNER]},
        values=[0.0],
    )
    with pytest.raises(ValueError, match="no parameter 'svm__C'"):
        several.params_of(lacking)


def test_conditions_tell_what_is_active():
    several = SeveralLearners(GIVEN, 0)
    assert several.active_if == {
        "svm__C": (LEARNER, ["svm"]),
        "tree__max_depth": (LEARNER, ["tree"]),
    }
    assert set(several.distributions) == {LEARNER, "svm__C", "tree__max_depth"}


def test_a_space_may_be_a_function():
    def space(trial):
        return {"C": 2.0 ** trial.suggest_int("log2_C", -3, 3)}

    several = SeveralLearners({"svm": (SVC(), space), "bayes": (GaussianNB(), None)}, 0)
    params = several.suggest(FixedTrial({LEARNER: "svm", "log2_C": 2}))
    assert several.configured(params).C == 4.0


@pytest.mark.parametrize(
    ("learners", "message"),
    [
        ({}, "dict such as"),
        ([("svm", SVC())], "dict such as"),
        ({"": (SVC(), None)}, "texts as names"),
        ({"svm": SVC()}, "pair"),
        ({"svm": (3, None)}, "fit and get_params"),
        ({"svm": (SVC(), None), "line": (LinearRegression(), None)}, "one kind.*regressor"),
    ],
)
def test_bad_learners_are_refused(learners, message):
    with pytest.raises(ValueError, match=message):
        SeveralLearners(learners, 0)


def test_one_learner_uses_the_names_of_its_parameters():
    one = OneLearner(SVC(), {"C": COST}, 3)
    assert one.suggest(FixedTrial({"C": 5.0})) == {"C": 5.0}
    assert one.configured({"C": 5.0}).random_state == 3
    assert one.active_if == {}
