"""The best of many candidates that no trial has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optuna_mofs.features.table import Array
from optuna_mofs.samplers.base import Proposal
from optuna_mofs.samplers.model_based.candidates import Candidates
from optuna_mofs.samplers.model_based.masks import MaskSearch
from optuna_mofs.samplers.model_based.search import InfillSearch, neighbours
from optuna_mofs.samplers.model_based.view import Seen, View

#: How many of the best candidates are looked at for one that no trial has.
_LOOKED_AT = 1000


def best_candidate(
    view: View,
    rng: np.random.Generator,
    infill: Callable[[Seen], Array],
    search: InfillSearch,
    mask_search: MaskSearch,
) -> tuple[Proposal, Seen] | None:
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
        parents = view.rows[good], np.array([view.history.mask(i) for i in good])
        found = mask_search(rng, view.history.table, parents, _nearby(view, rng), score)
    return _first_new(view, found, order)


def _first_new(view: View, found: Candidates, order: Array) -> tuple[Proposal, Seen] | None:
    best_first = np.argsort(found.scores, kind="stable")[:_LOOKED_AT]
    for spent in (False, True):
        for k in best_first:
            row, mask = found.rows[k], found.mask(k)
            if not view.is_known(row, mask) and (spent or not view.is_spent(row)):
                return _proposed(view, found, int(k), order)
    return None


def _proposed(view: View, found: Candidates, k: int, order: Array) -> tuple[Proposal, Seen]:
    row, mask, source = found.rows[k], found.mask(k), int(found.source[k])
    parents = (int(view.numbers[order[source]]),) if source >= 0 else ()
    proposal = Proposal(view.warp.back(row), mask, str(found.operators[k]), parents)
    if mask is None:
        return proposal, view.candidates(row[None])
    return proposal, view.candidates(row[None], mask[None], np.zeros(1, dtype=np.int64))


def _nearby(view: View, rng: np.random.Generator) -> Callable[[Array, int, float], Array]:
    """Rows near given ones, of (rows, count, step size): rows × count × parameters."""
    d = len(view.space)

    def nearby(rows: Array, count: int, step: float) -> Array:
        if d == 0:
            return np.zeros((len(rows), count, 0))
        near = neighbours(rng, view.space, rows, count, step)
        return view.activity.apply(near.reshape(-1, d)).reshape(len(rows), count, d)

    return nearby
