from __future__ import annotations

import itertools
import math

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.trial import create_trial

from optuna_mofs import FeatureSelectionObjective, LexicographicPreference, pareto_front
from optuna_mofs.fronts._lexicographic import LexicographicOrder

quick = settings(max_examples=80)
#: Section 2.1 of the paper; the goal of the loss is printed inf and must be -inf.
EXAMPLE = {"A": (0.2, 100, 0.1), "B": (0.1, 600, 0.2), "C": (0.13, 500, 0.2), "D": (0.1, 300, 0.5)}
NAMES = ["loss", "features", "instability"]


def study_of(rows, *, directions=None, names=None, constraints=None):
    rows = list(rows)
    study = optuna.create_study(directions=directions or ["minimize"] * len(rows[0]))
    if names:
        study.set_metric_names(names)
    for i, values in enumerate(rows):
        attrs = {} if constraints is None else {"constraints": [constraints[i]]}
        study.add_trial(create_trial(values=list(map(float, values)), system_attrs=attrs))
    return study


# Few distinct values, so that equal ones and ones at the targets are common.
value = st.integers(0, 4).map(float)


@st.composite
def cases(draw, least=3, most=8):
    width = draw(st.integers(1, 3))
    count = draw(st.integers(least, most))
    points = np.array(
        draw(
            st.lists(
                st.lists(value, min_size=width, max_size=width), min_size=count, max_size=count
            )
        )
    )
    one = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from(["0%", "25%", "100%"]))
    order = LexicographicOrder.of(
        width,
        tolerances=draw(st.lists(one, min_size=width, max_size=width)),
        goals=draw(st.lists(st.one_of(st.none(), value), min_size=width, max_size=width)),
        priorities=draw(st.permutations(range(width))),
    )
    return points, order


def equation_5(a, b, z):
    return all(x == y or (x <= t and y <= t) for x, y, t in zip(a, b, z))


def equation_6(a, b, z, columns):
    """Literally: a is better in a column k, b misses its target, and both are equal before k."""
    for k, c in enumerate(columns):
        before = list(columns[:k])
        if a[c] < b[c] and b[c] > z[c] and equation_5(a[before], b[before], z[before]):
            return True
    return False


def lifted(order, a, b, z):
    """Return two points by priority, with values that reach their target set to it."""
    return order.lifted(np.array([a, b]), z).tolist()


# ---- the relations ------------------------------------------------------------------------------


@quick
@given(cases())
def test_relations_are_those_of_equations_5_to_7(case):
    points, order = case
    z = order.targets(points)
    for a in points:
        for b in points:
            x, y = lifted(order, a, b, z)
            assert (x == y) == equation_5(a, b, z)
            assert (x < y) == equation_6(a, b, z, order.columns)
            assert (x <= y) == (equation_6(a, b, z, order.columns) or equation_5(a, b, z))


@quick
@given(cases(), st.lists(value, min_size=3, max_size=3))
def test_lemma_1_reflexive_transitive_total_for_any_targets(case, targets):
    points, order = case
    z = np.array(targets[: points.shape[1]])
    a, b, c = points[:3]

    def not_worse(a, b):
        x, y = lifted(order, a, b, z)
        return x <= y

    assert not_worse(a, a)
    assert not_worse(a, b) or not_worse(b, a)
    if not_worse(a, b) and not_worse(b, c):
        assert not_worse(a, c)
    # Accepting is strict and total: of two points with different values one is accepted.
    assert order.accepts(a, b, z) + order.accepts(b, a, z) == (not np.array_equal(a, b))


@quick
@given(cases())
def test_ranking_agrees_with_pairwise_acceptance(case):
    points, order = case
    z = order.targets(points)
    ranked = order.ranking(points)
    for first, second in itertools.pairwise(ranked):
        assert not order.accepts(points[second], points[first], z)
    assert order.ranking(points, z).tolist() == ranked.tolist()


@quick
@given(cases())
def test_targets_only_get_stricter_in_order_of_priority(case):
    """The first target never rises; a later one rises only if an earlier one fell."""
    points, order = case
    columns = list(order.columns)
    seen = [order.targets(points[: i + 1])[columns].tolist() for i in range(len(points))]
    assert all(after <= before for before, after in itertools.pairwise(seen))


# ---- of a study ---------------------------------------------------------------------------------


def test_worked_example_of_the_paper():
    study = study_of(EXAMPLE.values(), names=NAMES)
    preference = LexicographicPreference(NAMES, tolerances={"loss": 0.05}, goals={"features": 500})
    assert tuple(preference.best(study).values) == EXAMPLE["C"]
    order = [tuple(trial.values) for trial in preference.rank(study)]
    # A misses the loss; B the features; D reaches both but is less stable.
    assert order == [EXAMPLE[x] for x in "CDBA"]
    assert preference.targets(study) == pytest.approx(
        {"loss": 0.15, "features": 500, "instability": 0.2}
    )


def test_names_and_positions_are_equivalent():
    study = study_of(EXAMPLE.values(), names=NAMES)
    ways = [
        LexicographicPreference(tolerances={"loss": 0.05}, goals={"features": 500}),
        LexicographicPreference([0, 1, 2], tolerances={0: 0.05}, goals={1: 500}),
        LexicographicPreference(tolerances=[0.05, 0, 0], goals=[None, 500, None]),
        LexicographicPreference(["loss"], tolerances={"loss": "50%"}, goals={"features": 500.0}),
    ]
    assert {w.best(study).number for w in ways} == {2}
    assert LexicographicPreference(["instability"]).best(study).number == 0


@quick
@given(st.lists(st.tuples(value, value), min_size=1, max_size=8), st.sampled_from([1.0, "25%"]))
def test_maximizing_is_minimizing_the_negative(rows, tolerance):
    down = study_of([(-a, b) for a, b in rows])
    up = study_of(rows, directions=["maximize", "minimize"])
    mine = LexicographicPreference(tolerances={0: tolerance}, goals={0: 3.0})
    theirs = LexicographicPreference(tolerances={0: tolerance}, goals={0: -3.0})
    assert [t.number for t in mine.rank(up)] == [t.number for t in theirs.rank(down)]
    assert mine.targets(up)["value_0"] == -theirs.targets(down)["value_0"]


@quick
@given(st.lists(st.tuples(value, value, value), min_size=1, max_size=9))
def test_the_front_picks_the_same(rows):
    study = study_of(rows)
    options = {"tolerances": {0: 1.0, 1: "50%"}, "goals": {1: 2.0}}
    best = LexicographicPreference([1, 0], **options).best(study)
    front = pareto_front(study).lexicographic(priorities=[1, 0], **options)
    assert front.number == best.number


def test_percent_of_a_maximized_metric_loosens():
    study = study_of([(0.9, 50), (0.82, 5), (0.7, 1)], directions=["maximize", "minimize"])
    assert LexicographicPreference(tolerances={0: "10%"}).best(study).number == 1


def test_names_of_the_objectives_measures():
    from sklearn.naive_bayes import GaussianNB

    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, measures=["error", "n_features"], cv=2
    )
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=4)
    fewest = LexicographicPreference(["n_features"]).best(study)
    assert fewest.values[1] == min(t.values[1] for t in study.trials)


def test_infeasible_trials_come_last():
    def objective(trial):
        trial.set_constraint("c", [5.0, -1.0, 2.0, 0.0][trial.number])
        return float(trial.number)

    study = optuna.create_study()
    study.optimize(objective, n_trials=4)
    preference = LexicographicPreference()
    assert [t.number for t in preference.rank(study)] == [1, 3, 2, 0]
    assert preference.best(study).number == 1
    assert preference.targets(study) == {"value_0": 1.0}


def test_a_study_without_trials_has_no_best_trial():
    study = optuna.create_study()
    assert LexicographicPreference().rank(study) == []
    with pytest.raises(ValueError, match="none of its 0 completed trials is feasible"):
        LexicographicPreference().best(study)
    with pytest.raises(ValueError, match="no best trial"):
        LexicographicPreference().targets(study)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priorities": "loss"}, "sequence of metrics.*'loss'"),
        ({"priorities": 3}, "sequence of metrics.*3"),
        ({"tolerances": 0.05}, "mapping.*0.05"),
        ({"tolerances": "5%"}, "mapping.*'5%'"),
        ({"tolerances": {"loss": -1}}, "tolerance.*-1"),
        ({"tolerances": {"loss": "5"}}, "tolerance.*'5'"),
        ({"goals": {"loss": math.nan}}, "NaN"),
        ({"priorities": ["loss"], "tolerances": [0.1, 0]}, "must name the metrics"),
        ({"priorities": ["loss"], "goals": [0.1, 0]}, "must name the metrics"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LexicographicPreference(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priorities": ["lost"]}, "No metric 'lost'; the metrics are.*loss"),
        ({"tolerances": {5: 0.1}}, "No metric 5"),
        ({"tolerances": [0.1]}, "one value for each of"),
        ({"priorities": ["loss", 0]}, "different columns"),
    ],
)
def test_metrics_that_the_study_lacks_are_refused(options, message):
    study = study_of(EXAMPLE.values(), names=NAMES)
    with pytest.raises(ValueError, match=message):
        LexicographicPreference(**options).best(study)
