from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import TrialState

from optuna_mofs import LexicographicPreference, LexiFlowSampler
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.testing.problems import make_study, mixed

LOSS_FIRST = LexicographicPreference(tolerances={0: 0.1})


def notes(study):
    return [frozen_attr(t, NOTE) or {} for t in study.trials]


def bowl(trial):
    """Loss with its least at (0.7, 0.2); the second value falls with x."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    kind = trial.suggest_categorical("kind", "abcd")
    loss = (x - 0.7) ** 2 + (y - 0.2) ** 2 + 0.2 * "cabd".index(kind)
    return round(loss, 2), x


def test_it_finds_what_the_preference_wants():
    """The least x whose loss is within 0.1 of the best: (0.7 - x)² = 0.1 at x = 0.384."""
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


def flat(trial):
    """Nothing is better than the first trial, so every direction fails."""
    trial.suggest_float("x", 0, 1)
    trial.suggest_float("y", 0, 1)
    return float(trial.number > 0)


def test_the_start_is_a_design_that_all_workers_share():
    space = {f"x{j}": FloatDistribution(0, 1) for j in range(3)}
    made = []
    for _ in range(2):
        study = optuna.create_study(sampler=LexiFlowSampler(seed=5, start_trials=8))
        StudyDescription(space=space).write(study)
        trials = [study.ask(space) for _ in range(8)]
        made.append([[t.params[n] for n in space] for t in trials])
    assert made[0] == made[1]
    cells = np.floor(np.array(made[0]) * 8).astype(int)
    assert [sorted(column) for column in cells.T.tolist()] == [list(range(8))] * 3


def test_restarts_widen_the_step_and_begin_somewhere_else():
    study = optuna.create_study(
        sampler=LexiFlowSampler(seed=0, start_trials=1, most_failures=1, least_step=0.08)
    )
    study.optimize(flat, n_trials=40)
    restarts = [n for n in notes(study) if n.get("operator") == "restart"]
    assert len(restarts) >= 3
    steps = [n["step"] for n in restarts]
    assert steps == sorted(steps)
    assert steps[0] == pytest.approx(2 * study.sampler.rules.first_step)
    begun = [t.params["x"] for t, n in zip(study.trials, notes(study)) if n in restarts]
    assert np.ptp(begun) > 0.2


def test_as_published():
    """One start, every direction from the incumbent and of length δ, no cap on failures."""
    middle = {"x": 0.5, "y": 0.5}
    study = optuna.create_study(sampler=LexiFlowSampler.as_published(seed=0, start=middle))
    study.optimize(flat, n_trials=20)
    written = notes(study)[1:]
    assert {n["incumbent"] for n in written if n["thread"] == 0} == {0}
    for trial, note in zip(study.trials[1:], written):
        if note["thread"] == 0:
            moved = [trial.params[n] - middle[n] for n in middle]
            assert np.linalg.norm(moved) == pytest.approx(note["step"] * 2**0.5, rel=1e-4)
    # 2^(d-1) = 2 failed directions, then δ · √(1/3), and so on.
    assert written[4]["step"] == pytest.approx(0.1 * 3**-0.5)
    restart = next(n for n in written if n["operator"] == "restart")
    assert restart["step"] == pytest.approx(0.1 + 2**-0.5)
    assert LexiFlowSampler.as_published().rules.limit(11) == 1024


@pytest.mark.parametrize("described", [True, False])
def test_a_low_cost_start_is_the_first_trial(described):
    space = {
        "rate": FloatDistribution(0.01, 100, log=True),
        "trees": IntDistribution(4, 2048, log=True),
    }
    # Only a description knows that a parameter will never come.
    start = {"trees": 4} if described else {"trees": 4, "elsewhere": 1}
    sampler = LexiFlowSampler(start=start, start_trials=6, seed=0)
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


def test_a_start_outside_the_space_is_refused():
    study = optuna.create_study(sampler=LexiFlowSampler(start={"x": 7}))
    with pytest.raises(ValueError, match=r"start.*'x'.*7"):
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
        ({"start_trials": 0}, "start_trials.*0"),
        ({"step": 0.0}, "step.*0.0"),
        ({"step": 0.1, "least_step": 0.2}, "least_step.*0.2"),
        ({"most_failures": 0}, "most_failures.*0"),
        ({"sparse": 1.5}, "sparse.*1.5"),
        ({"lead": -1}, "lead.*-1"),
        ({"explore": 2}, "explore.*2"),
        ({"widen": -1.0}, "widen.*-1"),
        ({"candidates": -1}, "candidates.*-1"),
        ({"preference": "error"}, "preference.*'error'"),
        ({"start": [1]}, "start.*1"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LexiFlowSampler(**options)
