from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from optuna_mofs.history._search_space import (
    ConditionalParameters,
    SearchSpace,
    merge_distributions,
)

STEPPED = FloatDistribution(-0.5, 1.6, step=0.3)
MIXED = CategoricalDistribution([None, True, "a", 3, 2.5])

KINDS: dict[str, BaseDistribution] = {
    "float": FloatDistribution(-3, 7),
    "log": FloatDistribution(1e-5, 1e3, log=True),
    "stepped": STEPPED,
    "int": IntDistribution(-5, 9),
    "even": IntDistribution(2, 20, step=3),
    "log_int": IntDistribution(1, 300, log=True),
    "mixed": MIXED,
    "flag": CategoricalDistribution([False, True]),
}

SPACE = SearchSpace(KINDS)
FINITE = {n: d for n, d in KINDS.items() if n not in ("float", "log")}
SEEDS = st.integers(0, 10_000)


def _values(distribution: BaseDistribution) -> list[Any]:
    """Every value of a finite distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if isinstance(distribution, IntDistribution):
        return list(range(distribution.low, distribution.high + 1, distribution.step))
    assert isinstance(distribution, FloatDistribution)
    assert distribution.step is not None
    count = round((distribution.high - distribution.low) / distribution.step) + 1
    return [distribution.low + k * distribution.step for k in range(count)]


# ---- values ↔ rows ------------------------------------------------------------------------------


@settings(max_examples=100)
@given(
    st.fixed_dictionaries(
        {
            "float": st.floats(-3, 7),
            "log": st.floats(1e-5, 1e3),
            **{name: st.sampled_from(_values(d)) for name, d in FINITE.items()},
        }
    )
)
def test_decoding_an_encoded_row_returns_the_parameters(params: dict[str, Any]) -> None:
    back = SPACE.decode(SPACE.encode(params))
    for name in FINITE:
        assert back[name] == params[name], name
        assert type(back[name]) is type(params[name]), name
    for name in ("float", "log"):
        assert math.isclose(back[name], params[name], rel_tol=1e-12, abs_tol=1e-12), name


@settings(max_examples=60)
@given(SEEDS)
def test_decoded_values_are_in_their_distributions(seed: int) -> None:
    # Also rows outside the cube: values beyond a bound are clipped to it.
    rows = SPACE.sample(np.random.default_rng(seed), 3)
    rows[1], rows[2] = rows[1] - 2, rows[2] + 9
    for row in rows:
        for name, value in SPACE.decode(row).items():
            distribution = KINDS[name]
            assert distribution._contains(distribution.to_internal_repr(value)), name


@settings(max_examples=40)
@given(SEEDS)
def test_decoding_twice_gives_the_same_values(seed: int) -> None:
    row = SPACE.sample(np.random.default_rng(seed))[0]
    params = SPACE.decode(row)
    again = SPACE.decode(SPACE.encode(params))
    assert {n: v for n, v in again.items() if n in FINITE} == {
        n: v for n, v in params.items() if n in FINITE
    }


@settings(max_examples=60)
@given(SEEDS)
def test_values_of_many_rows_are_those_of_each_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = SPACE.sample(rng, 6)
    rows[1], rows[2], rows[3], rows[4] = rows[1] - 2, rows[2] + 9, 0.0, 1.0
    before = rows.copy()
    decoded = [SPACE.decode(row) for row in rows]
    for name, distribution in KINDS.items():
        found = SPACE.values(name, rows)
        expected = [params[name] for params in decoded]
        if isinstance(distribution, CategoricalDistribution):
            assert all(f is e for f, e in zip(found, expected, strict=True)), name
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=name)
            assert all(distribution._contains(value) for value in found.tolist()), name
    np.testing.assert_array_equal(rows, before)


@settings(max_examples=40)
@given(
    st.fixed_dictionaries(
        {
            "float": st.floats(-3, 7),
            "log": st.floats(1e-5, 1e3),
            **{name: st.sampled_from(_values(d)) for name, d in FINITE.items()},
        }
    )
)
def test_values_of_an_encoded_row_are_the_parameters(params: dict[str, Any]) -> None:
    row = SPACE.encode(params)[None]
    for name, value in params.items():
        found = SPACE.values(name, row)[0]
        assert found == (pytest.approx(value) if isinstance(value, float) else value), name


def test_values_are_nan_where_a_parameter_is_missing() -> None:
    rows = np.full((3, len(SPACE)), 0.0)
    rows[1] = np.nan
    for name in SPACE.names:
        found = SPACE.values(name, rows)
        assert [value != value for value in found] == [False, True, False], name


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_values_may_be_tuples() -> None:
    layers = ((50, 50), (20, 20), (7, 7))
    space = SearchSpace({"layers": CategoricalDistribution(layers)})
    found = space.values("layers", np.array([[2.0], [0.0], [np.nan]]))
    assert found[:2].tolist() == [(7, 7), (50, 50)]
    assert found[2] != found[2]


@pytest.mark.parametrize("name", ["stepped", "int", "even", "mixed", "flag"])
def test_a_uniform_draw_hits_all_values_equally_often(name: str) -> None:
    space = SearchSpace({name: KINDS[name]})
    unit = (np.arange(6000)[:, None] + 0.5) / 6000
    drawn = [space.decode(row)[name] for row in space.from_unit(unit)]
    values = _values(KINDS[name])
    counts = [sum(d is v or d == v for d in drawn) for v in values]
    assert sum(counts) == 6000
    assert max(counts) - min(counts) <= 6


def test_a_log_scale_divides_the_range_by_factors() -> None:
    space = SearchSpace({"n": IntDistribution(1, 300, log=True)})
    unit = (np.arange(4000)[:, None] + 0.5) / 4000
    drawn = np.array([space.decode(row)["n"] for row in space.from_unit(unit)])
    assert set(drawn) == set(range(1, 301))
    assert abs(np.mean(drawn <= 17) - math.log(17.5 / 0.5) / math.log(300.5 / 0.5)) < 0.01


def test_missing_and_invalid_values_are_nan() -> None:
    row = SPACE.encode({"float": 1.0, "mixed": "not there", "log": -1.0, "int": "text"})
    assert np.flatnonzero(~np.isnan(row)).tolist() == [SPACE.names.index("float")]
    assert SPACE.decode(row) == {"float": pytest.approx(1.0)}


def test_values_out_of_range_are_encoded_as_the_bound() -> None:
    space = SearchSpace({"x": FloatDistribution(0, 1), "n": IntDistribution(1, 4)})
    assert space.decode(space.encode({"x": 3.0, "n": -7})) == {"x": 1.0, "n": 1}


def test_parameters_with_a_single_value_are_left_out() -> None:
    space = SearchSpace(
        {"x": FloatDistribution(0, 1), "one": IntDistribution(4, 4), "c": FloatDistribution(2, 2)}
    )
    assert space.names == ["x"]
    assert space.encode({"x": 0.25, "one": 4}).tolist() == [0.25]


# ---- the whole space ----------------------------------------------------------------------------


def test_a_finite_space_is_enumerated_without_repeats() -> None:
    space = SearchSpace({n: KINDS[n] for n in ("log_int", "stepped", "mixed")})
    assert space.size() == 300 * 8 * 5
    found = [tuple(space.decode(space.nth(i)).values()) for i in range(int(space.size()))]
    expected = itertools.product(*(_values(KINDS[n]) for n in space.names))
    assert set(found) == set(expected)
    assert len(set(found)) == len(found)


def test_the_size_of_an_empty_and_of_a_huge_space() -> None:
    assert SearchSpace({}).size() == 1
    assert SPACE.size() == math.inf
    many = {f"n{i}": IntDistribution(1, 10**6) for i in range(200)}
    assert SearchSpace(many).size() == math.inf


@given(SEEDS)
def test_snapped_rows_encode_their_values(seed: int) -> None:
    rows = SPACE.sample(np.random.default_rng(seed), 5)
    before = rows.copy()
    expected = [SPACE.encode(SPACE.decode(row)) for row in rows]
    np.testing.assert_allclose(SPACE.snapped(rows), expected, atol=1e-9)
    np.testing.assert_array_equal(rows, before)


def test_from_unit_does_not_change_its_input() -> None:
    unit = np.random.default_rng(0).random((4, len(SPACE)))
    before = unit.copy()
    rows = SPACE.from_unit(unit)
    np.testing.assert_array_equal(unit, before)
    numbers = ~SPACE.categorical
    np.testing.assert_array_equal(rows[:, numbers], unit[:, numbers])
    assert (rows[:, SPACE.categorical] == np.floor(rows[:, SPACE.categorical])).all()


# ---- ranges that change -------------------------------------------------------------------------

INTS = st.builds(
    lambda low, count, step: IntDistribution(low, low + count * step, step=step),
    st.integers(-20, 20),
    st.integers(0, 6),
    st.integers(1, 6),
)

FLOATS = st.builds(
    lambda low, count, step: FloatDistribution(
        low / 4, (low + count) / 4, step=step and (0.25 if step == 1 else 0.5)
    ),
    st.integers(-8, 8),
    st.sampled_from([0, 2, 4, 6]),
    st.sampled_from([None, 1, 2]),
)


@settings(max_examples=100)
@given(st.lists(INTS, min_size=1, max_size=4), st.randoms())
def test_merged_integers_have_all_values_in_any_order(
    distributions: list[IntDistribution], rng: Any
) -> None:
    wide = distributions[0]
    for d in distributions:
        wide = merge_distributions(wide, d)  # type: ignore[assignment]
    every = set(_values(wide))
    assert all(set(_values(d)) <= every for d in distributions)
    shuffled = rng.sample(distributions, len(distributions))
    again = shuffled[0]
    for d in shuffled:
        again = merge_distributions(again, d)
    assert _values(again) == _values(wide)


@settings(max_examples=100)
@given(st.lists(FLOATS, min_size=1, max_size=4), st.randoms())
def test_merged_floats_do_not_depend_on_the_order(
    distributions: list[FloatDistribution], rng: Any
) -> None:
    def joined(ds: list[FloatDistribution]) -> FloatDistribution:
        wide = ds[0]
        for d in ds:
            wide = merge_distributions(wide, d)  # type: ignore[assignment]
        return wide

    wide = joined(distributions)
    assert wide == joined(rng.sample(distributions, len(distributions)))
    assert wide.low == min(d.low for d in distributions)
    assert wide.high == max(d.high for d in distributions)


def test_merging_keeps_type_and_scale() -> None:
    logs = merge_distributions(
        FloatDistribution(1e-3, 1, log=True), FloatDistribution(0.1, 10, log=True)
    )
    assert logs == FloatDistribution(1e-3, 10, log=True)
    ints = merge_distributions(IntDistribution(4, 8, log=True), IntDistribution(1, 6, log=True))
    assert ints == IntDistribution(1, 8, log=True)
    same = FloatDistribution(0, 1, step=0.1)
    assert merge_distributions(same, same) == same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FloatDistribution(0, 1), IntDistribution(0, 1)),
        (FloatDistribution(1, 2), FloatDistribution(1, 2, log=True)),
        (CategoricalDistribution("ab"), CategoricalDistribution("abc")),
        (CategoricalDistribution("ab"), FloatDistribution(0, 1)),
    ],
)
def test_merging_different_kinds_does_not_depend_on_the_order(
    one: BaseDistribution, other: BaseDistribution
) -> None:
    assert merge_distributions(one, other) == merge_distributions(other, one)


LEARNERS = SearchSpace(
    {
        "C": FloatDistribution(0, 1),
        "degree": IntDistribution(1, 5),
        "kernel": CategoricalDistribution(["linear", "poly"]),
        "learner": CategoricalDistribution(["svm", "forest", "tree"]),
        "trees": IntDistribution(1, 500),
    }
)


def rows(*params: dict[str, object]) -> np.ndarray:
    return np.array([LEARNERS.encode(p) for p in params])


SEEN = rows(
    {"learner": "svm", "kernel": "linear", "C": 0.1},
    {"learner": "svm", "kernel": "poly", "C": 0.2, "degree": 3},
    {"learner": "forest", "trees": 100},
    {"learner": "svm", "kernel": "poly", "C": 0.9, "degree": 1},
)

FULL = {"C": 0.5, "degree": 2, "kernel": "poly", "trees": 9}


def names(row: np.ndarray) -> set[str]:
    return set(LEARNERS.decode(row))


def test_nested_conditions_are_inferred() -> None:
    conditional = ConditionalParameters(LEARNERS, SEEN)
    found = conditional.apply(
        rows(
            {**FULL, "learner": "svm"},
            {**FULL, "learner": "svm", "kernel": "linear"},
            {**FULL, "learner": "forest"},
        )
    )
    assert conditional.conditional
    assert names(found[0]) == {"learner", "kernel", "C", "degree"}
    assert names(found[1]) == {"learner", "kernel", "C"}
    assert names(found[2]) == {"learner", "trees"}


def test_all_parameters_are_active_at_a_new_value() -> None:
    found = ConditionalParameters(LEARNERS, SEEN).apply(rows({**FULL, "learner": "tree"}))
    assert names(found[0]) == {*FULL, "learner"}


def test_an_integer_can_be_the_parent_of_a_condition() -> None:
    space = SearchSpace({"layers": IntDistribution(1, 3), "second": FloatDistribution(0, 1)})
    seen = np.array(
        [space.encode({"layers": n, "second": 0.5} if n > 1 else {"layers": 1}) for n in (1, 2, 3)]
    )
    found = ConditionalParameters(space, seen).apply(
        np.array([space.encode({"layers": n, "second": 0.1}) for n in (1, 2, 3)])
    )
    assert np.isnan(found[:, 1]).tolist() == [True, False, False]


def test_without_conditions_rows_do_not_change() -> None:
    given = rows({**FULL, "learner": "svm"})
    assert not ConditionalParameters(LEARNERS, given).conditional
    before = given.copy()
    ConditionalParameters(LEARNERS, SEEN).apply(given)
    np.testing.assert_array_equal(given, before)
    np.testing.assert_array_equal(ConditionalParameters(LEARNERS, given).apply(given), given)


def test_described_conditions_are_not_inferred() -> None:
    described = {
        "degree": ("kernel", ["poly"]),
        "kernel": ("learner", ["svm"]),
        "C": ("learner", ["svm"]),
        "trees": ("learner", ["forest", "tree"]),
        "unknown": ("learner", ["svm"]),
    }
    conditional = ConditionalParameters(LEARNERS, np.empty((0, 5)), described)
    found = conditional.apply(rows(*({**FULL, "learner": name} for name in ("svm", "tree"))))
    assert names(found[0]) == {"learner", "kernel", "C", "degree"}
    assert names(found[1]) == {"learner", "trees"}
    # Trials add nothing to them, and other conditions are still inferred.
    assert ConditionalParameters(LEARNERS, SEEN, described).signature == conditional.signature
    partly = ConditionalParameters(LEARNERS, SEEN, {"trees": ("learner", ["tree"])})
    assert names(partly.apply(rows({**FULL, "learner": "forest"}))[0]) == {"learner"}


def test_a_parent_that_is_no_parameter_is_ignored() -> None:
    assert not ConditionalParameters(
        LEARNERS, np.empty((0, 5)), {"C": ("gone", ["svm"])}
    ).conditional
