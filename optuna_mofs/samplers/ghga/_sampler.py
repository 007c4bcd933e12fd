"""GHGASampler, assembled from the other modules of this folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import (
    check_float,
    check_int,
    check_optional_int,
    check_probability,
    check_type,
)
from optuna_mofs.features._mask_sampling import MaskSampler, get_mask_sampler
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.fronts._dominance import constrained_rank
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._initial_design import initial_operator
from optuna_mofs.samplers._mask_operators import (
    MAX_RATE,
    commonality_crossover,
    declining_rate,
    size_keeping_mutation,
)
from optuna_mofs.samplers._row_operators import vary_row
from optuna_mofs.samplers.ghga._chains import NO_CHAIN, GHGANote
from optuna_mofs.samplers.ghga._children import (
    FilterColumns,
    FilteredChildren,
    sample_filtered_mask,
)
from optuna_mofs.samplers.ghga._elimination import Budget, Elimination
from optuna_mofs.samplers.ghga._guides import ForestGuide, Guide, get_guide
from optuna_mofs.samplers.ghga._state import ArchiveState, similar_pair
from optuna_mofs.study._completed_trials import metric_column

#: Share of the trials that are random in a study without features to select.
_RANDOM_PROB = 0.2
#: Share of the children that follow neither filters nor guide, if there are filters.
_UNGUIDED_PROB = 0.4
#: Attempts to make a child that no trial has.
_MAX_CHILDREN = 50
#: Share of the children that keep their parent's mask and change only the hyperparameters.
_ROW_ONLY_PROB = 0.25
#: In the paper, the guides called "forest" and "frequency" are simpler.
_PAPER_GUIDES = {"forest": "plain_forest", "frequency": "plain_frequency"}


@dataclass(frozen=True)
class GHGASettings:
    """Further settings of :class:`GHGASampler`; Greek letters are the paper's.

    Args:
        n_phase1_iterations: Iterations of phase 1, of two trials each (λ). By default twice the
            number of features, but at most an eighth of ``n_trials``.
        retrain_every: Completed trials after which the guide is fitted again (ψ).
        niche_radius: Sets less dissimilar than this are similar (δ).
        niche_size: How many similar sets may reproduce (ρ).
        mutation_decline: Exponent of the mutation rate's decline in phase 1 (θ), at most 10.
        mutation_rate: Mutation rate in phase 2 (φ).
        tournament_divisor: The set to be reduced is the best of one in this many (κ).
        budget: Evaluations that one elimination may spend (b): a number, or a function of the
            set's size and of how often it was chosen, including this time. By default as many as
            the set has features, at least 10.
        block_fraction: Part of a set's features that an elimination first tries to remove
            together. Each failure halves it, down to one feature.
        max_penalty_increase: A step of an elimination is taken at once if it costs less and adds
            at most this to the penalty; None for no limit. Otherwise all leave-one-out sets are
            tried and the best is taken.
        demote_suspects: Whether features whose removal failed are tried last in the rest of an
            elimination.
        restart_prob: Probability that an elimination starts from all features except one of each
            known optimum, or prepares that by probes, which remove each feature of an optimum
            once.
        merge_prob: Probability that an elimination starts from the union of two similar local
            optima.
        use_filters: Whether initial masks, guide and most children follow the filters, if there
            are any.
        as_printed: Whether, as in the paper, sets at the median do not reproduce, the mutation
            rate may reach 1, and an elimination does not move to sets that were tried before.
        stop_at_median: Whether the population is that of Algorithm 2 as printed: the best set
            always reproduces, even if it is inert, and the population ends at the first set, in
            order of cost, that is not above the median. By default such sets are skipped.
        initial_mask_sampler: Makes the initial masks after the first one, which has all features:
            a name such as ``"wide"`` or ``"bernoulli"`` (random halves), or a function of
            (generator, feature table, filter weights). By default most masks follow the filters,
            and without filters they are random halves.
    """

    n_phase1_iterations: int | None = None
    retrain_every: int = 50
    niche_radius: float = 0.5
    niche_size: int = 5
    mutation_decline: float = 0.5
    mutation_rate: float = 0.05
    tournament_divisor: int = 5
    budget: int | Budget | None = None
    block_fraction: float = 0.125
    max_penalty_increase: float | None = 0.1
    demote_suspects: bool = True
    restart_prob: float = 0.9
    merge_prob: float = 0.05
    use_filters: bool = True
    as_printed: bool = False
    stop_at_median: bool = False
    initial_mask_sampler: str | MaskSampler | None = None

    def __post_init__(self) -> None:
        check_optional_int("n_phase1_iterations", self.n_phase1_iterations, 2, 10**9)
        for name in ("retrain_every", "niche_size", "tournament_divisor"):
            check_int(name, getattr(self, name), 1)
        for name in ("niche_radius", "restart_prob", "merge_prob"):
            check_probability(name, getattr(self, name))
        # A larger exponent leaves no decline, and its powers overflow.
        check_float("mutation_decline", self.mutation_decline, 0, 10, low_is_open=True)
        check_float("mutation_rate", self.mutation_rate, 0, 1, low_is_open=True)
        if self.budget is not None and not callable(self.budget):
            check_int("budget", self.budget, 1)
        check_float("block_fraction", self.block_fraction, 0, 0.5)
        if self.max_penalty_increase is not None:
            check_float("max_penalty_increase", self.max_penalty_increase, 0)
        if self.restart_prob + self.merge_prob > 1:
            raise ValueError(
                "restart_prob and merge_prob must not exceed 1 together, got "
                f"{self.restart_prob} and {self.merge_prob}."
            )
        if self.initial_mask_sampler is not None:
            get_mask_sampler(self.initial_mask_sampler)


_DEFAULTS = GHGASettings()


class GHGASampler(HistorySampler):
    """Guided hybrid genetic algorithm: few evaluations, small sets, and all of the best ones.

    Jung and Zscheischler (2013): a guided hybrid genetic algorithm for feature selection with
    expensive cost functions. It searches for the smallest sets whose performance stays within a
    tolerance of the best one, and for all of them. All completed trials form the archive. Phase 1
    crosses and mutates sets from many regions. Phase 2 also removes features one by one, in the
    order of a guide that is fitted to the archive. A set of which all leave-one-out sets have been
    tried is a (local) optimum, and the search moves on to other regions.

    The performance is one value of the study, in the study's direction; the number (or cost) of
    features is computed from the mask. :func:`optuna_mofs.optima` returns the result, and
    :class:`optuna_mofs.NoNewOptimaCallback` stops the study. Where filters rank the features, most
    children follow filters and guide. :meth:`from_paper` is the paper's algorithm;
    ``docs/samplers/ghga.md`` lists the differences and their reasons.

    Args:
        tolerance: Loss of performance that is acceptable for a smaller set (ε), in units of the
            value.
        guide: ``"forest"``, ``"frequency"``, ``"random"``, ``"none"`` (no elimination), the
            paper's own ``"plain_forest"`` and ``"plain_frequency"``, or a function of (masks,
            losses, generator) that returns a function of (candidate masks, generator), which
            returns one score per candidate, the higher the better; for example a
            :class:`ForestGuide`.
        metric: Position or name of the value that is the performance.
        n_trials: Number of trials planned, if known. With a small budget the initial design takes
            at most a fifth of it, phase 1 a quarter and an elimination a tenth, and the guide is
            fitted again after a tenth.
        n_startup_trials: Completed trials before the first child; by default 20, or a fifth of a
            small ``n_trials``.
        settings: Further settings.
        seed: Seed; if None, one is drawn and kept in the study.

    Example:
        >>> import optuna
        >>> from optuna_mofs import GHGASampler, suggest_features
        >>> from optuna_mofs.samplers import GHGASettings
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     mask = suggest_features(trial, 8)
        ...     return mask[:2].mean() - 0.001 * mask[2:].sum(), mask.sum()
        >>> sampler = GHGASampler(
        ...     guide="random",
        ...     n_startup_trials=5,
        ...     settings=GHGASettings(n_phase1_iterations=5),
        ...     seed=1,
        ... )
        >>> study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
        >>> study.optimize(objective, n_trials=60)
        >>> max(trial.values[0] for trial in study.trials)
        1.0
    """

    def __init__(
        self,
        *,
        tolerance: float = 0.005,
        guide: str | Guide = "forest",
        metric: int | str = 0,
        n_trials: int | None = None,
        n_startup_trials: int | None = None,
        settings: GHGASettings = _DEFAULTS,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        check_float("tolerance", tolerance, 0, low_is_open=True)
        get_guide(guide, tolerance)
        if not isinstance(metric, str):
            check_int("metric", metric, 0)
        self.tolerance = tolerance
        self.guide = guide
        self.metric = metric
        self.n_trials = check_optional_int("n_trials", n_trials, 1)
        self.n_startup_trials = check_optional_int("n_startup_trials", n_startup_trials, 1)
        self.settings = check_type("settings", settings, GHGASettings)

    @classmethod
    def from_paper(
        cls,
        *,
        tolerance: float = 0.005,
        guide: str | Guide = "forest",
        metric: int | str = 0,
        n_trials: int | None = None,
        n_startup_trials: int | None = None,
        n_phase1_iterations: int | None = None,
        retrain_every: int = 50,
        budget: int | Budget | None = None,
        seed: int | None = None,
    ) -> Self:
        """Return the algorithm of Jung and Zscheischler (2013).

        Eliminations start from the population only, remove one feature at a time and take the
        first set that costs less. Guides are fitted to the whole archive, filters are not used,
        and initial masks are random halves. The forest has 100 trees that consider a third of the
        features. Inert sets and sets below the median are skipped: with Algorithm 2 as printed
        (``stop_at_median``) the population ends in one inert set. What the paper leaves open, and
        which readings find its optima, is in ``docs/benchmarks/papers.md``.

        Args:
            tolerance: Loss of performance that is acceptable for a smaller set (ε).
            guide: ``"forest"`` and ``"frequency"`` are the paper's.
            metric: Position or name of the value that is the performance.
            n_trials: Number of trials planned, if known.
            n_startup_trials: Completed trials before the first child.
            n_phase1_iterations: Iterations of phase 1 (λ).
            retrain_every: Completed trials after which the guide is fitted again (ψ).
            budget: Evaluations that one elimination may spend (b), which the paper leaves open.
            seed: Seed.

        Example:
            >>> GHGASampler.from_paper(seed=1).guide
            'plain_forest'
        """
        settings = GHGASettings(
            n_phase1_iterations=n_phase1_iterations,
            retrain_every=retrain_every,
            budget=budget,
            block_fraction=0.0,
            max_penalty_increase=None,
            demote_suspects=False,
            restart_prob=0.0,
            merge_prob=0.0,
            use_filters=False,
            as_printed=True,
            initial_mask_sampler="bernoulli",
        )
        return cls(
            tolerance=tolerance,
            guide=_PAPER_GUIDES.get(guide, guide) if isinstance(guide, str) else guide,
            metric=metric,
            n_trials=n_trials,
            n_startup_trials=n_startup_trials,
            settings=settings,
            seed=seed,
        )

    def propose(self, ctx: ProposalContext) -> Proposal:
        """Return an initial set, a child, or a step of an elimination."""
        history, table = ctx.history, ctx.history.table
        if table is None:
            return self._without_masks(ctx)
        if len(history) < self._n_startup_trials():
            return self._initial(ctx, table)
        state = ctx.study_cache("archive", lambda: self._new_state(ctx, table))
        state.update(history)
        latest, chain, n_children_since, n_children = state.chains.progress(
            history.running_notes(GHGANote)
        )
        iteration = n_children // 2 + 1
        members = state.reproductive(
            self.settings.niche_radius,
            self.settings.niche_size,
            as_printed=self.settings.stop_at_median,
            strict=self.settings.as_printed,
        )
        if iteration <= self._n_phase1_iterations(table) or self.guide == "none":
            return self._child(ctx, state, members, iteration, NO_CHAIN)
        # After repeated conflicts several workers propose the same few sets: a random child is
        # unlikely to collide again.
        if ctx.n_conflicts <= 1:
            elimination = Elimination(
                ctx, state, self.settings, self._tenth(), self._uses_filters(table)
            )
            proposal = None
            if chain is not None and chain.n_evaluations < chain.budget:
                proposal = elimination.step(latest, chain)
            if proposal is None and (n_children_since >= 2 or latest == NO_CHAIN):
                proposal = elimination.begin(members)
            if proposal is not None:
                return proposal
        return self._child(ctx, state, members, iteration, latest)

    # ---- initial sets and children ------------------------------------------------------------

    def _initial(self, ctx: ProposalContext, table: FeatureTable) -> Proposal:
        rng, sampler = ctx.rng, self.settings.initial_mask_sampler
        row = ctx.history.space.sample(rng)[0]
        if ctx.trial_number == 0:
            note = GHGANote(initial_operator("all_features"))
            return Proposal(row, np.ones(len(table.free), dtype=bool), note)
        n_filters = len(table.filters)
        weights = rng.dirichlet(np.ones(max(1, n_filters)))[:n_filters]
        if sampler is None and self._uses_filters(table):
            mask, operator = sample_filtered_mask(rng, table, weights, ctx.trial_number)
        else:
            sampler = "bernoulli" if sampler is None else sampler
            mask = get_mask_sampler(sampler)(rng, table, weights)
            operator = initial_operator(sampler)
        return Proposal(row, mask, GHGANote(operator))

    def _child(
        self,
        ctx: ProposalContext,
        state: ArchiveState,
        members: Array,
        iteration: int,
        after_chain: int,
    ) -> Proposal:
        space, table, rng, archive = ctx.history.space, ctx.history.table, ctx.rng, state.archive
        assert table is not None
        last, settings = self._n_phase1_iterations(table), self.settings
        rate = declining_rate(
            iteration,
            last,
            settings.mutation_decline,
            settings.mutation_rate,
            limit=np.inf if settings.as_printed else MAX_RATE,
        )
        guided = None
        if self.guide != "none" and self._uses_filters(table):
            # Less is left to chance in a phase 1 that a small budget shortens.
            shortened = min(1.0, last / (2 * len(table.free))) if iteration <= last else 1.0
            if rng.random() >= _UNGUIDED_PROB * shortened:
                predict = state.prediction(include_supersets=True)
                make = FilteredChildren(table, predict, settings.mutation_rate)
                guided = make(rng, archive, members)
        for _ in range(_MAX_CHILDREN):
            a, b = similar_pair(rng, members, archive.dissimilarity)
            if rng.random() < 0.5:
                a, b = b, a
            mask = archive.masks(a)
            row_only = len(space) > 0 and rng.random() < _ROW_ONLY_PROB
            if row_only:
                operator = "hyperparameters"
                break
            if guided is not None:
                mask, a, b, operator = guided
                break
            operator = "crossover" if a != b else "mutation"
            mask = commonality_crossover(rng, mask, archive.masks(b))
            mask = table.limited(size_keeping_mutation(rng, mask, rate))
            if archive.position(mask) is None:
                break
        (first, note), (second, _) = state.inherited(a), state.inherited(b)
        row, note = vary_row(rng, space, (first, second), note, must_change=row_only)
        parents = tuple(dict.fromkeys(archive.numbers[[a, b]].tolist()))
        note = replace(note, operator=operator, parents=parents, after_chain=after_chain)
        return Proposal(row, mask, note)

    def _without_masks(self, ctx: ProposalContext) -> Proposal:
        """Return a child of the better half, or a random row: there are no features to select."""
        history, rng = ctx.history, ctx.rng
        if len(history) < self._n_startup_trials() or rng.random() < _RANDOM_PROB:
            return Proposal(history.space.sample(rng)[0], None, GHGANote("random"))
        ranks = constrained_rank(history.values, history.violations)
        better = np.argsort(ranks, kind="stable")[: -(-len(ranks) // 2)]
        a, b = (int(i) for i in rng.choice(better, 2))
        rows = (history.rows[a], history.rows[b])
        note = history.note(a, GHGANote)
        row, note = vary_row(rng, history.space, rows, note, must_change=True)
        parents = tuple(dict.fromkeys(history.numbers[[a, b]].tolist()))
        return Proposal(row, None, replace(note, operator="hyperparameters", parents=parents))

    # ---- arguments whose default depends on others --------------------------------------------

    def _n_startup_trials(self) -> int:
        if self.n_startup_trials is not None:
            return self.n_startup_trials
        return 20 if self.n_trials is None else int(np.clip(self.n_trials // 5, 2, 20))

    def _n_phase1_iterations(self, table: FeatureTable) -> int:
        if self.settings.n_phase1_iterations is not None:
            return self.settings.n_phase1_iterations
        usual = 2 * len(table.free)
        return usual if self.n_trials is None else int(np.clip(self.n_trials // 8, 2, usual))

    def _tenth(self) -> int | None:
        """Return a tenth of the planned trials, at least 5."""
        return None if self.n_trials is None else max(5, self.n_trials // 10)

    def _uses_filters(self, table: FeatureTable) -> bool:
        has_ranks = table.free_ranks is not None and len(table.free) > 0
        return has_ranks and self.settings.use_filters

    def _new_state(self, ctx: ProposalContext, table: FeatureTable) -> ArchiveState:
        guide, ranks = get_guide(self.guide, self.tolerance), table.free_ranks
        if isinstance(guide, ForestGuide) and ranks is not None and self.settings.use_filters:
            guide = replace(guide, columns=FilterColumns(ranks))
        return ArchiveState(
            table,
            metric_column(self.metric, ctx.metrics.names),
            self.tolerance,
            guide,
            min(self.settings.retrain_every, self._tenth() or self.settings.retrain_every),
            ctx.seed,
        )
