"""A child of two parents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_float, check_probability
from optuna_mofs.features._mask_sampling import (
    MaskSampler,
    get_mask_sampler,
    raw_from_weights,
    simplex_weights,
    weights_from_raw,
)
from optuna_mofs.features._representation import FRACTION, FilterFeatures
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.samplers._infill import ExpectedNote
from optuna_mofs.samplers._mask_operators import (
    AddDrop,
    FilterEnsembleMutation,
    MaskMutation,
    uniform_mask_crossover,
)
from optuna_mofs.samplers._row_operators import (
    AdaptiveNote,
    adaptive_mutation,
    cross_rows,
    fill_missing,
    gaussian_mutation,
    mutated_strategy,
    reflect,
    sbx,
)

#: Standard deviation of a step of the number of features, in units of its logarithmic range.
_SIZE_STEP = 0.08
#: Probability that the weight of a filter is drawn again.
_RENEWAL = 0.35
#: Probability that a small change of a rule is an exception, and that it removes one.
_EXCEPTION_PROB = 0.5
_REMOVAL_PROB = 0.25


@dataclass(frozen=True)
class NSGA2Note(AdaptiveNote, ExpectedNote):
    """The note of :class:`FilterEnsembleNSGA2Sampler` on a trial."""


@dataclass(frozen=True)
class Configuration:
    """Hyperparameters, mask, and the strategy parameters that are adapted along with them.

    Args:
        row: Hyperparameters, encoded by ``history.space``.
        mask: Over the free features, or None.
        raw: Raw filter weights in [0, 1], see :func:`weights_from_raw`.
        note: The strategy parameters.
    """

    row: Array
    mask: Array | None
    raw: Array
    note: NSGA2Note = field(default_factory=NSGA2Note)

    @classmethod
    def of_trial(cls, history: History, i: int, *, constant_filter: bool = False) -> Self:
        """Return the i-th trial; one of another sampler gets equal filter weights."""
        note = history.note(i, NSGA2Note)
        table = _table(history, constant_filter)
        n_filters = 0 if table is None else len(table.filters)
        raw = np.array(note.filter_weights, dtype=float)
        return cls(
            row=history.rows[i],
            mask=None if history.table is None else history.mask(i),
            raw=raw if len(raw) == n_filters else np.full(n_filters, 0.5),
            note=note,
        )

    @property
    def weights(self) -> Array:
        """Filter weights on the simplex; empty if there are no filters."""
        return weights_from_raw(self.raw) if len(self.raw) else self.raw


#: Function of (generator, history, first parent, second parent) that returns the child, the name
#: of the operator, and whether the second parent was used.
Variation = Callable[
    [np.random.Generator, History, Configuration, Configuration],
    tuple[Configuration, str, bool],
]


def _table(history: History, constant_filter: bool) -> FeatureTable | None:
    """Return the features, with a constant filter if one takes part."""
    table = history.table
    return table.with_constant_filter if table is not None and constant_filter else table


@dataclass(frozen=True)
class PaperVariation:
    """Crossover, then mutation, each of everything or nothing (Binder et al. 2020, Table 1).

    The strategy parameters of a child are the means of its parents' before they mutate, and the
    step size has no bounds (Li et al. 2013).

    Args:
        crossover_prob: Probability of crossover.
        mutation_prob: Probability of mutation.
        eta: Distribution index of SBX.
        swapping_prob: Probability that a category or a bit comes from the second parent.
        per_parameter_prob: Probability that a mutation changes a number or the weight of a filter
            (the authors' code: 1).
        mask_mutation: Mutation of the mask.
        constant_filter: Whether a filter that ranks all features equally takes part, as in the
            authors' code.
    """

    crossover_prob: float = 0.7
    mutation_prob: float = 0.3
    eta: float = 5.0
    swapping_prob: float = 0.5
    per_parameter_prob: float = 0.1
    mask_mutation: MaskMutation = field(default_factory=FilterEnsembleMutation)
    constant_filter: bool = False

    def __post_init__(self) -> None:
        for name in ("crossover_prob", "mutation_prob", "swapping_prob", "per_parameter_prob"):
            check_probability(name, getattr(self, name))
        check_float("eta", self.eta, 0)

    def __call__(
        self,
        rng: np.random.Generator,
        history: History,
        first: Configuration,
        second: Configuration,
    ) -> tuple[Configuration, str, bool]:
        """Return a child."""
        child, operators = first, []
        crossed = bool(rng.random() < self.crossover_prob)
        if crossed:
            if first.mask is not None and second.mask is not None:
                mask = uniform_mask_crossover(rng, first.mask, second.mask, self.swapping_prob)
                child = replace(first, mask=mask)
            row = cross_rows(
                rng,
                history.space,
                first.row,
                second.row,
                eta=self.eta,
                swapping_prob=self.swapping_prob,
            )
            note = replace(
                first.note,
                step_size=(first.note.step_size + second.note.step_size) / 2,
                switch_prob=(first.note.switch_prob + second.note.switch_prob) / 2,
            )
            raw = sbx(rng, first.raw, second.raw, self.eta)
            child = replace(child, row=row, raw=raw, note=note)
            operators.append("crossover")
        if rng.random() < self.mutation_prob:
            child = self._mutate(rng, history, child)
            operators.append("mutation")
        row = fill_missing(rng, history.space, child.row)
        return replace(child, row=row), "+".join(operators) or "copy", crossed

    def _mutate(
        self, rng: np.random.Generator, history: History, child: Configuration
    ) -> Configuration:
        prob = self.per_parameter_prob
        note = mutated_strategy(rng, history.space, child.note, len(child.raw))
        row = gaussian_mutation(
            rng,
            history.space,
            child.row,
            step_size=note.step_size,
            switch_prob=note.switch_prob,
            per_parameter_prob=prob,
        )
        steps = note.step_size * rng.standard_normal(len(child.raw))
        moved = np.where(rng.random(len(steps)) < prob, reflect(child.raw + steps), child.raw)
        changed = replace(child, row=row, raw=moved, note=note)
        table = _table(history, self.constant_filter)
        if child.mask is None or table is None:
            return changed
        return replace(changed, mask=self.mask_mutation(rng, child.mask, table, changed.weights))


@dataclass(frozen=True)
class MixedVariation:
    """One operator for the mask and one for the hyperparameters, drawn independently.

    Changing both at once hides which change was good, so that some children change only the mask,
    some only the hyperparameters, and some both.

    Args:
        mask_crossover_prob: Probability that the mask is crossed with that of the second parent.
        filter_ensemble_prob: Probability that bits are erased and drawn again by the filters.
        add_drop_prob: Probability that a few bits are added and dropped.
        resample_prob: Probability that a mask is drawn as in the initial design, to be tried with
            good hyperparameters. Otherwise the mask is kept.
        gaussian_prob: Probability that the hyperparameters take a Gaussian step.
        sbx_prob: Probability that they are crossed with those of the second parent. Otherwise
            they are kept.
        filter_ensemble: The mutation behind ``filter_ensemble_prob``.
        add_drop: The mutation behind ``add_drop_prob``.
        add_drop_after_crossover_prob: Probability that a crossed mask is also mutated.
        eta: Distribution index of SBX.
        weight_renewal: Part of the filter weights that is drawn again at a mask mutation.
        mask_samplers: The mask samplers behind ``resample_prob``.
    """

    mask_crossover_prob: float = 0.3
    filter_ensemble_prob: float = 0.25
    add_drop_prob: float = 0.3
    resample_prob: float = 0.1
    gaussian_prob: float = 0.35
    sbx_prob: float = 0.15
    filter_ensemble: MaskMutation = field(default_factory=FilterEnsembleMutation)
    add_drop: MaskMutation = field(default_factory=AddDrop)
    add_drop_after_crossover_prob: float = 0.3
    eta: float = 5.0
    weight_renewal: float = 0.5
    mask_samplers: Sequence[str | MaskSampler] = ("prefix", "ensemble", "wide")

    def __call__(
        self,
        rng: np.random.Generator,
        history: History,
        first: Configuration,
        second: Configuration,
    ) -> tuple[Configuration, str, bool]:
        """Return a child."""
        rule = history.rule_columns
        has_sets, has_row = first.mask is not None or bool(rule.any()), not rule.all()
        set_operator = row_operator = ""
        while (has_sets or has_row) and not set_operator + row_operator:
            if has_sets:
                set_operator = _draw_operator(
                    rng,
                    crossover=self.mask_crossover_prob,
                    filter_ensemble=self.filter_ensemble_prob,
                    add_drop=self.add_drop_prob,
                    resample=self.resample_prob,
                )
            if has_row:
                row_operator = _draw_operator(rng, gaussian=self.gaussian_prob, sbx=self.sbx_prob)
        child = self._change_mask(rng, history, set_operator, first, second)
        row, note = child.row, child.note
        if row_operator == "gaussian":
            row, note = adaptive_mutation(rng, history.space, row, note)
        elif row_operator == "sbx":
            row = cross_rows(rng, history.space, row, second.row, eta=self.eta)
        if rule.any():
            changed = change_rule(rng, history, set_operator, child.row, second.row, self.eta)
            row = np.where(rule, changed, row)
        row = fill_missing(rng, history.space, row)
        operator = "+".join(filter(None, (set_operator, row_operator))) or "copy"
        crossed = set_operator == "crossover" or row_operator == "sbx"
        return replace(child, row=row, note=note), operator, crossed

    def _change_mask(
        self,
        rng: np.random.Generator,
        history: History,
        operator: str,
        first: Configuration,
        second: Configuration,
    ) -> Configuration:
        table, mask = history.table, first.mask
        if table is None or mask is None or not operator:
            return first
        if operator == "crossover":
            assert second.mask is not None
            mask = uniform_mask_crossover(rng, mask, second.mask)
            crossed = replace(first, mask=mask, raw=sbx(rng, first.raw, second.raw, self.eta))
            if rng.random() >= self.add_drop_after_crossover_prob:
                return crossed
            return replace(crossed, mask=self.add_drop(rng, mask, table, crossed.weights))
        weights = first.weights
        if len(weights):
            drawn = simplex_weights(rng, len(weights))
            weights = (1 - self.weight_renewal) * weights + self.weight_renewal * drawn
        if operator == "resample":
            sampler = self.mask_samplers[int(rng.integers(len(self.mask_samplers)))]
            mask = get_mask_sampler(sampler)(rng, table, weights)
        elif operator == "filter_ensemble":
            mask = self.filter_ensemble(rng, mask, table, weights)
        else:
            mask = self.add_drop(rng, mask, table, weights)
        return replace(first, mask=mask, raw=raw_from_weights(weights))


def change_rule(
    rng: np.random.Generator, history: History, operator: str, row: Array, other: Array, eta: float
) -> Array:
    """Return a row in which an operator of :class:`MixedVariation` changed the rule.

    ``add_drop`` changes the number of features by a few or by a small factor, or an exception from
    the rule; ``filter_ensemble`` changes some of the filter weights.
    """
    space = history.space
    chosen = None if history.described is None else history.described.representation
    names = chosen.exception_parameters if isinstance(chosen, FilterFeatures) else ()
    is_exception = np.isin(space.names, names)
    if operator == "crossover":
        # A number between two exceptions is another feature: they come from one of the parents.
        exceptions = np.where(rng.random(len(row)) < 0.5, row, other)
        return np.where(is_exception, exceptions, cross_rows(rng, space, row, other, eta=eta))
    if operator == "resample":
        none = space.encode(dict.fromkeys(names, 0))
        return np.where(is_exception, none, space.sample(rng)[0])
    if operator == "add_drop" and len(names) and rng.random() < _EXCEPTION_PROB:
        return change_exception(rng, history, row, str(rng.choice(names)))
    is_size = np.isin(space.names, [FRACTION])
    if operator == "add_drop":
        step = _SIZE_STEP * rng.standard_normal(len(row))
        return np.where(is_size, reflect(row + step), row)
    if operator == "filter_ensemble":
        others = history.rule_columns & ~is_size & ~is_exception
        renewed = rng.random(len(row)) < max(_RENEWAL, 1 / max(1, int(others.sum())))
        return np.where(others & renewed, space.sample(rng)[0], row)
    return row


def change_exception(rng: np.random.Generator, history: History, row: Array, name: str) -> Array:
    """Return a row in which one exception from the rule is a random feature, or none.

    A feature that is selected is left out, or another one put in. It is drawn without regard to
    the filters: ranks of all rows would leak the rows of the test folds.
    """
    assert history.described is not None
    assert history.described.representation is not None
    params = history.space.decode(row)
    exception = 0
    if rng.random() >= _REMOVAL_PROB:
        mask = history.described.representation.choose({**params, name: 0})
        # One of many features is rarely among the few that are selected.
        drops = bool(mask.any()) and (bool(mask.all()) or rng.random() < 0.5)
        j = int(rng.choice(np.flatnonzero(mask == drops)))
        exception = -(j + 1) if drops else j + 1
    changed = history.space.encode({name: exception})
    return np.where(np.isnan(changed), row, changed)


def _draw_operator(rng: np.random.Generator, **probs: float) -> str:
    """Return the name of one operator, or an empty string if none is drawn."""
    u = rng.random()
    for name, prob in probs.items():
        if u < prob:
            return name
        u -= prob
    return ""
