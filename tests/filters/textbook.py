"""Slow information measures straight from their definitions, to check the fast ones against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np


def entropy(*columns: Iterable[object]) -> float:
    count = Counter(zip(*columns))
    n = sum(count.values())
    return -sum(c / n * np.log(c / n) for c in count.values())


def information(x, y) -> float:
    return entropy(x) + entropy(y) - entropy(x, y)


def pair_information(a, b, y) -> float:
    """I(A, B; Y)."""
    return entropy(a, b) + entropy(y) - entropy(a, b, y)


def conditional_information(x, y, z) -> float:
    """I(X; Y | Z)."""
    return entropy(x, z) + entropy(y, z) - entropy(x, y, z) - entropy(z)


def criterion(name: str, columns, y, k: int, chosen: list[int]) -> float:
    """Value of candidate ``k`` when ``chosen`` are already selected."""
    x = columns[k]
    if not chosen:
        return information(x, y)
    if name == "jmi":
        return sum(pair_information(x, columns[s], y) for s in chosen)
    if name == "cmim":
        return min(
            information(x, y), min(conditional_information(x, y, columns[s]) for s in chosen)
        )
    redundancy = np.mean([information(x, columns[s]) for s in chosen])
    return information(x, y) - redundancy
