"""Candidates of a model-based sampler, and the choice of the best new one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers._initial_design import RandomDesign
from optuna_mofs.study._trial_note import TrialNote

#: Number of candidates that are checked at a time.
_BLOCK = 64


@dataclass(frozen=True)
class Candidates:
    """Configurations from which an acquisition function chooses.

    Args:
        rows: Candidates × parameters, encoded by ``history.space``.
        parents: Candidates × parents: positions in the history of the trials that each candidate
            was made from, -1 for none.
        operators: Name of the operator that made each candidate.
        masks: Distinct masks over the free features, or None in a study without masks. In a study
            of rules, they are the sets that rules select, over the features that surrogates get;
            None if they are to be computed.
        mask_index: Position of each candidate's mask in ``masks``; None if each has its own.

    Example:
        >>> rows, parents = np.array([[0.2], [0.7]]), np.array([[3], [-1]])
        >>> Candidates(rows, parents, np.array(["mutation", "random"]))[[1]].rows.tolist()
        [[0.7]]
    """

    rows: Array
    parents: Array
    operators: Array
    masks: Array | None = None
    mask_index: Array | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Any) -> Candidates:
        return Candidates(
            self.rows[chosen], self.parents[chosen], self.operators[chosen], self.masks_of(chosen)
        )

    def masks_of(self, chosen: Any) -> Array | None:
        """Return the masks of some candidates, or the mask of one."""
        if self.masks is None:
            return None
        return self.masks[chosen if self.mask_index is None else self.mask_index[chosen]]

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return the candidates of all parts, which have equally many parents."""
        rows, parents, operators, masks, index, n_masks = [], [], [], [], [], 0
        for part in parts:
            rows.append(part.rows)
            parents.append(part.parents)
            operators.append(part.operators)
            if part.masks is not None:
                own = np.arange(len(part.rows)) if part.mask_index is None else part.mask_index
                index.append(n_masks + own)
                masks.append(part.masks)
                n_masks += len(part.masks)
        found = cls(np.concatenate(rows), np.concatenate(parents), np.concatenate(operators))
        if not masks:
            return found
        return replace(found, masks=np.concatenate(masks), mask_index=np.concatenate(index))

    def proposal(self, history: History, k: int, note: TrialNote) -> Proposal:
        """Return candidate ``k`` as a proposal; its operator and parents are added to the note."""
        parents = history.numbers[self.parents[k][self.parents[k] >= 0]].tolist()
        note = replace(note, operator=str(self.operators[k]), parents=tuple(parents))
        return Proposal(self.rows[k], None if history.table is None else self.masks_of(k), note)


#: Function of candidates that returns their acquisition values, the lower the better.
AcquisitionFunction = Callable[[Candidates], Array]


def random_candidates(rng: np.random.Generator, history: History, count: int) -> Candidates:
    """Return random configurations, with masks like those of :class:`RandomDesign`."""
    rows, masks = history.space.sample(rng, count), None
    if history.table is not None:
        design, turns = RandomDesign(), rng.integers(2**16, size=count).tolist()
        drawn = [design(rng, history, turn).mask for turn in turns]
        masks = np.array(drawn, dtype=bool).reshape(count, len(history.table.free))
    return Candidates(rows, np.full((count, 1), -1), np.full(count, "random"), masks)


def best_new_candidate(
    history: History,
    candidates: Candidates,
    values: Array,
    *,
    is_last_resort: Callable[[Array], Array] | None = None,
) -> int | None:
    """Return the position of the best candidate that no trial has, or None.

    Args:
        history: The completed and the running trials.
        candidates: The candidates.
        values: Their acquisition values, the lower the better. Candidates of infinite value are
            never chosen.
        is_last_resort: Function of positions that returns which of these candidates are chosen
            only if there is no other.
    """
    last_resort: int | None = None
    ranking = np.argsort(values, kind="stable")
    ranking = ranking[values[ranking] < np.inf]
    # A block at a time: the first candidates mostly suffice, and single ones take long.
    for start in range(0, len(ranking), _BLOCK):
        block = ranking[start : start + _BLOCK]
        postponed = np.zeros(len(block), bool) if is_last_resort is None else is_last_resort(block)
        for k, postpone in zip(block.tolist(), postponed.tolist()):
            if postpone and last_resort is not None:
                continue
            if not history.contains(candidates.rows[k], candidates.masks_of(k)):
                if not postpone:
                    return int(k)
                last_resort = k
    return last_resort
