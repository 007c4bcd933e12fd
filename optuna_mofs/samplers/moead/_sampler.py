"""MOEADSampler: an assembly of the steps beside it."""

from __future__ import annotations

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers._initial_design import RandomDesign, latin_hypercube
from optuna_mofs.samplers.moead._acquisition import ExpectedGain, feasible_values
from optuna_mofs.samplers.moead._offspring import DifferentialVariation, Variation, draw_children
from optuna_mofs.samplers.moead._subproblems import (
    Decomposition,
    Subproblems,
    get_decomposition,
    neighborhoods,
    simplex_points,
    tchebycheff,
)

#: Key of a trial's memory: the subproblem for which it was made.
_OWN = "subproblem"
#: Children among which the model chooses, and how many it takes for one where there are masks.
_CANDIDATES, _DEARER = 64, 4


class MOEADSampler(HistorySampler):
    """MOEA/D for mixed and conditional spaces, made for choosing learner and settings at once.

    Zhang and Li (2007), as Rosales-Pérez et al. (2014), *Multi-objective model type selection*,
    use it: the objectives are decomposed into subproblems, each a weighted Tchebycheff distance
    from the best values seen; each subproblem keeps the best trial for it, makes its next
    configuration of its neighbors' trials, and offers it to them. Of many such children the one
    is evaluated that a model of the trials expects most of. The archive of algorithm 1 is the
    study's front.

    With ``paper=True`` it is the paper's setting: rounded categories, mutation probability 0.1,
    objectives as they are, parents and replacements from the neighborhood only, no model. What
    the default does otherwise, and why, is in ``docs/samplers/moead.md``. The paper's budget of
    20 × 50 evaluations is ``study.optimize(objective, n_trials=1000)``.

    Args:
        population_size: Number of subproblems (N).
        neighbors: Size of a neighborhood, the subproblem itself among them (T); the paper does
            not say. By default a quarter of the subproblems, at least 5.
        anywhere: Probability that parents come from all subproblems, not from the neighborhood.
        everywhere: Whether a trial competes for all subproblems, or for those of its own
            neighborhood only.
        replaced: Subproblems that one trial may take over; by default as many as are neighbors.
        start_size: Finished trials before the first child; in the paper ``population_size``, by
            default up to twice that, if there are as many as half so many parameters.
        candidates: Children among which a model of the trials chooses, with masks a quarter of
            it; 1 for none, as in the paper. By default 64.
        variation: Makes a child of three trials.
        decomposition: ``"tchebycheff"``, ``"augmented_tchebycheff"``, or a function: losses and
            weights in, one number a subproblem out.
        normalize: Whether objectives are divided by their range over the population.
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
        neighbors: int | None = None,
        anywhere: float | None = None,
        everywhere: bool | None = None,
        replaced: int | None = None,
        start_size: int | None = None,
        candidates: int | None = None,
        variation: Variation | None = None,
        decomposition: str | Decomposition = tchebycheff,
        normalize: bool | None = None,
        paper: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self.paper = bool(paper)
        self.population_size = _at_least("population_size", population_size, 4)
        if neighbors is None:
            neighbors = max(5, population_size // 4)
        self.neighbors = min(_at_least("neighbors", neighbors, 2), population_size)
        if replaced is None:
            replaced = self.neighbors
        self.replaced = _at_least("replaced", replaced, 1)
        if start_size is None and paper:
            start_size = population_size
        self.start_size = None if start_size is None else _at_least("start_size", start_size, 3)
        if candidates is None:
            candidates = 1 if paper else _CANDIDATES
        self.candidates = _at_least("candidates", candidates, 1)
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
        self.decomposition = get_decomposition(decomposition)
        self.normalize = not paper if normalize is None else normalize

    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        """A point of the Latin hypercube, or a child for the subproblem whose turn it is."""
        own = number % self.population_size
        if len(history) < self._start(history):
            return self._first(history, rng, number, own)
        members, places = self._members(history)
        if self.candidates > 1:
            chosen = self._judged(history, rng, members, places[own], own)
            if chosen is not None:
                return chosen
        three = self._parents(rng, members, places[own], own)
        rows, masks = self.variation(rng, history, *(np.array([i]) for i in three))
        parents = tuple(int(history.numbers[i]) for i in three)
        mask = None if masks is None else masks[0]
        return Proposal(rows[0], mask, "differential", parents, {_OWN: own})

    def _judged(
        self, history: History, rng: np.random.Generator, members: Array, near: Array, own: int
    ) -> Proposal | None:
        """The most promising of many children, or None if no trial is feasible or no child new."""
        feasible = history.violations <= 0
        if not feasible.any() or not (len(history.space) or history.table is not None):
            return None
        values = feasible_values(history.values, history.violations)
        front = np.flatnonzero(feasible & moocore.is_nondominated(values))
        everyone, around = np.unique(members), np.unique(members[near])
        everyone, around = everyone[everyone >= 0], around[around >= 0]
        fewer = 1 if history.table is None else _DEARER
        children = draw_children(
            rng,
            history,
            self.variation,
            max(2, self.candidates // fewer),
            base=int(members[own]) if members[own] >= 0 else int(rng.choice(everyone)),
            near=around if len(around) > 2 and rng.random() >= self.anywhere else everyone,
            members=everyone,
            front=front,
        )
        judge = self.kept(
            "judge", lambda: ExpectedGain(self._weights(history), self.decomposition)
        )
        for k in judge.order(rng, history, children, front).tolist():
            mask = None if children.masks is None else children.masks[k]
            parents = tuple(int(history.numbers[i]) for i in children.parents[k] if i >= 0)
            operator = "differential" if parents else "anywhere"
            made = Proposal(children.rows[k], mask, operator, parents, {_OWN: own})
            if not history.contains(made.row, made.mask):
                return made
        return None

    def _first(
        self, history: History, rng: np.random.Generator, number: int, own: int
    ) -> Proposal:
        made = RandomDesign()(rng, history, number)
        row = made.row
        if number < self._start(history):
            planned = self._design(history)[number]
            if not history.contains_params(history.space.decode(planned)):
                row = planned
        return Proposal(row, made.mask, operator, memory={_OWN: own})

    def _start(self, history: History) -> int:
        """Finished trials before the first child: more if there are many parameters."""
        if self.start_size is not None:
            return self.start_size
        return min(2 * self.population_size, max(self.population_size, 2 * len(history.space)))

    def _design(self, history: History) -> Array:
        space = history.space

        def make() -> Array:
            shared = np.random.default_rng([self.study_seed, 2**22])
            return space.from_unit(latin_hypercube(shared, self._start(history), len(space)))

        return self.kept(f"design {space.distributions!r}", make)

    def _members(self, history: History) -> tuple[Array, Array]:
        """The member of each subproblem, and the neighborhoods."""

        def make() -> tuple[Subproblems, Array]:
            weights = self._weights(history)
            places = neighborhoods(weights, self.neighbors)
            return (
                Subproblems(
                    weights,
                    places,
                    self.decomposition,
                    most=self.replaced,
                    normalize=self.normalize,
                ),
                places,
            )

        subproblems, places = self.kept("subproblems", make)
        belongs = [None if self.everywhere else note.get(_OWN) for note in history.notes]
        members = subproblems.members(history.numbers, history.values, history.violations, belongs)
        return members, places

    def _weights(self, history: History) -> Array:
        return simplex_points(self.population_size, history.values.shape[1])

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
