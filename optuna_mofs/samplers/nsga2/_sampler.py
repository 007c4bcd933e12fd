"""FilterEnsembleNSGA2Sampler: an assembly of the steps beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import (
    MaskStart,
    bernoulli_start,
    ensemble_start,
    geometric_start,
    uniform_start,
)
from optuna_mofs.history._duplicates import TriedMasks
from optuna_mofs.history._history import History
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers._mask_operators import (
    BitFlip,
    FilterEnsembleMutation,
    HammingPreserving,
    MaskMutation,
)
from optuna_mofs.samplers.nsga2._population import (
    Draw,
    HypervolumeParents,
    ParentSelection,
    Population,
    tournament_parents,
)
from optuna_mofs.samplers.nsga2._variation import (
    Configuration,
    MixedVariation,
    PaperVariation,
    Start,
    Variation,
)

#: Children made until one has a mask worth a trial.
_ATTEMPTS = 10
#: Population size after n finished trials: a tenth of them, within these bounds.
_SMALLEST, _LARGEST = 20, 80


class FilterEnsembleNSGA2Sampler(HistorySampler):
    """NSGA-II whose masks start and change as an ensemble of filters advises.

    Binder, Moosbauer, Thomas, Bischl (2020): multi-objective hyperparameter tuning and feature
    selection using filter ensembles, section 4.3. With ``variant="GA-MO-FE"`` it is the paper's
    algorithm. The default keeps its representation and operators and changes what measurements on
    several data sets advised (``docs/benchmarks/nsga2.md``): a steady state instead of
    generations, a population that grows with the number of trials, parents drawn by their share of
    the hypervolume, small steps beside large ones, and no trials wasted on masks that were tried.

    It needs no arguments: what it must know of the features an objective of this package (or
    :func:`optuna_mofs.suggest_features`) writes into the study. Any other objective works too.

    Args:
        variant: 1 to 6, ``"GA-MO"`` or ``"GA-MO-FE"``: the paper's variants (Table 5); None for
            the default. The arguments below override its settings.
        n_trials: Number of trials planned, if known: a small budget gets a shorter start.
        population_size: Size of the population (mu). By default it grows from 20 to 80.
        offspring_size: Finished trials that make a generation (lambda).
        start_size: Finished trials before the first child.
        start: Makes the first configurations.
        parents: Draws parents from the population.
        variation: Makes a child of two parents.
        unique: Whether of trials with equal values all but one come last in the population.
        repeat_masks: Whether a mask that was tried may come up again by chance. If not, it is
            tried again only with other hyperparameters than its parent's, and an empty one never.
        normalise_crowding: Whether crowding distances are divided by the objectives' ranges.
        seed: Seed; if None, one is drawn and kept in the study.

    Example:
        >>> import optuna
        >>> from optuna_mofs import FilterEnsembleNSGA2Sampler, suggest_features
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     mask = suggest_features(trial, ["age", "city", "pay", "tax"])
        ...     return 1 - mask[:2].mean(), mask.mean()
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=FilterEnsembleNSGA2Sampler(seed=0)
        ... )
        >>> study.optimize(objective, n_trials=16)
        >>> min(trial.values[0] for trial in study.trials)
        0.0
    """

    def __init__(
        self,
        *,
        variant: int | str | None = None,
        n_trials: int | None = None,
        population_size: int | None = None,
        offspring_size: int | None = None,
        start_size: int | None = None,
        start: Start | None = None,
        parents: ParentSelection | None = None,
        variation: Variation | None = None,
        unique: bool | None = None,
        repeat_masks: bool | None = None,
        normalise_crowding: bool = True,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        preset: dict[str, Any] = {} if variant is None else paper_settings(variant)
        self.variant = variant
        self.n_trials = _positive("n_trials", n_trials, least=1)
        _positive("population_size", population_size, least=2)
        _positive("offspring_size", offspring_size, least=1)
        _positive("start_size", start_size, least=2)
        self.population_size = population_size or preset.get("population_size")
        self.offspring_size = offspring_size or preset.get("offspring_size", 1)
        self.start_size = start_size or preset.get("start_size") or _start_size(n_trials)
        self.start = start or preset.get("start") or Start()
        self.parents = parents or preset.get("parents") or HypervolumeParents()
        self.variation = variation or preset.get("variation") or MixedVariation()
        self.unique = preset.get("unique", True) if unique is None else unique
        self.repeat_masks = (
            preset.get("repeat_masks", False) if repeat_masks is None else repeat_masks
        )
        self.normalise_crowding = normalise_crowding

    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        """A first configuration, or a child of two members of the population."""
        draw = None if len(history) < self.start_size else self._draw(history)
        tried = self.kept("tried", TriedMasks)
        tried.update(history)
        for _ in range(_ATTEMPTS):
            if draw is None:
                proposal, parent = self._first(history, rng, number), None
            else:
                proposal, parent = self._child(history, rng, draw)
            if history.table is None or proposal.mask is None or self.repeat_masks:
                break
            fixed = len(history.table.fixed) > 0
            if not tried.wastes(proposal.mask, parent, anything_fixed=fixed):
                break
        return proposal

    def _first(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        made, operator = self.start(rng, history, number)
        return Proposal(made.row, made.mask, operator, memory=made.memory())

    def _child(
        self, history: History, rng: np.random.Generator, draw: Draw
    ) -> tuple[Proposal, Array | None]:
        a, b = draw(rng), draw(rng)
        first = Configuration.of(history, a)
        child, operator, crossed = self.variation(
            rng, history, first, Configuration.of(history, b)
        )
        numbers = history.numbers
        parents = (int(numbers[a]), int(numbers[b])) if crossed else (int(numbers[a]),)
        made = Proposal(child.row, child.mask, operator, parents, child.memory())
        return made, first.mask

    def _draw(self, history: History) -> Draw:
        population = self.kept(
            "population",
            lambda: Population(
                self._mu,
                self.offspring_size,
                first=self.start_size,
                normalise=self.normalise_crowding,
                unique=self.unique,
            ),
        )
        members = population.of(history.numbers, history.values, history.violations)
        return self.parents(history, *members)

    def _mu(self, finished: int) -> int:
        if self.population_size is not None:
            return self.population_size
        return min(_LARGEST, max(_SMALLEST, finished // 10))


def _start_size(n_trials: int | None) -> int:
    # A third of a small budget; 40 otherwise.
    return 40 if n_trials is None else int(np.clip(n_trials // 3, 8, 40))


def _positive(name: str, value: int | None, *, least: int) -> int | None:
    if value is not None and value < least:
        raise ValueError(f"{name} must be at least {least}, but is {value}.")
    return value


#: Start of masks and mutation of masks of each variant. Flipping a bit with probability 0.1 is
#: erasing it with 0.2 and drawing it anew (section 4.3.3), so that 3 and 4 erase as much.
_TABLE_5: dict[int, tuple[MaskStart, MaskMutation]] = {
    1: (bernoulli_start, BitFlip()),
    2: (uniform_start, BitFlip()),
    3: (geometric_start, BitFlip()),
    4: (geometric_start, HammingPreserving()),
    5: (ensemble_start, HammingPreserving()),
    6: (ensemble_start, FilterEnsembleMutation()),
}

_NAMES = {"GA-MO": 5, "GA-MO-FE": 6}


def paper_settings(variant: int | str) -> dict[str, Any]:
    """Settings of the sampler that make it the paper's algorithm.

    Args:
        variant: 1 to 6 (Table 5), ``"GA-MO"`` (5) or ``"GA-MO-FE"`` (6).

    Example:
        >>> paper_settings("GA-MO-FE")["population_size"]
        80
    """
    number = _NAMES.get(variant, variant) if isinstance(variant, str) else variant
    if number not in _TABLE_5:
        raise ValueError(
            f"variant must be one of {[*_TABLE_5, *_NAMES]} or None, but is {variant!r}."
        )
    start, mutation = _TABLE_5[int(number)]
    return {
        "population_size": 80,
        "offspring_size": 15,
        "start_size": 80,
        "start": Start(masks=(start,)),
        "parents": tournament_parents,
        "variation": PaperVariation(mask_mutation=mutation),
        "unique": False,
        "repeat_masks": True,
    }
