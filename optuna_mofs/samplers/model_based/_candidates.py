"""The best new candidate of an acquisition function."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers.model_based._acquisition import Values
from optuna_mofs.samplers.model_based._search import Candidates, InfillSearch, MaskSearch
from optuna_mofs.samplers.model_based._training_data import EncodedBatch, TrainingData
from optuna_mofs.study._trial_note import TrialNote

#: Number of candidates per number of features that are considered.
_MAX_PER_SIZE = 100
#: Number of candidates whose feature sets are looked up at once.
_BLOCK = 50


def best_candidate(
    rng: np.random.Generator,
    data: TrainingData,
    acquisition: Values,
    note: TrialNote,
    infill_search: InfillSearch,
    mask_search: MaskSearch,
) -> tuple[Proposal, EncodedBatch] | None:
    """Return the best new configuration and its encoding, or None if all candidates are known.

    Args:
        rng: Generator.
        data: The training data.
        acquisition: Acquisition values, the lower the better.
        note: Note of the proposal; operator and parents are added.
        infill_search: Search without masks.
        mask_search: Search with masks.
    """
    order = np.argsort(acquisition(data.trials), kind="stable")
    table, space, conditional = data.history.table, data.space, data.conditional

    def score(rows: Array, masks: Array | None = None, index: Array | None = None) -> Array:
        return acquisition(data.encode(rows, masks, index))

    if table is None:
        best = data.rows[order[: infill_search.n_local_starts]]
        found = infill_search(rng, space, conditional, score, best)
    else:
        parents = order[: mask_search.n_parents]
        masks = data.history.masks(parents)
        found = mask_search(rng, table, space, conditional, score, data.rows[parents], masks)
    k = _best_new(data, found)
    if k is None:
        return None
    row, mask, source = found.rows[k], found.masks_of(k), int(found.source[k])
    note = replace(
        note,
        operator=str(found.operators[k]),
        parents=(int(data.history.numbers[order[source]]),) if source >= 0 else (),
    )
    encoded = data.encode(
        row[None], None if mask is None else mask[None], np.zeros(1, dtype=np.int64)
    )
    return Proposal(data.warping.inverse(row), mask, note), encoded


def _best_new(data: TrainingData, found: Candidates) -> int | None:
    """Return the position of the best new candidate.

    If the feature sets of all new candidates are exhausted, it is the best of those.
    """
    ranked = np.argsort(found.scores, kind="stable")
    sizes = data.warping.sizes(found.rows)
    if found.masks is not None:
        sizes = found.masks.sum(axis=1)[found.mask_index]
    if sizes is not None:
        # One region can fill the list: a single feature that is as good as all.
        ranked = ranked[_earlier_occurrences(sizes[ranked]) < _MAX_PER_SIZE]
    best_exhausted: int | None = None
    k: int
    for block in np.split(ranked, range(_BLOCK, len(ranked), _BLOCK)):
        rows = data.warping.inverse(found.rows[block])
        exhausted = data.tried_sets.exhausted(rows, found.masks_of(block))
        for k, is_exhausted in zip(block.tolist(), exhausted.tolist()):
            if data.history.contains(data.warping.inverse(found.rows[k]), found.masks_of(k)):
                continue
            if not is_exhausted:
                return k
            best_exhausted = k if best_exhausted is None else best_exhausted
    return best_exhausted


def _earlier_occurrences(values: Array) -> Array:
    """Return how often each value occurs before its position.

    Example:
        >>> _earlier_occurrences(np.array([5, 7, 5, 5, 7])).tolist()
        [0, 0, 1, 2, 1]
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    times = np.empty(len(values), dtype=np.int64)
    times[order] = np.arange(len(values)) - np.searchsorted(ranked, ranked, side="left")
    return times
