from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution
from scipy import stats

from optuna_mofs.features import (
    FeatureTable,
    FilterEnsembleFeatures,
    MaskFeatures,
    Similarity,
    SingleFilterFeatures,
    get_representation,
)
from optuna_mofs.features._codec import unpack_attribute
from optuna_mofs.features._mask_sampling import weights_from_raw
from optuna_mofs.filters import rank_scores
from optuna_mofs.history._search_space import SearchSpace


def table(p, *, fixed=(), seed=0, filters=("a", "b"), ties=False):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (len(filters), p)) if ties else rng.random((len(filters), p))
    return FeatureTable(
        tuple(f"x{j}" for j in range(p)), fixed=fixed, filters=filters, ranks=rank_scores(scores)
    )


def ensemble_params(fraction, a, b, penalty=0.0):
    return {"fraction": fraction, "weight_a": a, "weight_b": b, "redundancy_penalty": penalty}


PAPER = FilterEnsembleFeatures.from_paper()


@pytest.mark.parametrize(("make", "power"), [(FilterEnsembleFeatures(), 3), (PAPER, 1)])
@settings(max_examples=100)
@given(
    p=st.integers(1, 200),
    u=st.floats(0, 1),
    a=st.floats(0, 1),
    b=st.floats(0, 1),
    ties=st.booleans(),
)
def test_the_top_of_the_aggregate_is_chosen(make, power, p, u, a, b, ties):
    features = table(p, ties=ties)
    bound = make.bind(features)
    fraction = SearchSpace({"fraction": bound.fraction}).decode(np.array([u]))["fraction"]
    mask = bound.choose(ensemble_params(fraction, a, b))
    if power == 3:
        assert abs(mask.sum() - p * fraction) <= 0.5 + 1e-9
    else:
        assert mask.sum() == pytest.approx(
            np.ceil(p * fraction), abs=1e-6 if fraction > 1e-9 else 1
        )
    score = np.round(weights_from_raw(np.array([a, b]) ** power) @ features.ranks, 12)
    if mask.any() and not mask.all():
        assert score[mask].min() >= score[~mask].max()
        # Of equal scores the first positions are chosen.
        border = score == score[mask].min()
        assert (np.diff(mask[border].astype(int)) <= 0).all()


@pytest.mark.parametrize(
    ("p", "fraction", "count"),
    [(10, 0.0, 0), (10, 0.3, 3), (10, 0.31, 4), (10, 1.0, 10), (3, 0.01, 1), (10_935, 0.1, 1094)],
)
def test_the_papers_count_is_the_ceiling(p, fraction, count):
    chosen = SingleFilterFeatures.from_paper().bind(table(p))
    assert chosen.choose({"fraction": fraction, "filter": "a"}).sum() == count


@pytest.mark.parametrize(
    ("p", "fraction", "count"),
    [(10, 0.04, 0), (10, 0.049, 0), (10, 0.051, 1), (10, 0.31, 3), (10, 1.0, 10), (1, 0.4, 0)],
)
def test_the_count_is_rounded(p, fraction, count):
    chosen = SingleFilterFeatures().bind(table(p))
    assert chosen.choose({"fraction": fraction, "filter": "a"}).sum() == count


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_count_does_not_depend_on_the_last_bit(scale):
    # 25 · (7 / 25) is 7.000000000000001 in floats, and still seven features.
    assert 25 * (7 / 25) > 7
    for p, count in [(25, 7), (29, 15), (41, 7)]:
        chosen = SingleFilterFeatures(scale=scale).bind(table(p))
        assert chosen.choose({"fraction": count / p, "filter": "a"}).sum() == count


@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize("p", [1, 2, 3, 40, 1000])
def test_every_number_of_features_can_be_reached(p, scale):
    bound = FilterEnsembleFeatures(scale=scale).bind(table(p, fixed=(0,) if p > 2 else ()))
    free = len(bound.table.free)
    # As a study decodes it, from no features to all of them.
    space = SearchSpace({"fraction": bound.fraction})
    rows = np.linspace(0, 1, 40 * free + 1)[:, None]
    sizes = bound.sizes({"fraction": space.values("fraction", rows)})
    assert (np.diff(sizes) >= 0).all()
    assert (sizes[0], sizes[-1]) == (0, free)
    exact = bound.sizes({"fraction": np.arange(1, free + 1) / free})
    assert exact.tolist() == list(range(1, free + 1))


@settings(max_examples=50)
@given(st.integers(1, 20_000), st.floats(0, 1), st.floats(0, 1))
def test_more_of_the_range_is_more_features(p, u, v):
    few, many = sorted((u, v))
    bound = SingleFilterFeatures().bind(FeatureTable(tuple(map(str, range(p))), filters=("a",)))
    space = SearchSpace({"fraction": bound.fraction})
    values = space.values("fraction", np.array([[few], [many]]))
    sizes = bound.sizes({"fraction": values})
    assert 0 <= sizes[0] <= sizes[1] <= p
    # One at a time as all at once.
    assert [int(bound.sizes({"fraction": v})) for v in values.tolist()] == sizes.tolist()


def test_small_sets_have_as_much_room_as_large_ones():
    bound = FilterEnsembleFeatures().bind(table(1000))
    space = SearchSpace({"fraction": bound.fraction})
    unit = (np.arange(4000)[:, None] + 0.5) / 4000
    sizes = bound.sizes({"fraction": space.values("fraction", unit)})
    whole = np.log(2500)
    for low, high in [(1, 9), (10, 99), (100, 999)]:
        share = np.mean((sizes >= low) & (sizes <= high))
        expected = np.log((high + 0.5) / (low - 0.5)) / whole
        assert share == pytest.approx(expected, abs=0.002)
    # The empty set is a small part of the range.
    assert np.mean(sizes == 0) == pytest.approx(np.log(0.5 / 0.4) / whole, abs=0.002)
    assert np.mean(PAPER.bind(table(1000)).sizes({"fraction": unit}) < 100) < 0.11


def test_cubed_weights_often_leave_nearly_all_to_one_filter():
    features = table(5, filters=("a", "b", "c"))
    identity = np.eye(3)
    rng = np.random.default_rng(0)
    raw = {f"weight_{name}": rng.random(4000) for name in features.filters}
    ours = FilterEnsembleFeatures().bind(features).scores(raw, identity)
    papers = PAPER.bind(features).scores(raw, identity)
    columns = np.column_stack(list(raw.values()))
    np.testing.assert_allclose(ours, weights_from_raw(columns**3))
    np.testing.assert_allclose(papers, weights_from_raw(columns))
    # Uniform on the simplex: the largest of three exceeds w with probability 3 (1 - w)^2.
    assert np.mean(papers.max(axis=1) > 0.9) == pytest.approx(0.03, abs=0.01)
    assert np.mean(ours.max(axis=1) > 0.9) > 0.2


def test_the_corners_of_the_weights_are_the_same_on_both_scales():
    features = table(5)
    for a, b in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]:
        raw = {"weight_a": np.array(a), "weight_b": np.array(b)}
        ours = FilterEnsembleFeatures().bind(features).scores(raw, np.eye(2))
        np.testing.assert_allclose(ours, PAPER.bind(features).scores(raw, np.eye(2)))


def test_fixed_features_do_not_count_and_are_not_chosen():
    features = table(10, fixed=(0, 9))
    chosen = FilterEnsembleFeatures().bind(features)
    mask = chosen.choose(ensemble_params(0.5, 0.5, 0.5))
    assert mask.shape == (8,)
    assert mask.sum() == 4
    assert features.full_mask(mask).sum() == 6


def test_copies_of_chosen_features_come_later_by_the_penalty():
    ranks = np.array([[1.0, 0.8, 0.6, 0.4, 0.2, 0.0]] * 2)
    # 1 is a copy of 0; 3 of 2, but for half of its variance; 5 stands alone, 4 like the fixed 6.
    similar = Similarity(
        np.array([[1], [0], [3], [2], [6], [0], [4]]),
        np.array([[1.0], [1.0], [0.5], [0.5], [1.0], [0.0], [1.0]]),
    )
    features = FeatureTable(
        tuple("abcdefg"),
        filters=("a", "b"),
        ranks=np.column_stack([ranks, [0.5, 0.5]]),
        similar=similar,
        fixed=(6,),
    )
    bound = FilterEnsembleFeatures(redundancy_penalty=True).bind(features)

    def chosen(penalty):
        mask = bound.choose(ensemble_params(0.5, 0.5, 0.5, penalty))
        return "".join(features.names[j] for j in features.free[mask])

    # The cubes are 0, 0.13, 0.51 and 1, so that the score of b is 0.8, 0.7, 0.39 and 0.
    assert chosen(0.0) == "abc"
    assert chosen(0.5) == "abc"
    assert chosen(0.8) == "abc"
    assert chosen(1.0) == "acd"
    everything = bound.choose(ensemble_params(1.0, 0.5, 0.5, 1.0))
    assert everything.all()


def test_unknown_similarity_penalizes_nothing():
    features = table(20)
    bound = FilterEnsembleFeatures(redundancy_penalty=True).bind(features)
    np.testing.assert_array_equal(
        bound.choose(ensemble_params(0.3, 0.5, 0.2, 1.0)),
        bound.choose(ensemble_params(0.3, 0.5, 0.2, 0.0)),
    )


def test_copies_of_a_feature_are_taken_by_position_whatever_the_sum_rounds_to():
    p = 101
    ranks = np.full((3, p), 1 / 3)
    features = FeatureTable(tuple(f"x{j}" for j in range(p)), filters=("a", "b", "c"), ranks=ranks)
    params = {"weight_a": 0.1, "weight_b": 0.7, "weight_c": 0.3}
    mask = FilterEnsembleFeatures().bind(features).choose({**params, "fraction": 51 / p})
    assert np.flatnonzero(mask).tolist() == list(range(51))


def test_single_filter_uses_only_the_named_one():
    features = table(20)
    chosen = SingleFilterFeatures().bind(features)
    for row, name in enumerate(features.filters):
        best = int(np.argmax(features.ranks[row]))
        assert np.flatnonzero(chosen.choose({"fraction": 0.05, "filter": name})) == [best]


def test_ranks_of_a_fold_overrule_those_of_the_table():
    features = table(6)
    other = features.ranks[:, ::-1].copy()
    chosen = SingleFilterFeatures().bind(features)
    params = {"fraction": 0.5, "filter": "b"}
    mask = chosen.choose(params, table=replace(features, ranks=other))
    np.testing.assert_array_equal(mask, chosen.choose(params)[::-1])


@pytest.mark.parametrize(
    ("asked", "share", "penalized"),
    [
        ("auto", 0.5, True),
        ("auto", 0.49, False),
        (True, 0.0, True),
        (False, 1.0, False),
    ],
)
def test_a_penalty_where_features_are_alike(asked, share, penalized):
    features = FilterEnsembleFeatures(redundancy_penalty=asked)
    resolved = features.resolve(lambda: share)
    assert ("redundancy_penalty" in resolved.bind(table(9)).distributions) == penalized
    assert resolved.needs_similar == penalized
    assert resolved.to_json()["redundancy_penalty"] is penalized
    # The user's own object stays as it was.
    assert features.redundancy_penalty == asked


def test_median_redundancy_is_computed_only_if_needed():
    def never():
        raise AssertionError

    papers = FilterEnsembleFeatures(redundancy_penalty=False)
    for features in (papers, SingleFilterFeatures(), MaskFeatures()):
        assert type(features.resolve(never)) is type(features)


def test_parameters_of_each_representation():
    features = table(40)
    unit = FloatDistribution(0.0, 1.0)
    fraction = FloatDistribution(0.4 / 40, 1.0, log=True)
    ours = {"fraction": fraction, "weight_a": unit, "weight_b": unit}
    assert FilterEnsembleFeatures().bind(features).distributions == ours
    penalized = FilterEnsembleFeatures(redundancy_penalty=True).bind(features)
    assert penalized.distributions == {**ours, "redundancy_penalty": unit}
    filters = CategoricalDistribution(("a", "b"))
    single = SingleFilterFeatures().bind(features)
    assert single.distributions == {"fraction": fraction, "filter": filters}
    # Only free features count.
    some = FilterEnsembleFeatures().bind(table(40, fixed=(1, 2)))
    assert some.fraction == FloatDistribution(0.4 / 38, 1.0, log=True)
    packed = MaskFeatures(name="chosen").bind(features)
    assert list(packed.distributions) == ["chosen"]
    assert packed.mask_parameters == ("chosen",)
    assert FilterEnsembleFeatures().bind(features).mask_parameters == ()


def test_the_papers_representations():
    unit = FloatDistribution(0.0, 1.0)
    assert (PAPER.ranks, PAPER.scale, PAPER.redundancy_penalty) == ("all", "linear", False)
    # Whatever the data: there is no penalty to add.
    resolved = PAPER.resolve(lambda: 1.0).bind(table(40))
    assert resolved.distributions == {"fraction": unit, "weight_a": unit, "weight_b": unit}
    single = SingleFilterFeatures.from_paper()
    assert (single.ranks, single.scale) == ("all", "linear")
    assert single.bind(table(40)).distributions["fraction"] == unit


@pytest.mark.parametrize(
    "original",
    [
        FilterEnsembleFeatures(),
        FilterEnsembleFeatures(ranks="all", redundancy_penalty=True),
        FilterEnsembleFeatures(scale="linear"),
        FilterEnsembleFeatures.from_paper(),
        SingleFilterFeatures(),
        SingleFilterFeatures.from_paper(),
        MaskFeatures(),
    ],
    ids=lambda features: f"{features.kind} {vars(features)}",
)
def test_binding_leaves_the_users_object_alone_and_json_brings_it_back(original):
    before = dict(vars(original))
    bound = original.bind(table(40))
    assert vars(original) == before
    again = get_representation(json.loads(json.dumps(bound.to_json())))
    assert type(again) is type(original)
    assert again.bind(table(40)).to_json() == bound.to_json()
    assert again.bind(table(40)).distributions == bound.distributions
    assert again.ranks == original.ranks


def test_filter_attributes_hold_the_mask():
    bound = FilterEnsembleFeatures().bind(table(40))
    params = ensemble_params(0.2, 0.5, 0.1)
    mask = bound.choose(params)
    np.testing.assert_array_equal(unpack_attribute(bound.attribute(params, mask), 40), mask)


def test_masks_ignore_ranks_and_need_all_parameters():
    bound = MaskFeatures().bind(table(3))
    params = {"x0": True, "x1": False, "x2": True}
    other = replace(table(3), ranks=np.zeros((2, 3)))
    assert bound.choose(params, table=other).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="lacks parameters of its mask"):
        bound.choose({"x0": True})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: get_representation("filters"), "must be one of .*'filter_ensemble'.*'filters'"),
        (lambda: get_representation(5), "got 5"),
        (lambda: get_representation(MaskFeatures), "MaskFeatures"),
        (lambda: get_representation({"form": "bits"}), "must be one of"),
        (lambda: MaskFeatures(form="words"), "'words'"),
        (lambda: FilterEnsembleFeatures(ranks="none"), "'fold', 'all', got 'none'"),
        (lambda: FilterEnsembleFeatures(scale="cubic"), "'log', 'linear', got 'cubic'"),
        (lambda: SingleFilterFeatures(scale=None), "'log', 'linear', got None"),
        (lambda: FilterEnsembleFeatures(redundancy_penalty="yes"), "or 'auto', got 'yes'"),
        (lambda: FilterEnsembleFeatures().bind(FeatureTable(("a",))), "there are none"),
        (
            lambda: (
                FilterEnsembleFeatures()
                .bind(FeatureTable(("a",), filters=("f",)))
                .choose({"fraction": 1.0, "weight_f": 1.0})
            ),
            "not ranked",
        ),
    ],
)
def test_bad_representations_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@settings(max_examples=100)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_raw_weights_become_a_point_of_the_simplex(raw):
    weights = weights_from_raw(np.array(raw))
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1)
    # A larger suggestion never weighs less.
    assert (np.diff(weights[np.argsort(raw)]) >= 0).all()


def test_raw_weights_at_the_corners():
    assert weights_from_raw(np.zeros(4)).tolist() == [0.25] * 4
    np.testing.assert_allclose(weights_from_raw(np.array([1.0, 0.0])), [1, 0])
    assert weights_from_raw(np.ones(2)).tolist() == [0.5, 0.5]


def test_uniform_parameters_are_uniform_on_the_simplex():
    rng = np.random.default_rng(0)
    first = [weights_from_raw(rng.random(3))[0] for _ in range(4000)]
    assert stats.kstest(first, lambda w: 1 - (1 - w) ** 2).pvalue > 0.001


@given(
    st.integers(1, 12),
    st.floats(0.05, 1.0),
    st.lists(st.integers(-300, 300), min_size=3, max_size=3),
)
def test_exceptions_put_features_in_or_leave_them_out_against_the_rule(p, fraction, exceptions):
    features = FilterEnsembleFeatures(exceptions=3).bind(table(p))
    params = {"fraction": fraction, "weight_a": 0.4, "weight_b": 0.9}
    expected = FilterEnsembleFeatures().bind(table(p)).choose(params)
    for exception in exceptions:
        if 0 < abs(exception) <= p:
            expected[abs(exception) - 1] = exception > 0
    named = {f"exception_{i}": exception for i, exception in enumerate(exceptions, 1)}
    assert features.choose({**params, **named}).tolist() == expected.tolist()


def test_exceptions_hold_in_every_fold():
    p = 20
    features = FilterEnsembleFeatures(exceptions=2).bind(table(p))
    params = {"fraction": 0.3, "weight_a": 0.4, "weight_b": 0.9}
    for seed in range(5):
        mask = features.choose(
            {**params, "exception_1": 4, "exception_2": -9}, table=table(p, seed=seed)
        )
        assert mask[3]
        assert not mask[8]


def test_few_random_numbers_are_exceptions():
    features = FilterEnsembleFeatures(exceptions=2).bind(table(10))
    numbers = features.distributions["exception_2"]
    assert (numbers.low, numbers.high) == (-200, 200)
    described = get_representation(features.to_json()).bind(table(10))
    assert described.exception_parameters == ("exception_1", "exception_2")
    assert "exceptions" not in FilterEnsembleFeatures().bind(table(10)).to_json()
    with pytest.raises(ValueError, match="exceptions"):
        FilterEnsembleFeatures(exceptions=-1)


def test_a_cost_tilt_moves_cheap_features_ahead() -> None:
    table = FeatureTable(
        ("a", "b", "c", "d"),
        filters=("f",),
        ranks=np.array([[1.0, 2 / 3, 1 / 3, 0.0]]),
        costs=np.array([50.0, 1.0, 1.0, 1.0]),
    )
    rule = FilterEnsembleFeatures(redundancy_penalty=False).bind(table)
    params = {"fraction": 0.25, "weight_f": 0.5}
    assert rule.choose({**params, "cost_tilt": 0.0}).tolist() == [True, False, False, False]
    assert rule.choose({**params, "cost_tilt": 1.0}).tolist() == [True, False, False, False]
    table = replace(table, ranks=np.array([[2 / 3, 0.6, 1 / 3, 0.0]]))
    rule = FilterEnsembleFeatures(redundancy_penalty=False).bind(table)
    assert rule.choose({**params, "cost_tilt": 0.0}).tolist() == [True, False, False, False]
    assert rule.choose({**params, "cost_tilt": 1.0}).tolist() == [False, True, False, False]
    assert get_representation(rule.to_json()).bind(table).distributions == rule.distributions


@pytest.mark.parametrize("costs", [None, np.full(4, 3.0)])
def test_equal_costs_have_no_tilt(costs: np.ndarray | None) -> None:
    table = FeatureTable(("a", "b", "c", "d"), filters=("f",), costs=costs)
    rule = FilterEnsembleFeatures().bind(table)
    assert "cost_tilt" not in rule.distributions
    assert "cost_tilt" not in rule.to_json()
    assert not FilterEnsembleFeatures.from_paper().cost_tilt
