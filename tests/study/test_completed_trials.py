from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs.study._completed_trials import (
    feature_count,
    feature_text,
    is_feasible,
    read_completed_trials,
)
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import suggest_features
from tests.fronts.helpers import make_study

FAIL = optuna.trial.TrialState.FAIL


def described(values, measures, directions=None):
    study = make_study(values, directions)
    StudyDescription(measures=measures).write(study)
    return study


def test_values_become_losses_and_values_again():
    study = make_study([[1.0, 2.0], [3.0, 0.0]], ["maximize", "minimize"])
    points = read_completed_trials(study)
    assert points.losses.tolist() == [[-1.0, 2.0], [-3.0, 0.0]]
    assert points.to_values(points.losses).tolist() == [[1.0, 2.0], [3.0, 0.0]]
    assert not np.signbit(read_completed_trials(make_study([[0.0]], ["maximize"])).losses).any()


def test_only_completed_trials_are_read():
    study = make_study([[1.0, 2.0]])
    for state in (optuna.trial.TrialState.FAIL, optuna.trial.TrialState.PRUNED):
        study.add_trial(optuna.trial.create_trial(state=state))
    study.ask()
    study.enqueue_trial({})
    assert [trial.number for trial in read_completed_trials(study).trials] == [0]


def test_names_come_from_the_study_then_the_description_then_positions():
    measures = (MeasureDescription("error"), MeasureDescription("fraction"))
    study = described([[1.0, 2.0]], measures)
    assert read_completed_trials(study).metric_names == ("error", "fraction")
    study.set_metric_names(["loss", "share"])
    assert read_completed_trials(study).metric_names == ("loss", "share")
    assert read_completed_trials(study).measure_names == ("error", "fraction")
    assert read_completed_trials(make_study([[1.0, 2.0]])).metric_names == ("value_0", "value_1")
    twice = make_study([[1.0, 2.0, 3.0]], names=["a", "b", "a"])
    assert read_completed_trials(twice).metric_names == ("a_0", "b", "a_2")


def test_a_description_of_another_number_of_values_is_not_used():
    study = described([[1.0, 2.0]], (MeasureDescription("error", worst=1.0),))
    assert read_completed_trials(study).metric_names == ("value_0", "value_1")


def test_reference_given_then_described_then_worst_seen():
    measures = (
        MeasureDescription("accuracy", "maximize", 0.0),
        MeasureDescription("cost", "minimize", None),
        MeasureDescription("loss", "minimize", np.inf),
    )
    values = [[0.5, 3.0, 1.0], [0.7, 9.0, 2.0], [0.6, np.inf, 0.5]]
    points = read_completed_trials(
        described(values, measures, ["maximize", "minimize", "minimize"])
    )
    assert points.reference_losses(None).tolist() == [0.0, 9.0, 2.0]
    assert points.reference_losses({"accuracy": 0.25}).tolist() == [-0.25, 9.0, 2.0]
    assert points.reference_losses([0.25, None, 7.0]).tolist() == [-0.25, 9.0, 7.0]


def test_bad_references_are_refused():
    points = read_completed_trials(make_study([[1.0, np.inf]], names=["error", "cost"]))
    with pytest.raises(ValueError, match="No reference for metric 'cost'"):
        points.reference_losses(None)
    with pytest.raises(ValueError, match=r"No metric 'eror'; the metrics are \['error', 'cost'\]"):
        points.reference_losses({"eror": 1.0})
    with pytest.raises(ValueError, match="one value for each"):
        points.reference_losses([1.0])


def test_targets_select_metrics():
    study = make_study(
        [[1.0, 2.0, 3.0]], ["minimize", "maximize", "minimize"], names=["a", "b", "c"]
    )
    points = read_completed_trials(study, targets=["b", 0])
    assert points.metric_names == ("b", "a")
    assert points.losses.tolist() == [[-2.0, 1.0]]
    assert points.signs.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("targets", ["a", ["z"], [2], [-1], [], ["a", 0], lambda trial: 1])
def test_bad_targets_are_refused(targets):
    study = make_study([[1.0, 2.0]], names=["a", "b"])
    with pytest.raises(ValueError, match=r"metric"):
        read_completed_trials(study, targets=targets)


def test_feasible_by_new_and_old_constraints():
    create = optuna.trial.create_trial
    assert is_feasible(create(value=1.0))
    assert is_feasible(create(value=1.0, constraints={"a": 0.0, "b": -1.0}))
    assert not is_feasible(create(value=1.0, constraints={"a": -1.0, "b": 0.1}))
    assert not is_feasible(create(value=1.0, system_attrs={"constraints": [1.0]}))


def test_features_from_user_attributes_or_unknown():
    study = make_study([[1.0], [1.0]], user_attrs=[{"n_features": 3, "features": "a, b, c"}, {}])
    first, second = study.get_trials(deepcopy=False)
    assert feature_count(study, first) == 3
    assert feature_text(study, first) == "a, b, c"
    assert feature_count(study, second) is None
    assert feature_text(study, second) is None


def test_features_are_read_from_the_mask_without_user_attributes():
    study = make_study([], ["minimize"])
    study.sampler = optuna.samplers.RandomSampler(seed=0)

    def objective(trial):
        return float(suggest_features(trial, ["age", "city", "pay"], form="bits").sum())

    study.optimize(objective, n_trials=1)
    params = {"age": True, "city": False, "pay": True}
    names = StudyDescription.read(study).mask_parameters
    trial = study.trials[0]
    study.add_trial(
        optuna.trial.create_trial(
            value=2.0,
            params=dict(zip(names, params.values())),
            distributions={name: trial.distributions[name] for name in names},
        )
    )
    bare = study.trials[1]
    assert "n_features" not in bare.user_attrs
    assert feature_count(study, bare) == 2
    assert feature_text(study, bare) == "age, pay"
