"""MOEADSampler: an assembly of the steps beside it."""

from __future__ import annotations

import numpy as np

from optuna_mofs.features.table import Array
from optuna_mofs.history import History
from optuna_mofs.samplers.base import HistorySampler, Proposal
from optuna_mofs.samplers.moead.decomposition import Decomposition, tchebycheff
from optuna_mofs.samplers.moead.population import Subproblems
from optuna_mofs.samplers.moead.variation import DifferentialVariation, Variation
from optuna_mofs.samplers.moead.weights import neighbourhoods, simplex_points
from optuna_mofs.samplers.nsga2.start import Start
from optuna_mofs.samplers.operators.hypercube import latin_hypercube

#: Key of a trial's memory: the subproblem for which it was made.
_OWN = "subproblem"


class MOEADSampler(HistorySampler):
    """MOEA/D for mixed and conditional spaces, made for choosing learner and settings at once.

    Zhang and Li (2007), as Rosales-Pérez et al. (2014), *Multi-objective model type selection*,
    use it: the objectives are decomposed into subproblems, each a weighted Tchebycheff distance
    from the best values seen; each subproblem keeps the best trial for it, makes its next
    configuration of its neighbours' trials, and offers it to them. The archive of algorithm 1 is
    the study's front.

    With ``paper=True`` it is the paper's setting: rounded categories, mutation probability 0.1,
    objectives as they are, parents and replacements from the neighbourhood only. What the default
    does otherwise, and why, is in ``docs/samplers/moead.md``. The paper's budget of 20 × 50
    evaluations is ``study.optimize(objective, n_trials=1000)``.

    Args:
        population_size: Number of subproblems (N).
        neighbours: Size of a neighbourhood, the subproblem itself among them (T); the paper does
            not say. By default a quarter of the subproblems, at least 5.
        anywhere: Probability that parents come from all subproblems, not from the neighbourhood.
        everywhere: Whether a trial competes for all subproblems, or for those of its own
            neighbourhood only.
        replaced: Subproblems that one trial may take over; by default as many as are neighbours.
        start_size: Finished trials before the first child; by default ``population_size``.
        variation: Makes a child of three trials.
        decomposition: Losses and weights in, one number a subproblem out.
        normalise: Whether objectives are divided by their range over the population.
        paper: Whether what is not given is the paper's.
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
        neighbours: int | None = None,
        anywhere: float | None = None,
        everywhere: bool | None = None,
        replaced: int | None = None,
        start_size: int | None = None,
        variation: Variation | None = None,
        decomposition: Decomposition = tchebycheff,
        normalise: bool | None = None,
        paper: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self.paper = bool(paper)
        self.population_size = _at_least("population_size", population_size, 4)
        if neighbours is None:
            neighbours = max(5, population_size // 4)
        self.neighbours = min(_at_least("neighbours", neighbours, 2), population_size)
        if replaced is None:
            replaced = self.neighbours
        self.replaced = _at_least("replaced", replaced, 1)
        start_size = population_size if start_size is None else start_size
        self.start_size = _at_least("start_size", start_size, 3)
        if anywhere is None:
            anywhere = 0.0 if paper else 0.1
        if not 0 <= anywhere <= 1:
            raise ValueError(f"anywhere must lie in 0..1, but is {anywhere!r}.")
        self.anywhere = anywhere
        self.everywhere = not paper if everywhere is None else everywhere
        if variation is None:
            variation = (
                DifferentialVariation(mutation_rate=0.1, drift=0.0, rounded=True)
                if paper
                else DifferentialVariation()
            )
        self.variation = variation
        self.decomposition = decomposition
        self.normalise = not paper if normalise is None else normalise

    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        """A point of the Latin hypercube, or a child for the subproblem whose turn it is."""
        own = number % self.population_size
        if len(history) < self.start_size:
            return self._first(history, rng, number, own)
        members, places = self._members(history)
        base, first, second = self._parents(rng, members, places[own], own)
        row, mask = self.variation(rng, history, base, first, second)
        parents = tuple(int(history.numbers[i]) for i in (base, first, second))
        return Proposal(row, mask, "differential", parents, {_OWN: own})

    def _first(
        self, history: History, rng: np.random.Generator, number: int, own: int
    ) -> Proposal:
        made, operator = Start()(rng, history, number)
        row = made.row
        if number < self.start_size and not history.is_known(
            history.space.decode(self._design(history)[number])
        ):
            row = self._design(history)[number]
        return Proposal(row, made.mask, operator, memory={_OWN: own})

    def _design(self, history: History) -> Array:
        space = history.space

        def make() -> Array:
            shared = np.random.default_rng([self.study_seed, 2**22])
            return space.from_unit(latin_hypercube(shared, self.start_size, len(space)))

        return self.kept(f"design {space.distributions!r}", make)

    def _members(self, history: History) -> tuple[Array, Array]:
        """The member of each subproblem, and the neighbourhoods."""
        objectives = history.values.shape[1]

        def make() -> tuple[Subproblems, Array]:
            weights = simplex_points(self.population_size, objectives)
            places = neighbourhoods(weights, self.neighbours)
            return (
                Subproblems(
                    weights,
                    places,
                    self.decomposition,
                    most=self.replaced,
                    normalise=self.normalise,
                ),
                places,
            )

        subproblems, places = self.kept("subproblems", make)
        belongs = [None if self.everywhere else note.get(_OWN) for note in history.notes]
        members = subproblems.members(history.numbers, history.values, history.violations, belongs)
        return members, places

    def _parents(
        self, rng: np.random.Generator, members: Array, near: Array, own: int
    ) -> tuple[int, int, int]:
        """The member that is moved and the two whose difference moves it."""
        everyone = np.unique(members[members >= 0])
        pool = np.unique(members[near])
        pool = pool[pool >= 0]
        base = int(members[own]) if members[own] >= 0 else int(rng.choice(everyone))
        others = pool[pool != base]
        if len(others) < 2 or rng.random() < self.anywhere:
            others = everyone[everyone != base]
        if len(others) >= 2:
            first, second = rng.choice(others, 2, replace=False)
        else:
            # A population of one or two: the difference is between them, or none.
            first, second = rng.choice(everyone), base
        return base, int(first), int(second)


def _at_least(name: str, value: int, least: int) -> int:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, but is {value!r}.")
    return int(value)
