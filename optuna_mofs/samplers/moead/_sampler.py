"""MOEADSampler and its settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Self

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_int, check_optional_int, check_probability, check_type
from optuna_mofs.history._history import History
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._candidates import Candidates, best_new_candidate
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._initial_design import RandomDesign, design_row, latin_hypercube
from optuna_mofs.samplers.moead._acquisition import ExpectedGain
from optuna_mofs.samplers.moead._offspring import DifferentialVariation, Variation, draw_children
from optuna_mofs.samplers.moead._subproblems import (
    Decomposition,
    MOEADNote,
    Subproblems,
    get_decomposition,
    neighborhoods,
    simplex_points,
)

#: The number of candidates is divided by this where there are masks, which take longer to make.
_MASK_DIVISOR = 4
#: Stream of the generator of the Latin hypercube.
_DESIGN_STREAM = 2**22

#: Masks of the published algorithm's initial population, in turn.
_MASK_SAMPLERS = ("ensemble", "prefix", "geometric", "wide")


@dataclass(frozen=True)
class MOEADSettings:
    """Further settings of :class:`MOEADSampler`.

    Args:
        max_replacements: Maximum number of subproblems of which one trial becomes the member; by
            default the size of a neighborhood.
        prob_neighbor_mating: Probability that parents come from the neighborhood, not from all
            subproblems.
        global_replacement: Whether a trial competes for all subproblems. If not, it competes for
            those of its own neighborhood.
        normalize_objectives: Whether objectives are divided by their range over the population.
        own_start: Whether the first trial made for a subproblem is its first member and competes
            for no other, as in the paper. If not, a subproblem without a member accepts any trial.
        distinct_parents: Whether the three parents are different trials. In the paper, two
            subproblems are drawn, which may have the same member.
        variation: Makes a child of three trials.
        initial_design: Makes the first configurations, from the rows of a Latin hypercube.
    """

    max_replacements: int | None = None
    prob_neighbor_mating: float = 0.9
    global_replacement: bool = True
    normalize_objectives: bool = True
    own_start: bool = False
    distinct_parents: bool = True
    variation: Variation = field(default_factory=DifferentialVariation)
    initial_design: RandomDesign = field(default_factory=RandomDesign)

    def __post_init__(self) -> None:
        check_optional_int("max_replacements", self.max_replacements, 1)
        check_probability("prob_neighbor_mating", self.prob_neighbor_mating)


_DEFAULTS = MOEADSettings()


class MOEADSampler(HistorySampler):
    """MOEA/D for mixed and conditional spaces, to choose a learner and its settings at once.

    Zhang and Li (2007), as Rosales-Pérez et al. (2014), *Multi-objective model type selection*,
    use it. The objectives are decomposed into subproblems, each a weighted Tchebycheff distance
    from the best values so far. Each subproblem keeps the trial that is best for it, its member,
    and makes its next configuration from the members of its neighbors. Among many such children,
    the one with the largest expected gain under a model of the trials is evaluated. The archive of
    algorithm 1 is the front of the study.

    :meth:`from_paper` is the paper's algorithm. ``docs/samplers/moead.md`` lists the differences
    and their reasons. The paper's budget of 20 × 50 evaluations is
    ``study.optimize(objective, n_trials=1000)``.

    Args:
        population_size: Number of subproblems (N).
        n_neighbors: Size of a neighborhood, including the subproblem itself (T). The paper does
            not give it; by default a quarter of the subproblems, at least 5.
        n_startup_trials: Completed trials before the first child. By default two per parameter,
            at least ``population_size`` and at most twice that.
        n_candidates: Number of children from which a model of the trials chooses; with masks a
            quarter of it. With 1 there is no model, as in the paper.
        decomposition: ``"tchebycheff"``, ``"augmented_tchebycheff"``,
            ``"unbounded_tchebycheff"`` (the paper's, in which an objective of weight 0 does not
            count), or a function of losses and weights that returns points × subproblems.
        settings: Further settings.
        seed: Seed; if None, one is drawn and kept in the study.

    Example:
        >>> import optuna
        >>> from optuna_mofs import MOEADSampler
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     x = trial.suggest_float("x", 0, 2)
        ...     return x**2, (x - 2) ** 2
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=MOEADSampler(seed=0)
        ... )
        >>> study.optimize(objective, n_trials=40)
        >>> len(study.best_trials) > 30
        True
    """

    def __init__(
        self,
        *,
        population_size: int = 20,
        n_neighbors: int | None = None,
        n_startup_trials: int | None = None,
        n_candidates: int = 64,
        decomposition: str | Decomposition = "tchebycheff",
        settings: MOEADSettings = _DEFAULTS,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        check_int("population_size", population_size, 4)
        check_int("n_candidates", n_candidates, 1)
        get_decomposition(decomposition)
        self.population_size = population_size
        self.n_neighbors = check_optional_int("n_neighbors", n_neighbors, 2)
        self.n_startup_trials = check_optional_int("n_startup_trials", n_startup_trials, 3)
        self.n_candidates = n_candidates
        self.decomposition = decomposition
        self.settings = check_type("settings", settings, MOEADSettings)

    @classmethod
    def from_paper(
        cls,
        *,
        population_size: int = 20,
        n_neighbors: int | None = None,
        n_startup_trials: int | None = None,
        seed: int | None = None,
    ) -> Self:
        """Return the algorithm of Rosales-Pérez et al. (2014), section 3.

        The i-th initial point is the first member of subproblem i. Parents are those of
        subproblem i and of two subproblems drawn from its neighborhood, and a child competes for
        the neighborhood only. Categories are rounded numbers, the mutation probability is 0.1,
        objectives are not normalized, weights have no lower bound, and no model chooses among
        children.

        Args:
            population_size: Number of subproblems (N).
            n_neighbors: Size of a neighborhood (T), which the paper does not give.
            n_startup_trials: Trials before the first child; by default ``population_size``.
            seed: Seed.

        Example:
            >>> MOEADSampler.from_paper().n_candidates
            1
        """
        settings = MOEADSettings(
            prob_neighbor_mating=1.0,
            global_replacement=False,
            normalize_objectives=False,
            own_start=True,
            distinct_parents=False,
            variation=DifferentialVariation(
                force_one=False, mutation_prob=0.1, jitter=0.0, round_categories=True
            ),
            initial_design=RandomDesign(_MASK_SAMPLERS, plain=True),
        )
        if n_startup_trials is None:
            n_startup_trials = population_size
        return cls(
            population_size=population_size,
            n_neighbors=n_neighbors,
            n_startup_trials=n_startup_trials,
            n_candidates=1,
            decomposition="unbounded_tchebycheff",
            settings=settings,
            seed=seed,
        )

    def propose(self, ctx: ProposalContext) -> Proposal:
        """Return a point of the initial design, or a child for the subproblem whose turn it is."""
        subproblem = ctx.trial_number % self.population_size
        if len(ctx.history) < self._n_startup_trials(ctx.history):
            return self._initial_proposal(ctx, subproblem)
        subproblems = ctx.study_cache("subproblems", partial(self._new_subproblems, ctx.history))
        subproblems.follow(ctx.history)
        if self.n_candidates > 1:
            proposal = self._best_child(ctx, subproblems, subproblem)
            if proposal is not None:
                return proposal
        parents = self._parents(ctx.rng, subproblems, subproblem)
        rows, masks = self.settings.variation(ctx.rng, ctx.history, *parents.T)
        child = Candidates(rows, parents, np.array(["differential"]), masks)
        return child.proposal(ctx.history, 0, MOEADNote(subproblem=subproblem))

    def _best_child(
        self, ctx: ProposalContext, subproblems: Subproblems, subproblem: int
    ) -> Proposal | None:
        """Return the new child with the largest expected gain.

        Return None if no trial is feasible or no child is new.
        """
        history, rng = ctx.history, ctx.rng
        has_parameters = bool(len(history.space)) or history.table is not None
        if not has_parameters or not (history.violations <= 0).any():
            return None
        fit = partial(ExpectedGain, ctx, subproblems.weights, subproblems.decomposition)
        acquisition = ctx.trial_cache("acquisition", fit)
        members, neighbors, base = _pools(rng, subproblems, subproblem)
        if len(neighbors) <= 2 or rng.random() < 1 - self.settings.prob_neighbor_mating:
            neighbors = members
        children = draw_children(
            rng,
            history,
            self.settings.variation,
            max(2, self.n_candidates // (1 if history.table is None else _MASK_DIVISOR)),
            base=base,
            neighbors=neighbors,
            members=members,
            front=acquisition.front,
        )
        k = best_new_candidate(history, children, acquisition(rng, children))
        note = MOEADNote(subproblem=subproblem)
        return None if k is None else children.proposal(history, k, note)

    def _initial_proposal(self, ctx: ProposalContext, subproblem: int) -> Proposal:
        space, count = ctx.history.space, self._n_startup_trials(ctx.history)
        row = design_row(
            ctx,
            ctx.trial_number,
            _DESIGN_STREAM,
            lambda rng: space.from_unit(latin_hypercube(rng, count, len(space))),
        )
        drawn = self.settings.initial_design(ctx.rng, ctx.history, ctx.trial_number, row)
        note = MOEADNote(drawn.note.operator, (), drawn.note.filter_weights, subproblem=subproblem)
        return Proposal(drawn.row, drawn.mask, note)

    def _n_startup_trials(self, history: History) -> int:
        if self.n_startup_trials is not None:
            return self.n_startup_trials
        return min(2 * self.population_size, max(self.population_size, 2 * len(history.space)))

    def _new_subproblems(self, history: History) -> Subproblems:
        settings = self.settings
        weights = simplex_points(self.population_size, history.values.shape[1])
        neighbors = neighborhoods(weights, self.n_neighbors or max(5, self.population_size // 4))
        return Subproblems(
            weights,
            neighbors,
            get_decomposition(self.decomposition),
            max_replacements=settings.max_replacements or neighbors.shape[1],
            global_replacement=settings.global_replacement,
            normalize_objectives=settings.normalize_objectives,
            own_start=settings.own_start,
        )

    def _parents(
        self, rng: np.random.Generator, subproblems: Subproblems, subproblem: int
    ) -> Array:
        """Return the positions of the trial that is moved and of two that make the difference."""
        members, neighbors, base = _pools(rng, subproblems, subproblem)
        if not self.settings.distinct_parents:
            drawn = rng.choice(subproblems.neighbors[subproblem], 2, replace=False)
            first, second = subproblems.members[drawn]
            if min(first, second) >= 0:
                return np.array([[base, first, second]])
        others = neighbors[neighbors != base]
        if len(others) < 2 or rng.random() < 1 - self.settings.prob_neighbor_mating:
            others = members[members != base]
        if len(others) >= 2:
            first, second = rng.choice(others, 2, replace=False)
        else:
            # With one or two distinct members the difference is between them, or zero.
            first, second = rng.choice(members), base
        return np.array([[base, first, second]])


def _pools(
    rng: np.random.Generator, subproblems: Subproblems, subproblem: int
) -> tuple[Array, Array, int]:
    """Return the distinct members of all subproblems and of the neighborhood, and a base."""
    members = subproblems.members
    every = np.unique(members[members >= 0])
    near = np.unique(members[subproblems.neighbors[subproblem]])
    base = int(members[subproblem])
    return every, near[near >= 0], base if base >= 0 else int(rng.choice(every))
