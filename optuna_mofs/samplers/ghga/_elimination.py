"""The next step of an elimination, and where eliminations start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._row_operators import fill_missing
from optuna_mofs.samplers.ghga._archive import Archive
from optuna_mofs.samplers.ghga._chains import (
    Chain,
    EliminationStep,
    GHGANote,
    removal_candidates,
)
from optuna_mofs.samplers.ghga._state import (
    ArchiveState,
    elimination_population,
    similar_pair,
    tournament,
)

if TYPE_CHECKING:
    from optuna_mofs.samplers.ghga._sampler import GHGASettings

#: Function of (set size, times chosen) that returns how many evaluations a chain may spend.
Budget = Callable[[int, int], int]
#: Features are removed together while the suspicion of all of them is below this.
_MAX_SUSPICION = 0.5
#: Attempts to find a union that no trial has.
_MAX_UNIONS = 50


@dataclass(frozen=True)
class Elimination:
    """Proposes the trials of chains."""

    ctx: ProposalContext
    state: ArchiveState
    settings: GHGASettings
    #: Limit of the budget of every chain, if any.
    max_budget: int | None
    #: Whether filters rank the features. Only probes and restarts then avoid supersets of known
    #: optima when the guide is fitted.
    use_filters: bool

    def begin(self, members: Array) -> Proposal | None:
        """Return the first trial of a new chain, given the reproductive population, best first."""
        state, settings, rng = self.state, self.settings, self.ctx.rng
        u, proposal = rng.random(), None
        if u < settings.restart_prob:
            proposal = self._restart()
        elif u < settings.restart_prob + settings.merge_prob:
            proposal = self._union()
        if proposal is not None:
            return proposal
        inert = np.flatnonzero(state.archive.inert)
        positions = elimination_population(members, inert, state.archive.dissimilarity)
        position = tournament(rng, positions, settings.tournament_divisor)
        return self.step(self.ctx.trial_number, self._chain(position))

    def step(self, name: int, chain: Chain) -> Proposal | None:
        """Return the next smaller set of a chain, or None if all have been tried."""
        state, settings = self.state, self.settings
        if chain.probed_features:
            position = state.position(chain.start)
            order = self._order(name, chain, position, np.array(chain.probed_features))
            return self._first_new(name, chain, chain.start, removal_candidates(order, 1, 0))

        @cache
        def improves(trial: int, master: int) -> bool:
            return state.improves(
                state.position(trial), state.position(master), settings.max_penalty_increase
            )

        master = chain.current(improves, None if settings.as_printed else state.best_step)
        position = state.position(master)
        if chain.is_restart and state.cannot_improve(position):
            return None
        mask = state.archive.masks(position)
        order = self._order(name, chain, position, np.flatnonzero(mask))
        block_size = int(settings.block_fraction * len(order))
        if settings.demote_suspects:
            suspicion = chain.suspicion(mask, improves)
            order = order[np.argsort(suspicion[order], kind="stable")]
            # The largest block that more likely contains only dispensable features than not.
            n_likely = np.count_nonzero(np.cumsum(suspicion[order]) < _MAX_SUSPICION)
            block_size = min(block_size, int(n_likely))
        candidates = removal_candidates(order, block_size, chain.n_steps_from(master))
        return self._first_new(name, chain, master, candidates)

    def _order(self, name: int, chain: Chain, position: int, features: Array) -> Array:
        """Return features of a set in the guide's order, the most dispensable first."""
        if not len(features):
            return features
        smaller = _without_each(self.state.archive.masks(position), features)
        no_restarts = self.settings.restart_prob == 0
        is_plain = not chain.probed_features and not chain.is_restart
        predict = self.state.prediction(
            before=name if no_restarts else None,
            include_supersets=no_restarts or (self.use_filters and is_plain),
        )
        scores = predict(smaller, self.ctx.rng)
        return features[np.argsort(-scores, kind="stable")]

    def _first_new(
        self, name: int, chain: Chain, master: int, candidates: Iterable[Array]
    ) -> Proposal | None:
        """Return the first of several smaller sets that no trial has.

        After a conflict with another worker it is one of the next few, by chance: both workers
        follow the same order and would collide again.
        """
        ctx, state = self.ctx, self.state
        position = state.position(master)
        mask = state.archive.masks(position)
        n_skipped, proposal = int(ctx.rng.integers(2**ctx.n_conflicts)), None
        row, inherited = self._inherited(position)
        for removed in candidates:
            smaller = mask.copy()
            smaller[removed] = False
            step = EliminationStep(master, tuple(removed.tolist()))
            is_tried = state.archive.position(smaller) is not None or step in chain.running
            is_tried |= not state.table.allows(smaller)
            if is_tried or ctx.history.contains(row, smaller):
                continue
            proposal = Proposal(row, smaller, chain.note(name, step, inherited))
            if not n_skipped:
                break
            n_skipped -= 1
        return proposal

    def _inherited(self, position: int) -> tuple[Array, GHGANote]:
        """Return row and note as inherited from a set; missing parameters are drawn."""
        row, note = self.state.inherited(position)
        return fill_missing(self.ctx.rng, self.ctx.history.space, row), note

    # ---- where chains start -------------------------------------------------------------------

    def _restart(self) -> Proposal | None:
        """Return a probe, or an elimination from a set that contains no known optimum."""
        state, archive = self.state, self.state.archive
        mask = np.ones(archive.n_features, dtype=bool)
        if archive.position(mask) is None:
            # The first trial had another set: restarts begin with that of all features.
            row, note = self._inherited(state.best)
            if not state.table.allows(mask) or self.ctx.history.contains(row, mask):
                return None
            return Proposal(row, mask, replace(note, operator="all_features"))
        probes = {(state.position(start), probed) for start, probed in state.chains.probes}
        started = set(map(state.position, state.chains.restarts))
        while True:
            point = next_restart(archive, state.optima(), probes, started)
            if point is None:
                return None
            position, probed = point
            if probed:
                chain = Chain(int(archive.numbers[position]), len(probed), probed_features=probed)
                probes.add(point)
            else:
                chain = replace(self._chain(position), is_restart=True)
                started.add(position)
            proposal = self.step(self.ctx.trial_number, chain)
            if proposal is not None:
                return proposal
            # All sets that it leads to were tried already: continue as if it were completed.

    def _union(self) -> Proposal | None:
        """Return the union of two similar local optima, from which a chain then starts."""
        archive, cost, rng = self.state.archive, self.state.cost, self.ctx.rng
        optima = np.flatnonzero(archive.inert & (archive.sizes > 1))
        # By number, not by arrival: trials complete in any order.
        optima = optima[np.argsort(archive.numbers[optima])]
        if len(optima) < 2:
            return None
        for _ in range(_MAX_UNIONS):
            a, b = similar_pair(rng, optima, archive.dissimilarity)
            mask = self.state.table.limited(archive.masks(a) | archive.masks(b))
            near = archive.dissimilarity(a, np.array([b]))[0] < self.settings.niche_radius
            if not near or archive.position(mask) is not None:
                continue
            better = min(a, b, key=lambda k: (cost[k], archive.numbers[k]))
            row, inherited = self._inherited(better)
            if self.ctx.history.contains(row, mask):
                continue
            note = replace(
                inherited,
                operator="union",
                parents=(int(archive.numbers[a]), int(archive.numbers[b])),
                chain=self.ctx.trial_number,
                budget=self._budget(int(mask.sum()), 1),
            )
            return Proposal(row, mask, note)
        return None

    def _chain(self, position: int) -> Chain:
        """Return a new chain that starts from a set in the archive."""
        start = int(self.state.archive.numbers[position])
        size = int(self.state.archive.sizes[position])
        return Chain(start, self._budget(size, self.state.chains.n_chains_from[start] + 1))

    def _budget(self, size: int, n_chosen: int) -> int:
        budget = self.settings.budget
        if budget is None:
            budget = max(10, size)
        elif callable(budget):
            budget = int(budget(size, n_chosen))
        return budget if self.max_budget is None else min(budget, self.max_budget)


class RestartPoint(NamedTuple):
    """Position of a set, and the features of an optimum in it that was not probed yet.

    If there are none, the set contains no optimum, and an elimination can start from it.
    """

    position: int
    probed_features: tuple[int, ...] = ()


def next_restart(
    archive: Archive,
    optima: Array,
    probes: Collection[tuple[int, tuple[int, ...]]],
    started: Collection[int],
) -> RestartPoint | None:
    """Descend from the set of all features to the next probe or elimination.

    The sets below a probe are ordered by loss, where each elimination below a set that found
    nothing counts as much as one better set. Sets worse than the median are skipped, as everywhere
    (Algorithm 2). Return None if nothing is left to do, or if the set of all features was not
    tried.

    Args:
        archive: All sets tried.
        optima: Positions of the known optima.
        probes: The probes made: the position they started from, and the probed features.
        started: Positions of sets from which restarts began an elimination.
    """
    root = archive.position(np.ones(archive.n_features, dtype=bool))
    if root is None:
        return None
    # Oldest first, so that the tree stays the same when others are found.
    optima = optima[np.argsort(archive.numbers[optima], kind="stable")]
    begun = np.array(sorted(started), dtype=np.intp)
    fruitless = begun[~archive.contains(begun, optima).any(axis=1)]
    median = np.median(archive.losses)
    exhausted: set[int] = set()
    while root not in exhausted:
        nodes, above = [root], root
        while True:
            left = [node for node in nodes if node not in exhausted]
            position = _best_node(archive, left, fruitless, median)
            if position is None:
                # Nothing is left below: go back to the top, and down another way.
                exhausted.add(above)
                break
            inside = archive.contains(np.array([position]), optima)[0]
            if not inside.any():
                return RestartPoint(position)
            features = np.flatnonzero(archive.masks(optima[np.argmax(inside)]))
            below = map(archive.position, _without_each(archive.masks(position), features))
            nodes, above = [node for node in below if node is not None], position
            probed = tuple(features.tolist())
            if len(nodes) < len(probed) and (position, probed) not in probes:
                return RestartPoint(position, probed)
    return None


def _without_each(mask: Array, features: Array) -> Array:
    """Return one mask per feature, without that feature."""
    return mask & (np.arange(len(mask)) != features[:, None])


def _best_node(archive: Archive, nodes: list[int], fruitless: Array, median: float) -> int | None:
    """Return the node of the lowest rank, except those at or below fruitless ones."""
    ranked = np.array(nodes, dtype=np.intp)
    ranked = ranked[np.lexsort((archive.numbers[ranked], archive.losses[ranked]))]
    ranks = np.arange(len(ranked)) + archive.contains(ranked, fruitless).sum(axis=1)
    is_open = archive.losses[ranked] <= median
    is_open &= ~archive.contains(fruitless, ranked).any(axis=0)
    if not is_open.any():
        return None
    return int(ranked[is_open][np.argmin(ranks[is_open])])
