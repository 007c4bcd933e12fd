"""Guided elimination: where a chain starts, and its next step (section 2.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optuna_mofs.features.table import Array
from optuna_mofs.history import History
from optuna_mofs.samplers.base import Proposal
from optuna_mofs.samplers.ghga.chains import Chain, Try, left_out_in_turn
from optuna_mofs.samplers.ghga.guides import Guide
from optuna_mofs.samplers.ghga.population import elimination_places, similar_pair, tournament
from optuna_mofs.samplers.ghga.rows import RowVariation
from optuna_mofs.samplers.ghga.search import Search
from optuna_mofs.samplers.ghga.variation import without_one_of_each

#: Evaluations that an elimination may spend, from the set's size and how often it was chosen.
Budget = Callable[[int, int], int]

#: Tries to find a union that no trial has.
_TRIES = 50


def size_budget(size: int, chosen: int) -> int:
    """As many evaluations as the set has features, at least 10."""
    return max(10, size)


@dataclass(frozen=True)
class Elimination:
    """Proposes the trials of chains; the arguments are those of :class:`GHGASampler`."""

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
        if u < self.renew:
            made = self._renewal(search, rng, number)
        elif u < self.renew + self.merge:
            made = self._union(search, rng, number)
        else:
            made = None
        if made is not None:
            return made
        inert = np.flatnonzero(search.archive.inert)
        places = elimination_places(members, inert, search.archive.dissimilarity)
        return self._from(search, rng, tournament(rng, places, self.tournament_divisor), number)

    def _from(
        self, search: Search, rng: np.random.Generator, place: int, number: int
    ) -> Proposal | None:
        """The first step of a chain that starts from a set in the archive."""
        first = int(search.archive.numbers[place])
        size = int(search.archive.sizes[place])
        chain = Chain(first, self._budget(size, search.trail.chosen(first) + 1))
        return self.step(search, rng, number, chain)

    def step(
        self, search: Search, rng: np.random.Generator, name: int, chain: Chain
    ) -> Proposal | None:
        """The next, thinner set of a chain, or None where all have been tried."""

        def advances(trial: int, master: int) -> bool:
            return search.gain(search.place(trial), search.place(master), self.slack) > 0

        master = chain.current(advances, search.best_step)
        place = search.place(master)
        mask = search.archive.mask(place)
        inside = np.flatnonzero(mask)
        if not len(inside):
            return None
        alone = np.repeat(mask[None], len(inside), axis=0)
        alone[np.arange(len(inside)), inside] = False
        predict = search.prediction(self.history, self.guide, self.retrain_every)
        suspicion = np.zeros(len(inside))
        if self.demote:
            suspicion = chain.suspicion(len(mask), advances)[inside]
        order = inside[np.lexsort((-predict(alone, rng), suspicion))]
        largest = min(int(self.block * len(inside)), int(np.count_nonzero(suspicion == 0)))
        row = self.rows.whole(rng, self.history.space, search.row(self.history, place))
        for left_out in left_out_in_turn(order, largest, chain.tried(master)):
            thinner = mask.copy()
            thinner[left_out] = False
            if search.archive.place(thinner) is not None:
                continue
            if Try(master, tuple(left_out.tolist())) in chain.waiting:
                continue
            if self._is_known(row, thinner):
                continue
            memory = {
                **self.rows.memory(self.history.space, search.note(self.history, place)),
                "chain": name,
                "first": chain.first,
                "master": master,
                "left_out": left_out.tolist(),
                "budget": chain.budget,
            }
            return Proposal(row, thinner, "elimination", (master,), memory)
        return None

    def _union(self, search: Search, rng: np.random.Generator, number: int) -> Proposal | None:
        """The union of two similar local optima, from which a chain then starts."""
        archive = search.archive
        optima = np.flatnonzero(archive.inert & (archive.sizes > 1))
        if len(optima) < 2:
            return None
        for _ in range(_TRIES):
            a, b = similar_pair(rng, optima, archive.dissimilarity)
            mask = archive.mask(a) | archive.mask(b)
            near = archive.dissimilarity(a, np.array([b]))[0] < self.radius
            if near and archive.place(mask) is None:
                better = min(a, b, key=lambda place: search.cost[place])
                row = self.rows.whole(rng, self.history.space, search.row(self.history, better))
                if self._is_known(row, mask):
                    continue
                parents = (int(archive.numbers[a]), int(archive.numbers[b]))
                memory = self._made_for(search, better, mask, number)
                return Proposal(row, mask, "union", parents, memory)
        return None

    def _renewal(self, search: Search, rng: np.random.Generator, number: int) -> Proposal | None:
        """All features but one of each optimum known: what is left can only hold others."""
        archive = search.archive
        known = search.optima()
        mask = without_one_of_each(rng, archive.unpacked(known), archive.p)
        place = archive.place(mask)
        if place is not None:
            return self._from(search, rng, place, number)
        best = int(np.argmin(search.cost))
        row = self.rows.whole(rng, self.history.space, search.row(self.history, best))
        if self._is_known(row, mask):
            return None
        parents = tuple(sorted(archive.numbers[known].tolist()))
        memory = self._made_for(search, best, mask, number)
        return Proposal(row, mask, "renewal", parents, memory)

    def _made_for(self, search: Search, row_of: int, mask: Array, number: int) -> dict[str, Any]:
        """What is remembered of a set that was made for a chain to start from."""
        return {
            **self.rows.memory(self.history.space, search.note(self.history, row_of)),
            "chain": number,
            "budget": self._budget(int(mask.sum()), 1),
        }

    def _budget(self, size: int, chosen: int) -> int:
        return int(self.budget(size, chosen) if callable(self.budget) else self.budget)

    def _is_known(self, row: Array, mask: Array) -> bool:
        """Whether a trial that failed or runs has this configuration."""
        assert self.history.codec is not None
        chosen, _ = self.history.codec.encode(mask)
        return self.history.is_known({**chosen, **self.history.space.decode(row)})
