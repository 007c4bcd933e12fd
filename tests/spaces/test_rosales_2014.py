from __future__ import annotations

import warnings

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from sklearn.base import clone
from sklearn.datasets import make_classification

from optuna_mofs import ModelTypeObjective, MOEADSampler, spaces
from optuna_mofs.spaces._rosales_2014 import SharedSpace, value_at


@pytest.mark.parametrize(
    ("distribution", "values"),
    [
        (FloatDistribution(-1, 3), [-1, 0, 3]),
        (FloatDistribution(1e-2, 1e2, log=True), [0.01, 0.1, 100]),
        (IntDistribution(2, 6), [2, 3, 6]),
        (IntDistribution(1, 16, log=True), [1, 2, 16]),
        (CategoricalDistribution(["a", "b", "c"]), ["a", "a", "c"]),
    ],
)
def test_a_position_is_a_value_of_the_range(distribution, values):
    found = [value_at(distribution, position) for position in (0.0, 0.25, 1.0)]
    assert found == pytest.approx(values) if values[0] != "a" else found == values


def test_learners_share_their_positions():
    ranges = {"a": FloatDistribution(0, 1), "b": IntDistribution(1, 3)}
    short, full = SharedSpace({"x": FloatDistribution(0, 10)}, 2), SharedSpace(ranges, 2)
    trial = optuna.trial.FixedTrial({"shared_1": 0.5, "shared_2": 1.0})
    assert short(trial) == {"x": 5.0}
    assert full(trial) == {"a": 0.5, "b": 3}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few epochs
def test_the_model_types_of_the_paper_have_seven_variables_less_the_seed():
    X, y = make_classification(40, 4, random_state=0)
    objective = ModelTypeObjective(
        spaces.rosales_2014_learners(4, random_state=0), X, y, measures=["training_error"]
    )
    study = objective.create_study(sampler=MOEADSampler.from_paper(population_size=6, seed=0))
    study.optimize(objective, n_trials=14)
    names = {"learner", *(f"shared_{k}" for k in range(1, 6))}
    assert all(set(trial.params) == names for trial in study.trials)
    assert len({trial.params["learner"] for trial in study.trials}) > 2
    best = min(study.trials, key=lambda trial: trial.values[0])
    assert 1 - objective.refit(best).score(X, y) == pytest.approx(best.values[0])


def test_the_five_model_types_of_table_1():
    X, y = make_classification(40, 6, random_state=0)
    found = spaces.rosales_2014_learners(6, random_state=0, shared=False)
    for name, (estimator, space) in found.items():
        sampler = optuna.samplers.RandomSampler(seed=0)
        trial = optuna.create_study(sampler=sampler).ask(space)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few epochs
            model = clone(estimator).set_params(**trial.params).fit(X, y)
        assert model.score(X, y) > 0.3, name
    svm = found["svm"][1]
    assert {n.removeprefix("svm__") for n in svm} == {"kernel", "degree", "gamma", "coef0", "C"}
