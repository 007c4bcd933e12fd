"""The next step of an elimination, and where eliminations start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers._row_operators import RowVariation
from optuna_mofs.samplers.ghga._archive import Archive
from optuna_mofs.samplers.ghga._chains import Chain, EliminationStep, left_out_in_turn
from optuna_mofs.samplers.ghga._guides import Guide
from optuna_mofs.samplers.ghga._state import Search, elimination_places, similar_pair, tournament

#: Evaluations that an elimination may spend, from the set's size and how often it was chosen.
Budget = Callable[[int, int], int]
#: Features are left out together while the suspicion of all of them is below this.
_LIKELY = 0.5
#: Tries to find a union that no trial has.
_TRIES = 50


def size_budget(size: int, chosen: int) -> int:
    """As many evaluations as the set has features, at least 10."""
    return max(10, size)


@dataclass(frozen=True)
class Elimination:
    """Proposes the trials of chains; the arguments are those of :class:`GHGASampler`.

    ``n_conflicts`` is how often the proposal gave way to another worker's.
    """

    history: History
    rows: RowVariation
    guide: Guide = field(kw_only=True)
    retrain_every: int = field(kw_only=True)
    budget: int | Budget = field(kw_only=True)
    block: float = field(kw_only=True)
    slack: float = field(kw_only=True)
    demote: bool = field(kw_only=True)
    renew: float = field(kw_only=True)
    merge: float = field(kw_only=True)
    radius: float = field(kw_only=True)
    n_conflicts: int = field(kw_only=True)
    filtered: bool = field(kw_only=True)
    longest: int | None = field(kw_only=True)
    tournament_divisor: int = field(kw_only=True)

    def begin(
        self, search: Search, rng: np.random.Generator, members: Array, number: int
    ) -> Proposal | None:
        """The first trial of a new chain.

        Args:
            search: What is known.
            rng: Generator.
            members: Places of the reproductive population, best first.
            number: Number of the trial, which names the chain.
        """
        u = rng.random()
        made = None
        if u < self.renew:
            made = self._renewal(search, rng, number)
        elif u < self.renew + self.merge:
            made = self._union(search, rng, number)
        if made is not None:
            return made
        inert = np.flatnonzero(search.archive.inert)
        places = elimination_places(members, inert, search.archive.dissimilarity)
        place = tournament(rng, places, self.tournament_divisor)
        return self.step(search, rng, number, self._chain(search, place))

    def step(
        self, search: Search, rng: np.random.Generator, name: int, chain: Chain
    ) -> Proposal | None:
        """The next, thinner set of a chain, or None where all have been tried."""
        if chain.against:
            place = search.place(chain.first)
            order = self._order(search, rng, name, chain, place, np.array(chain.against))
            return self._first_new(
                search, rng, name, chain, chain.first, left_out_in_turn(order, 1, 0)
            )

        @cache
        def advances(trial: int, master: int) -> bool:
            return search.gain(search.place(trial), search.place(master), self.slack) > 0

        master = chain.current(advances, search.best_step)
        place = search.place(master)
        if chain.renewed and search.hopeless(place):
            return None
        mask = search.archive.mask(place)
        order = self._order(search, rng, name, chain, place, np.flatnonzero(mask))
        largest = int(self.block * len(order))
        if self.demote:
            suspicion = chain.suspicion(mask, advances)
            order = order[np.argsort(suspicion[order], kind="stable")]
            # As many as are more likely all dispensable than not.
            likely = np.count_nonzero(np.cumsum(suspicion[order]) < _LIKELY)
            largest = min(largest, int(likely))
        turns = left_out_in_turn(order, largest, chain.tried(master))
        return self._first_new(search, rng, name, chain, master, turns)

    def _order(
        self,
        search: Search,
        rng: np.random.Generator,
        name: int,
        chain: Chain,
        place: int,
        features: Array,
    ) -> Array:
        """Features of a set in the guide's order, the most dispensable first."""
        if not len(features):
            return features
        thinner = np.repeat(search.archive.mask(place)[None], len(features), axis=0)
        thinner[np.arange(len(features)), features] = False
        predict = search.prediction(
            self.history,
            self.guide,
            self.retrain_every,
            before=name if self.renew == 0 else None,
            of_all=self.renew == 0 or (self.filtered and not chain.against and not chain.renewed),
        )
        order: Array = features[np.argsort(-predict(thinner, rng), kind="stable")]
        return order

    def _first_new(
        self,
        search: Search,
        rng: np.random.Generator,
        name: int,
        chain: Chain,
        master: int,
        turns: Iterable[Array],
    ) -> Proposal | None:
        """The first of several thinner sets that no trial has.

        After giving way to another worker it is one of the next few, by chance: both go by the
        same order, and would meet again.
        """
        place = search.place(master)
        mask = search.archive.mask(place)
        passed = int(rng.integers(2**self.n_conflicts))
        made = None
        row = self.rows.whole(rng, self.history.space, search.row(self.history, place))
        for left_out in turns:
            thinner = mask.copy()
            thinner[left_out] = False
            tried = EliminationStep(master, tuple(left_out.tolist()))
            if search.archive.place(thinner) is not None or tried in chain.waiting:
                continue
            if self.history.contains(row, thinner):
                continue
            memory = self.rows.memory(self.history.space, search.note(self.history, place))
            operator = "probe" if chain.against else "elimination"
            memory = {**memory, **chain.note(name, tried)}
            made = Proposal(row, thinner, operator, (master,), memory)
            if not passed:
                break
            passed -= 1
        return made

    def _renewal(self, search: Search, rng: np.random.Generator, number: int) -> Proposal | None:
        """A probe, or an elimination from a set that holds none of the optima known."""
        archive, trail = search.archive, search.trail
        if archive.place(np.ones(archive.p, dtype=bool)) is None:
            return self._all_features(search, rng)
        probes = {(search.place(first), against) for first, against in trail.probes}
        started = set(map(search.place, trail.renewed))
        while True:
            stop = walk(archive, search.optima(), probes, started)
            if stop is None:
                return None
            chain = self._chain(search, stop.place)
            if stop.against:
                chain = replace(chain, against=stop.against, budget=len(stop.against))
                probes.add((stop.place, stop.against))
            else:
                chain = replace(chain, renewed=True)
                started.add(stop.place)
            made = self.step(search, rng, number, chain)
            if made is not None:
                return made
            # All sets that it leads to were tried already: walk on as if it were done.

    def _all_features(self, search: Search, rng: np.random.Generator) -> Proposal | None:
        """The set that renewals start from, where the first trial had another one."""
        best = search.best
        row = self.rows.whole(rng, self.history.space, search.row(self.history, best))
        mask = np.ones(search.archive.p, dtype=bool)
        if self.history.contains(row, mask):
            return None
        memory = self.rows.memory(self.history.space, search.note(self.history, best))
        return Proposal(row, mask, "all", memory=memory)

    def _union(self, search: Search, rng: np.random.Generator, number: int) -> Proposal | None:
        """The union of two similar local optima, from which a chain then starts."""
        archive = search.archive
        optima = np.flatnonzero(archive.inert & (archive.sizes > 1))
        # Not as they arrived: workers end in any order.
        optima = optima[np.argsort(archive.numbers[optima])]
        if len(optima) < 2:
            return None
        for _ in range(_TRIES):
            a, b = similar_pair(rng, optima, archive.dissimilarity)
            mask = archive.mask(a) | archive.mask(b)
            near = archive.dissimilarity(a, np.array([b]))[0] < self.radius
            if near and archive.place(mask) is None:
                better = min(a, b, key=lambda k: (search.cost[k], archive.numbers[k]))
                row = self.rows.whole(rng, self.history.space, search.row(self.history, better))
                if self.history.contains(row, mask):
                    continue
                parents = (int(archive.numbers[a]), int(archive.numbers[b]))
                memory = {
                    **self.rows.memory(self.history.space, search.note(self.history, better)),
                    "chain": number,
                    "budget": self._budget(int(mask.sum()), 1),
                }
                return Proposal(row, mask, "union", parents, memory)
        return None

    def _chain(self, search: Search, place: int) -> Chain:
        """A new chain that starts from a set in the archive."""
        first = int(search.archive.numbers[place])
        size = int(search.archive.sizes[place])
        return Chain(first, self._budget(size, search.trail.chosen(first) + 1))

    def _budget(self, size: int, chosen: int) -> int:
        budget = int(self.budget(size, chosen) if callable(self.budget) else self.budget)
        return budget if self.longest is None else min(budget, self.longest)


@dataclass(frozen=True)
class Stop:
    """Where a walk ended.

    Args:
        place: Of the set.
        against: Features of the optimum in it that was not probed yet; none if it is free of
            optima, and worth an elimination.
    """

    place: int
    against: tuple[int, ...] = ()


def walk(
    archive: Archive,
    known: Array,
    probes: Collection[tuple[int, tuple[int, ...]]],
    started: Collection[int],
) -> Stop | None:
    """Go down from the set of all features until something is to be done.

    Of the sets that a probe made the best one is taken, where each elimination below it that found
    nothing counts as much as one better set. Sets that are worse than most are left alone, as
    everywhere (Algorithm 2).

    Args:
        archive: All sets tried.
        known: Places of the optima known.
        probes: The probes made: the place they started from, and the features.
        started: Places of sets from which eliminations started after a walk.

    Returns:
        None if there is nothing left to be done, or the set of all features is not there.
    """
    root = archive.place(np.ones(archive.p, dtype=bool))
    if root is None:
        return None
    # Oldest first, so that the tree stays the same when others are found.
    known = known[np.argsort(archive.numbers[known], kind="stable")]
    begun = np.array(sorted(started), dtype=np.intp)
    fruitless = begun[~archive.holds(begun, known).any(axis=1)]
    middle = np.median(archive.losses)
    exhausted: set[int] = set()
    while root not in exhausted:
        nodes, above = [root], root
        while True:
            left = [node for node in nodes if node not in exhausted]
            place = _best(archive, left, fruitless, middle)
            if place is None:
                # Nothing is left below: go back to the top, and down another way.
                exhausted.add(above)
                break
            inside = archive.holds(np.array([place]), known)[0]
            if not inside.any():
                return Stop(place)
            against = tuple(np.flatnonzero(archive.mask(known[np.argmax(inside)])).tolist())
            nodes, above = _without_one(archive, place, against), place
            if len(nodes) < len(against) and (place, against) not in probes:
                return Stop(place, against)
    return None


def _without_one(archive: Archive, place: int, features: tuple[int, ...]) -> list[int]:
    """Places of the sets that lack one of some features of a set, as far as they were tried."""
    mask = archive.mask(place)
    nodes = []
    for feature in features:
        mask[feature] = False
        node = archive.place(mask)
        mask[feature] = True
        if node is not None:
            nodes.append(node)
    return nodes


def _best(archive: Archive, nodes: list[int], fruitless: Array, middle: float) -> int | None:
    """The node of the least rank, those at or below fruitless ones left out."""
    ranked = np.array(nodes, dtype=np.intp)
    ranked = ranked[np.lexsort((archive.numbers[ranked], archive.losses[ranked]))]
    ranks = np.arange(len(ranked)) + archive.holds(ranked, fruitless).sum(axis=1)
    open_ = (archive.losses[ranked] <= middle) & ~archive.holds(fruitless, ranked).any(axis=0)
    if not open_.any():
        return None
    return int(ranked[open_][np.argmin(ranks[open_])])
