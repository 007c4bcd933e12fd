"""Friedman's and Nemenyi's tests, against SciPy and figures of Demšar (2006)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from optuna_mofs.statistics import (
    RankComparison,
    bonferroni_dunn,
    compare_ranks,
    critical_difference,
    friedman,
    holm,
    nemenyi,
    paired_wilcoxon,
)

# Demšar (2006), section 3.2.2: mean ranks of four variants of C4.5 on 14 data sets.
RANKS = {"C4.5+m+cf": 1.964, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5": 3.143}


def compared(alpha: float) -> RankComparison:
    return RankComparison(
        names=tuple(RANKS),
        ranks=np.array(list(RANKS.values())),
        n_blocks=14,
        alpha=alpha,
        statistic=9.28,
        p_value=0.02,
        critical_difference=critical_difference(4, 14, alpha=alpha),
        pairwise=nemenyi(list(RANKS.values()), 14),
    )


def test_the_worked_example_of_the_paper() -> None:
    # At 0.05 nothing is farther apart than the critical difference.
    strict = compared(0.05)
    assert strict.critical_difference == pytest.approx(1.25, abs=0.005)
    assert strict.cliques == [(0, 3)]
    assert (strict.pairwise > 0.05).all()
    # At 0.10 C4.5 differs from C4.5+m and C4.5+m+cf.
    lax = compared(0.10)
    assert lax.critical_difference == pytest.approx(1.12, abs=0.005)
    assert lax.cliques == [(0, 2), (2, 3)]
    assert (np.flatnonzero(lax.pairwise[3] < 0.10)).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (7, 2.949), (10, 3.164)]
)
def test_critical_values_of_the_papers_table(k: int, q: float) -> None:
    n = 20
    assert critical_difference(k, n) == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * n)), abs=1e-3)


@given(
    arrays(np.float64, st.tuples(st.integers(3, 9), st.integers(3, 5)), elements=st.integers(0, 5))
)
@settings(max_examples=40)
def test_friedman_agrees_with_scipy(scores: np.ndarray) -> None:
    ranks = stats.rankdata(scores, axis=1)
    if np.ptp(ranks) == 0:
        assert friedman(ranks) == (0.0, 1.0)
    else:
        assert friedman(ranks)[0] == pytest.approx(stats.friedmanchisquare(*scores.T).statistic)


@given(arrays(np.float64, (6, 4), elements=st.integers(0, 50)), st.permutations(range(4)))
@settings(max_examples=6)
def test_the_order_of_columns_and_the_direction_do_not_matter(
    scores: np.ndarray, order: list[int]
) -> None:
    names = np.array(list("abcd"))
    found = compare_ranks(scores, names)
    moved = compare_ranks(-scores[:, order], names[order], higher_is_better=False)
    assert dict(zip(moved.names, moved.ranks)) == dict(zip(found.names, found.ranks))
    assert moved.statistic == pytest.approx(found.statistic)
    assert moved.p_value == pytest.approx(found.p_value)


def test_pairs_are_significant_where_their_ranks_are_a_critical_difference_apart() -> None:
    difference = critical_difference(3, 12)
    just_below, just_above = 1.0 + difference * 0.999, 1.0 + difference * 1.001
    assert nemenyi([1.0, just_below, 2.0], 12)[0, 1] > 0.05
    found = nemenyi([1.0, just_above, 2.0], 12)
    assert found[0, 1] < 0.05
    assert np.array_equal(found, found.T)
    assert found[0, 0] == 1.0


def test_cliques_are_the_largest_runs() -> None:
    # a wins always, c loses always, b and d share the middle.
    scores = np.tile([4.0, 3.0, 1.0, 2.0], (30, 1))
    scores[::2, [1, 3]] = scores[::2, [3, 1]]
    found = compare_ranks(scores, list("abcd"))
    assert found.names[0] == "a"
    assert found.names[3] == "c"
    assert found.cliques == [(1, 2)]
    assert found.p_value < 1e-6


def test_the_same_order_everywhere_and_ties_everywhere() -> None:
    # One of 3! orders four times: the first is free, the other three match it.
    assert compare_ranks([[3, 2, 1]] * 4).p_value == pytest.approx(1 / 6**3)
    assert compare_ranks([[2, 1], [3, 1]]).p_value == pytest.approx(1 / 2)
    # Three orders, as two methods tie.
    assert compare_ranks([[3, 1, 1]] * 3).p_value == pytest.approx(1 / 3**2)
    tied = compare_ranks(np.ones((4, 3)))
    assert (tied.statistic, tied.p_value) == (0.0, 1.0)
    assert tied.cliques == [(0, 2)]
    assert "p = 1" in str(tied)


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ([[1, 2]], {}, r"two rows .* got shape \(1, 2\)"),
        ([[1], [2]], {}, r"got shape \(2, 1\)"),
        ([[1, 2], [np.nan, 1]], {}, "NaN, got one in row 1, column 0"),
        ([[1, 2], [2, 1]], {"alpha": 1.5}, "alpha must be a number .* at most 1, got 1.5"),
        ([[1, 2], [2, 1]], {"names": ["a"]}, "one name for each of the 2 columns"),
    ],
)
def test_bad_tables_raise(scores, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        compare_ranks(scores, **options)


def test_the_columns_of_a_table_are_the_names() -> None:
    table = pd.DataFrame({"ours": [1.0, 2.0, 3.0], "theirs": [2.0, 3.0, 4.0]})
    assert compare_ranks(table).names == ("theirs", "ours")


def test_bonferroni_dunn_has_the_critical_difference_of_demsar() -> None:
    # Section 3.2.4: with q = 2.394 for four methods, the critical difference is 1.16.
    difference = 2.394 * np.sqrt(4 * 5 / (6 * 14))
    p = bonferroni_dunn([1.0, 1.0 + difference, 1.0, 4.0], 14)
    assert p[0] == p[2] == 1.0
    assert p[1] == pytest.approx(0.05, abs=1e-4)
    assert p[3] < 0.001
    with pytest.raises(ValueError, match="control must be an integer from 0 to 1, got 2"):
        bonferroni_dunn([1.0, 2.0], 5, control=2)


def test_holm_is_the_step_down_procedure() -> None:
    p = np.array([0.04, 0.001, 0.5, 0.02])
    assert holm(p).tolist() == pytest.approx([0.08, 0.004, 0.5, 0.06])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_paired_wilcoxon_is_that_of_scipy_with_correction() -> None:
    scores = np.random.default_rng(0).normal([0.0, 0.8, 0.1], 1.0, (12, 3))
    raw = [stats.wilcoxon(scores[:, 1], scores[:, j]).pvalue for j in (0, 2)]
    found = paired_wilcoxon(scores, control=1)
    assert found[1] == 1.0
    assert found[[0, 2]].tolist() == pytest.approx(holm(raw).tolist())
    with pytest.raises(ValueError, match="rows of numbers"):
        paired_wilcoxon([1.0, 2.0])
    with pytest.raises(ValueError, match="control must be"):
        paired_wilcoxon(scores, control=3)
