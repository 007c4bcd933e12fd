from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from sklearn.datasets import load_wine
from sklearn.svm import SVC

from optuna_mofs import FeatureSelectionObjective, LexiFlowSampler
from optuna_mofs.features import FeatureTable, FilterEnsembleFeatures
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.samplers._initial_design import latin_hypercube
from optuna_mofs.samplers.lexiflow import LexiFlowSettings
from optuna_mofs.samplers.lexiflow._directions import (
    SELECTED,
    EuclideanSpace,
    flip_near_boundary,
    low_cost_row,
    random_direction,
    random_directions,
    restart_row,
    rounded,
)
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed
from tests.samplers.lexiflow import LOSS_FIRST, flat, notes

quick = settings(max_examples=60)

SPACE = SearchSpace(
    {
        "C": FloatDistribution(0.01, 100, log=True),
        "part": FloatDistribution(0, 1, step=0.25),
        "depth": IntDistribution(1, 9),
        "kind": CategoricalDistribution(["a", "b", "c"]),
        "leaf": IntDistribution(1, 64, log=True),
    }
)

GRID = EuclideanSpace(
    SearchSpace({"depth": IntDistribution(1, 4), "kind": CategoricalDistribution("ab")})
)

units = st.lists(st.floats(0, 0.999), min_size=5, max_size=5).map(np.array)


@quick
@given(units)
def test_a_row_and_its_point_mean_the_same(unit):
    space = EuclideanSpace(SPACE)
    row = SPACE.from_unit(unit[None])[0]
    assert SPACE.decode(space.to_row(space.to_point(row))) == SPACE.decode(row)
    assert space.dimension == 4 + 3


@quick
@given(units, st.lists(st.floats(-3, 3), min_size=7, max_size=7).map(np.array))
def test_every_step_ends_inside_the_space(unit, step):
    space = EuclideanSpace(SPACE)
    point = space.bounded(space.to_point(SPACE.from_unit(unit[None])[0]) + step)
    row = space.to_row(point)
    assert ((row >= 0) & (row <= np.where(SPACE.categorical, SPACE.cells - 1, 1))).all()
    # A point inside the bounds stays as it is.
    np.testing.assert_allclose(space.bounded(point), point)
    for name, value in SPACE.decode(row).items():
        assert SPACE.distributions[name]._contains(
            SPACE.distributions[name].to_internal_repr(value)
        )


def test_a_small_step_keeps_a_category_and_opposite_steps_leave_it_for_different_ones():
    space = EuclideanSpace(SearchSpace({"kind": CategoricalDistribution(["a", "b", "c"])}))
    here = space.to_point(np.array([0.0]))
    assert here.tolist() == [SELECTED, 0, 0]
    u = np.array([0.0, 1.0, -1.0])
    assert [space.to_row(here + sign * 0.1 * u)[0] for sign in (1, -1)] == [0, 0]
    assert [space.to_row(here + sign * 0.3 * u)[0] for sign in (1, -1)] == [1, 2]


def test_steps_smaller_than_a_cell_add_up():
    params, noted = {"depth": 1, "kind": "a"}, ()
    for _ in range(4):
        here = GRID.noted_point(GRID.space.encode(params), noted)
        point = GRID.bounded(here + np.array([0.06, -0.03, 0.03]))
        params, noted = GRID.space.decode(GRID.to_row(point)), rounded(point)
    assert params == {"depth": 2, "kind": "b"}


@pytest.mark.parametrize("noted", [(), (0.5,), (0.1, SELECTED, 0.0)])
def test_a_noted_point_that_does_not_mean_the_row_is_ignored(noted):
    row = GRID.space.encode({"depth": 3, "kind": "b"})
    np.testing.assert_array_equal(GRID.noted_point(row, noted), GRID.to_point(row))


def test_a_step_changes_a_fraction_of_features_by_a_factor():
    table = FeatureTable(
        tuple(f"x{j}" for j in range(1000)), filters=("one",), ranks=np.linspace(0, 1, 1000)[None]
    )
    chosen = FilterEnsembleFeatures().bind(table)
    history = History(StudyDescription(table, chosen, {"C": FloatDistribution(0, 1)}))
    space = EuclideanSpace.of(history)
    j = history.space.names.index("fraction")
    counts = []
    for size in (0.4, 4, 40, 400, 1000):
        coordinate = np.log(size / 0.4) / np.log(1000 / 0.4)
        row = space.to_row(np.where(np.arange(space.dimension) == j, coordinate, 0.5))
        mask = chosen.choose({**history.space.decode(row)})
        counts.append(int(mask.sum()))
    assert counts == [0, 4, 40, 400, 1000]


def test_several_rows_at_once_are_as_one_by_one():
    units = np.random.default_rng(0).random((6, 5))
    space = EuclideanSpace(SPACE)
    rows = space.from_unit(units)
    np.testing.assert_array_equal(rows, [space.from_unit(u) for u in units])
    there = space.to_point(rows)
    np.testing.assert_array_equal(there, [space.to_point(row) for row in rows])
    moved = there + np.random.default_rng(1).standard_normal(there.shape)
    inside = space.bounded(moved)
    np.testing.assert_array_equal(inside, [space.bounded(point) for point in moved])
    np.testing.assert_array_equal(space.to_row(inside), [space.to_row(point) for point in inside])


def table(p, **options):
    ranks = np.linspace(1, 0, p)[None]
    return FeatureTable(tuple(f"x{j}" for j in range(p)), filters=("one",), ranks=ranks, **options)


def flipped(mask, seed, **options):
    """Return the mask with some bits flipped."""
    costs = options.pop("costs", None)
    rng = np.random.default_rng(seed)
    return flip_near_boundary(rng, mask, table(len(mask), costs=costs), **options)


@pytest.mark.parametrize("dimension", [0, 1, 3, 20])
@pytest.mark.parametrize("sparse", [0.0, 0.5, 1.0])
def test_directions_have_length_1_for_each_axis_on_average(dimension, sparse):
    rng = np.random.default_rng(dimension)
    drawn = np.array([random_direction(rng, dimension, sparse_prob=sparse) for _ in range(1500)])
    assert drawn.shape == (1500, dimension)
    if dimension:
        assert np.mean(drawn**2) == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("sparse", [0.0, 1.0])
def test_unit_directions_have_the_same_length(sparse):
    rng = np.random.default_rng(0)
    drawn = np.array([random_direction(rng, 5, sparse_prob=sparse, unit=True) for _ in range(50)])
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 5**0.5)
    assert random_direction(rng, 0, unit=True).shape == (0,)


def small(directions):
    """Share of axes that hardly move, against the one that moves most."""
    return np.mean(np.abs(directions) < 0.05 * np.abs(directions).max(axis=1, keepdims=True))


@pytest.mark.parametrize("dimension", [0, 1, 6])
@pytest.mark.parametrize("sparse", [0.0, 1.0])
def test_several_directions_at_once_have_the_same_distribution(dimension, sparse):
    drawn = random_directions(np.random.default_rng(0), 2000, dimension, sparse_prob=sparse)
    assert drawn.shape == (2000, dimension)
    if dimension:
        assert np.mean(drawn**2) == pytest.approx(1, abs=0.15)
    if dimension == 6:
        assert small(drawn) > 0.3 if sparse else small(drawn) < 0.1


def test_directions_are_uniform_and_in_sparse_ones_axes_hardly_move():
    rng = np.random.default_rng(0)
    dense = np.array([random_direction(rng, 4) for _ in range(2000)])
    assert np.abs(dense.mean(axis=0)).max() < 0.1
    np.testing.assert_allclose((dense**2).mean(axis=0), 1, atol=0.1)
    assert (dense != 0).all()
    thin = np.array([random_direction(rng, 4, sparse_prob=1.0) for _ in range(500)])
    assert small(thin) > small(dense) + 0.15
    assert (thin != 0).all()


@quick
@given(
    st.integers(2, 40),
    st.integers(0, 2**32),
    st.floats(0.01, 0.5),
    st.sampled_from([1, -1]),
)
def test_flips_never_empty_a_mask(p, seed, step_size, sign):
    rng = np.random.default_rng(seed)
    mask = rng.random(p) < rng.random()
    before = mask.copy()
    changed = flipped(mask, seed + 1, sign=sign, step_size=step_size)
    np.testing.assert_array_equal(mask, before)
    assert changed.any() or not mask.any()
    assert changed.shape == mask.shape


def test_the_opposite_drops_what_the_direction_adds_and_takes_other_features():
    mask = np.arange(200) < 60
    for seed in range(30):
        there, back = (flipped(mask, seed, sign=sign, step_size=0.2) for sign in (1, -1))
        dropped, added = (mask & ~there).sum(), (~mask & there).sum()
        assert ((mask & ~back).sum(), (~mask & back).sum()) == (added, dropped)
        assert not ((mask ^ there) & (mask ^ back)).any()


def test_flips_are_near_the_boundary_of_the_filters():
    mask = np.arange(200) < 40
    flips = sum(mask ^ flipped(mask, seed, sign=1, step_size=0.1) for seed in range(400))
    near = flips[20:60].mean()
    assert near > 3 * flips[:20].mean()
    assert near > 3 * flips[100:].mean()


def test_the_number_of_flips_is_proportional_to_step_size_and_size():
    def mean(size, step_size):
        mask = np.arange(1000) < size
        changed = [flipped(mask, seed, sign=1, step_size=step_size) for seed in range(200)]
        return np.mean([(mask ^ other).sum() for other in changed])

    assert mean(400, 0.1) == pytest.approx(1 + 400 * 0.1 * 0.8, rel=0.2)
    assert mean(400, 0.02) < 0.4 * mean(400, 0.1)
    assert mean(5, 0.1) < 2


def test_expensive_features_are_added_last():
    costs = np.where(np.arange(100) % 2, 1.0, 50.0)
    mask = np.arange(100) < 1
    added = sum(
        ~mask & flipped(mask, seed, costs=costs, sign=1, step_size=0.1) for seed in range(300)
    )
    assert added[1::2].sum() > 2 * added[2::2].sum()


START_SPACE = SearchSpace(
    {
        "C": FloatDistribution(0.1, 1000, log=True),
        "kernel": CategoricalDistribution(["linear", "rbf"]),
    }
)


def test_the_first_row_is_the_low_cost_configuration() -> None:
    rng, space = np.random.default_rng(0), EuclideanSpace(START_SPACE)
    found = START_SPACE.decode(low_cost_row(rng, space, {"C": 10.0, "elsewhere": 3}))
    assert found["C"] == pytest.approx(10)
    kernels = {START_SPACE.decode(low_cost_row(rng, space, {}))["kernel"] for _ in range(30)}
    assert kernels == {"linear", "rbf"}


def test_restarts_are_spread_around_the_low_cost_configuration_and_stay_inside() -> None:
    rng, space = np.random.default_rng(0), EuclideanSpace(START_SPACE)
    rows = np.array([restart_row(rng, space, {"C": 0.1})[0] for _ in range(300)])
    assert ((rows >= 0) & (rows <= 1)).all()
    assert rows.std() > 0.2


def test_parameters_without_a_low_cost_value_follow_the_design() -> None:
    rng = np.random.default_rng(7)
    rows = restart_row(rng, EuclideanSpace(START_SPACE), {}, latin_hypercube(rng, 10, 2))
    assert sorted(int(10 * row) for row in rows[:, 0]) == list(range(10))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"c": 1.0}, "names 'c', which is not a parameter of the study"),
        ({"kernl": "rbf"}, "Did you mean 'kernel'"),
        ({"C": 1e9}, r"\['C'\] must be a value of FloatDistribution\(.*, got 1000000000.0"),
        ({"kernel": "poly"}, "'poly'"),
    ],
)
def test_a_low_cost_configuration_outside_the_study_is_refused(
    config: dict[str, Any], message: str
) -> None:
    X, y = load_wine(return_X_y=True)
    objective = FeatureSelectionObjective(
        SVC(),
        X,
        y,
        space=START_SPACE.distributions,
        representation=None,
        measures=["error", "training_error"],
        cv=2,
    )
    sampler = LexiFlowSampler(low_cost_partial_config=config, seed=0)
    study = objective.create_study(sampler=sampler)
    with pytest.raises(ValueError, match=message):
        study.optimize(objective, n_trials=1)


def test_a_direction_and_its_opposite_are_symmetric_about_the_incumbent():
    # From the middle no step leaves the space and is reflected.
    middle = {"x": 0.5, "y": 0.5}
    sampler = LexiFlowSampler(
        low_cost_partial_config=middle,
        n_startup_trials=1,
        n_candidates=0,
        settings=LexiFlowSettings(random_prob=0),
        seed=3,
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(flat, n_trials=10)
    written = notes(study)
    pairs = [(n.opposite_of, k) for k, n in enumerate(written) if n.operator == "opposite"]
    assert pairs
    for plus, minus in pairs:
        a, b = written[plus], written[minus]
        assert (a.direction_seed, a.parents, a.step_size) == (
            b.direction_seed,
            b.parents,
            b.step_size,
        )
        assert (a.sign, b.sign, minus) == (1, -1, plus + 1)
        assert study.trials[a.parents[0]].params == middle
        there, back = study.trials[plus].params, study.trials[minus].params
        assert [there[n] + back[n] for n in middle] == pytest.approx([1.0, 1.0], abs=1e-4)


def test_notes_of_directions_are_complete():
    study = make_study(
        "packed", sampler=LexiFlowSampler(seed=1, n_startup_trials=4, n_candidates=0)
    )
    study.optimize(PROBLEMS["packed"], n_trials=25)
    written = notes(study)
    assert [n.operator for n in written[1:4]] == ["initial_design"] * 3
    for number, note in enumerate(written[5:], start=5):
        if note.operator == "random":
            assert note.parents == ()
            continue
        assert note.operator in ("direction", "opposite")
        assert note.sign == (1 if note.operator == "direction" else -1)
        (base,) = note.parents
        assert base < number
        assert note.restart is not None
        assert min(note.direction_seed, note.step_size, note.dimension, len(note.point)) > 0


def test_steps_shrink_and_the_search_restarts_in_a_small_space():
    """A direction fails without another trial if its opposite rounds to a duplicate."""
    study = optuna.create_study(sampler=LexiFlowSampler(seed=0, n_startup_trials=1))
    study.optimize(
        lambda t: float(t.suggest_int("a", 0, 9) + t.suggest_int("b", 0, 9) + t.number > 0),
        n_trials=80,
    )
    written = notes(study)
    assert any(n.no_opposite for n in written)
    assert max(n.restart or 0 for n in written) >= 1


def test_workers_follow_different_directions_and_late_trials_count():
    sampler = LexiFlowSampler(
        LOSS_FIRST,
        n_startup_trials=4,
        n_candidates=0,
        settings=LexiFlowSettings(random_prob=0),
        seed=0,
    )
    study = make_study("mixed", sampler=sampler)
    study.optimize(mixed, n_trials=8)
    open_trials = []
    for _ in range(4):
        trial = study.ask()
        open_trials.append((trial, mixed(trial)))
    written = notes(study)[8:]
    seeds = [n.direction_seed for n in written if n.sign > 0]
    assert len(set(seeds)) == len(seeds) >= 3
    # They start from the incumbent or from the strict incumbent.
    assert len({n.parents for n in written}) <= 2
    assert len({tuple(t.params.items()) for t, _ in open_trials}) == 4
    # The third completes first and is by far the best: the next direction starts there.
    trial, _ = open_trials[2]
    study.tell(trial, (-50.0, -50.0))
    study.optimize(mixed, n_trials=1)
    assert notes(study)[-1].parents == (trial.number,)
    for trial, values in open_trials[:2] + open_trials[3:]:
        study.tell(trial, values)
    study.optimize(mixed, n_trials=3)
    assert notes(study)[-1].parents == (open_trials[2][0].number,)
