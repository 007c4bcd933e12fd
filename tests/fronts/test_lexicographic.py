from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_mofs.fronts import lexicographic_index, lexicographic_targets, nondominated_mask
from optuna_mofs.fronts._lexicographic import GrowingRanking, LexicographicOrder, RunningTargets

from .helpers import point_arrays, quick, special

EXAMPLE = np.array([[0.2, 100, 0.1], [0.1, 600, 0.2], [0.13, 500, 0.2], [0.1, 300, 0.5]])


@st.composite
def preferences(draw, points=None):
    array = draw(points if points is not None else point_arrays())
    width = array.shape[1]
    one = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.sampled_from(["0%", "25%", "100%"]))
    tolerances = draw(st.lists(one, min_size=width, max_size=width))
    goal = st.one_of(st.none(), st.integers(-1, 7).map(float))
    goals = draw(st.lists(goal, min_size=width, max_size=width))
    order = draw(st.permutations(range(width)))
    return array, {"tolerances": tolerances, "goals": goals, "priorities": order}


@quick
@given(preferences(), st.lists(st.integers(1, 3), max_size=8))
def test_a_growing_ranking_is_that_of_all_points(chosen, steps):
    points, options = chosen
    order, ranking = LexicographicOrder.of(points.shape[1], **options), GrowingRanking()
    for end in [*np.cumsum(steps), len(points), 1]:
        part = points[:end]
        if not np.isnan(part).any(axis=1).all():
            np.testing.assert_array_equal(ranking.update(order, part), order.ranking(part))


def slack(tolerance, best):
    return float(tolerance[:-1]) / 100 * abs(best) if isinstance(tolerance, str) else tolerance


def better(a, b, targets, order):
    """Equations 6, and 3 where equation 5 holds: whether a is to be taken before b."""
    for k in order:
        if a[k] == b[k] or (a[k] <= targets[k] and b[k] <= targets[k]):
            continue
        return a[k] < b[k]
    return next((a[k] < b[k] for k in order if a[k] != b[k]), False)


def test_worked_example_of_the_paper():
    pick = lexicographic_index(EXAMPLE, tolerances=[0.05, 0, 0], goals=[None, 500, None])
    assert pick == 2
    targets = lexicographic_targets(EXAMPLE, tolerances=[0.05, 0, 0], goals=[None, 500, None])
    np.testing.assert_allclose(targets, [0.15, 500, 0.2])


@quick
@given(preferences())
def test_no_point_is_better_by_the_relations_of_the_paper(case):
    points, options = case
    pick = points[lexicographic_index(points, **options)]
    targets = lexicographic_targets(points, **options)
    assert not any(better(p, pick, targets, options["priorities"]) for p in points)


@quick
@given(preferences())
def test_targets_are_those_of_equation_8(case):
    points, options = case
    targets = lexicographic_targets(points, **options)
    left = list(points)
    for k in options["priorities"]:
        best = min(p[k] for p in left)
        goal = options["goals"][k]
        expected = best + slack(options["tolerances"][k], best)
        expected = expected if goal is None else max(goal, expected)
        assert targets[k] == expected
        left = [p for p in left if p[k] <= expected]


@quick
@given(preferences())
def test_the_pick_is_on_the_front_and_the_front_alone_gives_the_same(case):
    points, options = case
    mask = nondominated_mask(points)
    pick = lexicographic_index(points, **options)
    assert mask[pick]
    front = points[mask]
    np.testing.assert_array_equal(front[lexicographic_index(front, **options)], points[pick])


@quick
@given(preferences(point_arrays(special)))
def test_nan_and_infinities(case):
    points, options = case
    if np.isnan(points).any(axis=1).all():
        with pytest.raises(ValueError, match="at least one point without NaN"):
            lexicographic_index(points, **options)
    else:
        pick = lexicographic_index(points, **options)
        assert nondominated_mask(points)[pick]
        assert not np.isnan(lexicographic_targets(points, **options)).any()


@quick
@given(point_arrays())
def test_without_options_the_plain_order(points):
    expected = min(points.tolist())
    assert points[lexicographic_index(points)].tolist() == expected


def test_priorities_left_out_follow_in_order():
    points = [[1.0, 2.0, 5.0], [2.0, 1.0, 5.0], [0.0, 3.0, 6.0]]
    assert lexicographic_index(points) == 2
    assert lexicographic_index(points, priorities=[2]) == 0
    assert lexicographic_index(points, priorities=[2, 1]) == 1


def test_percent_of_a_negative_best_value_loosens():
    # A maximized accuracy arrives with its sign changed: 10 % of 0.9 may be given up.
    points = [[-0.9, 50.0], [-0.82, 5.0], [-0.7, 1.0]]
    assert lexicographic_index(points, tolerances=["10%", 0]) == 1


def test_the_edge_of_a_tolerance_is_included_despite_rounding():
    assert 0.7 + 0.1 < 0.8
    assert lexicographic_index([[0.7, 9.0], [0.8, 1.0]], tolerances=[0.1, 0]) == 1
    assert lexicographic_index([[0.7, 9.0], [0.8001, 1.0]], tolerances=[0.1, 0]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerances": [-1.0, 0.0]}, "tolerance.*-1.0"),
        ({"tolerances": ["5", 0.0]}, "tolerance.*'5'"),
        ({"tolerances": ["x%", 0.0]}, "tolerance.*'x%'"),
        ({"tolerances": [np.inf, 0.0]}, "tolerance.*inf"),
        ({"tolerances": [np.nan, 0.0]}, "tolerance.*nan"),
        ({"tolerances": [0.0]}, "2 entries"),
        ({"goals": [1.0]}, "2 entries"),
        ({"goals": [np.nan, None]}, "NaN"),
        ({"priorities": [0, 0]}, "different columns"),
        ({"priorities": [2]}, "from 0 to 1"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        lexicographic_index([[1.0, 2.0]], **options)


def test_inputs_are_not_changed():
    points, tolerances, goals = EXAMPLE.copy(), [0.05, "5%", 0], [None, 500, None]
    lexicographic_index(points, tolerances=tolerances, goals=goals, priorities=[1])
    np.testing.assert_array_equal(points, EXAMPLE)
    assert tolerances == [0.05, "5%", 0]
    assert goals == [None, 500, None]


@quick
@given(preferences())
def test_running_targets_and_the_best_row_are_those_of_all_points(given_):
    points, options = given_
    order = LexicographicOrder.of(points.shape[1], **options)
    running, first = RunningTargets(order), int(np.isfinite(points).all(axis=1).argmax())
    for count in range(first + 1, len(points) + 1):
        targets = order.targets(points[:count])
        np.testing.assert_array_equal(running.after(points[:count]), targets)
        assert order.best(points[:count], targets) == order.ranking(points[:count])[0]
    running.forget()
    np.testing.assert_array_equal(running.after(points[:1]), order.targets(points[:1]))


@quick
@given(preferences())
def test_the_ranking_skips_only_keys_that_decide_nothing(given_):
    points, options = given_
    order = LexicographicOrder.of(points.shape[1], **options)
    keys = np.hstack([order.lifted(points, order.targets(points)), points[:, order.columns]])
    expected = sorted(range(len(points)), key=lambda i: (*keys[i].tolist(), i))
    assert order.ranking(points).tolist() == expected
