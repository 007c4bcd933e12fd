from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import TrialState

from optuna_mofs import LexicographicPreference, LexiFlowSampler
from optuna_mofs.samplers.lexiflow import LexiFlowSettings
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import make_study, mixed
from tests.samplers.lexiflow import LOSS_FIRST, flat, notes


def bowl(trial):
    """Loss with its minimum at (0.7, 0.2); the second value falls with x."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    kind = trial.suggest_categorical("kind", "abcd")
    loss = (x - 0.7) ** 2 + (y - 0.2) ** 2 + 0.2 * "cabd".index(kind)
    return round(loss, 2), x


def test_it_finds_the_best_trial_of_the_preference():
    """The smallest x whose loss is within 0.1 of the best: (0.7 - x)² = 0.1 at x = 0.384."""
    found = []
    for seed in range(3):
        study = optuna.create_study(
            directions=["minimize"] * 2, sampler=LexiFlowSampler(LOSS_FIRST, seed=seed)
        )
        study.optimize(bowl, n_trials=150)
        best = LOSS_FIRST.best(study)
        assert best.values[0] <= 0.12
        assert best.params["kind"] == "c"
        found.append(best.values[1])
    assert np.median(found) < 0.42


def test_it_beats_random_search():
    wins = 0
    for seed in range(4):
        picks = []
        for sampler in (
            LexiFlowSampler(LOSS_FIRST, seed=seed),
            optuna.samplers.RandomSampler(seed=seed),
        ):
            study = make_study("mixed", sampler=sampler)
            study.optimize(mixed, n_trials=100)
            picks.append(LOSS_FIRST.best(study).values)
        # By the common target.
        target = min(p[0] for p in picks) + 0.1
        wins += picks[0][0] <= target and (picks[1][0] > target or picks[0][1] < picks[1][1])
    assert wins >= 3


def test_all_workers_share_the_initial_design():
    space = {f"x{j}": FloatDistribution(0, 1) for j in range(3)}
    made = []
    for _ in range(2):
        study = optuna.create_study(sampler=LexiFlowSampler(seed=5, n_startup_trials=8))
        StudyDescription(space=space).write(study)
        trials = [study.ask(space) for _ in range(8)]
        made.append([[t.params[n] for n in space] for t in trials])
    assert made[0] == made[1]
    # A Latin hypercube has one trial in each slice.
    cells = np.floor(np.array(made[0]) * 8).astype(int)
    assert [sorted(column) for column in cells.T.tolist()] == [list(range(8))] * 3


def test_restarts_increase_the_step_size_and_start_somewhere_else():
    study = optuna.create_study(
        sampler=LexiFlowSampler(
            seed=0,
            n_startup_trials=1,
            settings=LexiFlowSettings(max_failures=1, min_step_size=0.08),
        )
    )
    study.optimize(flat, n_trials=40)
    restarts = [(t, n) for t, n in zip(study.trials, notes(study)) if n.operator == "restart"]
    assert len(restarts) >= 3
    sizes = [note.step_size for _, note in restarts]
    assert sizes == sorted(sizes)
    assert sizes[0] == pytest.approx(2 * LexiFlowSettings().step_size)
    assert np.ptp([trial.params["x"] for trial, _ in restarts]) > 0.2


def test_the_algorithm_of_the_paper():
    """One start, every direction from the incumbent and of length δ, no cap on failures."""
    middle = {"x": 0.5, "y": 0.5}
    sampler = LexiFlowSampler.from_paper(seed=0, low_cost_partial_config=middle)
    study = optuna.create_study(sampler=sampler)
    study.optimize(flat, n_trials=20)
    written = notes(study)[1:]
    assert {n.parents for n in written if n.restart == 0} == {(0,)}
    for trial, note in zip(study.trials[1:], written):
        if note.restart == 0:
            moved = [trial.params[n] - middle[n] for n in middle]
            assert np.linalg.norm(moved) == pytest.approx(note.step_size * 2**0.5, rel=1e-4)
    # 2^(d-1) = 2 failed directions, then δ · √(1/2), and so on.
    assert written[4].step_size == pytest.approx(0.1 * 2**-0.5)
    restart = next(n for n in written if n.operator == "restart")
    assert restart.step_size == pytest.approx(0.1 + 2**-0.5)
    assert sampler.settings.failure_limit(11) == 1024


@pytest.mark.parametrize("described", [True, False])
def test_the_low_cost_configuration_is_the_first_trial(described):
    space = {
        "rate": FloatDistribution(0.01, 100, log=True),
        "trees": IntDistribution(4, 2048, log=True),
    }
    # Without a description, a parameter may still be suggested later.
    config = {"trees": 4} if described else {"trees": 4, "elsewhere": 1}
    sampler = LexiFlowSampler(low_cost_partial_config=config, n_startup_trials=6, seed=0)
    study = optuna.create_study(sampler=sampler)
    if described:
        StudyDescription(space=space).write(study)
    for _ in range(6):
        trial = study.ask(space)
        study.tell(trial, trial.params["rate"])
    assert study.trials[0].params["trees"] == 4
    # The others are drawn around it, far enough to see all of the range.
    assert len({t.params["trees"] for t in study.trials}) >= 4
    assert len({t.params["rate"] for t in study.trials}) == 6


def test_a_low_cost_value_out_of_range_is_refused():
    study = optuna.create_study(sampler=LexiFlowSampler(low_cost_partial_config={"x": 7}, seed=0))
    with pytest.raises(ValueError, match=r"low_cost_partial_config\['x'\].*got 7"):
        study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)


def test_metrics_by_name_and_an_unknown_one():
    for name, fine in (("cost", True), ("price", False)):
        study = make_study("mixed")
        study.set_metric_names(["error", "cost"])
        study.sampler = LexiFlowSampler(LexicographicPreference([name]), seed=0)
        if fine:
            study.optimize(mixed, n_trials=3)
            assert study.trials[-1].state == TrialState.COMPLETE
        else:
            with pytest.raises(ValueError, match="No metric 'price'"):
                study.optimize(mixed, n_trials=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_startup_trials": 0}, "n_startup_trials.*got 0"),
        ({"n_candidates": -1}, "n_candidates.*got -1"),
        ({"preference": "error"}, "preference.*'error'"),
        ({"low_cost_partial_config": [1]}, r"low_cost_partial_config.*\[1\]"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LexiFlowSampler(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step_size": 0.0}, "step_size.*got 0.0"),
        ({"step_size": 1.5}, "step_size.*got 1.5"),
        ({"step_size": 0.1, "min_step_size": 0.2}, "min_step_size.*got 0.2"),
        ({"min_step_size": 0}, "min_step_size.*got 0"),
        ({"max_failures": 0}, "max_failures.*got 0"),
        ({"sparse_direction_prob": 1.5}, "sparse_direction_prob.*got 1.5"),
        ({"strict_incumbent_prob": -1}, "strict_incumbent_prob.*got -1"),
        ({"random_prob": 2}, "random_prob.*got 2"),
        ({"restart_step_increase": -1.0}, "restart_step_increase.*got -1"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LexiFlowSettings(**options)
