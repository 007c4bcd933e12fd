from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.fronts._lexicographic import LexicographicOrder
from optuna_mofs.samplers.lexiflow._local_search import LocalSearchReplay, Rules

quick = settings(max_examples=60)
ORDER = LexicographicOrder.of(2, tolerances=[1.0, 0.0]).after_violations()
RULES = Rules(first_step=0.2, least_step=0.05, most_failures=2)


def start(thread=0):
    return {"thread": thread, "step": 0.2}


def step(incumbent, sign, *, thread=0, opposite=None):
    note = {"thread": thread, "incumbent": incumbent, "sign": sign, "dimension": 9}
    return note if opposite is None else {**note, "opposite": opposite}


def after(trials, *, threads=None, rules=RULES):
    """The stand after trials given as (number, values, note)."""
    threads = threads or LocalSearchReplay(ORDER, rules)
    numbers = np.array([t[0] for t in trials], dtype=np.int64)
    points = np.array([(0.0, *t[1]) for t in trials]).reshape(len(trials), 3)
    return threads.after(numbers, points, [t[2] for t in trials])


def test_nothing_is_known_at_first():
    stand = after([])
    assert (stand.thread, stand.incumbent, stand.members, stand.step) == (0, -1, 0, 0.2)


def test_the_best_start_is_the_incumbent():
    stand = after([(0, (5, 1), start()), (1, (3, 9), start()), (2, (3.5, 4), start())])
    # The third is within the tolerance of the second and has less of the second value.
    assert (stand.incumbent, stand.leader, stand.members, stand.iteration) == (2, 1, 3, 0)


def test_a_failed_direction_waits_for_its_opposite_and_then_counts():
    trials = [(0, (3, 4), start()), (1, (9, 4), step(0, 1))]
    stand = after(trials)
    assert (stand.waiting, stand.iteration, stand.failures) == (((1, 0),), 0, 0)
    trials.append((2, (9, 9), step(0, -1, opposite=1)))
    stand = after(trials)
    assert (stand.waiting, stand.iteration, stand.failures) == ((), 1, 1)
    trials.append((3, (3, 2), step(0, 1)))
    stand = after(trials)
    assert (stand.incumbent, stand.iteration, stand.improved, stand.failures) == (3, 2, 2, 0)


def test_a_direction_whose_opposite_was_tried_before_has_failed():
    trials = [(0, (3, 4), start()), (1, (9, 4), step(0, 1))]
    later = {**step(0, 1), "no_opposite": [1]}
    stand = after([*trials, (2, (9, 9), later)])
    assert (stand.waiting, stand.iteration, stand.failures) == (((2, 0),), 1, 1)
    # The leader moves; the incumbent stays, and so do directions from there.
    stand = after([*trials, (2, (2.9, 9), later)])
    assert (stand.incumbent, stand.leader, stand.waiting) == (0, 2, ())
    assert (stand.iteration, stand.improved, stand.failures) == (2, 2, 0)


def test_an_improvement_ends_waiting_for_opposites_from_elsewhere():
    trials = [(0, (3, 4), start()), (1, (9, 4), step(0, 1)), (2, (3, 3), step(0, 1))]
    assert after(trials).waiting == ()
    # A direction from the old incumbent that comes in now has no opposite to try.
    late = after([*trials, (3, (9, 9), step(0, 1))])
    assert (late.waiting, late.failures) == ((), 1)


def failing(count, *, first=1, incumbent=0, thread=0):
    """Trials of directions that fail on both sides."""
    trials = []
    for k in range(count):
        n = first + 2 * k
        trials.append((n, (9, 9), step(incumbent, 1, thread=thread)))
        trials.append((n + 1, (9, 9), step(incumbent, -1, thread=thread, opposite=n)))
    return trials


def test_the_step_shrinks_by_line_9_and_a_thread_ends_by_line_10():
    trials = [(0, (3, 4), start()), *failing(2)]
    stand = after(trials)
    assert stand.step == pytest.approx(0.2 * math.sqrt(1 / 3))
    assert (stand.failures, stand.iteration) == (0, 2)
    stand = after([(0, (3, 4), start()), *failing(4)])
    # 0.2 · √(1/3) · √(1/5) = 0.0516 is not yet below 0.05.
    assert stand.step == pytest.approx(0.2 * math.sqrt(1 / 3) * math.sqrt(1 / 5))
    stand = after([(0, (3, 4), start()), *failing(6)])
    assert (stand.thread, stand.incumbent, stand.members) == (1, -1, 0)
    assert stand.step == RULES.step_of(1, 9) == pytest.approx(0.3)


def test_after_a_restart_the_incumbent_is_of_the_new_thread_but_targets_are_of_all():
    trials = [(0, (3, 4), start()), *failing(6)]
    trials += [(13, (8, 1), start(1)), (14, (7.5, 9), step(13, 1, thread=1))]
    stand = after(trials)
    # Both miss the target 4 of the first thread, so the better first value wins; by the targets
    # of this thread alone the first would have stayed.
    assert (stand.thread, trials[stand.incumbent][0]) == (1, 14)


def test_paper_limit_and_cap():
    assert [Rules(most_failures=8).limit(d) for d in (0, 1, 2, 3, 4, 50)] == [1, 1, 2, 4, 8, 8]
    assert Rules().limit(11) == 1024
    assert [Rules().step_of(r, 4) for r in (0, 1, 9)] == pytest.approx([0.1, 0.2, 0.3])
    # The paper adds r to the length δ, which is √d times the step for each axis.
    assert [2 * Rules(widen=1).step_of(r, 4) for r in (0, 1, 9)] == pytest.approx([0.2, 1.2, 9.2])


def test_the_leader_gives_nothing_up():
    trials = [(0, (3, 9), start()), (1, (3.5, 2), step(0, 1)), (2, (9, 9), step(0, 1))]
    stand = after(trials)
    # Equal to the incumbent by the tolerance but with more features; its opposite is still open.
    assert (stand.incumbent, stand.leader, stand.waiting) == (1, 0, ((2, 0),))
    # A better first value alone is progress, and what began at the old leader is not pursued.
    stand = after([*trials, (3, (2.8, 30), step(0, 1))])
    assert (stand.incumbent, stand.leader, stand.waiting) == (1, 3, ())
    assert (stand.iteration, stand.improved, stand.failures) == (2, 2, 0)


def test_trials_of_others_are_taken_up():
    stand = after([(0, (5, 5), start()), (1, (2, 2), {})])
    assert (stand.incumbent, stand.members, stand.iteration) == (1, 2, 0)


def test_trials_that_are_no_direction_do_not_count_as_failures():
    trials = [(0, (3, 4), start()), *failing(1)]
    stand = after([*trials, (3, (9, 9), {}), (4, (9, 9), start())])
    assert (stand.failures, stand.iteration, stand.members, stand.step) == (1, 1, 5, 0.2)


def test_feasible_first():
    threads = LocalSearchReplay(ORDER, RULES)
    points = np.array([[1.0, 0, 0], [0.0, 9, 9], [0.0, 5, 5], [3.0, 0, 0]])
    stand = threads.after(np.arange(4), points, [start()] * 4)
    assert stand.incumbent == 2


def test_tighter_targets_bring_back_an_earlier_trial():
    # 0 is left for 1 (equal by the tolerance, fewer features). Then a trial of another thread
    # finds a lower error: 1 misses the new target, 0 reaches it.
    trials = [(0, (3.0, 9), start()), (1, (3.9, 2), step(0, 1))]
    assert after(trials).incumbent == 1
    assert after([*trials, (2, (2.5, 50), step(7, 1, thread=5))]).incumbent == 0


events = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(0, 5), st.sampled_from([0, 1, -1]), st.integers(0, 2)
    ),
    min_size=1,
    max_size=25,
)


@quick
@given(events, st.randoms(use_true_random=False))
def test_the_order_of_telling_does_not_matter(events, random):
    """Late results are inserted: the stand is a function of the finished trials alone."""
    trials = [
        (n, (a, b), step(max(0, n - 2), sign, thread=thread, opposite=n - 1))
        for n, (a, b, sign, thread) in enumerate(events)
    ]
    told = trials.copy()
    random.shuffle(told)
    threads = LocalSearchReplay(ORDER, RULES)
    for k in range(1, len(told) + 1):
        stand = after(sorted(told[:k], key=lambda t: t[0]), threads=threads)
    assert stand == after(trials)
