"""ReliefF: features that distinguish near samples of different classes."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from optuna_mofs._typing import Bools, Floats
from optuna_mofs.filters._data import FilterOptions, prepare
from optuna_mofs.filters._registry import register_filter

N_NEIGHBORS = 10
MAX_SAMPLES = 1000


@register_filter
def relieff(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by ReliefF, or RReliefF for regression (Robnik-Šikonja and Kononenko, 2003).

    A feature gains where near samples of another class (or with another target value) differ in it
    and loses where near samples of the same class do. There are ten neighbors per class, by the
    Manhattan distance of features scaled to [0, 1]; nominal features differ by 0 or 1. At most
    1000 random samples are used, because time and memory grow with their square.

    Example:
        >>> X = [[k % 2, k % 3, k // 4] for k in range(24)]
        >>> int(relieff(X, [k % 2 for k in range(24)]).argmax())
        0
    """
    data = prepare(X, y, options)
    rows = np.arange(data.n_samples)
    if data.n_samples > MAX_SAMPLES:
        generator = np.random.default_rng(data.seed)
        rows = np.sort(generator.choice(data.n_samples, MAX_SAMPLES, replace=False))
    values = data.matrix()[rows]
    if sparse.issparse(values):
        values = values.toarray()
    span = values.max(axis=0) / 2 - values.min(axis=0) / 2  # halves: the range may overflow
    scaled = (values / 2 - values.min(axis=0) / 2) / np.where(span > 0, span, 1.0)
    nominal = data.nominal
    distance = squareform(pdist(scaled[:, ~nominal], "cityblock"))
    if nominal.any():
        distance += squareform(pdist(scaled[:, nominal], "hamming")) * nominal.sum()
    np.fill_diagonal(distance, np.inf)
    weights = _regression_weights if data.task == "regression" else _class_weights
    return data.finish(weights(scaled, nominal, distance, data.y[rows]))


def _class_weights(
    scaled: Floats, nominal: Bools, distance: Floats, y: NDArray[np.int64]
) -> Floats:
    n = len(y)
    classes, count = np.unique(y, return_counts=True)
    members = [np.flatnonzero(y == c) for c in classes]
    total = np.zeros(scaled.shape[1])
    for i in range(n):
        near, weight = [], []
        for c, size, candidates in zip(classes, count, members):
            k = min(N_NEIGHBORS, size - int(c == y[i]))
            if k == 0:  # the only sample of its class has no neighbor there
                continue
            near.append(_nearest(distance[i], candidates, k))
            share = -1.0 if c == y[i] else size / (n - np.sum(y == y[i]))
            weight.append(np.full(k, share / k))
        total += np.concatenate(weight) @ _differences(scaled, nominal, i, np.concatenate(near))
    return total / n


def _regression_weights(scaled: Floats, nominal: Bools, distance: Floats, y: Floats) -> Floats:
    n = len(y)
    target = (y / 2 - y.min() / 2) / max(y.max() / 2 - y.min() / 2, np.finfo(float).tiny)
    k = min(N_NEIGHBORS, n - 1)
    in_target = 0.0
    in_feature = np.zeros(scaled.shape[1])
    in_both = np.zeros(scaled.shape[1])
    for i in range(n):
        near = _nearest(distance[i], np.arange(n), k)
        apart = np.abs(target[near] - target[i]) / k
        difference = _differences(scaled, nominal, i, near)
        in_target += float(apart.sum())
        in_feature += difference.sum(axis=0) / k
        in_both += apart @ difference
    # Both parts are 0 if the target never (or always) differs among neighbors.
    apart_part = in_both / max(in_target, np.finfo(float).tiny)
    alike_part = (in_feature - in_both) / max(n - in_target, np.finfo(float).tiny)
    return apart_part - alike_part


def _nearest(distance: Floats, candidates: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the nearest candidates, the first ones where distances tie."""
    return candidates[np.argsort(distance[candidates], kind="stable")[:k]]


def _differences(scaled: Floats, nominal: Bools, i: int, near: NDArray[np.int64]) -> Floats:
    difference: Floats = np.abs(scaled[near] - scaled[i])
    if nominal.any():
        difference[:, nominal] = difference[:, nominal] > 0
    return difference
