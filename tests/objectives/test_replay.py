from __future__ import annotations

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from optuna_mofs.objectives.replay import ProbeTrial, ReplayTrial, replayed


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
    # The storage itself made lists of the tuples.
    assert any(isinstance(t.params["layers"], list) for t in trials)
    for trial, expected in zip(trials, seen):
        assert space(ReplayTrial(trial)) == expected
        found = replayed(trial, "layers", CategoricalDistribution(choices))
        assert found is None or found is choices[choices.index(found)]
        assert replayed(trial, "rate", FloatDistribution(0, 1)) == expected["rate"]


def test_a_parameter_that_the_trial_has_not_is_named():
    study = optuna.create_study()
    study.optimize(lambda trial: trial.suggest_float("a", 0, 1), n_trials=1)
    replay = ReplayTrial(study.trials[0])
    with pytest.raises(ValueError, match=r"Trial 0 has no parameter 'b': it has \['a'\]"):
        replay.suggest_float("b", 0, 1)
    assert replay.number == 0


def test_a_probe_knows_every_suggestion():
    probe = ProbeTrial()
    assert probe.suggest_float("a", 0.5, 1, log=True) == 0.5
    assert probe.suggest_int("b", 2, 8, step=2) == 2
    assert probe.suggest_categorical("c", ["x", "y"]) == "x"
    assert set(probe.distributions) == {"a", "b", "c"}
    assert probe.params == {"a": 0.5, "b": 2, "c": "x"}
