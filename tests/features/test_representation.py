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


def table(p, *, fixed=(), seed=0, filters=("a", "b"), ties=False):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (len(filters), p)) if ties else rng.random((len(filters), p))
    return FeatureTable(
        tuple(f"x{j}" for j in range(p)), fixed=fixed, filters=filters, ranks=rank_scores(scores)
    )


def ensemble_params(fraction, a, b, penalty=0.0):
    return {"fraction": fraction, "weight_a": a, "weight_b": b, "redundancy_penalty": penalty}


@settings(max_examples=100)
@given(st.integers(1, 200), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_the_top_of_the_aggregate_is_chosen(p, fraction, a, b, ties):
    features = table(p, ties=ties)
    mask = FilterEnsembleFeatures().bind(features).choose(ensemble_params(fraction, a, b))
    assert mask.sum() == pytest.approx(np.ceil(p * fraction), abs=1e-6 if fraction > 1e-9 else 1)
    score = np.round(weights_from_raw(np.array([a, b])) @ features.ranks, 12)
    if mask.any() and not mask.all():
        assert score[mask].min() >= score[~mask].max()
        # Of equal scores the first positions are chosen.
        border = score == score[mask].min()
        assert (np.diff(mask[border].astype(int)) <= 0).all()


@pytest.mark.parametrize(
    ("p", "fraction", "count"),
    [(10, 0.0, 0), (10, 0.3, 3), (10, 0.31, 4), (10, 1.0, 10), (3, 0.01, 1), (10_935, 0.1, 1094)],
)
def test_count_is_the_ceiling(p, fraction, count):
    chosen = SingleFilterFeatures().bind(table(p))
    assert chosen.choose({"fraction": fraction, "filter": "a"}).sum() == count


def test_count_does_not_depend_on_the_last_bit():
    # 25 · (7 / 25) is 7.000000000000001 in floats, and still seven features.
    assert 25 * (7 / 25) > 7
    for p, count in [(25, 7), (29, 15), (41, 7)]:
        chosen = SingleFilterFeatures().bind(table(p))
        assert chosen.choose({"fraction": count / p, "filter": "a"}).sum() == count


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
    params = {"fraction": 0.5, "weight_a": 0.1, "weight_b": 0.7, "weight_c": 0.3}
    papers = FilterEnsembleFeatures().bind(features)
    mask = papers.choose(params)
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
    papers = {
        "fraction": FloatDistribution(0.0, 1.0),
        "weight_a": FloatDistribution(0.0, 1.0),
        "weight_b": FloatDistribution(0.0, 1.0),
    }
    without = FilterEnsembleFeatures().bind(features)
    assert without.distributions == papers
    penalized = FilterEnsembleFeatures(redundancy_penalty=True).bind(features)
    assert penalized.distributions == {
        **papers,
        "redundancy_penalty": FloatDistribution(0.0, 1.0),
    }
    assert SingleFilterFeatures().bind(features).distributions == {
        "fraction": FloatDistribution(0.0, 1.0),
        "filter": CategoricalDistribution(("a", "b")),
    }
    packed = MaskFeatures(name="chosen").bind(features)
    assert list(packed.distributions) == ["chosen"]
    assert packed.mask_parameters == ("chosen",)
    assert FilterEnsembleFeatures().bind(features).mask_parameters == ()


@pytest.mark.parametrize("make", [FilterEnsembleFeatures, SingleFilterFeatures, MaskFeatures])
def test_binding_leaves_the_users_object_alone_and_json_brings_it_back(make):
    original = make()
    before = dict(vars(original))
    bound = original.bind(table(40))
    assert vars(original) == before
    again = get_representation(json.loads(json.dumps(bound.to_json())))
    assert type(again) is make
    assert again.bind(table(40)).to_json() == bound.to_json()
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
