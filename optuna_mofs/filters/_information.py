"""Filters on discretized columns: information gain, chi-squared, JMI, CMIM and mRMR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
from scipy.stats import rankdata

from optuna_mofs._typing import Floats
from optuna_mofs.filters._data import FilterData, FilterOptions, prepare
from optuna_mofs.filters._registry import register_filter

N_DECIMALS = 10  # criteria that agree to this many decimals are tied


@register_filter
def information_gain(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the mutual information of the binned feature and the (binned) target, in nats.

    Example:
        >>> information_gain([[0, 1], [0, 0], [1, 1], [1, 0]], [0, 0, 1, 1]).round(3).tolist()
        [0.693, 0.0]
    """
    data = prepare(X, y, options)
    return data.finish(np.maximum(np.round(data.information.relevance, N_DECIMALS), 0.0))


@register_filter
def chi2(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by Pearson's chi-squared statistic of the table of bins × (binned) target.

    Unlike scikit-learn's function of that name it accepts negative numbers and NaN.
    """
    data = prepare(X, y, options)
    table, _ = data.information.contingency()
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    expected = np.maximum(expected / data.n_samples, 1e-300)  # an empty bin adds 0² / tiny = 0
    return data.finish(((table - expected) ** 2 / expected).sum(axis=(0, 1)))


@register_filter
def jmi(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the order of greedy selection by joint mutual information (Yang and Moody, 1999).

    The next feature maximizes the sum, over the selected features, of the information that it and
    the selected one together have on the target: ``sum_s I(X, X_s; Y)``.

    Example:
        The second column repeats the first; the third complements it.

        >>> X = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 5
        >>> jmi(X, [0, 1, 2, 2] * 5).tolist()
        [3.0, 1.0, 2.0]
    """
    data = prepare(X, y, options)
    total = np.zeros(data.n_features)

    def update(s: int, n_selected: int) -> Floats:
        nonlocal total
        total = total + data.information.with_feature(s)[0]
        return total

    return _greedy_scores(data, update)


@register_filter
def cmim(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the order of greedy conditional mutual information maximization (Fleuret, 2004).

    The next feature maximizes its information on the target given the selected feature that
    leaves the least of it: ``min_s I(X; Y | X_s)``.
    """
    data = prepare(X, y, options)
    information = data.information
    smallest: Floats = information.relevance

    def update(s: int, n_selected: int) -> Floats:
        nonlocal smallest
        conditional = information.with_feature(s)[0] - information.relevance[s]
        smallest = np.minimum(smallest, np.maximum(conditional, 0.0))
        return smallest

    return _greedy_scores(data, update)


@register_filter
def mrmr(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the order of greedy minimum redundancy, maximum relevance (Peng et al., 2005).

    The next feature maximizes ``I(X; Y)`` minus the mean of ``I(X; X_s)`` over the selected
    features (the difference form).
    """
    data = prepare(X, y, options)
    redundancy = np.zeros(data.n_features)

    def update(s: int, n_selected: int) -> Floats:
        nonlocal redundancy
        redundancy = redundancy + data.information.with_feature(s)[1]
        return data.information.relevance - redundancy / n_selected

    return _greedy_scores(data, update)


def _greedy_scores(data: FilterData, update: Callable[[int, int], Floats]) -> Floats:
    """Select features greedily, the most relevant first, and score them by that order.

    ``update`` is called with the feature just selected and the number of selected ones; it returns
    the criterion of all features, higher is better.
    """
    p = data.n_features
    scores = np.zeros(p)
    remaining = data.levels > 1  # constant features keep score 0
    n_steps = min(data.greedy_steps, int(remaining.sum()))
    criterion = np.round(data.information.relevance, N_DECIMALS)
    for step in range(n_steps):
        selected = int(np.argmax(np.where(remaining, criterion, -np.inf)))
        remaining[selected] = False
        scores[selected] = p - step
        if not remaining.any():
            return scores
        # Rounded, so that ties do not depend on the last bit of a sum of logarithms.
        criterion = np.round(update(selected, step + 1), N_DECIMALS)
    scores[remaining] = rankdata(criterion[remaining])
    return scores
