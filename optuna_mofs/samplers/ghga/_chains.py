"""Elimination chains, read from what is written on the trials.

A chain is a guided elimination (Algorithm 4), or a probe (see :mod:`.renewal`). Each of its
trials remembers the chain (by the number of its first trial), the trial it was made from (its
master), and how many evaluations the chain may spend. Where a chain stands is computed of that, so
that it survives a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optuna_mofs._typing import Array

#: Value of a note that stands for no chain.
NO_CHAIN = -1


@dataclass(frozen=True)
class EliminationStep:
    """One trial of a chain: the trial it was made from, and the features it left out."""

    master: int
    left_out: tuple[int, ...]

    @classmethod
    def noted(cls, note: dict[str, Any]) -> EliminationStep:
        """As the trial remembers it."""
        return cls(note["master"], tuple(note["left_out"]))


@dataclass
class Chain:
    """One elimination, or one probe.

    Args:
        first: Number of the trial whose mask it started from.
        budget: Evaluations it may spend.
        tries: Its finished trials by number.
        waiting: Its trials that still run.
        against: Of a probe: the features of which each is left out once.
        renewed: Whether it is an elimination that started where a renewal led to.
    """

    first: int
    budget: int
    tries: dict[int, EliminationStep] = field(default_factory=dict)
    waiting: list[EliminationStep] = field(default_factory=list)
    against: tuple[int, ...] = ()
    renewed: bool = False

    @classmethod
    def noted(cls, note: dict[str, Any], first: int) -> Chain:
        """A chain as one of its trials remembers it, without tries."""
        against = tuple(note.get("against", ()))
        return cls(first, note["budget"], against=against, renewed="renewed" in note)

    def note(self, name: int, tried: EliminationStep) -> dict[str, Any]:
        """What one of its trials has to remember.

        Args:
            name: Name of the chain: the number of its first trial.
            tried: How the trial was made.
        """
        note = {
            "chain": name,
            "first": self.first,
            "master": tried.master,
            "left_out": list(tried.left_out),
            "budget": self.budget,
        }
        if self.against:
            note["against"] = list(self.against)
        if self.renewed:
            note["renewed"] = True
        return note

    @property
    def spent(self) -> int:
        """Evaluations so far, with those that run."""
        return len(self.tries) + len(self.waiting)

    def current(
        self,
        advances: Callable[[int, int], bool],
        best_step: Callable[[int], int | None] = lambda trial: None,
    ) -> int:
        """The trial whose features are left out next.

        The deepest trial that advanced from its master, of equally deep ones the earliest. A
        trial that finishes late can only take the chain deeper, never back.

        Args:
            advances: Whether a trial is a step forward from its master, both by number.
            best_step: Where to go on from a trial of which all steps are known, None to stay.
        """
        depth = {self.first: 0}
        while True:
            self._follow(depth, advances)
            deepest = min(depth, key=lambda trial: (-depth[trial], trial))
            onward = best_step(deepest)
            if onward is None or onward in depth:
                return deepest
            depth[onward] = depth[deepest] + 1

    def _follow(self, depth: dict[int, int], advances: Callable[[int, int], bool]) -> None:
        left = {number: t.master for number, t in self.tries.items() if number not in depth}
        while True:
            reached = {number: master for number, master in left.items() if master in depth}
            if not reached:
                return
            for number, master in reached.items():
                del left[number]
                if advances(number, master):
                    depth[number] = depth[master] + 1

    def tried(self, master: int) -> int:
        """How many sets were made of this master, with those that run."""
        return sum(t.master == master for t in (*self.tries.values(), *self.waiting))

    def suspicion(self, mask: Array, advances: Callable[[int, int], bool]) -> Array:
        """How likely each feature of a mask is the reason that a try of this chain failed.

        Some feature that a failed try left out must be needed. Those that have been left out
        since are not; if a part of them failed too, that explains it. Among the others the
        suspicion is shared evenly. A try that runs counts as failed, so that several workers try
        different features.

        Args:
            mask: The features still in.
            advances: As for :meth:`current`.
        """
        failed = [t for number, t in self.tries.items() if not advances(number, t.master)]
        suspects = {
            frozenset(j for j in one.left_out if mask[j]) for one in (*failed, *self.waiting)
        }
        suspicion = np.zeros(len(mask))
        for group in suspects:
            if group and not any(other < group for other in suspects if other):
                suspicion[list(group)] += 1 / len(group)
        return suspicion


def left_out_in_turn(order: Array, largest: int, tried: int) -> Iterator[Array]:
    """Which features of a set to leave out, first choice first.

    Args:
        order: Its features, the most dispensable first.
        largest: How many of them are left out at first; halved by each try that failed.
        tried: Tries so far.

    Example:
        >>> [left.tolist() for left in left_out_in_turn(np.arange(8), 4, tried=1)][:3]
        [[0, 1], [0], [1]]
    """
    size = largest >> min(tried, 60)
    while size > 1:
        yield order[:size]
        size //= 2
    for k in range(len(order)):
        yield order[k : k + 1]


class ChainLog:
    """What the notes of all trials say of the course of the search.

    Finished notes are added once and in any order; running ones are seen by :meth:`now`.
    """

    def __init__(self) -> None:
        self._chains: dict[int, list[tuple[int, dict[str, Any]]]] = {}
        self._children: dict[int, int] = {}
        self._chosen: dict[int, int] = {}
        self.children = 0
        #: Trials from which eliminations started because a renewal led to them.
        self.renewed: set[int] = set()
        #: Probes: the trial they started from, and the features that were left out.
        self.probes: set[tuple[int, tuple[int, ...]]] = set()

    def add(self, number: int, note: dict[str, Any]) -> None:
        """Take in a finished trial."""
        if "after" in note:
            self.children += 1
            self._children[note["after"]] = self._children.get(note["after"], 0) + 1
        if "chain" in note:
            self._chains.setdefault(note["chain"], []).append((number, note))
            if "against" in note:
                self.probes.add((note["first"], tuple(note["against"])))
            elif "renewed" in note:
                self.renewed.add(note["first"])
            if note["chain"] == number and "first" in note:
                self._chosen[note["first"]] = self._chosen.get(note["first"], 0) + 1

    def chosen(self, trial: int) -> int:
        """How many chains started from a trial: t(c)."""
        return self._chosen.get(trial, 0)

    def now(self, running: Sequence[dict[str, Any]]) -> tuple[int, Chain | None, int, int]:
        """Where the search stands.

        Args:
            running: Notes of the trials that run.

        Returns:
            The latest chain's name, the chain (None if there is none, or if its first set is still
            being evaluated), the children made after it, and the children made at all.
        """
        latest = max(
            [*self._chains, *(note["chain"] for note in running if "chain" in note)],
            default=NO_CHAIN,
        )
        after = [note["after"] for note in running if "after" in note]
        children = self._children.get(latest, 0) + after.count(latest)
        chain = self._chain(
            self._chains.get(latest, ()), [n for n in running if n.get("chain") == latest]
        )
        return latest, chain, children, self.children + len(after)

    @staticmethod
    def _chain(
        finished: Iterable[tuple[int, dict[str, Any]]], running: list[dict[str, Any]]
    ) -> Chain | None:
        chain: Chain | None = None
        tries: dict[int, EliminationStep] = {}
        for number, note in finished:
            if "master" in note:
                tries[number] = EliminationStep.noted(note)
                chain = chain or Chain.noted(note, note["first"])
            else:  # the set it started from was made for it
                chain = chain or Chain.noted(note, number)
        running = [note for note in running if "master" in note]
        if chain is None and running:
            chain = Chain.noted(running[0], running[0]["first"])
        if chain is not None:
            chain.tries = tries
            chain.waiting = [EliminationStep.noted(note) for note in running]
        return chain
