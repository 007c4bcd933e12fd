"""Comparison of several methods on many data sets: Friedman's test and post-hoc tests.

Demšar (2006), *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, sections
3.1.3 and 3.2.2 to 3.2.4. All functions take arrays and are independent of studies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from optuna_mofs._typing import Floats
from optuna_mofs._validation import check_int, check_numbers, check_probability


@dataclass(frozen=True)
class RankComparison:
    """Mean ranks of methods, and which of them differ significantly.

    Attributes:
        names: Names of the methods, the best mean rank first.
        ranks: Mean rank of each method, 1 the best possible.
        n_blocks: Number of data sets (or runs) they were ranked on.
        alpha: Level of significance.
        statistic: Friedman's chi-square, corrected for ties.
        p_value: P-value under the null hypothesis that all methods are equal, by Iman and
            Davenport's F, which is less conservative than chi-square.
        critical_difference: Larger differences of mean ranks are significant by Nemenyi's test.
        pairwise: P-value of each pair by Nemenyi's test, in the order of ``names``.
    """

    names: tuple[str, ...]
    ranks: Floats
    n_blocks: int
    alpha: float
    statistic: float
    p_value: float
    critical_difference: float
    pairwise: Floats

    @property
    def is_significant(self) -> bool:
        """Whether Friedman's test is significant; otherwise ignore Nemenyi's test."""
        return self.p_value < self.alpha

    @property
    def cliques(self) -> list[tuple[int, int]]:
        """The first and last position of each maximal run of methods that do not differ."""
        found: list[tuple[int, int]] = []
        for first in range(len(self.names)):
            apart = self.ranks - self.ranks[first] > self.critical_difference
            last = int(np.argmax(apart)) - 1 if apart.any() else len(self.names) - 1
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return found

    def __str__(self) -> str:
        lines = [f"{rank:6.2f}  {name}" for name, rank in zip(self.names, self.ranks)]
        return "\n".join(
            [
                f"Mean ranks over {self.n_blocks} data sets or runs (1 is best):",
                *lines,
                f"Friedman: chi-square {self.statistic:.2f}, p = {self.p_value:.3g}. "
                f"Critical difference (Nemenyi, {self.alpha:g}): {self.critical_difference:.2f}.",
            ]
        )


def compare_ranks(
    scores: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    alpha: float = 0.05,
    higher_is_better: bool = True,
) -> RankComparison:
    """Rank methods on each data set and test whether their mean ranks differ.

    Args:
        scores: One row per data set (or run), one column per method; no NaN. Rows should be
            independent: average several seeds of one data set first.
        names: Names of the methods. Default: the columns of a DataFrame, else ``method 1``, ...
        alpha: Level of significance.
        higher_is_better: Whether a high score is good (a hypervolume) or bad (an error).

    Example:
        >>> found = compare_ranks([[0.9, 0.8], [0.7, 0.6], [0.9, 0.5]], ["ours", "theirs"])
        >>> found.names, found.ranks.tolist()
        (('ours', 'theirs'), [1.0, 2.0])
    """
    if names is None:
        names = getattr(scores, "columns", None)
    table = check_numbers("scores", scores)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise ValueError(
            "scores must have at least two rows (data sets or runs) and two columns (methods), "
            f"got shape {table.shape}."
        )
    if np.isnan(table).any():
        row, column = np.argwhere(np.isnan(table))[0].tolist()
        raise ValueError(
            f"scores must not have NaN, got one in row {row}, column {column}. Every method needs "
            "a score on every data set: leave out that row or method."
        )
    check_probability("alpha", alpha)
    n, k = table.shape
    labels = [f"method {j + 1}" for j in range(k)] if names is None else [str(s) for s in names]
    if len(labels) != k:
        raise ValueError(f"names must have one name for each of the {k} columns, got {labels}.")
    from scipy.stats import rankdata

    ranks = rankdata(-table if higher_is_better else table, axis=1)
    means = ranks.mean(axis=0)
    order = np.argsort(means, kind="stable")
    statistic, p_value = friedman(ranks)
    means = means[order]
    return RankComparison(
        names=tuple(labels[j] for j in order),
        ranks=means,
        n_blocks=n,
        alpha=alpha,
        statistic=statistic,
        p_value=p_value,
        critical_difference=critical_difference(k, n, alpha=alpha),
        pairwise=nemenyi(means, n),
    )


def friedman(ranks: ArrayLike) -> tuple[float, float]:
    """Return Friedman's chi-square of ranks, and the p-value of Iman and Davenport's F.

    Args:
        ranks: Data sets × methods, ties averaged.

    Example:
        Two methods alternate before a third one:

        >>> statistic, p_value = friedman([[1, 2, 3], [2, 1, 3], [1, 2, 3], [2, 1, 3]])
        >>> round(statistic, 6), round(p_value, 6)
        (6.0, 0.015625)
    """
    from scipy.stats import f

    array = check_numbers("ranks", ranks, 2)
    n, k = array.shape
    if n < 2 or k < 2:
        raise ValueError(f"ranks must have at least two rows and two columns, got {n} × {k}.")
    between = n * float(((array.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    # Without ties this is k(k + 1)/12 per row; ties make it smaller.
    within = float(((array - (k + 1) / 2) ** 2).sum()) / (n * (k - 1))
    if within == 0.0:
        return 0.0, 1.0  # all methods tie everywhere
    statistic = between / within
    rest = n * (k - 1) - statistic
    if rest <= 1e-9:
        # With the same order on every data set F is infinite, but its probability is known.
        repeats = np.unique(array[0], return_counts=True)[1]
        orders = math.factorial(k) / math.prod(map(math.factorial, repeats.tolist()))
        return statistic, float(orders ** (1 - n))
    ratio = (n - 1) * statistic / rest
    return statistic, float(f.sf(ratio, k - 1, (k - 1) * (n - 1)))


def critical_difference(n_methods: int, n_blocks: int, *, alpha: float = 0.05) -> float:
    """Return the smallest difference of mean ranks that is significant by Nemenyi's test.

    Example:
        Demšar (2006), section 3.2.4: four methods on 14 data sets.

        >>> round(critical_difference(4, 14), 2)
        1.25
    """
    from scipy.stats import studentized_range

    check_probability("alpha", alpha)
    error = _standard_error(n_methods, n_blocks)
    q = float(studentized_range.ppf(1.0 - alpha, n_methods, np.inf)) / math.sqrt(2.0)
    return q * error


def nemenyi(mean_ranks: ArrayLike, n_blocks: int) -> Floats:
    """Return the p-value of each pair's difference of mean ranks."""
    from scipy.stats import studentized_range

    means = check_numbers("mean_ranks", mean_ranks, 1)
    k = len(means)
    difference = np.abs(means[:, None] - means[None, :]) / _standard_error(k, n_blocks)
    found = np.ones((k, k))
    upper = np.triu_indices(k, 1)
    found[upper] = studentized_range.sf(difference[upper] * math.sqrt(2.0), k, np.inf)
    return np.minimum(found, found.T)


def bonferroni_dunn(mean_ranks: ArrayLike, n_blocks: int, *, control: int = 0) -> Floats:
    """Return the p-value of each method's difference of mean ranks to one control method.

    Dunn's test with Bonferroni's correction for the ``k - 1`` comparisons. Unlike Nemenyi's test
    it does not compare all pairs, hence finds smaller differences to the control.

    Args:
        mean_ranks: Mean rank of each method.
        n_blocks: Number of data sets (or runs) they were ranked on.
        control: Position of the control method, whose own p-value is 1.

    Example:
        Demšar (2006), section 3.2.4: C4.5 on 14 data sets against three variants.

        >>> bonferroni_dunn([3.143, 2.0, 2.893, 1.964], 14).round(3).tolist()
        [1.0, 0.057, 1.0, 0.047]
    """
    from scipy.stats import norm

    means = check_numbers("mean_ranks", mean_ranks, 1)
    k = len(means)
    control = check_int("control", control, 0, k - 1)
    z = np.abs(means - means[control]) / _standard_error(k, n_blocks)
    return np.minimum(1.0, 2.0 * norm.sf(z) * (k - 1))


def paired_wilcoxon(scores: ArrayLike, *, control: int = 0) -> Floats:
    """Return the p-value of each method against one control method, with Holm's correction.

    Wilcoxon's signed-rank test of the paired scores; data sets on which two methods tie are left
    out, and two methods that tie everywhere have the p-value 1.

    Args:
        scores: One row per data set (or run), one column per method.
        control: Position of the control method, whose own p-value is 1.

    Example:
        >>> scores = [[0.9, 0.8, 0.9], [0.7, 0.5, 0.7], [0.9, 0.6, 0.9], [0.8, 0.4, 0.8]]
        >>> paired_wilcoxon(scores).tolist()
        [1.0, 0.25, 1.0]
    """
    from scipy.stats import wilcoxon

    table = check_numbers("scores", scores, 2)
    k = table.shape[1]
    if k < 2:
        raise ValueError(f"scores must have at least two columns, got shape {table.shape}.")
    control = check_int("control", control, 0, k - 1)
    others = [j for j in range(k) if j != control]
    p_values = np.ones(len(others))
    for i, j in enumerate(others):
        differences = table[:, j] - table[:, control]
        differences = differences[differences != 0]
        if len(differences):
            p_values[i] = wilcoxon(differences).pvalue
    found = np.ones(k)
    found[others] = holm(p_values)
    return found


def holm(p_values: ArrayLike) -> Floats:
    """Return p-values with Holm's correction for several comparisons, in the given order.

    Example:
        >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
        [0.03, 0.06, 0.06]
    """
    p = check_numbers("p_values", p_values, 1)
    order = np.argsort(p, kind="stable")
    corrected = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(1.0, corrected)
    return found


def _standard_error(n_methods: int, n_blocks: int) -> float:
    check_int("n_methods", n_methods, 2)
    check_int("n_blocks", n_blocks, 1)
    return math.sqrt(n_methods * (n_methods + 1) / (6.0 * n_blocks))
