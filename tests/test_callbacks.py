from __future__ import annotations

import datetime
from contextlib import suppress
from pathlib import Path

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.samplers import RandomSampler
from optuna.terminator import (
    BestValueStagnationEvaluator,
    CrossValidationErrorEvaluator,
    Terminator,
    TerminatorCallback,
)
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import (
    FeatureSelectionObjective,
    LexicographicPreference,
    LexicographicStoppingCallback,
    NoNewOptimaCallback,
    StagnationCallback,
    TimeoutCallback,
    fold_scores,
    suggest_features,
)
from optuna_mofs._optuna import storage_of
from optuna_mofs.callbacks import gain_probability, n_trials_without_optimum, trial_seconds
from optuna_mofs.fronts._front import front_of
from optuna_mofs.study._completed_trials import read_completed_trials

#: Loss, size and set by trial: a better loss, a smaller set within 0.1, one more of that size.
COURSE = [
    (1.0, 5, "a"),
    (0.5, 5, "b"),
    (0.55, 3, "c"),
    (0.9, 1, "d"),
    (0.58, 3, "e"),
    (0.7, 4, "f"),
]


@pytest.mark.parametrize(("trials", "since"), [(1, 0), (2, 0), (3, 0), (4, 1), (5, 0), (6, 1)])
def test_what_counts_as_new(trials: int, since: int) -> None:
    losses, sizes, keys = zip(*COURSE[:trials])
    assert n_trials_without_optimum(losses, sizes, [key.encode() for key in keys], 0.1) == since


def test_a_set_found_again_is_not_new() -> None:
    assert n_trials_without_optimum([0.5, 0.5, 0.5], [2, 2, 2], [b"a", b"a", b"a"], 0.1) == 2


def test_infeasible_trials_find_no_optimum() -> None:
    assert n_trials_without_optimum([np.nan, np.nan], [1, 1], [b"a", b"b"], 0.1) == 2


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4), st.integers(0, 5)), min_size=1))
def test_the_latest_optimum_is_the_last_one_seen_for_the_first_time(
    course: list[tuple[int, int, int]],
) -> None:
    losses = [float(loss) for loss, _, _ in course]
    sizes = [size for _, size, _ in course]
    keys = [bytes([key, size]) for _, size, key in course]
    best = losses.index(min(losses))
    good = [i for i, loss in enumerate(losses) if loss <= min(losses) + 1]
    least = min(sizes[i] for i in good)
    optimal = [i for i in good if sizes[i] == least]
    first = {keys[i]: i for i in reversed(optimal)}
    latest = max([best, *first.values()])
    assert n_trials_without_optimum(losses, sizes, keys, 1.0) == len(course) - 1 - latest


def scripted(trial: optuna.Trial) -> tuple[float, float]:
    mask = suggest_features(trial, 6)
    loss = {0: 1.0, 1: 0.5, 9: 0.2}.get(trial.number, 2.0)
    return loss, float(mask.sum())


def test_it_stops_when_patience_is_exceeded() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    study.optimize(scripted, n_trials=100, callbacks=[NoNewOptimaCallback(8, 0.0)])
    # Optima at 1 and, after seven trials without, at 9; then eight trials without.
    assert len(study.trials) == 18


def test_trials_before_reopening_count(tmp_path: Path) -> None:
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(tmp_path / "log"))
    )
    study = optuna.create_study(
        storage=storage, study_name="s", directions=["minimize"] * 2, sampler=RandomSampler(seed=0)
    )
    study.optimize(scripted, n_trials=14)
    again = optuna.load_study(study_name="s", storage=storage, sampler=RandomSampler(seed=1))
    again.optimize(scripted, n_trials=100, callbacks=[NoNewOptimaCallback(8, 0.0)])
    assert len(again.trials) == 18


def test_maximized_single_values_and_infeasible_trials() -> None:
    def objective(trial: optuna.Trial) -> float:
        suggest_features(trial, 6)
        trial.set_constraint("odd", float(trial.number % 2))
        return float(trial.number)  # every trial is better, but odd ones are infeasible

    study = optuna.create_study(direction="maximize", sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=9, callbacks=[NoNewOptimaCallback(2)])
    assert len(study.trials) == 9
    study.optimize(lambda t: objective(t) * 0 - 1, n_trials=9, callbacks=[NoNewOptimaCallback(2)])
    assert len(study.trials) == 11


def test_bad_arguments_raise() -> None:
    with pytest.raises(ValueError, match="patience must be an integer of at least 1, got 0"):
        NoNewOptimaCallback(0)
    with pytest.raises(ValueError, match="tolerance must be a number of at least 0, got -1"):
        NoNewOptimaCallback(5, -1)
    study = optuna.create_study()
    with pytest.raises(ValueError, match="No metric 1"):
        study.optimize(lambda t: 1.0, n_trials=1, callbacks=[NoNewOptimaCallback(metric=1)])


def test_the_metric_by_name() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    study.set_metric_names(["size", "loss"])
    study.optimize(
        lambda trial: scripted(trial)[::-1],
        n_trials=100,
        callbacks=[NoNewOptimaCallback(8, 0.0, metric="loss")],
    )
    assert len(study.trials) == 18


VALUES = [(5.0, 5.0), (4.0, 9.0), (4.0, 3.0), (4.5, 2.0), (7.0, 1.0), (4.0, 4.0), (1.0, 1.0)]


def run(callback, *, directions=("minimize", "minimize"), n_trials=7, study=None):
    study = study or optuna.create_study(directions=directions, sampler=RandomSampler(seed=0))
    signs = [1 if d.name == "MINIMIZE" else -1 for d in study.directions]
    study.optimize(
        lambda t: [s * v for s, v in zip(signs, VALUES[t.number])],
        n_trials=n_trials,
        callbacks=[callback],
    )
    return len(study.trials)


def test_stops_when_all_goals_are_met():
    preference = LexicographicPreference(goals={0: 4.0, 1: 3.0})
    assert run(LexicographicStoppingCallback(preference)) == 3
    up = LexicographicPreference(goals={0: -4.0, 1: -3.0})
    assert run(LexicographicStoppingCallback(up), directions=["maximize", "maximize"]) == 3


def test_a_goal_of_a_later_metric_does_not_end_the_search():
    # The first trial meets the goal; trial 2 is the best from then on, until the last one.
    preference = LexicographicPreference(goals={1: 5.0})
    assert run(LexicographicStoppingCallback(preference, patience=2)) == 5
    assert run(LexicographicStoppingCallback(preference, patience=3)) == 6
    assert run(LexicographicStoppingCallback(preference)) == 7


def test_a_goal_of_the_first_metric_does_not_end_the_search_for_fewer_features():
    preference = LexicographicPreference(goals={0: 4.5})
    # Trial 3 is the best from then on: 4.5 is good enough, and it has the lowest second value.
    assert run(LexicographicStoppingCallback(preference, patience=2)) == 6


def test_what_exceeds_a_goal_is_no_change():
    values = [(3.0, 1.0), (2.0, 1.0), (1.0, 1.0)]
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    callback = LexicographicStoppingCallback(LexicographicPreference(goals={0: 3.0}), patience=1)
    study.optimize(lambda t: values[t.number], n_trials=3, callbacks=[callback])
    assert len(study.trials) == 2


def test_only_priorities_are_waited_for():
    preference = LexicographicPreference([0], goals={0: 5.0})
    assert run(LexicographicStoppingCallback(preference, patience=None)) == 1
    preference = LexicographicPreference([1], goals={1: 2.0})
    assert run(LexicographicStoppingCallback(preference, patience=None)) == 4


def test_stops_when_the_best_stays_the_same():
    preference = LexicographicPreference(tolerances={0: 0.5})
    # The best is trial 3 from then on, until the last would have changed it.
    assert run(LexicographicStoppingCallback(preference, patience=2)) == 6
    assert run(LexicographicStoppingCallback(preference, patience=3)) == 7


def test_it_continues_after_reopening():
    preference = LexicographicPreference(tolerances={0: 0.5})
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    assert run(LexicographicStoppingCallback(preference, patience=2), n_trials=5, study=study) == 5
    assert run(LexicographicStoppingCallback(preference, patience=2), n_trials=2, study=study) == 6


def test_infeasible_trials_meet_no_goal():
    def objective(trial):
        trial.set_constraint("c", 1.0 if trial.number < 3 else 0.0)
        return 0.0

    study = optuna.create_study()
    preference = LexicographicPreference(goals=[1.0])
    study.optimize(
        objective, n_trials=9, callbacks=[LexicographicStoppingCallback(preference, patience=1)]
    )
    assert len(study.trials) == 4


@pytest.mark.parametrize("patience", [0, 2.5, "3"])
def test_bad_patience_raises(patience):
    with pytest.raises(ValueError, match=f"patience.*{patience}"):
        LexicographicStoppingCallback(LexicographicPreference(), patience=patience)


def test_a_callback_that_never_stops_raises():
    with pytest.raises(ValueError, match="would never stop"):
        LexicographicStoppingCallback(LexicographicPreference(), patience=None)
    preference = LexicographicPreference(goals={1: 1.0})
    with pytest.raises(ValueError, match=r"never stop: the metrics \['value_0'\] have no goal"):
        run(LexicographicStoppingCallback(preference, patience=None))


# ---- stagnation ---------------------------------------------------------------------------------


def stepped(steps, *, direction="minimize"):
    """Return an objective of two values whose hypervolume grows in some trials only."""
    sign = 1.0 if direction == "minimize" else -1.0

    def objective(trial):
        n_steps = sum(trial.number >= step for step in steps)
        return sign * 0.5**n_steps, sign * 0.5

    return objective


def stagnate(callback, objective, *, n_trials=300, directions=("minimize", "minimize")):
    study = optuna.create_study(directions=directions, sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=n_trials, callbacks=[callback])
    return study


def test_the_probability_of_a_gain_is_that_of_a_gamma_poisson_process():
    rng = np.random.default_rng(0)
    for steps, n, horizon in [([], 100, 50), ([60, 90], 100, 20), ([3], 41, 7)]:
        seen, ahead = np.log(n / (n // 2)), np.log1p(horizon / n)
        k = sum(step > n // 2 for step in steps)
        rates = rng.gamma(k + 0.5, 1 / seen, 200_000)
        simulated = 1 - np.exp(-rates * ahead).mean()
        assert gain_probability(steps, n, horizon) == pytest.approx(simulated, abs=0.005)


def test_independent_trials_keep_the_stated_risk():
    """Records of independent numbers come in the next trials about as often as stated."""
    rng = np.random.default_rng(0)
    n, horizon, stated, came = 120, 60, [], []
    for _ in range(1500):
        values = rng.random(n + horizon)
        records = np.flatnonzero(values == np.minimum.accumulate(values)) + 1
        stated.append(gain_probability(records[records <= n].tolist(), n, horizon))
        came.append(bool((records > n).any()))
    # The exact probability is 1 - n / (n + horizon) = 1/3.
    assert np.mean(came) == pytest.approx(1 / 3, abs=0.03)
    assert np.mean(stated) == pytest.approx(np.mean(came), abs=0.06)


@settings(max_examples=50)
@given(
    st.lists(st.integers(1, 200), max_size=20),
    st.integers(2, 200),
    st.integers(1, 100),
)
def test_more_trials_ahead_and_more_gains_behind_raise_the_probability(steps, n, horizon):
    steps = [step for step in steps if step <= n]
    now = gain_probability(steps, n, horizon)
    assert 0 < now < 1
    assert gain_probability(steps, n, horizon + 1) > now
    assert gain_probability([*steps, n], n, horizon) > now


def test_a_study_without_gains_stops_when_the_risk_is_small_enough():
    reference = [2.0, 1.0]
    early = len(
        stagnate(StagnationCallback(risk=0.2, reference=reference), stepped([1, 4])).trials
    )
    assert early == 105
    usual = len(stagnate(StagnationCallback(reference=reference), stepped([1, 4])).trials)
    assert usual == 283
    soon = StagnationCallback(risk=0.2, reference=reference, horizon=20)
    assert len(stagnate(soon, stepped([1, 4])).trials) == 41
    # One gain in the latter half delays the end until it is in the first half.
    assert (
        len(stagnate(StagnationCallback(risk=0.2, reference=reference), stepped([1, 80])).trials)
        == 162
    )


def test_small_gains_do_not_count_and_sum_up():
    def slow(trial):
        return 1 - 0.001 * trial.number, 0.5

    fine = StagnationCallback(risk=0.2, reference=[2.0, 1.0], min_gain=0.0001)
    assert len(stagnate(fine, slow, n_trials=200).trials) == 200
    coarse = StagnationCallback(risk=0.2, reference=[2.0, 1.0], min_gain=0.5)
    assert len(stagnate(coarse, slow, n_trials=200).trials) == 105
    summed = StagnationCallback(risk=0.2, reference=[2.0, 1.0], min_gain=0.01)
    assert len(stagnate(summed, slow, n_trials=200).trials) == 200


def test_maximized_values_and_single_values_stagnate():
    down = stagnate(StagnationCallback(risk=0.2, reference=[2.0, 1.0]), stepped([1, 80]))
    up = stagnate(
        StagnationCallback(risk=0.2, reference=[-2.0, -1.0]),
        stepped([1, 80], direction="maximize"),
        directions=["maximize", "maximize"],
    )
    assert len(up.trials) == len(down.trials)
    one = optuna.create_study(sampler=RandomSampler(seed=0))
    one.optimize(
        lambda trial: float(trial.number < 3),
        n_trials=300,
        callbacks=[StagnationCallback(risk=0.2)],
    )
    assert len(one.trials) == 105


def test_pruned_trials_bring_no_gain_and_infeasible_ones_neither():
    def objective(trial):
        if trial.number % 2:
            raise optuna.TrialPruned
        trial.set_constraint("c", 1.0 if trial.number > 10 else 0.0)
        return -float(trial.number)

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=300, callbacks=[StagnationCallback(risk=0.2)])
    assert len(study.trials) == 105


def test_no_feasible_trial_is_no_stagnation():
    def objective(trial):
        trial.set_constraint("c", 1.0)
        return 0.0

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=150, callbacks=[StagnationCallback(risk=0.2)])
    assert len(study.trials) == 150


def test_stagnation_is_the_same_after_reopening():
    whole = stagnate(StagnationCallback(risk=0.2, reference=[2.0, 1.0]), stepped([1, 80]))
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    study.optimize(stepped([1, 80]), n_trials=100)
    callback = StagnationCallback(risk=0.2, reference=[2.0, 1.0])
    study.optimize(stepped([1, 80]), n_trials=200, callbacks=[callback])
    assert len(study.trials) == len(whole.trials)


@pytest.fixture(scope="module")
def wine_study():
    X, y = load_wine(return_X_y=True)
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, representation="filter_ensemble", filters=["anova_f"], cv=3
    )
    study = objective.create_study(sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=60)
    return study


def test_the_pick_stagnates_when_front_pick_does(wine_study):
    callback = StagnationCallback("pick", min_gain=0.0)
    trials = wine_study.get_trials(deepcopy=False)
    chosen, changes = None, []
    points = read_completed_trials(wine_study)
    for n in range(1, len(trials) + 1):
        pick = front_of(points.take(np.arange(n))).pick()
        now = pick.values[0], pick.user_attrs["n_features"]
        if now != chosen:
            changes.append(n)
            chosen = now
    assert 2 <= len(changes) < 30
    expected = gain_probability(changes, len(trials), 50)
    assert callback.missed_gain_probability(wine_study) == expected
    copy = optuna.load_study(study_name=wine_study.study_name, storage=storage_of(wine_study))
    assert StagnationCallback("pick", min_gain=0.0).missed_gain_probability(copy) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monitor": "error"}, "monitor must be one of 'hypervolume', 'pick', got 'error'"),
        ({"min_gain": -1}, "min_gain must be a number of at least 0, got -1"),
        ({"horizon": 0}, "horizon must be an integer of at least 1, got 0"),
        ({"risk": 2}, "risk must be a number of at least 0 and at most 1, got 2"),
    ],
)
def test_bad_arguments_of_stagnation_raise(options, message):
    with pytest.raises(ValueError, match=message):
        StagnationCallback(**options)


# ---- time ---------------------------------------------------------------------------------------


def timed_study(seconds, *, duplicates=()):
    """Return a study of trials of known length, the last of which ended just now."""
    study = optuna.create_study()
    now = datetime.datetime.now()
    for i, length in enumerate(seconds):
        trial = optuna.trial.create_trial(
            value=0.0, user_attrs={"duplicate_of": 0} if i in duplicates else {}
        )
        trial.datetime_start = now - datetime.timedelta(seconds=length)
        trial.datetime_complete = now
        study.add_trial(trial)
    return study


def test_the_length_of_the_next_trial_is_that_of_the_last_ones():
    assert trial_seconds(optuna.create_study()) == 0.0
    study = timed_study([1000.0, *[float(i) for i in range(50)], 0.001], duplicates=[51])
    assert trial_seconds(study, 0.9) == pytest.approx(np.quantile(np.arange(50), 0.9))
    assert trial_seconds(study, 1.0) == pytest.approx(49.0)


def test_a_trial_that_would_end_too_late_is_not_started():
    study = timed_study([10.0, 12.0])
    first = study.trials[0]
    for timeout, stops in [(20.0, True), (21.0, True), (60.0, False)]:
        callback = TimeoutCallback(timeout)
        assert not callback.should_stop(study), "the clock starts with the first trial"
        # 10 seconds have passed, and another trial takes about 12.
        with suppress(RuntimeError):  # study.stop() outside of study.optimize
            callback(study, first)
        assert callback.should_stop(study) == stops


def test_a_timeout_stops_a_study():
    study = timed_study([3600.0])
    study.optimize(lambda trial: 0.0, n_trials=5, callbacks=[TimeoutCallback(60, quantile=1.0)])
    assert len(study.trials) == 2
    with pytest.raises(ValueError, match="timeout must be a number of at least 0, got -1"):
        TimeoutCallback(-1)


# ---- Optuna's terminator ------------------------------------------------------------------------


@pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::optuna.exceptions.ExperimentalWarning"
)
def test_the_terminator_of_optuna_works_with_single_objectives():
    X, y = load_wine(return_X_y=True)
    objective = FeatureSelectionObjective(
        GaussianNB(),
        X,
        y,
        space={"var_smoothing": optuna.distributions.FloatDistribution(1e-9, 1.0, log=True)},
        measures=["error"],
        representation=None,
        cv=4,
    )
    study = objective.create_study(sampler=RandomSampler(seed=0))
    terminator = Terminator(BestValueStagnationEvaluator(5), CrossValidationErrorEvaluator(), 8)
    study.optimize(objective, n_trials=40, callbacks=[TerminatorCallback(terminator)])
    assert 8 <= len(study.trials) < 40
    trial = study.trials[0]
    assert trial.system_attrs["terminator:cv_scores"] == fold_scores(trial)["error"]
    values = np.array(fold_scores(study.best_trial)["error"])
    expected = np.sqrt((1 / 4 + 1 / 3) * values.var())
    found = CrossValidationErrorEvaluator().evaluate(study.trials, study.direction)
    assert found == pytest.approx(expected)


def test_studies_of_several_objectives_have_no_scores_for_the_terminator(wine_study):
    assert "terminator:cv_scores" not in wine_study.trials[0].system_attrs
