"""A batch of candidates, and the best new one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers.model_based._search import (
    Candidates,
    InfillSearch,
    MaskSearch,
    neighbors,
)
from optuna_mofs.samplers.model_based._training_data import EncodedBatch, TrainingData

#: How many candidates with as many features are passed over before the others are given up.
_PATIENCE = 100
#: Candidates whose feature sets are looked up at a time.
_BLOCK = 50


def best_candidate(
    view: TrainingData,
    rng: np.random.Generator,
    infill: Callable[[EncodedBatch], Array],
    search: InfillSearch,
    mask_search: MaskSearch,
) -> tuple[Proposal, EncodedBatch] | None:
    """The best new configuration, and how the surrogate saw it; None if all found are known.

    Args:
        view: The history.
        rng: Generator.
        infill: What candidates promise, the lower the better.
        search: Effort without masks.
        mask_search: Effort with masks.
    """
    order = np.argsort(infill(view.seen), kind="stable")

    def score(rows: Array, masks: Array | None = None, index: Array | None = None) -> Array:
        return infill(view.candidates(rows, masks, index))

    if view.history.table is None:
        found = search(rng, view.space, view.activity, score, view.rows[order[: search.starts]])
    else:
        good = order[: mask_search.parents]
        parents = view.rows[good], view.history.masks(good)
        found = mask_search(rng, view.history.table, parents, _nearby(view, rng), score)
    return _first_new(view, found, order)


def _first_new(
    view: TrainingData, found: Candidates, order: Array
) -> tuple[Proposal, EncodedBatch] | None:
    """The best that no trial has and whose feature set is not spent; else one that is."""
    ranked = np.argsort(found.scores, kind="stable")
    sizes = view.warp.sizes(found.rows)
    if found.masks is not None and found.index is not None:
        sizes = found.masks.sum(axis=1)[found.index]
    if sizes is not None:
        # One place of the space can fill the list: a single feature that is as good as all.
        ranked = ranked[_times_before(sizes[ranked]) < _PATIENCE]
    rest: int | None = None
    for block in np.split(ranked, range(_BLOCK, len(ranked), _BLOCK)):
        masks = found.masks_of(block)
        spent = view.spent(found.rows[block], masks)
        for k, is_spent in zip(block.tolist(), spent.tolist()):
            if view.contains_params(found.rows[k], found.mask(k)):
                continue
            if not is_spent:
                return _proposed(view, found, k, order)
            rest = k if rest is None else rest
    return None if rest is None else _proposed(view, found, rest, order)


def _times_before(values: Array) -> Array:
    """How often each value occurs before its place.

    Example:
        >>> _times_before(np.array([5, 7, 5, 5, 7])).tolist()
        [0, 0, 1, 2, 1]
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    times = np.empty(len(values), dtype=np.int64)
    times[order] = np.arange(len(values)) - np.searchsorted(ranked, ranked, side="left")
    return times


def _proposed(
    view: TrainingData, found: Candidates, k: int, order: Array
) -> tuple[Proposal, EncodedBatch]:
    row, mask, source = found.rows[k], found.mask(k), int(found.source[k])
    parents = (int(view.numbers[order[source]]),) if source >= 0 else ()
    proposal = Proposal(view.warp.back(row), mask, str(found.operators[k]), parents)
    if mask is None:
        return proposal, view.candidates(row[None])
    return proposal, view.candidates(row[None], mask[None], np.zeros(1, dtype=np.int64))


def _nearby(view: TrainingData, rng: np.random.Generator) -> Callable[[Array, int, float], Array]:
    """Rows near given ones, of (rows, count, step size): rows × count × parameters."""
    d = len(view.space)

    def nearby(rows: Array, count: int, step: float) -> Array:
        if d == 0:
            return np.zeros((len(rows), count, 0))
        near = neighbors(rng, view.space, rows, count, step)
        return view.activity.apply(near.reshape(-1, d)).reshape(len(rows), count, d)

    return nearby
