"""How a new configuration is made of old ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from optuna_mofs.features._mask_sampling import (
    MaskStart,
    ensemble_start,
    prefix_start,
    simplex_weights,
    wide_start,
)
from optuna_mofs.history._history import History
from optuna_mofs.samplers.nsga2.configuration import Configuration, raw_from_weights
from optuna_mofs.samplers.operators.mask_change import (
    AddDrop,
    FilterEnsembleMutation,
    MaskMutation,
    uniform_mask_crossover,
)
from optuna_mofs.samplers.operators.rows import (
    adapt_rate,
    adapt_step,
    cross_rows,
    fill_missing,
    mutate_rows,
    sbx,
)

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
