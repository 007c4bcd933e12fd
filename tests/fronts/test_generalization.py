from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.fronts import generalization, hypervolume
from tests.fronts.helpers import make_study


class Shifted:
    """An objective whose model is the trial's number and whose test values are a table."""

    def __init__(self, tests):
        self.tests = tests
        self.refitted = []

    def refit(self, trial):
        self.refitted.append(trial.number)
        return trial.number

    def test_values(self, model, trial, X_test, y_test):
        assert model == trial.number
        assert (X_test, y_test) == ("X", "y")
        return self.tests[model]


def study_of_three():
    return make_study([(0.1, 0.8), (0.3, 0.2), (0.5, 0.9)], names=["error", "fraction"])


def test_hypervolume_of_the_fronts_test_values():
    # Trial 2 is dominated in the study: its good test value does not count.
    objective = Shifted({0: [0.4, 0.8], 1: [0.35, 0.2], 2: [0.0, 0.0]})
    outcome = generalization(study_of_three(), objective, "X", "y", reference=[1, 1])
    assert objective.refitted == [0, 1]
    assert outcome.hypervolume == pytest.approx(hypervolume([[0.35, 0.2]], 1.0))
    assert outcome.optimization_hypervolume == pytest.approx(
        hypervolume([[0.1, 0.8], [0.3, 0.2]], 1.0)
    )
    assert outcome.reference == {"error": 1.0, "fraction": 1.0}
    frame = outcome.frame
    assert frame.index.tolist() == [0, 1]
    assert list(frame.columns) == ["error", "error_test", "fraction", "fraction_test"]
    assert frame.loc[0].tolist() == [0.1, 0.4, 0.8, 0.8]
    assert len(outcome.front) == 2


def test_only_the_trials_given_are_tested():
    # Without trial 1, trial 2 would be dominated by it no more.
    objective = Shifted({0: [0.4, 0.8], 2: [0.3, 0.9]})
    study = make_study([(0.3, 0.8), (0.1, 0.1), (0.2, 0.9)], names=["error", "fraction"])
    outcome = generalization(study, objective, "X", "y", reference=[1, 1], trials=[0, 2])
    assert sorted(objective.refitted) == [0, 2]
    assert outcome.hypervolume == pytest.approx(hypervolume([[0.4, 0.8], [0.3, 0.9]], 1.0))


def test_default_reference_is_that_of_the_front():
    outcome = generalization(study_of_three(), Shifted({0: [0.1, 0.8], 1: [0.3, 0.2]}), "X", "y")
    assert outcome.reference == {"error": 0.5, "fraction": 0.9}
    assert outcome.hypervolume == outcome.front.hypervolume()


def test_maximized_metrics():
    study = make_study([(0.9, 0.5)], ["maximize", "minimize"])
    outcome = generalization(study, Shifted({0: [0.8, 0.5]}), "X", "y", reference=[0.0, 1.0])
    assert outcome.hypervolume == pytest.approx(0.8 * 0.5)
    assert outcome.optimization_hypervolume == pytest.approx(0.9 * 0.5)


def test_a_test_value_of_nan_adds_nothing():
    objective = Shifted({0: [np.nan, 0.8], 1: [0.3, 0.2]})
    outcome = generalization(study_of_three(), objective, "X", "y", reference=[1, 1])
    assert outcome.hypervolume == pytest.approx(0.7 * 0.8)
    assert np.isnan(outcome.frame.loc[0, "error_test"])


def test_bad_input_raises():
    with pytest.raises(ValueError, match="Nothing to test"):
        generalization(make_study([], ["minimize"]), Shifted({}), "X", "y")
    with pytest.raises(ValueError, match="3 test values for trial 0"):
        generalization(study_of_three(), Shifted({0: [1.0, 2.0, 3.0]}), "X", "y")


def test_trials_of_equal_parameters_are_fitted_once():
    study = make_study(
        [(0.1, 0.8), (0.1, 0.8)], names=["error", "fraction"], user_attrs=[{}, {"duplicate_of": 0}]
    )
    objective = Shifted({0: [0.4, 0.8]})
    outcome = generalization(study, objective, "X", "y", reference=[1, 1])
    assert objective.refitted == [0]
    assert outcome.frame.index.tolist() == [0, 1]
    assert outcome.frame["error_test"].tolist() == [0.4, 0.4]
