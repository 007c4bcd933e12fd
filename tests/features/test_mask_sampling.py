from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from optuna_mofs.features import FeatureTable
from optuna_mofs.features._mask_sampling import (
    cost_adjusted,
    ensemble_probability,
    geometric_size,
    get_mask_sampler,
    mask_from_seed,
    sample_bernoulli_mask,
    sample_ensemble_mask,
    sample_geometric_mask,
    sample_prefix_mask,
    sample_uniform_mask,
    sample_wide_mask,
    simplex_weights,
    subset_of_size,
)
from optuna_mofs.filters import rank_scores


@pytest.mark.parametrize(("mean", "p"), [(0.5, 3), (5.0, 60), (5.0, 6), (100.0, 10), (3.0, 1)])
def test_sizes_follow_the_truncated_geometric_distribution(mean, p):
    rng = np.random.default_rng(12345)
    draws = 20_000
    counts = np.bincount([geometric_size(rng, mean, p) for _ in range(draws)], minlength=p + 1)
    stop = 1 / (1 + mean)
    pmf = stop * (1 - stop) ** np.arange(p + 1)
    expected = draws * pmf / pmf.sum()
    # The test needs cells with enough expected draws.
    tail = np.flatnonzero(expected < 10)
    first = tail[0] if len(tail) else p + 1
    counts = np.append(counts[:first], counts[first:].sum())
    expected = np.append(expected[:first], expected[first:].sum())
    keep = expected > 0
    assert stats.chisquare(counts[keep], expected[keep]).pvalue > 0.001


@settings(max_examples=200)
@given(
    st.floats(0, 1e12),
    st.integers(0, 20_000),
    st.integers(0, 2**32),
)
def test_sizes_stay_in_bounds(mean, p, seed):
    size = geometric_size(np.random.default_rng(seed), mean, p)
    assert isinstance(size, int)
    assert 0 <= size <= p


def test_a_mean_of_zero_gives_the_empty_set():
    assert {geometric_size(np.random.default_rng(s), 0.0, 5) for s in range(20)} == {0}


scores = st.builds(
    lambda p, seed: np.random.default_rng(seed).random(p),
    st.integers(1, 300),
    st.integers(0, 2**32),
)


@settings(max_examples=150)
@given(scores, st.floats(0, 1))
def test_probabilities_of_equation_2(score, share):
    p = len(score)
    size = share * p
    found = ensemble_probability(score, size, p)
    assert ((found >= 0) & (found <= 1)).all()
    # The higher the score, the more likely.
    assert (np.diff(found[np.argsort(score)]) >= 0).all()
    # Leaving a feature out is choosing with score and size turned round.
    np.testing.assert_allclose(1 - found, ensemble_probability(1 - score, p - size, p))
    # A larger size makes every feature more likely.
    assert (ensemble_probability(score, min(size + 1, p), p) >= found - 1e-12).all()


@pytest.mark.parametrize("p", [2, 30, 500])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_equal_scores_keep_the_size(p, share):
    size = share * p
    found = ensemble_probability(np.full(p, 0.5), size, p)
    np.testing.assert_allclose(found, (size + 1) / (p + 2))
    assert abs(found.sum() - size) <= 1


def test_the_expected_size_is_exact_in_the_middle_and_near_it_where_filters_disagree():
    p, rng = 500, np.random.default_rng(0)
    even = np.linspace(0, 1, p)
    assert ensemble_probability(even, p / 2, p).sum() == pytest.approx(p / 2)
    disagreeing = rng.permuted(np.tile(even, (5, 1)), axis=1).mean(axis=0)
    for size in (5, 20, 100):
        assert ensemble_probability(disagreeing, size, p).sum() == pytest.approx(size, rel=0.5)
    # The numbers in the docstring.
    assert ensemble_probability(even, 1, p).sum() == pytest.approx(10, abs=0.5)
    assert ensemble_probability(even, 20, p).sum() == pytest.approx(52, abs=0.5)


def test_extreme_scores_are_certain_by_equation_2():
    found = ensemble_probability(np.array([0.0, 1.0]), 0, 2)
    assert found.tolist() == [0.0, 1.0]


def test_expensive_features_are_less_likely_and_equal_costs_change_nothing():
    probability = np.full(3, 0.4)
    found = cost_adjusted(probability, np.array([1.0, 2.0, 3.0]))
    assert found[0] > found[1] > found[2]
    assert found[1] == pytest.approx(0.4)
    odds = found / (1 - found)
    assert odds[0] / odds[2] == pytest.approx(3)
    np.testing.assert_array_equal(cost_adjusted(probability, np.ones(3)), probability)
    np.testing.assert_array_equal(cost_adjusted(probability, np.zeros(3)), probability)
    np.testing.assert_array_equal(cost_adjusted(probability, None), probability)
    free = cost_adjusted(probability, np.array([0.0, 1.0, 1.0]))
    assert 0.99 < free[0] < 1


@settings(max_examples=50)
@given(st.integers(1, 10), st.integers(0, 2**32))
def test_weights_lie_on_the_simplex(count, seed):
    weights = simplex_weights(np.random.default_rng(seed), count)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1)


def test_weights_are_uniform_on_the_simplex():
    rng = np.random.default_rng(0)
    first = [simplex_weights(rng, 3)[0] for _ in range(4000)]
    # One of three coordinates of a uniform point has the distribution function 1 - (1 - w)^2.
    assert stats.kstest(first, lambda w: 1 - (1 - w) ** 2).pvalue > 0.001


@pytest.mark.parametrize(("size", "p"), [(0, 5), (3, 5), (5, 5), (0, 0)])
def test_subsets_have_their_size(size, p):
    assert subset_of_size(np.random.default_rng(0), size, p).sum() == size


def test_subsets_are_uniform():
    rng = np.random.default_rng(0)
    found = [subset_of_size(rng, 2, 4).tobytes() for _ in range(3000)]
    _, counts = np.unique(found, return_counts=True)
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 0.001


def test_bare_integers_draw_geometric_sizes_without_ranks():
    table = FeatureTable(tuple(f"x{j}" for j in range(60)), expected_n_features=4)
    sizes = [mask_from_seed(table, s).sum() for s in range(2000)]
    assert np.mean(sizes) == pytest.approx(4, rel=0.1)


def test_bare_integers_follow_the_filters():
    p = 60
    ranks = rank_scores(np.tile(np.arange(p), (2, 1)))
    table = FeatureTable(
        tuple(f"x{j}" for j in range(p)), filters=("a", "b"), ranks=ranks, expected_n_features=4
    )
    often = np.mean([mask_from_seed(table, s) for s in range(800)], axis=0)
    assert often[-10:].mean() > 5 * often[:30].mean()


def test_bare_integers_avoid_expensive_features():
    p = 30
    options = {"filters": ("a",), "ranks": np.full((1, p), 0.5), "expected_n_features": 6}
    names = tuple(f"x{j}" for j in range(p))
    costs = np.where(np.arange(p) < 15, 1.0, 9.0)
    table = FeatureTable(names, costs=costs, **options)
    often = np.mean([mask_from_seed(table, s) for s in range(800)], axis=0)
    assert often[:15].mean() > 3 * often[15:].mean()


def test_only_free_features_are_drawn():
    p = 20
    ranks = rank_scores(np.arange(p)[None])
    table = FeatureTable(
        tuple(f"x{j}" for j in range(p)),
        fixed=(19, 18),
        filters=("a",),
        ranks=ranks,
        expected_n_features=2,
    )
    mask = sample_ensemble_mask(np.random.default_rng(0), table, np.ones(1))
    assert mask.shape == (18,)


P = 200
RANKS = np.array([np.arange(P)[::-1] / (P - 1), np.arange(P) / (P - 1)])
TABLE = FeatureTable(
    names=tuple(f"f{j}" for j in range(P)),
    filters=("up", "down"),
    ranks=RANKS,
    expected_n_features=8.0,
)
BARE = FeatureTable(names=tuple(f"f{j}" for j in range(P)), expected_n_features=8.0)
UP = np.array([1.0, 0.0])
SAMPLERS = [
    sample_bernoulli_mask,
    sample_uniform_mask,
    sample_geometric_mask,
    sample_ensemble_mask,
    sample_prefix_mask,
    sample_wide_mask,
]


def _sizes(sampler, table=TABLE, n=600):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    return np.array([sampler(rng, table, UP).sum() for _ in range(n)])


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("table", [TABLE, BARE])
def test_samplers_return_masks(sampler, table) -> None:  # type: ignore[no-untyped-def]
    mask = sampler(np.random.default_rng(1), table, UP)
    assert mask.dtype == bool
    assert mask.shape == (P,)


def test_sizes_follow_the_distribution_in_their_name() -> None:
    assert abs(_sizes(sample_bernoulli_mask).mean() - P / 2) < 2
    assert _sizes(sample_bernoulli_mask).std() < 10
    assert abs(_sizes(sample_uniform_mask).mean() - P / 2) < 8
    assert _sizes(sample_uniform_mask).std() > 50
    assert 7 < _sizes(sample_geometric_mask).mean() < 9
    # Eq. 2 overshoots when one filter decides alone, and is near the size when two disagree.
    even = np.array([0.5, 0.5])
    rng = np.random.default_rng(0)
    assert 6 < np.mean([sample_ensemble_mask(rng, TABLE, even).sum() for _ in range(600)]) < 11
    assert 12 < _sizes(sample_ensemble_mask).mean() < 25
    assert _sizes(sample_prefix_mask).min() == 1
    wide = _sizes(sample_wide_mask)
    assert wide.min() == 1
    assert wide.max() > 0.9 * P
    assert 0.4 < np.mean(wide <= np.sqrt(P)) < 0.65


def test_filters_decide_which_features_are_drawn() -> None:
    rng = np.random.default_rng(0)
    share = np.mean([sample_ensemble_mask(rng, TABLE, UP) for _ in range(500)], axis=0)
    assert share[:20].mean() > 5 * share[-20:].mean()
    for sampler in (sample_prefix_mask, sample_wide_mask):
        for _ in range(20):
            mask = sampler(rng, TABLE, UP)
            assert mask[: mask.sum()].all()


def test_samplers_by_name() -> None:
    assert get_mask_sampler("wide") is sample_wide_mask
    assert get_mask_sampler(sample_wide_mask) is sample_wide_mask
    message = r"mask sampler must be one of 'bernoulli', .* got 'wid'"
    with pytest.raises(ValueError, match=message):
        get_mask_sampler("wid")
