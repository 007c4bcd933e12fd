"""The history as a surrogate sees it, and the best of many candidates."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import moocore
import numpy as np

from optuna_mofs.features.codec import unpack
from optuna_mofs.features.table import Array
from optuna_mofs.history import History
from optuna_mofs.samplers.base import Proposal
from optuna_mofs.samplers.model_based.activity import Activity
from optuna_mofs.samplers.model_based.encoding import RowEncoding
from optuna_mofs.samplers.model_based.masks import MaskSearch, MaskView
from optuna_mofs.samplers.model_based.scalarise import Scale
from optuna_mofs.samplers.model_based.search import InfillSearch, neighbours

#: How many of the best candidates are looked at for one that no trial has.
_LOOKED_AT = 300
#: Bounds of the reference point on the scale of the better half of the trials.
_REFERENCE = (1.1, 3.0)


class View:
    """Everything of the history that a model-based sampler works on.

    Args:
        history: What is known.
        kept: Keeps views of masks from trial to trial.
    """

    def __init__(self, history: History, kept: Callable[[str, Callable[[], Any]], Any]) -> None:
        self.history = history
        self.values = history.values
        self.space = history.space
        self.encoding = RowEncoding(self.space, history.rows)
        self.activity = Activity(self.space, history.rows)
        violations = history.violations.ravel()
        self.scale = Scale.of(self.values, violations)
        self.scaled = self.scale(self.values, violations)
        self.X = self.encoding(history.rows)
        #: Whether masks are among the columns.
        self.masked = history.table is not None
        if history.table is not None:
            table = history.table
            self._mask_view: MaskView = kept("mask view", lambda: MaskView(table))
            self.X = np.hstack([self.X, self._seen_masks(kept("mask views", dict))])

    def _seen_masks(self, known: dict[int, Array]) -> Array:
        assert self.history.table is not None
        numbers = self.history.numbers.ravel().tolist()
        new = [i for i, number in enumerate(numbers) if number not in known]
        if new:
            p = len(self.history.table.free)
            masks = np.array([unpack(self.history.packed[i], p) for i in new])
            known.update(zip((numbers[i] for i in new), self._mask_view(masks)))
        return np.array([known[number] for number in numbers])

    @cached_property
    def exhausted(self) -> bool:
        """Whether the space has hardly more configurations than there are trials."""
        p = 0 if self.history.table is None else len(self.history.table.free)
        if p > 30:
            return False
        return self.space.size() * 2.0**p <= len(self.values)

    def front(self) -> Array:
        """Scaled values of the front; of all trials if none keeps the constraints."""
        feasible = self.history.violations.ravel() <= 0
        front: Array = moocore.filter_dominated(
            self.scaled[feasible] if feasible.any() else self.scaled
        )
        return front

    def reference(self) -> Array:
        """The reference point of hypervolumes, scaled."""
        return np.clip(self.scale.linear(self.history.reference()), *_REFERENCE)

    def encoded(
        self, rows: Array, masks: Array | None = None, index: Array | None = None
    ) -> Array:
        """Candidates as columns for a surrogate."""
        X = self.encoding(rows)
        return X if masks is None else np.hstack([X, self._mask_view(masks)[index]])

    def is_known(self, row: Array, mask: Array | None) -> bool:
        """Whether a trial has this configuration."""
        params = self.space.decode(row)
        if mask is not None and self.history.codec is not None:
            params = {**self.history.codec.encode(mask)[0], **params}
        return self.history.is_known(params)


def best_candidate(
    view: View,
    rng: np.random.Generator,
    score: Callable[[Array], Array],
    search: InfillSearch,
    mask_search: MaskSearch,
) -> tuple[Proposal, Array] | None:
    """The best new configuration, and how the surrogate saw it; None if all found are known.

    Args:
        view: The history.
        rng: Generator.
        score: Scores of encoded candidates, the lower the better.
        search: Effort without masks.
        mask_search: Effort with masks.
    """
    order = np.argsort(score(view.X), kind="stable")
    if view.history.table is None:
        return _best_row(view, rng, score, search, order)
    return _best_mask(view, rng, score, mask_search, order)


def _best_row(
    view: View,
    rng: np.random.Generator,
    score: Callable[[Array], Array],
    search: InfillSearch,
    order: Array,
) -> tuple[Proposal, Array] | None:
    good = order[: search.starts]
    found = search(
        rng,
        view.space,
        view.activity,
        lambda rows: score(view.encoded(rows)),
        view.history.rows[good],
    )
    for k in np.argsort(found.scores, kind="stable")[:_LOOKED_AT]:
        row = found.rows[k]
        if not view.is_known(row, None):
            start = int(found.origin[k])
            parents = (int(view.history.numbers.ravel()[good[start]]),) if start >= 0 else ()
            operator = "local" if start >= 0 else "focus"
            return Proposal(row, None, operator, parents), view.encoded(row[None])
    return None


def _best_mask(
    view: View,
    rng: np.random.Generator,
    score: Callable[[Array], Array],
    search: MaskSearch,
    order: Array,
) -> tuple[Proposal, Array] | None:
    history = view.history
    assert history.table is not None
    good = order[: search.parents]
    d = len(view.space)

    def nearby(rows: Array, count: int, step: float) -> Array:
        if d == 0:
            return np.zeros((len(rows), count, 0))
        near = neighbours(rng, view.space, rows, count, step)
        return view.activity.apply(near.reshape(-1, d)).reshape(len(rows), count, d)

    found = search(
        rng,
        history.table,
        (history.rows[good], np.array([history.mask(i) for i in good])),
        nearby,
        lambda rows, masks, index: score(view.encoded(rows, masks, index)),
    )
    for k in np.argsort(found.scores, kind="stable")[:_LOOKED_AT]:
        row, which = found.rows[k], int(found.index[k])
        mask = found.masks[which]
        if not view.is_known(row, mask):
            parent = int(history.numbers.ravel()[good[found.source[which]]])
            x = view.encoded(row[None], mask[None], np.zeros(1, dtype=np.int64))
            return Proposal(row, mask, found.names[which], (parent,)), x
    return None
