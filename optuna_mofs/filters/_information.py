"""Filters on discretized columns: information gain, chi-squared, JMI, CMIM and mRMR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
from scipy.stats import rankdata

from optuna_mofs._typing import Floats
from optuna_mofs.filters._data import FilterData, FilterOptions, prepare

DIGITS = 10  # criteria that agree to these decimals are tied


def information_gain(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Mutual information of the binned feature and the (binned) target, in nats.

    Example:
        >>> information_gain([[0, 1], [0, 0], [1, 1], [1, 0]], [0, 0, 1, 1]).round(3).tolist()
        [0.693, 0.0]
    """
    data = prepare(X, y, options)
    return data.finish(np.maximum(np.round(data.information.relevance, DIGITS), 0.0))


def chi2(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Pearson's chi-squared statistic of the table of bins × (binned) target.

    Unlike scikit-learn's function of that name it takes negative numbers and NaN.
    """
    data = prepare(X, y, options)
    table, _ = data.information.contingency()
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    expected = np.maximum(expected / data.n_samples, 1e-300)  # an empty bin adds 0² / tiny = 0
    return data.finish(((table - expected) ** 2 / expected).sum(axis=(0, 1)))


def jmi(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Joint mutual information (Yang and Moody, 1999): order of greedy choice.

    The next feature maximizes the sum, over the features chosen, of the information that it and
    the chosen one together have on the target: ``sum_s I(X, X_s; Y)``.

    Example:
        The second column repeats the first; the third tells what the first does not.

        >>> X = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 5
        >>> jmi(X, [0, 1, 2, 2] * 5).tolist()
        [3.0, 1.0, 2.0]
    """
    data = prepare(X, y, options)
    total = np.zeros(data.n_features)

    def update(s: int, n_chosen: int) -> Floats:
        nonlocal total
        total = total + data.information.with_feature(s)[0]
        return total

    return _greedy_scores(data, update)


def cmim(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Conditional mutual information maximization (Fleuret, 2004): order of greedy choice.

    The next feature maximizes its information on the target given the chosen feature that leaves
    least of it: ``min_s I(X; Y | X_s)``.
    """
    data = prepare(X, y, options)
    information = data.information
    least: Floats = information.relevance

    def update(s: int, n_chosen: int) -> Floats:
        nonlocal least
        conditional = information.with_feature(s)[0] - information.relevance[s]
        least = np.minimum(least, np.maximum(conditional, 0.0))
        return least

    return _greedy_scores(data, update)


def mrmr(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Minimum redundancy, maximum relevance (Peng et al., 2005): order of greedy choice.

    The next feature maximizes ``I(X; Y)`` minus the mean of ``I(X; X_s)`` over the features chosen
    (the difference form).
    """
    data = prepare(X, y, options)
    redundancy = np.zeros(data.n_features)

    def update(s: int, n_chosen: int) -> Floats:
        nonlocal redundancy
        redundancy = redundancy + data.information.with_feature(s)[1]
        difference: Floats = data.information.relevance - redundancy / n_chosen
        return difference

    return _greedy_scores(data, update)


def _greedy_scores(data: FilterData, update: Callable[[int, int], Floats]) -> Floats:
    """Choose features greedily, the most relevant first.

    Args:
        data: Prepared data.
        update: Called with the feature just chosen and how many are chosen; returns the criterion
            of all features, higher is better.
    """
    p = data.n_features
    scores = np.zeros(p)
    waiting = data.levels > 1  # constant features keep score 0
    n_steps = min(data.greedy_steps, int(waiting.sum()))
    criterion = np.round(data.information.relevance, DIGITS)
    for step in range(n_steps):
        chosen = int(np.argmax(np.where(waiting, criterion, -np.inf)))
        waiting[chosen] = False
        scores[chosen] = p - step
        if not waiting.any():
            return scores
        # Rounded, so that ties do not hang on the last bit of a sum of logarithms.
        criterion = np.round(update(chosen, step + 1), DIGITS)
    scores[waiting] = rankdata(criterion[waiting])
    return scores
