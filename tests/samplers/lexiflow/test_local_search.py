from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs import LexicographicPreference, LexiFlowSampler
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.fronts._lexicographic import LexicographicOrder
from optuna_mofs.samplers.lexiflow import LexiFlowNote, LexiFlowSettings
from optuna_mofs.samplers.lexiflow._local_search import LocalSearchReplay, LocalSearchState
from optuna_mofs.study._trial_note import NOTE

quick = settings(max_examples=60)
ORDER = LexicographicOrder.of(2, tolerances=[1.0, 0.0]).after_violations()
SETTINGS = LexiFlowSettings(step_size=0.2, min_step_size=0.05, max_failures=2)


class Trials:
    """The part of a history that is replayed, from trials given as (number, values, note)."""

    def __init__(self, trials, violations=None):
        self.numbers = np.array([t[0] for t in trials], dtype=np.int64)
        self.values = np.array([t[1] for t in trials], dtype=float).reshape(len(trials), 2)
        self.violations = np.zeros(len(trials)) if violations is None else np.array(violations)
        self._notes = [t[2] for t in trials]

    def __len__(self):
        return len(self.numbers)

    def note(self, i, kind):
        assert kind is LexiFlowNote
        return self._notes[i]


OTHER = LexiFlowNote()


def start(restart=0):
    return LexiFlowNote("restart", restart=restart, step_size=0.2)


def step(base, sign, *, restart=0, opposite_of=None):
    return LexiFlowNote(
        "direction",
        parents=(base,),
        restart=restart,
        sign=sign,
        dimension=9,
        opposite_of=opposite_of,
    )


def after(trials, *, replay=None, violations=None):
    """Return the state after trials given as (number, values, note)."""
    replay = replay or LocalSearchReplay(ORDER, SETTINGS)
    replay.follow(Trials(trials, violations))
    return replay.state


def test_the_state_before_the_first_trial():
    state = after([])
    assert (state.restart, state.incumbent, state.n_trials, state.step_size) == (0, -1, 0, 0.2)


def test_the_best_initial_trial_is_the_incumbent():
    state = after([(0, (5, 1), start()), (1, (3, 9), start()), (2, (3.5, 4), start())])
    # The third is within the tolerance of the second and has less of the second value.
    assert (state.incumbent, state.strict_incumbent) == (2, 1)
    assert (state.n_trials, state.iteration) == (3, 0)


def test_a_failed_direction_counts_after_its_opposite():
    trials = [(0, (3, 4), start()), (1, (9, 4), step(0, 1))]
    state = after(trials)
    assert (state.unpaired, state.iteration, state.n_failures) == (((1, 0),), 0, 0)
    trials.append((2, (9, 9), step(0, -1, opposite_of=1)))
    state = after(trials)
    assert (state.unpaired, state.iteration, state.n_failures) == ((), 1, 1)
    trials.append((3, (3, 2), step(0, 1)))
    state = after(trials)
    assert state.incumbent == 3
    assert (state.iteration, state.last_improvement, state.n_failures) == (2, 2, 0)


def test_a_direction_whose_opposite_was_tried_before_has_failed():
    trials = [(0, (3, 4), start()), (1, (9, 4), step(0, 1))]
    later = replace(step(0, 1), no_opposite=(1,))
    state = after([*trials, (2, (9, 9), later)])
    assert (state.unpaired, state.iteration, state.n_failures) == (((2, 0),), 1, 1)
    # The strict incumbent moves; the incumbent stays, and so do directions from there.
    state = after([*trials, (2, (2.9, 9), later)])
    assert (state.incumbent, state.strict_incumbent, state.unpaired) == (0, 2, ())
    assert (state.iteration, state.last_improvement, state.n_failures) == (2, 2, 0)


def test_an_improvement_drops_opposites_from_elsewhere():
    trials = [(0, (3, 4), start()), (1, (9, 4), step(0, 1)), (2, (3, 3), step(0, 1))]
    assert after(trials).unpaired == ()
    # A direction from the old incumbent that completes now has no opposite to try.
    late = after([*trials, (3, (9, 9), step(0, 1))])
    assert (late.unpaired, late.n_failures) == ((), 1)


def failing(count, *, first=1, base=0, restart=0):
    """Return trials of directions that fail on both sides."""
    trials = []
    for k in range(count):
        n = first + 2 * k
        trials.append((n, (9, 9), step(base, 1, restart=restart)))
        trials.append((n + 1, (9, 9), step(base, -1, restart=restart, opposite_of=n)))
    return trials


def test_the_step_size_shrinks_by_line_9_and_the_search_restarts_by_line_10():
    state = after([(0, (3, 4), start()), *failing(2)])
    assert state.step_size == pytest.approx(0.2 * math.sqrt(1 / 3))
    assert (state.n_failures, state.iteration) == (0, 2)
    state = after([(0, (3, 4), start()), *failing(4)])
    # 0.2 · √(1/3) · √(1/5) = 0.0516 is not yet below 0.05.
    assert state.step_size == pytest.approx(0.2 * math.sqrt(1 / 3) * math.sqrt(1 / 5))
    state = after([(0, (3, 4), start()), *failing(6)])
    assert (state.restart, state.incumbent, state.n_trials) == (1, -1, 0)
    assert state.step_size == SETTINGS.first_step_size(1, 9) == pytest.approx(0.3)


def test_a_restart_has_its_own_incumbent_but_the_targets_of_all_trials():
    trials = [(0, (3, 4), start()), *failing(6)]
    trials += [(13, (8, 1), start(1)), (14, (7.5, 9), step(13, 1, restart=1))]
    state = after(trials)
    # Both miss the target 4 of the first search, so the better first value wins; by the targets
    # since the restart alone the first would have stayed.
    assert (state.restart, trials[state.incumbent][0]) == (1, 14)


def test_limit_of_failures_and_first_step_sizes():
    limits = [LexiFlowSettings(max_failures=8).failure_limit(d) for d in (0, 1, 2, 3, 4, 50)]
    assert limits == [1, 1, 2, 4, 8, 8]
    assert LexiFlowSettings(max_failures=None).failure_limit(11) == 1024
    sizes = [LexiFlowSettings().first_step_size(r, 4) for r in (0, 1, 9)]
    assert sizes == pytest.approx([0.1, 0.2, 0.3])
    # The paper adds r to the length δ, which is √d times the step size per axis.
    paper = LexiFlowSettings(restart_step_increase=1)
    lengths = [2 * paper.first_step_size(r, 4) for r in (0, 1, 9)]
    assert lengths == pytest.approx([0.2, 1.2, 9.2])


def test_the_strict_incumbent_has_no_tolerances():
    trials = [(0, (3, 9), start()), (1, (3.5, 2), step(0, 1)), (2, (9, 9), step(0, 1))]
    state = after(trials)
    # Equal to the incumbent by the tolerance but with more features; its opposite is still open.
    assert (state.incumbent, state.strict_incumbent, state.unpaired) == (1, 0, ((2, 0),))
    # A better first value alone is an improvement; directions from the old one are dropped.
    state = after([*trials, (3, (2.8, 30), step(0, 1))])
    assert (state.incumbent, state.strict_incumbent, state.unpaired) == (1, 3, ())
    assert (state.iteration, state.last_improvement, state.n_failures) == (2, 2, 0)


def test_trials_of_other_samplers_belong_to_the_current_search():
    state = after([(0, (5, 5), start()), (1, (2, 2), OTHER)])
    assert (state.incumbent, state.n_trials, state.iteration) == (1, 2, 0)


def test_trials_that_are_no_direction_do_not_count_as_failures():
    trials = [(0, (3, 4), start()), *failing(1)]
    state = after([*trials, (3, (9, 9), OTHER), (4, (9, 9), start())])
    assert (state.n_failures, state.iteration, state.n_trials, state.step_size) == (1, 1, 5, 0.2)


def test_feasible_trials_are_better():
    values = [(0, 0), (9, 9), (5, 5), (0, 0)]
    trials = [(n, value, start()) for n, value in enumerate(values)]
    assert after(trials, violations=[1.0, 0.0, 0.0, 3.0]).incumbent == 2


def test_tighter_targets_bring_back_an_earlier_trial():
    # 0 is left for 1 (equal by the tolerance, fewer features). Then a trial of another restart
    # finds a lower error: 1 misses the new target, 0 reaches it.
    trials = [(0, (3.0, 9), start()), (1, (3.9, 2), step(0, 1))]
    assert after(trials).incumbent == 1
    assert after([*trials, (2, (2.5, 50), step(7, 1, restart=5))]).incumbent == 0


events = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(0, 5), st.sampled_from([0, 1, -1]), st.integers(0, 2)
    ),
    min_size=1,
    max_size=25,
)


@quick
@given(events, st.randoms(use_true_random=False))
def test_the_order_of_completion_does_not_matter(events, rng):
    """The state is a function of the completed trials alone."""
    trials = [
        (n, (a, b), step(max(0, n - 2), sign, restart=restart, opposite_of=n - 1))
        for n, (a, b, sign, restart) in enumerate(events)
    ]
    completed = trials.copy()
    rng.shuffle(completed)
    replay = LocalSearchReplay(ORDER, SETTINGS)
    for k in range(1, len(completed) + 1):
        state = after(sorted(completed[:k], key=lambda t: t[0]), replay=replay)
    assert state == after(trials)


class Algorithm1:
    """Algorithm 1 and equations 5 to 8 of Zhang et al. (2023), line by line.

    H holds all evaluated points, as the text says, and each iteration ends with its update.
    """

    def __init__(self, values, tolerances, dimension, step_size, min_step_size):
        self.values, self.tolerances = iter(enumerate(values)), tolerances
        self.limit, self.dimension = 2 ** (dimension - 1), dimension
        self.first, self.lower = step_size, min_step_size
        self.history, self.proposed = [], []

    def evaluate(self, incumbent, delta):
        number, found = next(self.values)
        self.proposed.append((number, incumbent, delta))
        self.new.append(found)
        return number, found

    def targets(self):
        kept, z = list(self.history), []
        for k, tolerance in enumerate(self.tolerances):
            z.append(min(f[k] for f in kept) + tolerance)
            kept = [f for f in kept if f[k] <= z[k]]
        return z

    def update(self, new, old, z):
        equal = [a == b or (a <= t and b <= t) for a, b, t in zip(new, old, z)]
        for k in range(len(z)):
            if all(equal[:k]) and new[k] < old[k] and old[k] > z[k]:
                return True
        return all(equal) and list(new) < list(old)

    def run(self):
        self.new = []
        x, value = self.evaluate(None, None)
        i = last = r = s = 0
        delta = self.first
        try:
            while True:
                self.history += self.new
                self.new = []
                z = self.targets()
                new = self.evaluate(x, delta)
                if self.update(new[1], value, z):
                    (x, value), last = new, i
                else:
                    new = self.evaluate(x, delta)
                    if self.update(new[1], value, z):
                        (x, value), last = new, i
                    else:
                        s += 1
                if s == self.limit:
                    s = 0
                    delta *= ((last + 1) / (i + 1)) ** 0.5
                    if delta < self.lower:
                        r += 1
                        self.history += self.new
                        self.new = []
                        x, value = self.evaluate(None, None)
                        delta = self.first + r / self.dimension**0.5
                i += 1
        except StopIteration:
            return self.proposed, r


def test_from_paper_is_algorithm_1_line_by_line():
    restarts = 0
    for seed in range(4):
        preference = LexicographicPreference(tolerances=[0.05, 0.0])
        sampler = LexiFlowSampler.from_paper(preference, seed=seed)
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)

        def objective(trial):
            x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
            return (x - 0.3) ** 2 + (y - 0.6) ** 2, x + np.sin(9 * y)

        study.optimize(objective, n_trials=150)
        values = [trial.values for trial in study.trials]
        proposed, r = Algorithm1(values, [0.05, 0.0], 2, 0.1, 0.01).run()
        restarts += r
        for number, incumbent, delta in proposed[1:]:
            note = frozen_attr(study.trials[number], NOTE)
            assert tuple(note.get("parents", ())) == (() if incumbent is None else (incumbent,))
            if delta is not None:
                np.testing.assert_allclose(note["step_size"], delta)
    assert restarts > 0


def test_the_first_shrinking_of_algorithm_1_is_by_the_square_root_of_a_half():
    search = LocalSearchReplay(
        ORDER,
        LexiFlowSettings(max_failures=None, as_printed=True),
    )
    state = LocalSearchState(0, 0.1, iteration=2, n_failures=2)
    np.testing.assert_allclose(search._adapted(state, 2).step_size, 0.1 * np.sqrt(0.5))
