"""Elimination chains, read from the notes on the trials.

A chain is a guided elimination (Algorithm 4) or a probe (:mod:`._elimination`). The note on each
of its trials has the name of the chain (the number of its first trial), the trial it was made from
(its master) and the chain's budget. The state of a chain is computed from these notes, so that it
survives a kill.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers._row_operators import AdaptiveNote

#: Name of no chain.
NO_CHAIN = -1


@dataclass(frozen=True)
class GHGANote(AdaptiveNote):
    """The note of :class:`GHGASampler` on a trial.

    Args:
        after_chain: For a child: the latest chain at that time, ``NO_CHAIN`` if there was none.
        chain: For a trial of a chain: number of the chain's first trial, which names the chain.
        chain_start: Number of the trial whose set the chain started from; None if that set was
            made for the chain by this trial.
        master: Number of the trial whose set was reduced.
        removed_features: Positions of the features that were removed from the master's set.
        budget: Evaluations that the chain may spend.
        probed_features: For a probe: the features of which each is removed once.
        is_restart: Whether the chain is an elimination that a restart began.
    """

    after_chain: int | None = None
    chain: int | None = None
    chain_start: int | None = None
    master: int | None = None
    removed_features: tuple[int, ...] = ()
    budget: int = 0
    probed_features: tuple[int, ...] = ()
    is_restart: bool = False


class EliminationStep(NamedTuple):
    """One trial of a chain: the trial it was made from, and the features that were removed."""

    master: int
    removed_features: tuple[int, ...]


@dataclass
class Chain:
    """One elimination, or one probe; see :class:`GHGANote` for the fields without a comment."""

    #: Number of the trial whose mask it started from.
    start: int
    budget: int
    #: Its completed trials by number.
    steps: dict[int, EliminationStep] = field(default_factory=dict)
    #: Its trials that are still running.
    running: list[EliminationStep] = field(default_factory=list)
    probed_features: tuple[int, ...] = ()
    is_restart: bool = False

    def note(self, name: int, step: EliminationStep, inherited: GHGANote) -> GHGANote:
        """Return the note on a trial of the chain with this name.

        ``inherited`` has the master's step size and switching probability.
        """
        return replace(
            inherited,
            operator="probe" if self.probed_features else "elimination",
            parents=(step.master,),
            chain=name,
            chain_start=self.start,
            master=step.master,
            removed_features=step.removed_features,
            budget=self.budget,
            probed_features=self.probed_features,
            is_restart=self.is_restart,
        )

    @property
    def n_evaluations(self) -> int:
        """Evaluations so far, including running ones."""
        return len(self.steps) + len(self.running)

    def current(
        self,
        improves: Callable[[int, int], bool],
        best_step: Callable[[int], int | None] | None = None,
    ) -> int:
        """Return the trial whose features are removed next.

        It is the deepest trial that improved on its master, the earliest of equally deep ones. A
        trial that completes late can only take the chain deeper, never back.

        Args:
            improves: Function of the numbers of a trial and its master.
            best_step: Function of a trial that returns the trial to continue from if all its steps
                are known, None to stay. Without it, a chain never moves to a set of another chain.
        """
        depth = {self.start: 0}
        while True:
            left = {n: step.master for n, step in self.steps.items() if n not in depth}
            while reached := {n: master for n, master in left.items() if master in depth}:
                for number, master in reached.items():
                    del left[number]
                    if improves(number, master):
                        depth[number] = depth[master] + 1
            deepest = min(depth, key=lambda trial: (-depth[trial], trial))
            onward = None if best_step is None else best_step(deepest)
            if onward is None or onward in depth:
                return deepest
            depth[onward] = depth[deepest] + 1

    def n_steps_from(self, master: int) -> int:
        """Return how many sets were made from a master, including running ones."""
        return sum(step.master == master for step in (*self.steps.values(), *self.running))

    def suspicion(self, mask: Array, improves: Callable[[int, int], bool]) -> Array:
        """Return how likely each feature left in a mask explains that a step of the chain failed.

        At least one feature that a failed step removed is needed. Features that have been removed
        since are not; if removing some of them alone failed too, that explains the failure. The
        suspicion is shared evenly among the others. A running step counts as failed, so that
        several workers try different features. ``improves`` is as for :meth:`current`.
        """
        failed = [step for number, step in self.steps.items() if not improves(number, step.master)]
        suspects = {
            frozenset(j for j in step.removed_features if mask[j])
            for step in (*failed, *self.running)
        }
        suspicion = np.zeros(len(mask))
        for group in suspects:
            if group and not any(other < group for other in suspects if other):
                suspicion[list(group)] += 1 / len(group)
        return suspicion


def removal_candidates(order: Array, block_size: int, n_failed: int) -> Iterator[Array]:
    """Yield which features of a set to remove, first choice first.

    Args:
        order: Its features, the most dispensable first.
        block_size: How many features are removed together at first; each failed step halves it.
        n_failed: Number of failed steps so far.

    Example:
        >>> [removed.tolist() for removed in removal_candidates(np.arange(8), 4, n_failed=1)][:3]
        [[0, 1], [0], [1]]
    """
    size = block_size >> min(n_failed, 60)
    while size > 1:
        yield order[:size]
        size //= 2
    for k in range(len(order)):
        yield order[k : k + 1]


class Progress(NamedTuple):
    """Progress of the search."""

    #: Name of the latest chain, or ``NO_CHAIN``.
    latest: int
    #: The latest chain; None if there is none, or if the set it starts from is still running.
    chain: Chain | None
    #: Children made after the latest chain began.
    n_children_since: int
    #: All children.
    n_children: int


class ChainLog:
    """Chains and children of all trials.

    Completed trials are added once and in any order; running ones are given to :meth:`progress`.
    """

    def __init__(self) -> None:
        self._completed: set[int] = set()
        self._chains: dict[int, list[tuple[int, GHGANote]]] = {}
        self._n_children: Counter[int] = Counter()
        #: Number of chains that started from each trial, t(c).
        self.n_chains_from: Counter[int] = Counter()
        #: Trials from which restarts began an elimination.
        self.restarts: set[int] = set()
        #: Probes: the trial they started from, and the probed features.
        self.probes: set[tuple[int, tuple[int, ...]]] = set()

    def add(self, number: int, note: GHGANote) -> None:
        """Add a completed trial."""
        self._completed.add(number)
        if note.after_chain is not None:
            self._n_children[note.after_chain] += 1
        if note.chain is None:
            return
        self._chains.setdefault(note.chain, []).append((number, note))
        if note.chain_start is None:
            return
        if note.probed_features:
            self.probes.add((note.chain_start, note.probed_features))
        elif note.is_restart:
            self.restarts.add(note.chain_start)
        if note.chain == number:
            self.n_chains_from[note.chain_start] += 1

    def progress(self, running: Sequence[GHGANote]) -> Progress:
        """Return the progress of the search, given the notes on the running trials."""
        latest = max(self._chains, default=NO_CHAIN)
        n_children = self._n_children.total()
        for note in running:
            latest = max(latest, NO_CHAIN if note.chain is None else note.chain)
            n_children += note.after_chain is not None
        if latest == NO_CHAIN:
            return Progress(NO_CHAIN, None, n_children, n_children)
        n_running = sum(note.after_chain == latest for note in running)
        chain = _chain(
            self._chains.get(latest, ()), [note for note in running if note.chain == latest]
        )
        # Storages do not read all trials at one moment: a worker that is a little ahead may have
        # started a chain from a trial that is still running here.
        if chain is not None and chain.start not in self._completed:
            chain = None
        return Progress(latest, chain, self._n_children[latest] + n_running, n_children)


def _chain(completed: Sequence[tuple[int, GHGANote]], running: Sequence[GHGANote]) -> Chain | None:
    """Return the chain that the notes on its trials describe."""
    trials = [*completed, *((NO_CHAIN, note) for note in running if note.master is not None)]
    if not trials:
        return None
    number, note = trials[0]
    steps = [
        (n, EliminationStep(note.master, note.removed_features))
        for n, note in trials
        if note.master is not None
    ]
    return Chain(
        number if note.chain_start is None else note.chain_start,
        note.budget,
        {n: step for n, step in steps if n != NO_CHAIN},
        [step for n, step in steps if n == NO_CHAIN],
        note.probed_features,
        note.is_restart,
    )
