from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs.features import FeatureTable, FilterEnsembleFeatures
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers.operators.places import HEIGHT, Places
from optuna_mofs.study._description import StudyDescription

quick = settings(deadline=None, max_examples=60)

SPACE = ParameterSpace(
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
    places = Places(SPACE)
    row = SPACE.from_unit(unit[None])[0]
    assert SPACE.decode(places.row(places.place(row))) == SPACE.decode(row)
    assert places.dimension == 4 + 3


@quick
@given(units, st.lists(st.floats(-3, 3), min_size=7, max_size=7).map(np.array))
def test_every_step_ends_inside_the_space(unit, step):
    places = Places(SPACE)
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
    places = Places(ParameterSpace({"kind": CategoricalDistribution(["a", "b", "c"])}))
    here = places.place(np.array([0.0]))
    assert here.tolist() == [HEIGHT, 0, 0]
    u = np.array([0.0, 1.0, -1.0])
    assert [places.row(here + sign * 0.1 * u)[0] for sign in (1, -1)] == [0, 0]
    assert [places.row(here + sign * 0.3 * u)[0] for sign in (1, -1)] == [1, 2]


def test_steps_smaller_than_a_cell_add_up():
    space = ParameterSpace({"depth": IntDistribution(1, 4), "kind": CategoricalDistribution("ab")})
    places = Places(space)
    params, noted = {"depth": 1, "kind": "a"}, None
    for _ in range(4):
        here = places.remembered(space.encode(params), noted)
        place = places.inside(here + np.array([0.06, -0.03, 0.03]))
        params, noted = space.decode(places.row(place)), places.note(place)
    assert params == {"depth": 2, "kind": "b"}


@pytest.mark.parametrize("noted", [None, [0.5], [0.1, HEIGHT, 0.0]])
def test_a_note_that_no_longer_fits_is_not_followed(noted):
    space = ParameterSpace({"depth": IntDistribution(1, 4), "kind": CategoricalDistribution("ab")})
    places = Places(space)
    row = space.encode({"depth": 3, "kind": "b"})
    np.testing.assert_array_equal(places.remembered(row, noted), places.place(row))


def test_a_fraction_of_features_is_walked_by_factors():
    table = FeatureTable(
        tuple(f"x{j}" for j in range(1000)), filters=("one",), ranks=np.linspace(0, 1, 1000)[None]
    )
    chosen = FilterEnsembleFeatures().bind(table)
    history = History(StudyDescription(table, chosen, {"C": FloatDistribution(0, 1)}))
    places = Places.of(history)
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
    places = Places(SPACE, {1: 40})
    rows = places.from_unit(units)
    np.testing.assert_array_equal(rows, [places.from_unit(u) for u in units])
    there = places.place(rows)
    np.testing.assert_array_equal(there, [places.place(row) for row in rows])
    moved = there + np.random.default_rng(1).standard_normal(there.shape)
    inside = places.inside(moved)
    np.testing.assert_array_equal(inside, [places.inside(place) for place in moved])
    np.testing.assert_array_equal(places.row(inside), [places.row(place) for place in inside])


def test_half_of_the_fractions_are_drawn_evenly_on_request():
    space = ParameterSpace({"fraction": FloatDistribution(0, 1)})
    places = Places(space, {0: 100})
    units = np.linspace(0.0005, 0.9995, 1000)[:, None]
    few, wide = places.from_unit(units), places.from_unit(units, wide=True)
    assert np.mean(few > 0.5) == pytest.approx(0.15, abs=0.01)
    assert np.mean(wide > 0.5) == pytest.approx((0.15 + 0.5) / 2, abs=0.01)
    np.testing.assert_allclose(places.coordinates(few)[:, 0], units[:, 0])
