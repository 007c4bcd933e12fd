"""Which features say nearly the same, as a study remembers it."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from optuna_mofs._typing import Array

#: Shares are kept as bytes.
_STEPS = 255


@dataclass(frozen=True, eq=False)
class Similarity:
    """For each feature the others that are most like it, and how much they share.

    Args:
        others: Positions, features × neighbours.
        shares: Share of a feature's variance that the neighbour explains, in [0, 1]; 0 where there
            are fewer neighbours.

    Example:
        >>> twins = Similarity(np.array([[1], [0], [0]]), np.array([[1.0], [1.0], [0.0]]))
        >>> chosen_apart(np.array([0.9, 0.8, 0.5]), 2, penalty=1.0, similar=twins)
        [0, 2]
    """

    others: Array
    shares: Array

    def __post_init__(self) -> None:
        p = len(self.others)
        if self.others.shape != self.shares.shape or self.others.ndim != 2:
            raise ValueError(
                f"others and shares must have one shape (features, neighbours), "
                f"but have {self.others.shape} and {self.shares.shape}."
            )
        if self.others.size and not (self.others.min() >= 0 and self.others.max() < p):
            raise ValueError(f"others must hold positions in 0..{p - 1}.")
        if self.shares.size and not (self.shares.min() >= 0 and self.shares.max() <= 1):
            raise ValueError(
                f"shares must lie in [0, 1], but go from {self.shares.min()} "
                f"to {self.shares.max()}."
            )

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values, the shares to a 255th."""
        kept = np.rint(self.shares * _STEPS).astype("u1")
        return {
            "shape": list(self.others.shape),
            "others": _packed(self.others.astype("<u4")),
            "shares": _packed(kept),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Similarity:
        """The inverse of :meth:`to_json`."""
        shape = tuple(data["shape"])
        others = np.frombuffer(_unpacked(data["others"]), dtype="<u4").astype(np.int64)
        shares = np.frombuffer(_unpacked(data["shares"]), dtype="u1") / _STEPS
        return cls(others.reshape(shape), shares.reshape(shape))


def chosen_apart(
    score: Array,
    count: int,
    *,
    penalty: float,
    similar: Similarity,
    fixed: Iterable[int] = (),
) -> list[int]:
    """Positions of the best features, one after the other, each apart from those before.

    A feature's score is worth ``score * (1 - penalty * share)``, where ``share`` is what the
    feature chosen so far that is most like it explains: the trade of relevance and redundancy of
    mRMR (Peng, Long, Ding 2005), on any score and with a penalty to search for.

    Args:
        score: Of each feature, at least 0, the highest best; NaN for those not to choose from.
        count: How many to choose.
        penalty: What a copy of a chosen feature loses, from 0 (nothing) to 1 (everything).
        similar: The features' neighbours.
        fixed: Positions of the features that are chosen already.
    """
    taken = set(fixed)
    # A chosen feature touches only its neighbours: no more are chosen or passed over.
    reach = (count + len(taken)) * (1 + similar.others.shape[1])
    untouched = iter(best_first(score, reach).tolist())
    # Worth of features like a chosen one, as in the heap; what it held before is out of date.
    worth: dict[int, float] = {}
    heap: list[tuple[float, int]] = []
    chosen: list[int] = []

    def take(j: int) -> None:
        for other, share in zip(similar.others[j].tolist(), similar.shares[j].tolist()):
            if share == 0 or other in taken:
                continue
            # Rounded, so that the last bit of a product does not decide between copies.
            now = -round(float(score[other]) * (1 - penalty * share), 12)
            if now > worth.get(other, -np.inf):
                worth[other] = now
                heappush(heap, (now, other))

    for j in sorted(taken):
        take(j)
    upcoming = next(untouched, None)
    while len(chosen) < count:
        while upcoming is not None and upcoming in worth:
            upcoming = next(untouched, None)
        while heap and (heap[0][1] in taken or heap[0][0] != worth[heap[0][1]]):
            heappop(heap)
        if upcoming is None and not heap:
            break
        if upcoming is None or (heap and heap[0] < (-float(score[upcoming]), upcoming)):
            j = heappop(heap)[1]
        else:
            j, upcoming = upcoming, next(untouched, None)
        chosen.append(j)
        taken.add(j)
        take(j)
    return chosen


def best_first(score: Array, count: int) -> Array:
    """Positions of the highest scores, ties by position; NaN is none.

    Example:
        >>> best_first(np.array([0.5, np.nan, 0.9, 0.5]), 2).tolist()
        [2, 0]
    """
    there = np.flatnonzero(~np.isnan(score))
    if count < len(there):
        # Sorting all of ten thousand features takes longer than the rest.
        least = (
            np.partition(score[there], len(there) - count)[len(there) - count] if count else np.inf
        )
        there = there[score[there] >= least]
    found: Array = there[np.argsort(-score[there], kind="stable")][:count]
    return found


def _packed(values: Array) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 6)).decode("ascii")


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
