"""One estimator or several, and the parameters that trials suggest for them."""

from __future__ import annotations

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
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
    replay,
)

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
        ({"svc__c": UNIT}, PACKED, TABLE, "'svc__c', which is no parameter of Pipeline. Did you"),
        ({"svc__C": (0, 1)}, PACKED, TABLE, r"space\['svc__C'\] must be an Optuna distribution"),
        ([("svc__C", UNIT)], PACKED, TABLE, "space must be a dict"),
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
