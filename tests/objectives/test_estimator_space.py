"""One estimator or several, and the parameters that trials suggest for them."""

from __future__ import annotations

import json
import math

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FixedTrial, create_trial
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs.features import FeatureTable, FilterEnsembleFeatures, MaskFeatures
from optuna_mofs.objectives._estimator_space import (
    LEARNER,
    EstimatorChoice,
    EstimatorSpace,
    default_value,
    replay,
)
from optuna_mofs.study._description import PER_FEATURE

COST = FloatDistribution(0.1, 10, log=True)
DEPTH = IntDistribution(1, 9)
TABLE = FeatureTable(("a", "C", "b"), filters=("auc",))
PIPE = make_pipeline(StandardScaler(), SVC())
UNIT = FloatDistribution(0, 1)
PACKED = MaskFeatures(form="packed")

GIVEN = {
    "svm": (SVC(), {"C": COST}),
    "tree": (DecisionTreeClassifier(), {"max_depth": DEPTH}),
    "bayes": (GaussianNB(), None),
}


def test_only_the_parameters_of_the_chosen_learner_are_suggested():
    several = EstimatorChoice(GIVEN, 7)
    trial = FixedTrial({LEARNER: "tree", "tree__max_depth": 4, "svm__C": 1.0})
    params = several.suggest(trial)
    assert params == {LEARNER: "tree", "max_depth": 4}
    assert set(trial.distributions) == {LEARNER, "tree__max_depth"}
    model = several.configure(params)
    assert isinstance(model, DecisionTreeClassifier)
    assert (model.max_depth, model.random_state) == (4, 7)


def test_parameters_of_completed_trials_are_read_back():
    several = EstimatorChoice(GIVEN, 0)
    trial = create_trial(
        params={LEARNER: "svm", "svm__C": 2.0},
        distributions={LEARNER: several.distributions[LEARNER], "svm__C": COST},
        values=[0.0],
    )
    assert several.suggest(replay(trial)) == {LEARNER: "svm", "C": 2.0}
    lacking = create_trial(
        params={LEARNER: "svm"},
        distributions={LEARNER: several.distributions[LEARNER]},
        values=[0.0],
    )
    with pytest.raises(ValueError, match="no parameter 'svm__C'"):
        several.suggest(replay(lacking))


def test_parameters_depend_on_the_learner():
    several = EstimatorChoice(GIVEN, 0)
    assert several.active_if == {
        "svm__C": (LEARNER, ["svm"]),
        "tree__max_depth": (LEARNER, ["tree"]),
    }
    assert set(several.distributions) == {LEARNER, "svm__C", "tree__max_depth"}


def test_a_pipeline_step_named_like_the_learner_is_not_prefixed_twice():
    pipeline = Pipeline([("svm", SVC())])
    several = EstimatorChoice({"svm": (pipeline, {"svm__C": COST})}, 0)
    assert set(several.distributions) == {LEARNER, "svm__C"}
    params = several.suggest(FixedTrial({LEARNER: "svm", "svm__C": 2.0}))
    assert several.configure(params).named_steps["svm"].C == 2.0


def test_a_space_may_be_a_function():
    def space(trial):
        return {"C": 2.0 ** trial.suggest_int("log2_C", -3, 3)}

    several = EstimatorChoice({"svm": (SVC(), space), "bayes": (GaussianNB(), None)}, 0)
    params = several.suggest(FixedTrial({LEARNER: "svm", "log2_C": 2}))
    assert several.configure(params).C == 4.0


@pytest.mark.parametrize(
    ("learners", "message"),
    [
        ({}, "dict such as"),
        ([("svm", SVC())], "dict such as"),
        ({"": (SVC(), None)}, "non-empty strings"),
        ({"svm": SVC()}, "pair"),
        ({"svm": (3, None)}, "fit and get_params"),
        ({"svm": (SVC(), [{"C": COST}])}, "'svm' has a list of spaces"),
        (
            {"svm": (SVC(), None), "line": (LinearRegression(), None)},
            "all classifiers or all regressors.*regressor",
        ),
    ],
)
def test_bad_learners_are_refused(learners, message):
    with pytest.raises(ValueError, match=message):
        EstimatorChoice(learners, 0)


def test_a_single_estimator_keeps_the_names_of_its_parameters():
    one = EstimatorSpace(SVC(), {"C": COST}, 3)
    assert one.suggest(FixedTrial({"C": 5.0})) == {"C": 5.0}
    assert one.configure({"C": 5.0}).random_state == 3
    assert one.active_if == {}


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_choices_come_back_as_they_were_given(tmp_path, open_sqlite):
    choices = ((50,), (20, 20), None)

    def space(trial):
        return {
            "layers": trial.suggest_categorical("layers", choices),
            "rate": trial.suggest_float("rate", 0.1, 1),
            "steps": trial.suggest_int("steps", 1, 9),
        }

    seen = []

    def objective(trial):
        seen.append(space(trial))
        return 0.0

    storage = open_sqlite(tmp_path / "a.db")
    study = optuna.create_study(
        storage=storage, study_name="a", sampler=optuna.samplers.RandomSampler(seed=1)
    )
    study.optimize(objective, n_trials=4)
    trials = optuna.load_study(study_name="a", storage=storage).trials
    # The storage has turned the tuples into lists.
    assert any(isinstance(t.params["layers"], list) for t in trials)
    for trial, expected in zip(trials, seen):
        found = space(replay(trial))
        assert found == expected
        assert found["layers"] is choices[choices.index(expected["layers"])]


def test_a_missing_parameter_is_named_in_the_error():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("a", 0, 1), n_trials=1)
    repeated = replay(study.trials[0])
    with pytest.raises(ValueError, match=r"Trial 0 has no parameter 'b': it has \['a'\]"):
        repeated.suggest_float("b", 0, 1)
    assert repeated.number == 0


def test_a_function_is_called_once_with_the_first_value_of_every_parameter():
    calls = []

    def space(trial):
        trial.suggest_float("a", 0.5, 1, log=True)
        trial.suggest_int("b", 2, 8, step=2)
        trial.suggest_categorical("c", ["x", "y"])
        calls.append(trial.params)
        return {"C": trial.params["a"]}

    assert EstimatorSpace(SVC(), space).parameter_names() == {"a", "b", "c"}
    assert calls == [{"a": 0.5, "b": 2, "c": "x"}]


# ---- checks of a space --------------------------------------------------------------------------


def check_space(space, representation, table):
    EstimatorSpace(PIPE, space).check(representation, table)


@pytest.mark.parametrize(
    ("space", "features", "table", "message"),
    [
        (None, None, TABLE, "nothing to search"),
        (None, PACKED, FeatureTable(("a",), fixed=(0,)), "nothing to search"),
        ({"svc__C": UNIT}, PACKED, FeatureTable(("a",), fixed=(0,)), "All 1 features are fixed"),
        ({}, PACKED, TABLE, "space is empty. Pass space=None"),
        (
            {"svc__c": UNIT},
            PACKED,
            TABLE,
            "'svc__c', which is not a parameter of Pipeline.",
        ),
        ({"svc__C": 1.0}, PACKED, TABLE, r"space\['svc__C'\] must be an Optuna distribution"),
        ([("svc__C", UNIT)], PACKED, TABLE, "space must be a dict"),
        (3, PACKED, TABLE, "space must be a dict"),
        (None, FilterEnsembleFeatures(), FeatureTable(("a",)), "there are none"),
        (lambda trial: None, PACKED, TABLE, "must return a dict of parameter values, got None"),
        (
            lambda trial: {"svc__c": trial.suggest_float("c", 0, 1)},
            PACKED,
            TABLE,
            "do not fit: Invalid parameter 'c'",
        ),
    ],
)
def test_bad_spaces_are_refused(space, features, table, message):
    with pytest.raises(ValueError, match=message):
        check_space(space, features, table)


@pytest.mark.parametrize(
    ("space", "features", "clash"),
    [
        ({"C": UNIT}, MaskFeatures(), "C"),
        (lambda trial: {"C": trial.suggest_float("C", 0, 1)}, MaskFeatures(), "C"),
        (lambda trial: {"C": trial.suggest_float("mask", 0, 1)}, PACKED, "mask"),
        (lambda trial: {"C": trial.suggest_float("fraction", 0, 1)}, FilterEnsembleFeatures(), ""),
    ],
)
def test_names_of_hyperparameters_and_features_must_differ(space, features, clash):
    with pytest.raises(
        ValueError,
        match=f"{clash}.* is used for a hyperparameter and for",
    ):
        EstimatorSpace(SVC(), space).check(features, TABLE)
    # Without feature selection there is no clash.
    EstimatorSpace(SVC(), space).check(None, TABLE)


def test_good_spaces_pass():
    check_space({"svc__C": UNIT}, PACKED, TABLE)
    check_space(None, PACKED, TABLE)
    check_space({"svc__C": UNIT}, None, TABLE)

    def swaps(trial):
        # The step is replaced first, then its parameter is set.
        return {"svc": LogisticRegression(), "svc__l1_ratio": trial.suggest_float("r", 0, 1)}

    check_space(swaps, PACKED, TABLE)

    def prunes(trial):
        raise optuna.TrialPruned

    check_space(prunes, PACKED, TABLE)

    def looks_at_the_study(trial):
        return {"svc__C": 1.0 + len(trial.study.trials)}

    check_space(looks_at_the_study, PACKED, TABLE)


def test_errors_of_the_space_function_are_not_hidden():
    def broken(trial):
        raise KeyError("typo")

    with pytest.raises(KeyError, match="typo"):
        check_space(broken, PACKED, TABLE)


def test_parameters_of_learners_may_not_be_named_like_features():
    def space(trial):
        return {"C": trial.suggest_float("a", 0, 1)}

    for learners, name in [
        ({"svm": (SVC(), space)}, "'a'"),
        ({"svm": (SVC(), {"C": UNIT})}, "'svm__C'"),
    ]:
        table = FeatureTable(("a", "svm__C"))
        with pytest.raises(ValueError, match=f"The name {name} is used for a hyperparameter"):
            EstimatorChoice(learners).check(MaskFeatures(), table)


# ---- the estimator's own values -----------------------------------------------------------------

WIDE = FloatDistribution(1e-3, 1e3, log=True)
FROM_A_TENTH = FloatDistribution(0.1, 10, log=True)


@pytest.mark.parametrize(
    ("estimator", "space", "expected"),
    [
        (LogisticRegression(), {"C": WIDE}, {"C": 1.0}),
        # The estimator as given, not as its class has it.
        (LogisticRegression(C=7), {"C": WIDE}, {"C": 7}),
        (SVC(), {"gamma": WIDE, "C": WIDE}, {"gamma": PER_FEATURE, "C": 1.0}),
        (SVC(gamma="auto"), {"gamma": WIDE}, {"gamma": PER_FEATURE}),
        (SVC(gamma=0.5), {"gamma": WIDE}, {"gamma": 0.5}),
        (PIPE, {"svc__gamma": WIDE}, {"svc__gamma": PER_FEATURE}),
        (SVC(), {"gamma": CategoricalDistribution(("scale", "auto"))}, {"gamma": "scale"}),
        # The nearest end of the range.
        (LogisticRegression(C=1e9), {"C": WIDE}, {"C": 1e3}),
        (
            DecisionTreeClassifier(),
            {"min_impurity_decrease": WIDE},
            {"min_impurity_decrease": 1e-3},
        ),
        (DecisionTreeClassifier(), {"min_samples_leaf": DEPTH}, {"min_samples_leaf": 1}),
        # None is no number.
        (DecisionTreeClassifier(), {"max_depth": DEPTH}, {}),
        (SVC(), {"kernel": CategoricalDistribution(("linear", "rbf"))}, {"kernel": "rbf"}),
        (SVC(), {"kernel": CategoricalDistribution(("linear", "poly"))}, {}),
        (SVC(), {"shrinking": CategoricalDistribution((True, False))}, {"shrinking": True}),
        (SVC(), {"shrinking": FloatDistribution(0, 1)}, {}),
        (SVC(), None, {}),
        (SVC(), lambda trial: {"C": trial.suggest_float("C", 0, 1)}, {}),
    ],
)
def test_defaults_are_the_estimators_own_values(estimator, space, expected):
    found = EstimatorSpace(estimator, space).defaults
    assert found == expected
    # A study stores them.
    assert json.loads(json.dumps(found)) == found


def test_defaults_of_boosted_trees_are_within_the_range():
    LGBMClassifier = pytest.importorskip("lightgbm").LGBMClassifier
    space = {
        "reg_lambda": FloatDistribution(1e-4, 10, log=True),
        "num_leaves": IntDistribution(2, 16, log=True),
        "learning_rate": FROM_A_TENTH,
    }
    # Its own values are 0, 31 and 0.1.
    found = EstimatorSpace(LGBMClassifier(), space).defaults
    assert found == {"reg_lambda": 1e-4, "num_leaves": 16, "learning_rate": 0.1}


@pytest.mark.parametrize("value", [None, "text", math.nan, math.inf, True, [1.0], (1,)])
def test_what_is_no_number_is_no_default(value):
    assert default_value("C", value, WIDE) is None


def test_defaults_of_several_learners_have_the_names_in_the_trial():
    learners = {
        "svm": (SVC(C=3.0), {"C": COST, "gamma": WIDE}),
        "tree": (DecisionTreeClassifier(), {"max_depth": DEPTH, "min_samples_leaf": DEPTH}),
        "line": (Pipeline([("line", LogisticRegression())]), {"line__C": COST}),
        "free": (SVC(), lambda trial: {"C": trial.suggest_float("free_C", 0.1, 1)}),
        "bayes": (GaussianNB(), None),
    }
    several = EstimatorChoice(learners)
    assert several.defaults == {
        "svm__C": 3.0,
        "svm__gamma": PER_FEATURE,
        "tree__min_samples_leaf": 1,
        "line__C": 1.0,
    }
    # No learner is preferred.
    assert LEARNER not in several.defaults
