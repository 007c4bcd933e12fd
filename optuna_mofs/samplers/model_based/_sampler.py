"""Initial design, surrogates and search of ParEGOSampler and SMSEGOSampler."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import (
    check_choice,
    check_float,
    check_int,
    check_optional_int,
    check_type,
)
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import ConditionalParameters
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._candidates import AcquisitionFunction, Candidates
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._hypervolume_gain import dominance_tolerance
from optuna_mofs.samplers._infill import (
    Acquisition,
    LargerSetAcquisition,
    ModelBasedNote,
    ObjectiveSurrogates,
    best_candidate,
    objective_surrogates,
    running_values,
    starts_of,
)
from optuna_mofs.samplers._infill_search import InfillSearch, MaskSearch
from optuna_mofs.samplers._initial_design import (
    design_row,
    initial_operator,
    latin_hypercube,
    maximin_hypercube,
    near_defaults,
    rule_size,
    sample_mask,
    sequence,
    thinned_design,
    with_empty_set,
)
from optuna_mofs.samplers._surrogates import get_surrogate
from optuna_mofs.samplers._training_data import TrainingData
from optuna_mofs.study._trial_note import TrialNote

#: Default kappa. Changing weights and gaps explore enough, except for feature sets: there are so
#: many that a search could stay with the first good ones. On a scalarized target it is the value
#: of the authors' code on mixed spaces.
_KAPPA, _KAPPA_OF_SETS, _KAPPA_SCALARIZED = 0.25, 1.0, 2.0
#: Stream of the generator of the initial design.
_DESIGN_STREAM = 2**21
#: Mask samplers of the initial design, in turn.
_MASK_SAMPLERS = ("ensemble", "prefix", "geometric", "wide")
_SURROGATE_TARGETS = ("objectives", "scalarized")


@dataclass(frozen=True)
class ModelBasedSettings:
    """Further settings of :class:`ParEGOSampler` and :class:`SMSEGOSampler`.

    Args:
        surrogate_target: ParEGO only. ``"objectives"``: one surrogate per objective; a candidate
            is scored by the augmented Tchebycheff norm of their confidence bounds, and comes last
            if the front dominates these. ``"scalarized"``: one surrogate of the norm of the
            completed trials, as in the papers.
        rho: ParEGO only. Weight of the sum in the augmented Tchebycheff norm.
        explore_larger_sets: Whether some trials explore larger feature sets than those on the
            front, see :class:`LargerSetAcquisition`. Needs the number of features among the
            objectives.
        plain_start: Whether the initial design has neither hyperparameters near the estimator's
            defaults nor the empty set.
        plain_training: Whether surrogates are fitted as in the papers: to all trials, to every
            objective (also the number of features), and to values on a linear scale; SMS-EGO's
            front is that of the values, and a feature set may have any number of trials.
        startup_factor: Trials of the initial design per parameter; None for 4, 8 to 24 in all.
        maximin_design: Whether the initial design is a Latin hypercube that keeps points apart,
            of numbers and categories alike, instead of a thinned one on mixed spaces.
        batch_size: Trials that are proposed from the same completed trials. In ParEGO they have
            different weights.
        infill_search: Search for the best acquisition value without masks.
        mask_search: The same with masks.
    """

    surrogate_target: str = "objectives"
    rho: float = 0.05
    explore_larger_sets: bool = True
    plain_start: bool = False
    plain_training: bool = False
    startup_factor: int | None = None
    maximin_design: bool = False
    batch_size: int = 1
    infill_search: InfillSearch = field(default_factory=InfillSearch)
    mask_search: MaskSearch = field(default_factory=MaskSearch)

    def __post_init__(self) -> None:
        check_choice("surrogate_target", self.surrogate_target, _SURROGATE_TARGETS)
        check_float("rho", self.rho, 0)
        check_int("batch_size", self.batch_size, 1)
        check_optional_int("startup_factor", self.startup_factor, 1)


DEFAULT_SETTINGS = ModelBasedSettings()


class ModelBasedSampler(HistorySampler):
    """An initial design, then the best acquisition value of surrogates.

    Subclasses implement :meth:`fit_acquisition`.

    Args:
        n_trials: Number of trials planned, if known.
        n_startup_trials: Completed trials before the first surrogate; by default 4 per parameter,
            8 to 24, and at most a third of ``n_trials``.
        surrogate: ``"auto"`` (a Gaussian process on spaces of up to 200 columns, else a forest),
            ``"forest"``, ``"gaussian_process"``, a scikit-learn regressor with predictive
            uncertainty (``predict`` takes ``return_std``; a random forest, extra trees or bagging;
            or a pipeline that ends in one), or a function that returns a model with ``fit(X, y)``
            and ``predict(X) -> (mean, sd)``.
        kappa: Weight of the standard deviation in the lower confidence bound (lambda in the
            papers). By default 2 on a scalarized target; else 1 if the surrogate gets feature
            sets (the authors' value on numeric spaces), else 0.25.
        settings: Further settings.
        seed: Seed; if None, one is drawn and kept in the study.
    """

    #: Values of ``settings.surrogate_target`` that the sampler has, and that of the papers.
    _surrogate_targets: tuple[str, ...] = _SURROGATE_TARGETS
    _paper_target = "objectives"
    #: Names of the papers' algorithms, and the batch size of Horn and Bischl (2016).
    _paper_variants: tuple[str, ...] = ("mixed",)
    _paper_batch_size = 1

    def __init__(
        self,
        *,
        n_trials: int | None = None,
        n_startup_trials: int | None = None,
        surrogate: Any = "auto",
        kappa: float | None = None,
        settings: ModelBasedSettings = DEFAULT_SETTINGS,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        if kappa is not None:
            check_float("kappa", kappa, 0)
        check_type("settings", settings, ModelBasedSettings)
        check_choice("surrogate_target", settings.surrogate_target, self._surrogate_targets)
        get_surrogate(surrogate)
        self.n_trials = check_optional_int("n_trials", n_trials, 1)
        self.n_startup_trials = check_optional_int("n_startup_trials", n_startup_trials, 1)
        self.surrogate = surrogate
        self.kappa = kappa
        self.settings = settings

    @classmethod
    def from_paper(
        cls,
        variant: str | None = None,
        *,
        n_trials: int | None = None,
        n_startup_trials: int | None = None,
        surrogate: Any = "paper_forest",
        kappa: float | None = None,
        batch_size: int | None = None,
        seed: int | None = None,
    ) -> Self:
        """Return the algorithm of one of the two papers.

        ``"BO-MO-FE"`` (ParEGO only, its default) is that of Binder et al. (2020), section 4.2,
        with ``FilterEnsembleFeatures.from_paper()``; the paper's BO-MO has
        ``SingleFilterFeatures.from_paper()``. ``"mixed"`` is that of Horn and Bischl (2016).

        Both have a random forest of 500 trees, which gets inactive numbers as a value out of
        range, focus search with 3 restarts, 3 rounds and 1,000 points, and in ParEGO one surrogate
        per weight vector. They differ in the initial design: 4 trials per parameter in a maximin
        Latin hypercube, or 10 per number in a random Latin hypercube, thinned on mixed spaces.

        Args:
            variant: ``"BO-MO-FE"`` or ``"mixed"``.
            n_trials: Number of trials planned, which SMS-EGO's tolerance of dominance depends on.
            n_startup_trials: Completed trials before the first surrogate.
            surrogate: ``"gaussian_process"`` is that of Horn and Bischl (2016) on numeric spaces.
            kappa: Weight of the standard deviation; by default that of the authors' code, 1 on
                numeric spaces and 2 on mixed ones.
            batch_size: Trials proposed from the same completed trials; by default 15 in BO-MO-FE,
                4 in the other ParEGO and 1 in SMS-EGO.
            seed: Seed.
        """
        name = cls._paper_variants[0] if variant is None else variant
        check_choice("variant", name, cls._paper_variants)
        is_binder = name == "BO-MO-FE"
        default_batch = 15 if is_binder else cls._paper_batch_size
        return cls(
            n_trials=n_trials,
            n_startup_trials=n_startup_trials,
            surrogate=surrogate,
            kappa=kappa,
            settings=ModelBasedSettings(
                surrogate_target=cls._paper_target,
                explore_larger_sets=False,
                plain_start=True,
                plain_training=True,
                startup_factor=4 if is_binder else 10,
                maximin_design=is_binder,
                batch_size=default_batch if batch_size is None else batch_size,
                infill_search=InfillSearch(n_points=1000, step_sizes=()),
            ),
            seed=seed,
        )

    @abstractmethod
    def fit_acquisition(self, ctx: ProposalContext, data: TrainingData) -> Acquisition:
        """Return an acquisition function fitted to the history.

        It is called once per trial, not once per attempt.

        Args:
            ctx: The context of the proposal.
            data: The training data.
        """

    def propose(self, ctx: ProposalContext) -> Proposal:
        """Return a configuration of the initial design, or the best candidate."""
        n_startup = self._n_startup_trials(ctx.history)
        if len(ctx.history) < n_startup or not ctx.history.distributions:
            return _initial_proposal(ctx, n_startup, self.settings)
        last = self._first_of_batch(ctx, n_startup) if self.settings.plain_training else None
        make = partial(TrainingData, ctx, self.surrogate, last)
        data = ctx.trial_cache("training data", make)
        if data.is_exhausted:
            return _random_proposal(ctx)
        proposal = self._explore_larger_sets(ctx, data, ctx.trial_number - n_startup)
        if proposal is not None:
            return proposal
        fit = partial(self.fit_acquisition, ctx, data)
        acquisition = ctx.trial_cache("acquisition", fit)
        found = best_candidate(ctx, data, acquisition, self._search)
        return _random_proposal(ctx) if found is None else found[0]

    def _first_of_batch(self, ctx: ProposalContext, n_startup: int) -> int:
        """Return the number of the first trial of this trial's batch."""
        return ctx.trial_number - max(0, ctx.trial_number - n_startup) % self.settings.batch_size

    def _explore_larger_sets(
        self, ctx: ProposalContext, data: TrainingData, step: int
    ) -> Proposal | None:
        """Return a larger feature set than those on the front, if it is time for one."""
        # The 1st, 2nd, 3rd, 5th, 9th, 17th trial after the initial design, and so on.
        is_due = step >= 0 and step & (step - 1) == 0
        if not (is_due and self.settings.explore_larger_sets):
            return None
        if not LargerSetAcquisition.is_possible(data):
            return None
        kappa = self._kappa(ctx, data)
        surrogates = objective_surrogates(ctx, data, self.surrogate)
        larger = LargerSetAcquisition(data, surrogates, kappa, sequence(ctx.trial_number, 0.5))
        note = ModelBasedNote(kappa=kappa, size_range=larger.size_range)
        found = best_candidate(ctx, data, Acquisition(larger, note), self._search)
        return found[0] if found and larger.is_promising(step, found[1]) else None

    def _search(
        self,
        ctx: ProposalContext,
        data: TrainingData,
        acquisition: AcquisitionFunction,
        order: Array,
    ) -> tuple[Candidates, Array]:
        settings, table = self.settings, ctx.history.table
        if table is None:
            starts = starts_of(data, order[: settings.infill_search.n_local_starts])
            return settings.infill_search(
                ctx.rng, data.space, data.conditional, acquisition, starts
            )
        starts = starts_of(data, order[: settings.mask_search.n_parents])
        return settings.mask_search(
            ctx.rng, table, data.space, data.conditional, acquisition, starts
        )

    def _front(
        self, ctx: ProposalContext, data: TrainingData, surrogates: ObjectiveSurrogates
    ) -> tuple[Array, Array]:
        """Return the scaled front of the surrogates' means, and the tolerance of the penalty.

        Cross-validated values are noisy, and the best of them are too good by chance. No bound
        reaches a front of these, and the search would turn to the points that are penalized least,
        such as a plateau at one end of it (Koch et al. 2015). Running trials count with their
        bounds.
        """
        points, feasible = data.values, data.violations <= 0
        if not data.is_plain:
            points = surrogates.lower_bounds(data.trials, 0.0)
        points = points[feasible] if feasible.any() else points
        running = running_values(ctx.history)
        if running:
            points = np.concatenate([points, data.scale.linear(np.array(running))])
        front: Array = moocore.filter_dominated(points)
        n_done = len(ctx.history)
        n_left = n_done if self.n_trials is None else max(0, self.n_trials - n_done)
        return front, dominance_tolerance(front, n_left)

    def _kappa(self, ctx: ProposalContext, data: TrainingData) -> float:
        """Return kappa. With a single objective, parallel workers draw different ones.

        They are exponentially distributed with the same mean (Hutter et al. 2012).
        """
        kappa = self.kappa
        if kappa is None and data.is_plain:
            mixed = data.space.categorical.any() or bool(data.conditional.conditional)
            kappa = 2.0 if mixed else 1.0
        elif kappa is None and self.settings.surrogate_target == "scalarized":
            kappa = _KAPPA_SCALARIZED
        elif kappa is None:
            kappa = _KAPPA_OF_SETS if data.has_sets else _KAPPA
        if data.values.shape[1] == 1 and ctx.history.running_numbers:
            offset = float(np.random.default_rng(ctx.seed).random())
            kappa *= -np.log1p(-min(sequence(ctx.trial_number, offset), 0.999))
        return float(kappa)

    def _n_startup_trials(self, history: History) -> int:
        if self.n_startup_trials is not None:
            return self.n_startup_trials
        d = len(history.space) + (0 if history.table is None else 4)
        factor = self.settings.startup_factor
        if factor is not None:
            if not self.settings.maximin_design:  # categories do not count
                d -= int(history.space.categorical.sum())
            # The parameters are unknown before the first trial.
            return factor * max(1, d)
        size = int(np.clip(4 * d, 8, 24))
        return size if self.n_trials is None else max(4, min(size, self.n_trials // 3))


def _initial_proposal(ctx: ProposalContext, count: int, settings: ModelBasedSettings) -> Proposal:
    """Return point ``n`` of a design that all trials share for trial ``n``, else a random one."""
    space, conditional = ctx.history.space, _conditional(ctx.history)
    plain = settings.plain_start

    def make(rng: np.random.Generator) -> Array:
        if settings.maximin_design:
            rows = conditional.apply(space.from_unit(maximin_hypercube(rng, count, len(space))))
        elif not space.categorical.any() and not conditional.conditional:
            rows = space.from_unit(latin_hypercube(rng, count, len(space)))
        else:
            rows = thinned_design(
                rng,
                lambda rng, count: conditional.apply(space.sample(rng, count)),
                space.categorical,
                count,
            )
        return rows if plain else with_empty_set(rows, ctx.history)

    key = f"{count} {conditional.signature!r}"
    number = ctx.trial_number
    row = design_row(ctx, number, _DESIGN_STREAM, make, key)
    proposal = _random_proposal(ctx, number, row)
    if row is None or plain:
        return proposal
    size = rule_size(ctx.history, row) if proposal.mask is None else int(proposal.mask.sum())
    near = near_defaults(ctx.rng, ctx.history, proposal.row, size, number)
    return replace(proposal, row=np.where(np.isnan(proposal.row), np.nan, near))


def _random_proposal(ctx: ProposalContext, number: int = 0, row: Array | None = None) -> Proposal:
    """Return a row, random by default, with a random mask."""
    history, operator = ctx.history, "initial_design"
    if row is None:
        row, operator = _conditional(history).apply(history.space.sample(ctx.rng))[0], "random"
    mask = sample_mask(ctx.rng, history.table, _MASK_SAMPLERS, number)
    if mask is not None:
        operator = initial_operator(_MASK_SAMPLERS[number % len(_MASK_SAMPLERS)])
    return Proposal(row, mask, TrialNote(operator))


def _conditional(history: History) -> ConditionalParameters:
    return ConditionalParameters(history.space, history.rows, history.active_if)
