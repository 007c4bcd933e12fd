"""GHGASampler: an assembly of the steps beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from optuna_mofs.features.table import Array
from optuna_mofs.history import History
from optuna_mofs.samplers.base import HistorySampler, Proposal
from optuna_mofs.samplers.ghga.chains import NO_CHAIN, Chain, left_out_in_turn
from optuna_mofs.samplers.ghga.guides import Guide, named_guide
from optuna_mofs.samplers.ghga.population import (
    elimination_places,
    reproductive_places,
    similar_pair,
    tournament,
)
from optuna_mofs.samplers.ghga.rows import RowVariation
from optuna_mofs.samplers.ghga.search import Search
from optuna_mofs.samplers.ghga.variation import (
    commonality_crossover,
    declining_rate,
    size_keeping_mutation,
    without_one_of_each,
)
from optuna_mofs.samplers.operators.mask_start import MaskStart, bernoulli_start, ensemble_start
from optuna_mofs.samplers.operators.survival import pareto_ranks

#: Tries to make a child, or a union, that no trial has.
_TRIES = 50


def size_budget(size: int, chosen: int) -> int:
    """As many evaluations as the set has features, at least 10."""
    return max(10, size)


class GHGASampler(HistorySampler):
    """Guided hybrid genetic algorithm: few evaluations, small sets, and all of the best ones.

    Jung and Zscheischler (2013): a guided hybrid genetic algorithm for feature selection with
    expensive cost functions. It looks for the smallest sets whose performance stays within a
    tolerance of the best one known, and for all of them. All finished trials form the archive.
    Phase 1 crosses and mutates sets from many regions. Phase 2 also leaves features out one by
    one, in the order that a guide advises, which learns from the archive. A set of which all
    smaller neighbours have been tried is a (local) optimum, and the search turns to other regions.

    The first value is the performance, in the study's direction; the number (or cost) of features
    is read off the mask. Read the result by :func:`optuna_mofs.optima`, and stop by
    :class:`optuna_mofs.StopWhenNothingNew`. ``docs/samplers/ghga.md`` says what differs from the
    paper and why.

    Args:
        tolerance: What may be lost of the best performance for a smaller set (ε), in units of the
            first value.
        guide: ``"forest"``, ``"frequency"``, ``"random"``, ``"none"`` (no elimination), or a
            function, see :mod:`optuna_mofs.samplers.ghga.guides`.
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
        block: Part of a set's features that an elimination first tries to leave out at once. Each
            failure halves it, down to one feature; 0 leaves out one at a time, as in the paper.
        renew: Probability that an elimination starts from all features but one of each optimum
            known; 0 as in the paper.
        merge: Probability that an elimination starts from the union of two similar local optima;
            0 as in the paper.
        start_size: Finished trials before the first child.
        start: Makes the first masks after the first one, which holds all features. By default
            half of them follow the filters, if there are any, and half are random.
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
        tolerance: float = 0.005,
        guide: str | Guide = "forest",
        retrain_every: int = 50,
        first_phase: int | None = None,
        niche_radius: float = 0.5,
        niche_size: int = 5,
        mutation_decline: float = 0.5,
        mutation_rate: float = 0.05,
        tournament_divisor: int = 5,
        budget: int | Callable[[int, int], int] = size_budget,
        block: float = 0.125,
        renew: float = 0.5,
        merge: float = 0.25,
        start_size: int = 20,
        start: MaskStart | None = None,
        value: int = 0,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        _within("tolerance", tolerance, 0, np.inf, open_low=True)
        self.tolerance = tolerance
        self.guide = guide
        self._guide = named_guide(guide, tolerance)
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
        self.block = _within("block", block, 0, 0.5)
        self.renew = _within("renew", renew, 0, 1)
        self.merge = _within("merge", merge, 0, 1)
        if renew + merge > 1:
            raise ValueError(
                f"renew and merge are probabilities of different starts and must not exceed 1 "
                f"together, but are {renew} and {merge}."
            )
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
        phase = self.first_phase or 2 * len(history.table.free)
        if iteration <= phase or self._guide is None:
            return self._child(history, search, rng, iteration, NO_CHAIN)
        if chain is not None and chain.spent < chain.budget:
            step = self._step(history, search, rng, latest, chain)
            if step is not None:
                return step
        if after >= 2 or latest == NO_CHAIN:
            begun = self._begin(history, search, rng, number)
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
            filters = table.ranks is not None and number % 2
            recipe = ensemble_start if filters else bernoulli_start
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
        phase = self.first_phase or 2 * search.archive.p
        rate = declining_rate(iteration, phase, self.mutation_decline, self.mutation_rate)
        archive = search.archive
        for _ in range(_TRIES):
            a, b = similar_pair(rng, members, archive.dissimilarity)
            if rng.random() < 0.5:
                a, b = b, a
            mask = archive.mask(a)
            tuned = self._rows.tunes(rng, history.space)
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
        operator = "tuning" if tuned else ("crossover" if a != b else "mutation")
        return Proposal(row, mask, operator, parents, {**memory, "after": after})

    def _begin(
        self, history: History, search: Search, rng: np.random.Generator, number: int
    ) -> Proposal | None:
        """The first trial of a new chain."""
        u = rng.random()
        if u < self.renew:
            made = self._renewal(history, search, rng, number)
        elif u < self.renew + self.merge:
            made = self._union(history, search, rng, number)
        else:
            made = None
        if made is not None:
            return made
        members = self._reproductive(search)
        inert = np.flatnonzero(search.archive.inert)
        places = elimination_places(members, inert, search.archive.dissimilarity)
        place = tournament(rng, places, self.tournament_divisor)
        first = int(search.archive.numbers[place])
        size = int(search.archive.sizes[place])
        chain = Chain(first, self._budget(size, search.trail.chosen(first) + 1))
        return self._step(history, search, rng, number, chain)

    def _step(
        self,
        history: History,
        search: Search,
        rng: np.random.Generator,
        name: int,
        chain: Chain,
    ) -> Proposal | None:
        """The next leave-one-out set of a chain, or None where all have been tried."""
        assert self._guide is not None

        def improves(trial: int, master: int) -> bool:
            return bool(search.cost[search.place(trial)] < search.cost[search.place(master)])

        master = chain.current(improves)
        place = search.place(master)
        mask = search.archive.mask(place)
        inside = np.flatnonzero(mask)
        if not len(inside):
            return None
        alone = np.repeat(mask[None], len(inside), axis=0)
        alone[np.arange(len(inside)), inside] = False
        predict = search.prediction(history, self._guide, self.retrain_every)
        order = inside[np.argsort(-predict(alone, rng), kind="stable")]
        row = self._rows.whole(rng, history.space, search.row(history, place))
        for left_out in left_out_in_turn(order, self.block, chain.tried(master)):
            thinner = mask.copy()
            thinner[left_out] = False
            if search.archive.place(thinner) is not None:
                continue
            if (master, frozenset(left_out.tolist())) in chain.waiting:
                continue
            if _is_known(history, row, thinner):
                continue
            memory = {
                **self._rows.memory(search.note(history, place)),
                "chain": name,
                "first": chain.first,
                "master": master,
                "left_out": left_out.tolist(),
                "budget": chain.budget,
            }
            return Proposal(row, thinner, "elimination", (master,), memory)
        return None

    def _union(
        self, history: History, search: Search, rng: np.random.Generator, number: int
    ) -> Proposal | None:
        """The union of two similar local optima, from which a chain then starts."""
        archive = search.archive
        optima = np.flatnonzero(archive.inert & (archive.sizes > 1))
        if len(optima) < 2:
            return None
        for _ in range(_TRIES):
            a, b = similar_pair(rng, optima, archive.dissimilarity)
            mask = archive.mask(a) | archive.mask(b)
            near = archive.dissimilarity(a, np.array([b]))[0] < self.niche_radius
            if near and archive.place(mask) is None:
                better = min(a, b, key=lambda place: search.cost[place])
                row = self._rows.whole(rng, history.space, search.row(history, better))
                if _is_known(history, row, mask):
                    continue
                parents = (int(archive.numbers[a]), int(archive.numbers[b]))
                memory = self._made_for(history, search, better, mask, number)
                return Proposal(row, mask, "union", parents, memory)
        return None

    def _renewal(
        self, history: History, search: Search, rng: np.random.Generator, number: int
    ) -> Proposal | None:
        """All features but one of each optimum known: what is left can only hold others."""
        archive = search.archive
        known = search.optima()
        mask = without_one_of_each(rng, archive.unpacked(known), archive.p)
        if archive.place(mask) is not None:
            return None
        best = int(np.argmin(search.cost))
        row = self._rows.whole(rng, history.space, search.row(history, best))
        if _is_known(history, row, mask):
            return None
        parents = tuple(sorted(archive.numbers[known].tolist()))
        memory = self._made_for(history, search, best, mask, number)
        return Proposal(row, mask, "renewal", parents, memory)

    # ---- inside -------------------------------------------------------------------------------

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

    def _budget(self, size: int, chosen: int) -> int:
        return int(self.budget(size, chosen) if callable(self.budget) else self.budget)

    def _made_for(
        self, history: History, search: Search, row_of: int, mask: Array, number: int
    ) -> dict[str, Any]:
        """What is remembered of a set that a chain starts from; it costs one evaluation more."""
        return {
            **self._rows.memory(search.note(history, row_of)),
            "chain": number,
            "budget": 1 + self._budget(int(mask.sum()), 1),
        }

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
        """No features to select: children of the better half."""
        if len(history) < self.start_size:
            row, memory = self._rows.first(rng, history.space)
            return Proposal(row, None, "random", memory=memory)
        ranks = pareto_ranks(history.values, history.violations)
        better = np.argsort(ranks, kind="stable")[: -(-len(ranks) // 2)]
        a, b = (int(i) for i in rng.choice(better, 2))
        row, memory = self._rows.child(
            rng, history.space, (history.rows[a], history.rows[b]), history.notes[a], always=True
        )
        parents = tuple(dict.fromkeys((int(history.numbers[a]), int(history.numbers[b]))))
        return Proposal(row, None, "tuning", parents, memory)


def _is_known(history: History, row: Array, mask: Array) -> bool:
    """Whether a trial that failed or runs has this configuration."""
    assert history.codec is not None
    chosen, _ = history.codec.encode(mask)
    return history.is_known({**chosen, **history.space.decode(row)})


def _within(name: str, value: Any, low: float, high: float, *, open_low: bool = False) -> Any:
    inside = low < value <= high if open_low else low <= value <= high
    if not inside:
        bounds = f"above {low}" if open_low else f"at least {low}"
        if high < np.inf:
            bounds += f" and at most {high}"
        raise ValueError(f"{name} must be {bounds}, but is {value}.")
    return value
