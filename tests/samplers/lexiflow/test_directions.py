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

from optuna_mofs import FeatureSelectionObjective, LexicographicPreference, LexiFlowSampler
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.features import FeatureTable, FilterEnsembleFeatures
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.samplers.lexiflow._directions import (
    HEIGHT,
    EuclideanSpace,
    design_row,
    first_row,
    flip_near_boundary,
    random_direction,
    restart_row,
)
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._trial_note import NOTE, History
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed

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

units = st.lists(st.floats(0, 0.999), min_size=5, max_size=5).map(np.array)


@quick
@given(units)
def test_a_row_and_its_place_mean_the_same(unit):
    places = EuclideanSpace(SPACE)
    row = SPACE.from_unit(unit[None])[0]
    assert SPACE.decode(places.row(places.place(row))) == SPACE.decode(row)
    assert places.dimension == 4 + 3


@quick
@given(units, st.lists(st.floats(-3, 3), min_size=7, max_size=7).map(np.array))
def test_every_step_ends_inside_the_space(unit, step):
    places = EuclideanSpace(SPACE)
    place = places.inside(places.place(SPACE.from_unit(unit[None])[0]) + step)
    row = places.row(place)
    assert ((row >= 0) & (row <= np.where(SPACE.categorical, SPACE.cells - 1, 1))).all()
    # Projecting changes neither what the place means nor itself a second time.
    np.testing.assert_allclose(places.inside(place), place)
    for name, value in SPACE.decode(row).items():
        assert SPACE.distributions[name]._contains(
            SPACE.distributions[name].to_internal_repr(value)
        )


def test_a_small_step_keeps_a_category_and_opposite_steps_leave_it_for_different_ones():
    places = EuclideanSpace(SearchSpace({"kind": CategoricalDistribution(["a", "b", "c"])}))
    here = places.place(np.array([0.0]))
    assert here.tolist() == [HEIGHT, 0, 0]
    u = np.array([0.0, 1.0, -1.0])
    assert [places.row(here + sign * 0.1 * u)[0] for sign in (1, -1)] == [0, 0]
    assert [places.row(here + sign * 0.3 * u)[0] for sign in (1, -1)] == [1, 2]


def test_steps_smaller_than_a_cell_add_up():
    space = SearchSpace({"depth": IntDistribution(1, 4), "kind": CategoricalDistribution("ab")})
    places = EuclideanSpace(space)
    params, noted = {"depth": 1, "kind": "a"}, None
    for _ in range(4):
        here = places.remembered(space.encode(params), noted)
        place = places.inside(here + np.array([0.06, -0.03, 0.03]))
        params, noted = space.decode(places.row(place)), places.note(place)
    assert params == {"depth": 2, "kind": "b"}


@pytest.mark.parametrize("noted", [None, [0.5], [0.1, HEIGHT, 0.0]])
def test_a_note_that_no_longer_fits_is_not_followed(noted):
    space = SearchSpace({"depth": IntDistribution(1, 4), "kind": CategoricalDistribution("ab")})
    places = EuclideanSpace(space)
    row = space.encode({"depth": 3, "kind": "b"})
    np.testing.assert_array_equal(places.remembered(row, noted), places.place(row))


def test_a_fraction_of_features_is_walked_by_factors():
    table = FeatureTable(
        tuple(f"x{j}" for j in range(1000)), filters=("one",), ranks=np.linspace(0, 1, 1000)[None]
    )
    chosen = FilterEnsembleFeatures().bind(table)
    history = History(StudyDescription(table, chosen, {"C": FloatDistribution(0, 1)}))
    places = EuclideanSpace.of(history)
    j = history.space.names.index("fraction")
    counts = []
    for place in (0.0, 1 / 3, 2 / 3, 1.0):
        row = places.row(np.where(np.arange(places.dimension) == j, place, 0.5))
        mask = chosen.choose({**history.space.decode(row)})
        counts.append(int(mask.sum()))
    assert counts == [1, 10, 100, 1000]
    unit = np.full(len(history.space), 0.5)
    assert places.from_unit(unit)[j] == pytest.approx(1000**-0.5)
    other = [k for k in range(len(history.space)) if k != j]
    assert places.from_unit(unit)[other].tolist() == [0.5] * len(other)


def test_several_rows_at_once_are_as_one_by_one():
    units = np.random.default_rng(0).random((6, 5))
    places = EuclideanSpace(SPACE, {1: 40})
    rows = places.from_unit(units)
    np.testing.assert_array_equal(rows, [places.from_unit(u) for u in units])
    there = places.place(rows)
    np.testing.assert_array_equal(there, [places.place(row) for row in rows])
    moved = there + np.random.default_rng(1).standard_normal(there.shape)
    inside = places.inside(moved)
    np.testing.assert_array_equal(inside, [places.inside(place) for place in moved])
    np.testing.assert_array_equal(places.row(inside), [places.row(place) for place in inside])


def test_half_of_the_fractions_are_drawn_evenly_on_request():
    space = SearchSpace({"fraction": FloatDistribution(0, 1)})
    places = EuclideanSpace(space, {0: 100})
    units = np.linspace(0.0005, 0.9995, 1000)[:, None]
    few, wide = places.from_unit(units), places.from_unit(units, wide=True)
    assert np.mean(few > 0.5) == pytest.approx(0.15, abs=0.01)
    assert np.mean(wide > 0.5) == pytest.approx((0.15 + 0.5) / 2, abs=0.01)
    np.testing.assert_allclose(places.coordinates(few)[:, 0], units[:, 0])


def table(p, **options):
    ranks = np.linspace(1, 0, p)[None]
    return FeatureTable(tuple(f"x{j}" for j in range(p)), filters=("one",), ranks=ranks, **options)


@pytest.mark.parametrize("dimension", [0, 1, 3, 20])
@pytest.mark.parametrize("sparse", [0.0, 0.5, 1.0])
def test_directions_have_length_1_for_each_axis_on_average(dimension, sparse):
    rng = np.random.default_rng(dimension)
    drawn = np.array([random_direction(rng, dimension, sparse=sparse) for _ in range(1500)])
    assert drawn.shape == (1500, dimension)
    if dimension:
        assert np.mean(drawn**2) == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("sparse", [0.0, 1.0])
def test_on_the_sphere_all_lengths_are_the_same(sparse):
    rng = np.random.default_rng(0)
    drawn = np.array([random_direction(rng, 5, sparse=sparse, sphere=True) for _ in range(50)])
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 5**0.5)
    assert random_direction(rng, 0, sphere=True).shape == (0,)


def small(directions):
    """Share of axes that hardly move, against the one that moves most."""
    return np.mean(np.abs(directions) < 0.05 * np.abs(directions).max(axis=1, keepdims=True))


def test_directions_are_uniform_and_in_sparse_ones_axes_hardly_move():
    rng = np.random.default_rng(0)
    dense = np.array([random_direction(rng, 4) for _ in range(2000)])
    assert np.abs(dense.mean(axis=0)).max() < 0.1
    np.testing.assert_allclose((dense**2).mean(axis=0), 1, atol=0.1)
    assert (dense != 0).all()
    thin = np.array([random_direction(rng, 4, sparse=1.0) for _ in range(500)])
    assert small(thin) > small(dense) + 0.15
    assert (thin != 0).all()


@quick
@given(
    st.integers(2, 40),
    st.integers(0, 2**32),
    st.floats(0.01, 0.5),
    st.sampled_from([1, -1]),
)
def test_flips_change_something_and_never_empty_a_mask(p, seed, step, sign):
    rng = np.random.default_rng(seed)
    mask = rng.random(p) < rng.random()
    before = mask.copy()
    changed = flip_near_boundary(
        np.random.default_rng(seed + 1), mask, table(p), sign=sign, step=step
    )
    np.testing.assert_array_equal(mask, before)
    assert changed.any() or not mask.any()
    assert changed.shape == mask.shape


def test_the_opposite_drops_what_the_direction_adds_and_takes_other_features():
    mask = np.arange(200) < 60
    for seed in range(30):
        there, back = (
            flip_near_boundary(np.random.default_rng(seed), mask, table(200), sign=s, step=0.2)
            for s in (1, -1)
        )
        dropped, added = (mask & ~there).sum(), (~mask & there).sum()
        assert ((mask & ~back).sum(), (~mask & back).sum()) == (added, dropped)
        assert not ((mask ^ there) & (mask ^ back)).any()


def test_flips_are_near_the_boundary_of_the_filters():
    mask = np.arange(200) < 40
    flips = sum(
        mask ^ flip_near_boundary(np.random.default_rng(s), mask, table(200), sign=1, step=0.1)
        for s in range(400)
    )
    near = flips[20:60].mean()
    assert near > 3 * flips[:20].mean()
    assert near > 3 * flips[100:].mean()


def test_the_number_of_flips_is_in_proportion_to_step_and_size():
    def mean(size, step):
        mask = np.arange(1000) < size
        return np.mean(
            [
                (
                    mask
                    ^ flip_near_boundary(
                        np.random.default_rng(s), mask, table(1000), sign=1, step=step
                    )
                ).sum()
                for s in range(200)
            ]
        )

    assert mean(400, 0.1) == pytest.approx(1 + 400 * 0.1 * 0.8, rel=0.2)
    assert mean(400, 0.02) < 0.4 * mean(400, 0.1)
    assert mean(5, 0.1) < 2


def test_dear_features_are_added_last():
    costs = np.where(np.arange(100) % 2, 1.0, 50.0)
    mask = np.arange(100) < 1
    added = sum(
        ~mask
        & flip_near_boundary(
            np.random.default_rng(s), mask, table(100, costs=costs), sign=1, step=0.1
        )
        for s in range(300)
    )
    assert added[1::2].sum() > 2 * added[2::2].sum()


START_SPACE = {
    "C": FloatDistribution(0.1, 1000, log=True),
    "kernel": CategoricalDistribution(["linear", "rbf"]),
}


def places() -> EuclideanSpace:
    return EuclideanSpace(SearchSpace(START_SPACE))


def test_the_first_row_is_the_users_point() -> None:
    rng = np.random.default_rng(0)
    space = SearchSpace(START_SPACE)
    found = space.decode(first_row(rng, places(), {"C": 10.0, "elsewhere": 3}))
    assert found["C"] == pytest.approx(10)
    kernels = {space.decode(first_row(rng, places(), {}))["kernel"] for _ in range(30)}
    assert kernels == {"linear", "rbf"}


def test_restarts_are_spread_around_it_and_stay_inside() -> None:
    rng = np.random.default_rng(0)
    rows = np.array([restart_row(rng, places(), {"C": 0.1})[0] for _ in range(300)])
    assert ((rows >= 0) & (rows <= 1)).all()
    assert rows.std() > 0.2


def test_a_design_has_a_slice_for_each_trial() -> None:
    rows = [design_row(7, number, 10, places(), {})[0] for number in range(10)]
    assert sorted(int(10 * row) for row in rows) == list(range(10))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"c": 1.0}, "start names 'c', which is no parameter of the study"),
        ({"kernl": "rbf"}, "Did you mean 'kernel'"),
        ({"C": 1e9}, r"start gives 'C' the value 1000000000.0, which FloatDistribution\("),
        ({"kernel": "poly"}, "'poly'"),
    ],
)
def test_a_point_that_the_study_cannot_have(start: dict[str, Any], message: str) -> None:
    X, y = load_wine(return_X_y=True)
    objective = FeatureSelectionObjective(
        SVC(),
        X,
        y,
        space=START_SPACE,
        representation=None,
        measures=["error", "training_error"],
        cv=2,
    )
    study = objective.create_study(sampler=LexiFlowSampler(start=start, seed=0))
    with pytest.raises(ValueError, match=message):
        study.optimize(objective, n_trials=1)


LOSS_FIRST = LexicographicPreference(tolerances={0: 0.1})


def notes(study):
    return [frozen_attr(t, NOTE) or {} for t in study.trials]


def flat(trial):
    """Nothing is better than the first trial, so every direction fails."""
    trial.suggest_float("x", 0, 1)
    trial.suggest_float("y", 0, 1)
    return float(trial.number > 0)


def test_a_direction_and_its_opposite_are_symmetric_about_the_incumbent():
    # From the middle no step leaves the space and is folded back.
    middle = {"x": 0.5, "y": 0.5}
    sampler = LexiFlowSampler(seed=3, start=middle, start_trials=1, explore=0, candidates=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(flat, n_trials=10)
    written = notes(study)
    pairs = [(n["opposite"], k) for k, n in enumerate(written) if n.get("operator") == "opposite"]
    assert pairs
    for plus, minus in pairs:
        a, b = written[plus], written[minus]
        assert (a["direction"], a["incumbent"], a["step"]) == (
            b["direction"],
            b["incumbent"],
            b["step"],
        )
        assert (a["sign"], b["sign"], minus) == (1, -1, plus + 1)
        assert study.trials[a["incumbent"]].params == middle
        there, back = study.trials[plus].params, study.trials[minus].params
        assert [there[n] + back[n] for n in middle] == pytest.approx([1.0, 1.0], abs=1e-4)


def test_everything_is_on_the_trials_and_says_where_it_came_from():
    study = make_study("packed", sampler=LexiFlowSampler(seed=1, start_trials=4, candidates=0))
    study.optimize(PROBLEMS["packed"], n_trials=25)
    written = notes(study)
    assert [n["operator"] for n in written[1:4]] == ["start"] * 3
    for number, note in enumerate(written[5:], start=5):
        if note["operator"] == "explore":
            assert note["parents"] == []
            continue
        assert note["operator"] in ("direction", "opposite")
        assert note["parents"] == [note["incumbent"]]
        assert note["incumbent"] < number
        assert {"thread", "direction", "sign", "step", "iteration", "failures"} <= set(note)


def test_steps_shrink_and_threads_restart_in_a_small_space():
    """Opposites that round to what was tried are not waited for."""
    study = optuna.create_study(sampler=LexiFlowSampler(seed=0, start_trials=1))
    study.optimize(
        lambda t: float(t.suggest_int("a", 0, 9) + t.suggest_int("b", 0, 9) + t.number > 0),
        n_trials=80,
    )
    written = notes(study)
    assert any(n.get("no_opposite") for n in written)
    assert max(n.get("thread", 0) for n in written) >= 1


def test_workers_follow_directions_of_their_own_and_late_results_count():
    study = make_study(
        "mixed",
        sampler=LexiFlowSampler(LOSS_FIRST, seed=0, start_trials=4, explore=0, candidates=0),
    )
    study.optimize(mixed, n_trials=8)
    open_trials = []
    for _ in range(4):
        trial = study.ask()
        open_trials.append((trial, mixed(trial)))
    written = notes(study)[8:]
    fresh = [n["direction"] for n in written if n["sign"] > 0]
    assert len(set(fresh)) == len(fresh) >= 3
    # They start where the search stands: at the incumbent or at the leader.
    assert len({n["incumbent"] for n in written}) <= 2
    assert len({tuple(t.params.items()) for t, _ in open_trials}) == 4
    # The last but one result is told first and is far the best: the next direction starts there.
    trial, _ = open_trials[2]
    study.tell(trial, (-50.0, -50.0))
    study.optimize(mixed, n_trials=1)
    assert notes(study)[-1]["incumbent"] == trial.number
    for trial, values in open_trials[:2] + open_trials[3:]:
        study.tell(trial, values)
    study.optimize(mixed, n_trials=3)
    assert notes(study)[-1]["incumbent"] == open_trials[2][0].number
