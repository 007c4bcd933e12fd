"""A child of two parents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import (
    MaskStart,
    ensemble_start,
    geometric_start,
    prefix_start,
    simplex_weights,
    wide_start,
)
from optuna_mofs.features._representation import weights_from_raw
from optuna_mofs.history._history import History
from optuna_mofs.samplers._mask_operators import (
    AddDrop,
    FilterEnsembleMutation,
    MaskMutation,
    uniform_mask_crossover,
)
from optuna_mofs.samplers._row_operators import (
    adapt_rate,
    adapt_step,
    cross_rows,
    fill_missing,
    mutate_rows,
    sbx,
)

#: Step size and switching probability of a configuration that remembers none.
FIRST_STEP = 0.1
FIRST_RATE = 0.1


@dataclass(frozen=True)
class Configuration:
    """Hyperparameters, mask, and the strategy parameters that are adapted along with them.

    Args:
        row: Hyperparameters, see :class:`optuna_mofs.history._search_space.ParameterSpace`.
        mask: Over the free features, or None.
        raw: Raw filter weights in [0, 1], see :func:`weights_from_raw`.
        step: Step size of numbers, in units of their range.
        rate: Probability that a category is switched.
    """

    row: Array
    mask: Array | None
    raw: Array
    step: float = FIRST_STEP
    rate: float = FIRST_RATE

    @classmethod
    def of(cls, history: History, i: int) -> Configuration:
        """The i-th trial of the history; one that our sampler did not make has even weights."""
        note = history.notes[i]
        filters = 0 if history.table is None else len(history.table.filters)
        raw = np.array(note.get("raw_weights", ()), dtype=float)
        return cls(
            row=history.rows[i],
            mask=None if history.table is None else history.mask(i),
            raw=raw if len(raw) == filters else np.full(filters, 0.5),
            step=note.get("step", FIRST_STEP),
            rate=note.get("rate", FIRST_RATE),
        )

    @property
    def weights(self) -> Array:
        """Filter weights on the simplex; none where there are no filters."""
        return weights_from_raw(self.raw) if len(self.raw) else self.raw

    def memory(self) -> dict[str, Any]:
        """What is remembered of it on the trial."""
        return {"raw_weights": self.raw.tolist(), "step": self.step, "rate": self.rate}


def raw_from_weights(weights: Array) -> Array:
    """Raw weights that stand for these weights: the inverse of :func:`weights_from_raw`.

    Example:
        >>> weights_from_raw(raw_from_weights(np.array([0.2, 0.8]))).round(6).tolist()
        [0.2, 0.8]
    """
    raw: Array = -np.expm1(-weights * len(weights))
    return raw


@dataclass(frozen=True)
class Start:
    """Random hyperparameters, and masks from several recipes in turn.

    Args:
        masks: Recipes; trial ``n`` takes the recipe ``n`` modulo their number.
    """

    masks: Sequence[MaskStart] = (ensemble_start, prefix_start, geometric_start, wide_start)

    def __call__(
        self, rng: np.random.Generator, history: History, number: int
    ) -> tuple[Configuration, str]:
        """A configuration, and the name of its recipe."""
        row = history.space.sample(rng)[0]
        if history.table is None:
            return Configuration(row, None, np.zeros(0)), "start"
        recipe = self.masks[number % len(self.masks)]
        raw = rng.random(len(history.table.filters))
        made = Configuration(row, None, raw)
        mask = recipe(rng, history.table, made.weights)
        return Configuration(row, mask, raw), recipe.__name__


#: Function of (generator, history, first parent, second parent); returns the child, the name of
#: the operator, and whether the second parent was used.
Variation = Callable[
    [np.random.Generator, History, Configuration, Configuration],
    tuple[Configuration, str, bool],
]


@dataclass(frozen=True)
class PaperVariation:
    """Crossover, then mutation, each of everything or nothing (Binder et al. 2020, Table 1).

    Args:
        crossover_prob: Probability of crossover.
        mutation_prob: Probability of mutation.
        eta: Distribution index of SBX.
        swap: Probability that a category or a bit comes from the second parent.
        per_parameter: Probability that a mutation changes a number (the authors' code: 1).
        mask_mutation: Mutation of the mask.
    """

    crossover_prob: float = 0.7
    mutation_prob: float = 0.3
    eta: float = 5.0
    swap: float = 0.5
    per_parameter: float = 0.1
    mask_mutation: MaskMutation = field(default_factory=FilterEnsembleMutation)

    def __call__(
        self,
        rng: np.random.Generator,
        history: History,
        first: Configuration,
        second: Configuration,
    ) -> tuple[Configuration, str, bool]:
        """A child."""
        child, made = first, []
        crossed = bool(rng.random() < self.crossover_prob)
        if crossed:
            child = self._cross(rng, history, first, second)
            made.append("crossover")
        if rng.random() < self.mutation_prob:
            child = self._mutate(rng, history, child)
            made.append("mutation")
        row = fill_missing(rng, history.space, child.row)
        return replace(child, row=row), "+".join(made) or "copy", crossed

    def _cross(
        self,
        rng: np.random.Generator,
        history: History,
        first: Configuration,
        second: Configuration,
    ) -> Configuration:
        mask = None
        if first.mask is not None and second.mask is not None:
            mask = uniform_mask_crossover(rng, first.mask, second.mask, self.swap)
        row = cross_rows(rng, history.space, first.row, second.row, eta=self.eta, swap=self.swap)
        raw = sbx(rng, first.raw, second.raw, self.eta)
        return replace(first, row=row, mask=mask, raw=raw)

    def _mutate(
        self, rng: np.random.Generator, history: History, child: Configuration
    ) -> Configuration:
        d = len(history.space)
        step, rate = adapt_step(rng, child.step, d), adapt_rate(rng, child.rate, d)
        row = mutate_rows(
            rng, history.space, child.row, step=step, rate=rate, per_parameter=self.per_parameter
        )
        raw = np.clip(child.raw + step * rng.standard_normal(len(child.raw)), 0.0, 1.0)
        changed = replace(child, row=row, raw=raw, step=step, rate=rate)
        if child.mask is None or history.table is None:
            return changed
        mask = self.mask_mutation(rng, child.mask, history.table, changed.weights)
        return replace(changed, mask=mask)


@dataclass(frozen=True)
class MixedVariation:
    """One operator for the mask and one for the hyperparameters, drawn apart.

    Changing both at once hides which change was good; changing the mask alone, or the
    hyperparameters alone, or both, each has its turn.

    Args:
        mask_crossover: Probability that the mask is crossed with that of the second parent.
        mask_redraw: … that bits are erased and drawn anew by the filters.
        mask_flip: … that a few bits are added and dropped.
        mask_fresh: … that a mask is drawn as at the start, to be tried with hyperparameters that
            have proved good. Else the mask is kept.
        row_step: Probability that the hyperparameters take a Gaussian step.
        row_blend: … that they are crossed with those of the second parent. Else they are kept.
        redraw: The mutation behind ``mask_redraw``.
        flip: The mutation behind ``mask_flip``.
        flip_after_crossover: Probability that a crossed mask is flipped too.
        eta: Distribution index of SBX.
        new_weights: Part of the filter weights that is drawn anew at a mask mutation.
        fresh_masks: The recipes behind ``mask_fresh``.
    """

    mask_crossover: float = 0.3
    mask_redraw: float = 0.25
    mask_flip: float = 0.3
    mask_fresh: float = 0.1
    row_step: float = 0.35
    row_blend: float = 0.15
    redraw: MaskMutation = field(default_factory=FilterEnsembleMutation)
    flip: MaskMutation = field(default_factory=AddDrop)
    flip_after_crossover: float = 0.3
    eta: float = 5.0
    new_weights: float = 0.5
    fresh_masks: Sequence[MaskStart] = (prefix_start, ensemble_start, wide_start)

    def __call__(
        self,
        rng: np.random.Generator,
        history: History,
        first: Configuration,
        second: Configuration,
    ) -> tuple[Configuration, str, bool]:
        """A child."""
        while True:
            mask_operator = self._mask_operator(rng) if first.mask is not None else "none"
            row_operator = self._row_operator(rng) if len(history.space) else "none"
            if {mask_operator, row_operator} - {"keep", "none"} or (
                mask_operator == row_operator == "none"
            ):
                break
        child = self._change_mask(rng, history, mask_operator, first, second)
        child = self._change_row(rng, history, row_operator, child, second)
        names = [n for n in (mask_operator, row_operator) if n not in ("keep", "none")]
        crossed = bool({"crossover", "blend"} & set(names))
        row = fill_missing(rng, history.space, child.row)
        return replace(child, row=row), "+".join(names) or "copy", crossed

    def _mask_operator(self, rng: np.random.Generator) -> str:
        u = rng.random()
        if u < self.mask_crossover:
            return "crossover"
        u -= self.mask_crossover
        if u < self.mask_redraw:
            return "redraw"
        u -= self.mask_redraw
        if u < self.mask_flip:
            return "flip"
        return "fresh" if u - self.mask_flip < self.mask_fresh else "keep"

    def _row_operator(self, rng: np.random.Generator) -> str:
        u = rng.random()
        if u < self.row_step:
            return "step"
        return "blend" if u - self.row_step < self.row_blend else "keep"

    def _change_mask(
        self,
        rng: np.random.Generator,
        history: History,
        operator: str,
        first: Configuration,
        second: Configuration,
    ) -> Configuration:
        table, mask = history.table, first.mask
        if table is None or mask is None or operator == "keep":
            return first
        if operator == "crossover":
            assert second.mask is not None
            mask = uniform_mask_crossover(rng, mask, second.mask)
            crossed = replace(first, mask=mask, raw=sbx(rng, first.raw, second.raw, self.eta))
            if rng.random() >= self.flip_after_crossover:
                return crossed
            return replace(crossed, mask=self.flip(rng, mask, table, crossed.weights))
        weights = first.weights
        if len(weights):
            drawn = simplex_weights(rng, len(weights))
            weights = (1 - self.new_weights) * weights + self.new_weights * drawn
        if operator == "fresh":
            recipe = self.fresh_masks[int(rng.integers(len(self.fresh_masks)))]
            mask = recipe(rng, table, weights)
        else:
            mutation = self.redraw if operator == "redraw" else self.flip
            mask = mutation(rng, mask, table, weights)
        return replace(first, mask=mask, raw=raw_from_weights(weights))

    def _change_row(
        self,
        rng: np.random.Generator,
        history: History,
        operator: str,
        child: Configuration,
        second: Configuration,
    ) -> Configuration:
        if operator == "step":
            d = len(history.space)
            step, rate = adapt_step(rng, child.step, d), adapt_rate(rng, child.rate, d)
            row = mutate_rows(rng, history.space, child.row, step=step, rate=rate)
            return replace(child, row=row, step=step, rate=rate)
        if operator == "blend":
            row = cross_rows(rng, history.space, child.row, second.row, eta=self.eta)
            return replace(child, row=row)
        return child
