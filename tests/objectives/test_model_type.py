"""The learner as part of the search."""

from __future__ import annotations

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler, TPESampler
from sklearn.datasets import load_diabetes, load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    MaskFeatures,
    ModelTypeObjective,
    MOEADSampler,
    pareto_front,
    spaces,
)
from optuna_mofs.history._history import History
from optuna_mofs.measures import vc_dimension_measure
from optuna_mofs.study._description import StudyDescription

X, Y = load_wine(return_X_y=True)
LEARNERS = {
    "tree": (DecisionTreeClassifier(), {"max_depth": IntDistribution(1, 9)}),
    "bayes": (GaussianNB(), {"var_smoothing": FloatDistribution(1e-9, 1, log=True)}),
    "plain": (GaussianNB(), None),
}


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def objective(learners=LEARNERS, measures=("error", "model_size"), **options):
    return ModelTypeObjective(learners, X, Y, measures=measures, cv=3, **options)


@pytest.mark.parametrize("sampler", [MOEADSampler, TPESampler, FilterEnsembleNSGA2Sampler])
def test_every_learner_is_tried_with_its_own_parameters(sampler):
    made = objective()
    study = made.create_study(sampler=sampler(seed=0))
    study.optimize(made, n_trials=25)
    assert {made.learner_for(t) for t in study.trials} == set(LEARNERS)
    for trial in study.trials:
        own = {n for n in trial.params if n.startswith(made.learner_for(trial) + "__")}
        assert set(trial.params) == {"learner"} | own
    best = pareto_front(study).best("error")
    assert made.refit(best).score(X, Y) > 0.85


def test_values_equal_those_of_the_learner_alone():
    made = objective()
    study = made.create_study(sampler=RandomSampler(seed=0))
    study.enqueue_trial({"learner": "tree", "tree__max_depth": 3})
    study.optimize(made, n_trials=1)
    alone = FeatureSelectionObjective(
        *LEARNERS["tree"][:1],
        X,
        Y,
        space=LEARNERS["tree"][1],
        representation=None,
        measures=["error", "model_size"],
        cv=3,
    )
    other = alone.create_study()
    other.enqueue_trial({"max_depth": 3})
    other.optimize(alone, n_trials=1)
    assert study.trials[0].values == other.trials[0].values


def test_the_papers_measures_fit_all_rows_once():
    two = {"tree": LEARNERS["tree"], "svm": (SVC(), {"C": FloatDistribution(0.1, 10)})}
    quick = vc_dimension_measure(sizes=(5, 20), repeats=1)
    made = ModelTypeObjective(two, X, Y, measures=["training_error", quick])
    assert len(made.evaluator.splits) == 1
    study = made.create_study(sampler=MOEADSampler(seed=0, population_size=4))
    study.optimize(made, n_trials=8)
    trial = pareto_front(study).best("training_error")
    assert trial.values[0] == pytest.approx(1 - made.refit(trial).score(X, Y))
    assert made.metric_names == ["training_error", "vc_dimension"]
    default = ModelTypeObjective(two, X, Y)
    assert default.metric_names == made.metric_names


def test_features_can_be_selected_as_well():
    made = objective(representation=MaskFeatures(form="bits"), filters=["anova_f"])
    study = made.create_study(sampler=MOEADSampler(seed=0, population_size=6))
    study.optimize(made, n_trials=12)
    trial = study.trials[-1]
    assert 0 <= trial.user_attrs["n_features"] <= 13
    assert made.refit(trial).predict(X).shape == (len(Y),)


def test_the_description_lists_active_parameters():
    made = objective()
    study = made.create_study(sampler=MOEADSampler(seed=0))
    described = StudyDescription.from_json(StudyDescription.read(study).to_json())
    assert described.is_active("learner", {})
    assert described.is_active("tree__max_depth", {"learner": "tree"})
    assert not described.is_active("tree__max_depth", {"learner": "bayes"})
    history = History(described)
    tree = {"learner": "tree", "tree__max_depth": 3}
    again = {**tree, "bayes__var_smoothing": 0.5}
    assert history.internal(tree) == history.internal(again)


def test_regressors_have_their_own_measures():
    rows, target = load_diabetes(return_X_y=True)
    names = ["ridge", "decision_tree"]
    made = ModelTypeObjective(
        {n: spaces.get_learner(n, "regression") for n in names}, rows[:100], target[:100], cv=2
    )
    study = made.create_study(sampler=MOEADSampler(seed=0, population_size=4))
    study.optimize(made, n_trials=8)
    assert made.metric_names == ["error", "model_size"]
    assert {made.learner_for(t) for t in study.trials} == set(names)


def test_other_learners_in_a_reopened_study_are_refused():
    study = objective().create_study()
    fewer = {"tree": LEARNERS["tree"], "bayes": LEARNERS["bayes"]}
    with pytest.raises(ValueError, match="learner"):
        objective(fewer).attach(study)


def test_a_space_that_does_not_fit_is_refused_with_the_learners_name():
    wrong = {"tree": (DecisionTreeClassifier(), {"max_dept": IntDistribution(1, 3)})}
    with pytest.raises(ValueError, match=r"'tree'.*max_depth"):
        objective(wrong)
    with pytest.raises(ValueError, match="classif"):
        ModelTypeObjective(
            {"ridge": spaces.get_learner("ridge", "regression")},
            X,
            Y * 1.5,
            measures=["vc_dimension"],
        )
