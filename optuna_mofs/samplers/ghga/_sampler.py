"""GHGASampler: an assembly of the steps beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import MaskSampler, sample_bernoulli_mask
from optuna_mofs.fronts._dominance import pareto_rank
from optuna_mofs.history._history import History
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers._mask_operators import (
    commonality_crossover,
    declining_rate,
    size_keeping_mutation,
)
from optuna_mofs.samplers._row_operators import RowVariation
from optuna_mofs.samplers.ghga._chains import NO_CHAIN
from optuna_mofs.samplers.ghga._children import (
    Child,
    FilterColumns,
    FilteredChildren,
    sample_filtered_mask,
)
from optuna_mofs.samplers.ghga._elimination import Budget, Elimination, size_budget
from optuna_mofs.samplers.ghga._guides import ForestGuide, Guide, get_guide
from optuna_mofs.samplers.ghga._state import Search, reproductive_places, similar_pair

#: What an elimination does beyond the paper, and in the paper.
_OURS = {"block": 0.125, "slack": 0.1, "demote": True, "renew": 0.9, "merge": 0.05}
_PAPER = {"block": 0.0, "slack": np.inf, "demote": False, "renew": 0.0, "merge": 0.0}
#: Part of the trials that are random where there are no features to select.
_FRESH = 0.2
#: Part of the children that follow neither filters nor guide, where there are filters.
_BY_CHANCE = 0.4
#: Tries to make a child that no trial has.
_TRIES = 50


class GHGASampler(HistorySampler):
    """Guided hybrid genetic algorithm: few evaluations, small sets, and all of the best ones.

    Jung and Zscheischler (2013): a guided hybrid genetic algorithm for feature selection with
    expensive cost functions. It looks for the smallest sets whose performance stays within a
    tolerance of the best one known, and for all of them. All finished trials form the archive.
    Phase 1 crosses and mutates sets from many regions. Phase 2 also leaves features out one by
    one, in the order that a guide advises, which learns from the archive. A set of which all
    smaller neighbors have been tried is a (local) optimum, and the search turns to other regions.

    The first value is the performance, in the study's direction; the number (or cost) of features
    is read off the mask. Read the result by :func:`optuna_mofs.optima`, and stop by
    :class:`optuna_mofs.NoNewOptimaCallback`. Where filters rank the features, most children follow
    filters and guide (:mod:`optuna_mofs.samplers.ghga._children`). ``docs/samplers/ghga.md`` says
    what differs from the paper and why.

    Args:
        variant: ``"paper"`` for the paper's elimination: one feature at a time, the first cheaper
            set is taken, starts from the population only, guides of the whole archive; and first
            sets that are random halves. ``block``, ``slack``, ``demote``, ``renew``, ``merge``
            and ``start`` override it.
        tolerance: What may be lost of the best performance for a smaller set (ε), in units of the
            first value.
        guide: ``"forest"``, ``"frequency"``, ``"random"``, ``"none"`` (no elimination), or a
            function, see :mod:`optuna_mofs.samplers.ghga._guides`.
        retrain_every: Finished trials after which the guide learns anew (ψ).
        first_phase: Iterations of phase 1, of two trials each (λ); twice the number of features
            by default.
        niche_radius: Sets less dissimilar than this are similar (δ).
        niche_size: How many similar sets may reproduce (ρ).
        mutation_decline: Shape of the mutation rate's decline in phase 1 (θ).
        mutation_rate: Mutation rate in phase 2 (φ).
        tournament_divisor: The set to be thinned out is the best of one in so many (κ).
        budget: Evaluations that one elimination may spend (b), a number or a function of the
            set's size and of how often it was chosen before. By default as many as it has
            features, at least 10.
        block: Part of a set's features that an elimination first tries to leave out at once (by
            default 0.125). Each failure halves it, down to one feature.
        slack: A step of an elimination is taken at once if it is cheaper and adds at most this to
            the penalty (by default 0.1). Otherwise all steps with one feature less are tried, and
            the best is taken.
        demote: Whether features whose absence was a failure are tried last in the rest of an
            elimination (by default True).
        renew: Probability that an elimination starts from all features but one of each optimum
            known, or prepares that by leaving out each feature of an optimum once (by default
            0.9), see :mod:`optuna_mofs.samplers.ghga._elimination`.
        merge: Probability that an elimination starts from the union of two similar local optima
            (by default 0.05).
        n_trials: Number of trials planned, if known: with a small budget the start takes a fifth
            of it at most, phase 1 a quarter and an elimination a tenth, and the guide learns anew
            after a tenth.
        start_size: Finished trials before the first child (by default 20).
        start: Makes the first masks after the first one, which holds all features. By default
            most follow the filters, if there are any (:func:`.filtered.sample_filtered_mask`), and the
            others are random halves, which all are in the paper (``sample_bernoulli_mask``).
        value: Position of the value that is the performance.
        seed: Seed; if None, one is drawn and kept in the study.

    Example:
        >>> import optuna
        >>> from optuna_mofs import GHGASampler, suggest_features
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     mask = suggest_features(trial, 8)
        ...     return mask[:2].mean() - 0.001 * mask[2:].sum(), mask.sum()
        >>> sampler = GHGASampler(guide="random", first_phase=5, start_size=5, seed=1)
        >>> study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
        >>> study.optimize(objective, n_trials=60)
        >>> max(trial.values[0] for trial in study.trials)
        1.0
    """

    def __init__(
        self,
        *,
        variant: str | None = None,
        tolerance: float = 0.005,
        guide: str | Guide = "forest",
        retrain_every: int = 50,
        first_phase: int | None = None,
        niche_radius: float = 0.5,
        niche_size: int = 5,
        mutation_decline: float = 0.5,
        mutation_rate: float = 0.05,
        tournament_divisor: int = 5,
        budget: int | Budget = size_budget,
        block: float | None = None,
        slack: float | None = None,
        demote: bool | None = None,
        renew: float | None = None,
        merge: float | None = None,
        n_trials: int | None = None,
        start_size: int | None = None,
        start: MaskSampler | None = None,
        value: int = 0,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        _within("tolerance", tolerance, 0, np.inf, open_low=True)
        self.tolerance = tolerance
        self.guide = guide
        self._guide = get_guide(guide, tolerance, plain=variant == "paper")
        self.retrain_every = _within("retrain_every", retrain_every, 1, np.inf)
        if first_phase is not None:
            _within("first_phase", first_phase, 2, np.inf)
        self.first_phase = first_phase
        self.niche_radius = _within("niche_radius", niche_radius, 0, 1)
        self.niche_size = _within("niche_size", niche_size, 1, np.inf)
        self.mutation_decline = _within(
            "mutation_decline", mutation_decline, 0, np.inf, open_low=True
        )
        self.mutation_rate = _within("mutation_rate", mutation_rate, 0, 1, open_low=True)
        self.tournament_divisor = _within("tournament_divisor", tournament_divisor, 1, np.inf)
        if not callable(budget):
            _within("budget", budget, 1, np.inf)
        self.budget = budget
        if variant not in (None, "paper"):
            raise ValueError(f"variant must be None or 'paper', but is {variant!r}.")
        self.variant = variant
        preset = _PAPER if variant == "paper" else _OURS
        self.block = _within("block", preset["block"] if block is None else block, 0, 0.5)
        self.slack = _within("slack", preset["slack"] if slack is None else slack, 0, np.inf)
        self.demote = bool(preset["demote"] if demote is None else demote)
        self.renew = _within("renew", preset["renew"] if renew is None else renew, 0, 1)
        self.merge = _within("merge", preset["merge"] if merge is None else merge, 0, 1)
        if self.renew + self.merge > 1:
            raise ValueError(
                f"renew and merge are probabilities of different starts and must not exceed 1 "
                f"together, but are {self.renew} and {self.merge}."
            )
        if n_trials is not None:
            _within("n_trials", n_trials, 1, np.inf)
        self.n_trials = n_trials
        if start_size is None:
            start_size = 20 if n_trials is None else int(np.clip(n_trials // 5, 2, 20))
        self.start_size = _within("start_size", start_size, 1, np.inf)
        self.start = start
        self.value = _within("value", value, 0, np.inf)
        self._rows = RowVariation()

    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        """A first set, a child, or a step of an elimination."""
        if history.table is None:
            return self._without_masks(history, rng)
        if len(history) < self.start_size:
            return self._first(history, rng, number)
        search = self._search(history)
        latest, chain, after, children = search.trail.now(history.running_notes)
        iteration = children // 2 + 1
        phase = self._iterations_of_phase_1(len(history.table.free))
        if iteration <= phase or self._guide is None:
            return self._child(history, search, rng, iteration, NO_CHAIN)
        if self.n_conflicts > 1:
            # Several workers want the same few sets; a child of chance is nobody else's.
            return self._child(history, search, rng, iteration, latest)
        if chain is not None and chain.spent < chain.budget:
            step = self._elimination(history).step(search, rng, latest, chain)
            if step is not None:
                return step
        if after >= 2 or latest == NO_CHAIN:
            members = self._reproductive(search)
            begun = self._elimination(history).begin(search, rng, members, number)
            if begun is not None:
                return begun
        return self._child(history, search, rng, iteration, latest)

    # ---- the parts of an iteration ------------------------------------------------------------

    def _first(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        table = history.table
        assert table is not None
        row, memory = self._rows.first(rng, history.space)
        if number == 0:
            return Proposal(row, np.ones(len(table.free), dtype=bool), "all", memory=memory)
        recipe = self.start
        if recipe is None:
            recipe = (
                sample_filtered_mask(number) if self._filtered(history) else sample_bernoulli_mask
            )
        weights = rng.dirichlet(np.ones(max(1, len(table.filters))))[: len(table.filters)]
        return Proposal(row, recipe(rng, table, weights), recipe.__name__, memory=memory)

    def _child(
        self,
        history: History,
        search: Search,
        rng: np.random.Generator,
        iteration: int,
        after: int,
    ) -> Proposal:
        members = self._reproductive(search)
        phase = self._iterations_of_phase_1(search.archive.p)
        rate = declining_rate(iteration, phase, self.mutation_decline, self.mutation_rate)
        archive = search.archive
        led = None
        if self._guide is not None and self._filtered(history):
            led = self._led(history, search, rng, members, in_phase_1=iteration <= phase)
        for _ in range(_TRIES):
            a, b = similar_pair(rng, members, archive.dissimilarity)
            if rng.random() < 0.5:
                a, b = b, a
            mask = archive.mask(a)
            tuned = self._rows.tunes(rng, history.space)
            operator = "tuning" if tuned else ("crossover" if a != b else "mutation")
            if led is not None and not tuned:
                mask, a, b, operator = led
                break
            if not tuned:
                mask = commonality_crossover(rng, mask, archive.mask(b))
                mask = size_keeping_mutation(rng, mask, rate)
            if tuned or archive.place(mask) is None:
                break
        row, memory = self._rows.child(
            rng,
            history.space,
            (search.row(history, a), search.row(history, b)),
            search.note(history, a),
            always=tuned,
        )
        parents = tuple(int(archive.numbers[place]) for place in dict.fromkeys((a, b)))
        return Proposal(row, mask, operator, parents, {**memory, "after": after})

    def _led(
        self,
        history: History,
        search: Search,
        rng: np.random.Generator,
        members: Array,
        *,
        in_phase_1: bool,
    ) -> Child | None:
        """A child that follows filters and guide, or None where it is left to chance.

        In a phase 1 that is cut short by a small budget less is left to chance.
        """
        table = history.table
        assert table is not None
        usual = 2 * search.archive.p
        cut = min(1.0, self._iterations_of_phase_1(search.archive.p) / usual)
        if rng.random() < _BY_CHANCE * (cut if in_phase_1 else 1.0):
            return None
        predict = search.prediction(
            history, self._informed(history), self._retrain_every(), before=None, of_all=True
        )
        return FilteredChildren(table, predict, self.mutation_rate)(rng, search.archive, members)

    # ---- inside -------------------------------------------------------------------------------

    def _filtered(self, history: History) -> bool:
        """Whether filters lead the search."""
        table = history.table
        if table is None or table.free_ranks is None or not len(table.free):
            return False
        return self.variant != "paper"

    def _informed(self, history: History) -> Guide:
        """The guide, with what filters say."""
        assert self._guide is not None
        ranks = history.table.free_ranks if history.table is not None else None
        if ranks is None or self.variant == "paper" or not isinstance(self._guide, ForestGuide):
            return self._guide
        return replace(self._guide, columns=FilterColumns(ranks))

    def _retrain_every(self) -> int:
        most = np.inf if self.n_trials is None else max(5, self.n_trials // 10)
        return int(min(self.retrain_every, most))

    def _iterations_of_phase_1(self, p: int) -> int:
        if self.first_phase is not None:
            return self.first_phase
        usual = 2 * p
        return usual if self.n_trials is None else int(np.clip(self.n_trials // 8, 2, usual))

    def _reproductive(self, search: Search) -> Array:
        order = search.eligible()
        if not len(order):
            return search.best_first(np.arange(len(search.archive)))[:1]
        return reproductive_places(
            order,
            search.archive.crowding,
            search.archive.dissimilarity,
            radius=self.niche_radius,
            most_similar=self.niche_size,
        )

    def _elimination(self, history: History) -> Elimination:
        assert self._guide is not None
        return Elimination(
            history,
            self._rows,
            guide=self._informed(history),
            retrain_every=self._retrain_every(),
            budget=self.budget,
            block=self.block,
            slack=self.slack,
            demote=self.demote,
            renew=self.renew,
            merge=self.merge,
            radius=self.niche_radius,
            n_conflicts=self.n_conflicts,
            filtered=self._filtered(history),
            longest=None if self.n_trials is None else max(5, self.n_trials // 10),
            tournament_divisor=self.tournament_divisor,
        )

    def _search(self, history: History) -> Search:
        table = history.table
        assert table is not None
        if len(history) and self.value >= history.values.shape[1]:
            raise ValueError(
                f"value is {self.value}, but trials have {history.values.shape[1]} values; "
                "positions count from 0."
            )
        search = self.kept(
            "search",
            lambda: Search(len(table.free), table.free_costs, self.value, self.tolerance),
        )
        search.update(history)
        return search

    def _without_masks(self, history: History, rng: np.random.Generator) -> Proposal:
        """No features to select: children of the better half, and some fresh ones."""
        if len(history) < self.start_size or rng.random() < _FRESH:
            row, memory = self._rows.first(rng, history.space)
            return Proposal(row, None, "random", memory=memory)
        ranks = pareto_rank(history.values, history.violations)
        better = np.argsort(ranks, kind="stable")[: -(-len(ranks) // 2)]
        a, b = (int(i) for i in rng.choice(better, 2))
        row, memory = self._rows.child(
            rng, history.space, (history.rows[a], history.rows[b]), history.notes[a], always=True
        )
        parents = tuple(dict.fromkeys((int(history.numbers[a]), int(history.numbers[b]))))
        return Proposal(row, None, "tuning", parents, memory)


def _within(name: str, value: Any, low: float, high: float, *, open_low: bool = False) -> Any:
    inside = low < value <= high if open_low else low <= value <= high
    if not inside:
        bounds = f"above {low}" if open_low else f"at least {low}"
        if high < np.inf:
            bounds += f" and at most {high}"
        raise ValueError(f"{name} must be {bounds}, but is {value}.")
    return value
