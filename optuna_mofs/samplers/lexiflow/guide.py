"""Steps that a model of the finished trials chooses among many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers.base import Proposal
from optuna_mofs.samplers.gaussian.lasting import Lasting
from optuna_mofs.samplers.gaussian.points import Points, points_of
from optuna_mofs.samplers.lexiflow.candidates import Candidates, draw_candidates
from optuna_mofs.samplers.lexiflow.promise import (
    KEEP,
    Question,
    questions,
    relevant,
    scales,
    worth,
)
from optuna_mofs.samplers.lexiflow.threads import Stand, Threads
from optuna_mofs.samplers.operators.places import Places


@dataclass(frozen=True)
class Guide:
    """Asks a model which of many candidates to evaluate.

    Args:
        candidates: Number of candidates.
        lead: Probability that an objective before the last is to be improved.
        sparse: Probability that only some axes take part in a step.
        start: The user's point, around which points anywhere are drawn.
        least: Steps are drawn with the step of now and with one of at least this length.
    """

    candidates: int
    lead: float
    sparse: float
    start: Mapping[str, Any]
    least: float

    def propose(
        self,
        history: History,
        values: Array,
        places: Places,
        threads: Threads,
        stand: Stand,
        known: Lasting,
        rng: np.random.Generator,
    ) -> Proposal | None:
        """The most promising candidate, or None if there is nothing to gain or new.

        Args:
            history: Finished trials.
            values: Their violations and values, minimised.
            places: Their space.
            threads: Orders and targets.
            stand: Where the search stands.
            known: Length scales kept for the study.
            rng: Generator.
        """
        asked = questions(threads.orders[0], values, threads.targets[0])
        if not asked:
            return None
        question = asked[-1]
        wanted, leads = (
            order.ranking(values, targets)
            for order, targets in zip(threads.orders, threads.targets)
        )
        bases = (stand.incumbent, int(wanted[0]))
        if len(asked) > 1 and rng.random() < self.lead:
            question = asked[int(rng.integers(len(asked) - 1))]
            bases = (stand.leader, int(leads[0]))
        drawn = draw_candidates(
            rng,
            history,
            places,
            self.candidates,
            bases,
            (stand.step, max(stand.step, self.least)),
            sparse=self.sparse,
            start=self.start,
        )
        kept = relevant(wanted, leads, KEEP)
        rows = places.coordinates(history.space.snapped(drawn.rows))

        def lengths(count: int, column: int) -> Array:
            points = points_of(history, places, np.arange(count))
            return scales(threads.orders[0], points, values[:count], column)

        promise = worth(
            question,
            points_of(history, places, kept),
            values[kept],
            Points(rows, history.space.categorical, drawn.masks),
            {
                column: known.of(history, column, partial(lengths, column=column))
                for column in question.columns
            },
        )
        for k in np.argsort(-promise, kind="stable").tolist():
            proposal = _proposal(history, places, stand, question, drawn, k)
            if not history.has_tried(proposal.row, proposal.mask):
                return proposal
        return None


def _proposal(
    history: History, places: Places, stand: Stand, question: Question, drawn: Candidates, k: int
) -> Proposal:
    base = int(drawn.bases[k])
    memory = {
        "thread": stand.thread,
        # Both ways were candidates: if this one fails, no opposite is waited for.
        "sign": -1,
        "step": float(drawn.steps[k]),
        "iteration": stand.iteration,
        "failures": stand.failures,
        "dimension": len(history.space) + (drawn.masks is not None),
        "place": places.note(drawn.places[k]),
        "improves": question.column - 1,
    }
    parents = () if base < 0 else (int(history.numbers[base]),)
    mask = None if drawn.masks is None else drawn.masks[k]
    return Proposal(drawn.rows[k], mask, "guided", parents, memory)
