"""FilterEnsembleNSGA2Sampler, assembled from the other modules of this folder."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from optuna.study import Study

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_int, check_optional_int, check_type
from optuna_mofs.history._history import History
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._candidates import AcquisitionFunction, Candidates
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._encoding import TriedFeatureSets, filter_sets
from optuna_mofs.samplers._infill import (
    SURROGATE_STREAM,
    Acquisition,
    ExpectedHypervolumeGain,
    GainPerSecond,
    Values,
    best_candidate,
    objective_surrogates,
    running_values,
    starts_of,
)
from optuna_mofs.samplers._infill_search import InfillSearch
from optuna_mofs.samplers._initial_design import RandomDesign
from optuna_mofs.samplers._mask_operators import (
    BitFlip,
    FilterEnsembleMutation,
    HammingPreserving,
    MaskMutation,
)
from optuna_mofs.samplers._set_search import FeatureSetSearch, selects_features
from optuna_mofs.samplers._surrogates import get_surrogate
from optuna_mofs.samplers._training_data import TrainingData
from optuna_mofs.samplers.nsga2._population import (
    DrawParent,
    HypervolumeSelection,
    ParentSelection,
    Population,
    TournamentSelection,
    is_wasteful,
)
from optuna_mofs.samplers.nsga2._variation import (
    Configuration,
    MixedVariation,
    NSGA2Note,
    PaperVariation,
    Variation,
)
from optuna_mofs.study._description import StudyDescription

#: Maximum number of children until one has a feature set that was not tried.
_MAX_CHILDREN = 25
#: Population size after n completed trials: a tenth of n, within these bounds.
_MIN_POPULATION, _MAX_POPULATION = 20, 80


@dataclass(frozen=True)
class NSGA2Settings:
    """Further settings of :class:`FilterEnsembleNSGA2Sampler`.

    Args:
        n_offspring: Completed trials per generation (lambda).
        initial_design: Makes the first configurations.
        parent_selection: Selects parents from the population, for example
            :class:`TournamentSelection`.
        variation: Makes a child of two parents.
        eliminate_duplicates: Whether all but one of the trials with equal values come last in the
            population.
        allow_repeated_masks: Whether a mask that was tried may be drawn again. If not, it is
            tried again only if a child keeps its parent's mask and changes the hyperparameters,
            and an empty mask never.
        normalize_crowding: Whether crowding distances are divided by the objectives' ranges.
        return_to_sets: Whether half of the trials of the surrogate may have feature sets that were
            tried often; a set of k features is tried about sqrt(k) times by the others.
        infill_search: Search of the surrogate without feature sets.
        set_search: Search of the surrogate over feature sets.
        gain_per_second: Whether the expected gain of a candidate is divided by the seconds that a
            fit is expected to take: by the measure ``fit_time`` if the objective measures or
            records it, else by the time of whole trials.
    """

    n_offspring: int = 1
    initial_design: RandomDesign = field(default_factory=RandomDesign)
    parent_selection: ParentSelection = field(default_factory=HypervolumeSelection)
    variation: Variation = field(default_factory=MixedVariation)
    eliminate_duplicates: bool = True
    allow_repeated_masks: bool = False
    normalize_crowding: bool = True
    return_to_sets: bool = True
    infill_search: InfillSearch = field(default_factory=InfillSearch)
    set_search: FeatureSetSearch = field(default_factory=FeatureSetSearch)
    gain_per_second: bool = False

    def __post_init__(self) -> None:
        check_int("n_offspring", self.n_offspring, 1)


_DEFAULTS = NSGA2Settings()


class FilterEnsembleNSGA2Sampler(HistorySampler):
    """Feature sets that follow an ensemble of filters, chosen by a surrogate.

    After an initial design, it evaluates the candidate with the largest expected gain of
    hypervolume. Without a surrogate it is NSGA-II whose masks are initialized and mutated by
    filters: Binder, Moosbauer, Thomas, Bischl (2020), multi-objective hyperparameter tuning and
    feature selection using filter ensembles, section 4.3, with a steady state instead of
    generations, a population that grows with the number of trials, parents drawn by their
    hypervolume contribution, small steps in addition to large ones, and no trials of masks that
    were already tried. :meth:`from_paper` is the paper's algorithm. The measurements are in
    ``docs/benchmarks/flagship.md`` and ``docs/benchmarks/nsga2.md``.

    It needs no arguments: an objective of this package (or :func:`optuna_mofs.suggest_features`)
    writes the features into the study. Any other objective works too.

    Args:
        population_size: Size of the population (mu) of the genetic algorithm. By default it grows
            from 20 to 80.
        n_startup_trials: Completed trials of the initial design; by default 16, or a third of a
            small ``n_trials``. Without a surrogate it is 40, 24 with a filter representation.
        n_trials: Number of trials planned, if known.
        surrogate: ``"auto"`` (a Gaussian process on spaces of up to 200 columns, else a forest),
            ``"forest"``, ``"gaussian_process"``, a scikit-learn regressor with predictive
            uncertainty, or a function that returns a model; None for the genetic algorithm.
        settings: Further settings.
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
        population_size: int | None = None,
        n_startup_trials: int | None = None,
        n_trials: int | None = None,
        surrogate: Any = "auto",
        settings: NSGA2Settings = _DEFAULTS,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        if surrogate is not None:
            get_surrogate(surrogate)
        self.population_size = check_optional_int("population_size", population_size, 2)
        self.n_startup_trials = check_optional_int("n_startup_trials", n_startup_trials, 2)
        self.n_trials = check_optional_int("n_trials", n_trials, 1)
        self.surrogate = surrogate
        self.settings = check_type("settings", settings, NSGA2Settings)

    @classmethod
    def from_paper(
        cls,
        variant: int | str = "GA-MO-FE",
        *,
        population_size: int = 80,
        n_startup_trials: int | None = None,
        seed: int | None = None,
    ) -> Self:
        """Return the algorithm of Binder et al. (2020), section 4.3.

        The constant filter of the authors' code takes part even if the objective lacks it: without
        it, a feature that all filters rank first always returns after it was erased.

        Args:
            variant: 1 to 6 (Table 5), ``"GA-MO"`` (5) or ``"GA-MO-FE"`` (6).
            population_size: Size of the population (mu).
            n_startup_trials: Trials before the first child; by default the population size.
            seed: Seed.

        Example:
            >>> FilterEnsembleNSGA2Sampler.from_paper("GA-MO").settings.n_offspring
            15
        """
        number = _NAMES.get(variant, variant) if isinstance(variant, str) else variant
        if number not in _TABLE_5:
            raise ValueError(f"variant must be one of {[*_TABLE_5, *_NAMES]}, got {variant!r}.")
        mask_sampler, mutation = _TABLE_5[int(number)]
        settings = NSGA2Settings(
            n_offspring=15,
            initial_design=RandomDesign((mask_sampler,), plain=True, constant_filter=True),
            parent_selection=TournamentSelection(),
            variation=PaperVariation(mask_mutation=mutation, constant_filter=True),
            eliminate_duplicates=False,
            allow_repeated_masks=True,
        )
        return cls(
            population_size=population_size,
            n_startup_trials=population_size if n_startup_trials is None else n_startup_trials,
            surrogate=None,
            settings=settings,
            seed=seed,
        )

    def propose(self, ctx: ProposalContext) -> Proposal:
        """Return an initial configuration, then the best candidate of the surrogate, or a child.

        Without a surrogate, or if no candidate is new, it is a child of two members of the
        population.
        """
        n_startup_trials = self._n_startup_trials(ctx.history)
        history = ctx.history
        # Other workers evaluate the rest of the initial design meanwhile.
        n_started = len(history) + len(history.running_numbers)
        is_start = n_started < n_startup_trials or len(history) < n_startup_trials // 2
        if self.surrogate is not None and not is_start and history.distributions:
            found = self._best_candidate(ctx)
            if found is not None:
                return found
        return self._genetic_proposal(ctx, n_startup_trials)

    def _best_candidate(self, ctx: ProposalContext) -> Proposal | None:
        """Return the candidate with the largest expected gain of hypervolume, if one is new."""
        data = ctx.trial_cache("training data", partial(TrainingData, ctx, self.surrogate))
        if data.is_exhausted:
            return None
        surrogates = objective_surrogates(ctx, data, self.surrogate)
        make = partial(ExpectedHypervolumeGain, data, surrogates, running_values(ctx.history))
        gain = ctx.trial_cache("acquisition", make)
        values: Values = gain
        if self.settings.gain_per_second:
            rng = ctx.trial_rng(SURROGATE_STREAM + 1)
            make_rate = partial(GainPerSecond, data, gain, self.surrogate, rng)
            values = ctx.trial_cache("gain per second", make_rate)
        acquisition = Acquisition(values, NSGA2Note(), gain.expected)
        # Otherwise sets on the front would get a few hyperparameters only, and all later trials
        # would go to worse sets.
        may_return = self.settings.return_to_sets and ctx.trial_number // 2 % 2 == 1
        found = best_candidate(ctx, data, acquisition, self._search, may_return=may_return)
        return None if found is None else found[0]

    def _search(
        self,
        ctx: ProposalContext,
        data: TrainingData,
        acquisition: AcquisitionFunction,
        order: Array,
    ) -> tuple[Candidates, Array]:
        search = self.settings.infill_search
        if not selects_features(data):
            starts = starts_of(data, order[: search.n_local_starts])
            return search(ctx.rng, data.space, data.conditional, acquisition, starts)
        sets = self.settings.set_search
        starts = starts_of(data, order[: sets.n_parents])
        prefixes_only = ctx.trial_number % 2 == 0
        return sets(ctx.rng, data, acquisition, starts, prefixes_only=prefixes_only)

    def _genetic_proposal(self, ctx: ProposalContext, n_startup_trials: int) -> Proposal:
        """Return an initial configuration, or a child of two members of the population."""
        history, settings = ctx.history, self.settings
        draw = self._parent_selection(ctx, n_startup_trials)
        for _ in range(_MAX_CHILDREN):
            parent = None
            if draw is None:
                proposal = settings.initial_design(ctx.rng, history, ctx.trial_number)
            else:
                proposal, parent = self._child(ctx, draw)
            if settings.allow_repeated_masks:
                break
            if proposal.mask is not None:
                if not is_wasteful(
                    history, proposal.mask, None if parent is None else parent.mask
                ):
                    break
            elif not history.rule_columns.any() or not self._repeats(ctx, proposal, parent):
                break
        return proposal

    def _repeats(
        self, ctx: ProposalContext, proposal: Proposal, parent: Configuration | None
    ) -> bool:
        """Return whether a rule selects a feature set that was tried, without anything new."""
        history = ctx.history
        make = partial(TriedFeatureSets, history, filter_sets(history), ctx.study_cache)
        tried = ctx.trial_cache("tried sets", make)
        return tried.repeats(
            proposal.row, None if parent is None else parent.row, history.rule_columns
        )

    def _child(self, ctx: ProposalContext, draw: DrawParent) -> tuple[Proposal, Configuration]:
        """Return a child and its first parent."""
        history, rng = ctx.history, ctx.rng
        a, b = draw(rng), draw(rng)
        read = partial(
            Configuration.of_trial,
            history,
            constant_filter=self.settings.initial_design.constant_filter,
        )
        first, second = read(a), read(b)
        child, operator, crossed = self.settings.variation(rng, history, first, second)
        note = replace(
            child.note,
            operator=operator,
            parents=tuple(history.numbers[[a, b] if crossed else [a]].tolist()),
            filter_weights=tuple(child.raw.tolist()),
        )
        return Proposal(child.row, child.mask, note), first

    def _n_startup_trials(self, history: History) -> int:
        if self.n_startup_trials is not None:
            return self.n_startup_trials
        n_trials = 120 if self.n_trials is None else self.n_trials
        # A rule has few parameters, a mask one per feature; a surrogate needs fewer trials.
        most = 24 if history.rule_columns.any() else 40
        return int(np.clip(n_trials // 3, 8, most if self.surrogate is None else 16))

    def _parent_selection(self, ctx: ProposalContext, n_startup_trials: int) -> DrawParent | None:
        """Return a function that draws parents, or None during the initial design."""
        if len(ctx.history) < n_startup_trials:
            return None
        make = partial(self._new_population, n_startup_trials)
        population = ctx.study_cache("population", make)
        population.follow(ctx.history)
        return self.settings.parent_selection(ctx.history, population.current)

    def _new_population(self, n_startup_trials: int) -> Population:
        return Population(
            self._population_size,
            self.settings.n_offspring,
            n_startup_trials,
            normalize_crowding=self.settings.normalize_crowding,
            eliminate_duplicates=self.settings.eliminate_duplicates,
        )

    def current_generation(self, study: Study) -> list[int]:
        """Return the numbers of the trials in the population of the genetic algorithm.

        ``generalization(..., trials=...)`` of these is the paper's domHV_gen of its genetic
        algorithms, which report candidates of their current generation only (section 5.4).
        Before the first generation is complete, all completed trials count.
        """
        history = History(StudyDescription.read(study))
        history.update(study)
        population = self._new_population(self._n_startup_trials(history))
        population.follow(history)
        members = population.current.members
        return history.numbers[members if len(members) else slice(None)].tolist()

    def _population_size(self, n_completed: int) -> int:
        if self.population_size is not None:
            return self.population_size
        return min(_MAX_POPULATION, max(_MIN_POPULATION, n_completed // 10))


#: Mask sampler and mask mutation of each variant. Flipping a bit with probability 0.1 is the same
#: as erasing it with 0.2 and drawing it again (section 4.3.3), so that 3 and 4 erase as much.
_TABLE_5: dict[int, tuple[str, MaskMutation]] = {
    1: ("bernoulli", BitFlip()),
    2: ("uniform", BitFlip()),
    3: ("geometric", BitFlip()),
    4: ("geometric", HammingPreserving()),
    5: ("ensemble", HammingPreserving()),
    6: ("ensemble", FilterEnsembleMutation()),
}
_NAMES = {"GA-MO": 5, "GA-MO-FE": 6}
