"""Steps of Algorithm 1: a random direction from a trial, and the opposite one if it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from optuna_mofs.history._history import History
from optuna_mofs.samplers.base import Proposal
from optuna_mofs.samplers.lexiflow.directions import change_mask, random_direction
from optuna_mofs.samplers.lexiflow.threads import Stand
from optuna_mofs.samplers.operators.places import Places
from optuna_mofs.samplers.operators.rows import fill_missing

#: A running trial without a note is about to get one, if it is not older than this many trials.
_RECENT = 32


@dataclass(frozen=True)
class Walk:
    """Directions, as :func:`~optuna_mofs.samplers.lexiflow.directions.random_direction` has them.

    Args:
        sparse: Probability that a direction moves only some of the parameters.
        sphere: Whether all steps have the same length.
    """

    sparse: float
    sphere: bool

    def step(
        self,
        history: History,
        places: Places,
        stand: Stand,
        i: int,
        step: float,
        direction: int,
        opposite: int | None = None,
    ) -> Proposal:
        """A step from the i-th trial.

        Args:
            history: Finished trials.
            places: Their space.
            stand: Where the search stands.
            i: Position of the trial in the history.
            step: Step for each axis.
            direction: An integer that stands for the direction.
            opposite: The trial that went this way before, if this one goes the other way.
        """
        sign = 1 if opposite is None else -1
        # Both signs draw the same from the integer.
        rng = np.random.default_rng(direction)
        row = fill_missing(rng, history.space, history.rows[i])
        here = places.remembered(row, history.notes[i].get("place"))
        u = random_direction(rng, places.dimension, sparse=self.sparse, sphere=self.sphere)
        mask, moved = None, 1.0
        if history.table is not None:
            mask, moved = change_mask(rng, history, i, sign=sign, step=step)
        place = places.inside(here + sign * step * u * moved)
        number = int(history.numbers[i])
        memory: dict[str, Any] = {
            "thread": stand.thread,
            "incumbent": number,
            "direction": direction,
            "sign": sign,
            "step": step,
            "iteration": stand.iteration,
            "failures": stand.failures,
            "dimension": len(history.space) + (mask is not None),
            "place": places.note(place),
        }
        if opposite is not None:
            memory["opposite"] = opposite
        operator = "direction" if sign > 0 else "opposite"
        return Proposal(places.row(place), mask, operator, (number,), memory)

    def opposite(
        self, history: History, places: Places, stand: Stand, number: int
    ) -> tuple[Proposal | None, list[int]]:
        """The other way from where a direction that failed began, for the trial ``number``.

        Returns:
            The proposal, or None if nothing waits for its opposite; and the trials whose opposite
            rounds to something that was tried before, so that there is nothing to wait for.
        """
        tried: list[int] = []
        for waiting in unclaimed(stand, history, number):
            note = history.notes[int(np.searchsorted(history.numbers, waiting))]
            base = int(np.searchsorted(history.numbers, note["incumbent"]))
            step, direction = float(note["step"]), int(note["direction"])
            proposal = self.step(history, places, stand, base, step, direction, opposite=waiting)
            if not history.has_tried(proposal.row, proposal.mask):
                return proposal, tried
            tried.append(waiting)
        return None, tried


def unclaimed(stand: Stand, history: History, number: int) -> list[int]:
    """Trials whose opposite is this trial's to try, and no other worker's."""
    running = list(zip(history.running_numbers, history.running_notes))
    # Of workers that have not said yet what they do, the one with the lowest number may choose.
    # Giving way does not help here: they would all turn to the next opposite. What was left
    # behind long ago is no rival.
    if any(not note and 0 < number - other <= _RECENT for other, note in running):
        return []
    claimed = {note.get("opposite") for _, note in running}
    return [waiting for waiting, _ in stand.waiting if waiting not in claimed]
