"""How stable feature sets are over resamples of the rows, and which features replace each other.

Nogueira, Sechidis, Brown (2018), *On the stability of feature selection algorithms*, JMLR 18(174).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from optuna_mofs._typing import Array, Floats
from optuna_mofs._validation import check_float, check_numbers


@dataclass(frozen=True)
class StabilityIndex:
    """The stability of feature sets, with its confidence interval.

    Attributes:
        value: 1 for equal sets, about 0 for random ones; NaN for fewer than two sets, and if all
            of them are empty or have all features.
        low: Lower end of the interval.
        high: Upper end of the interval.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def nogueira_stability(masks: Array, *, confidence: float = 0.95) -> StabilityIndex:
    """Return the stability of feature sets.

    It is one minus the mean variance of the selection of a feature, divided by the variance
    expected of random sets of the same mean size (definition 4). It is corrected for chance, and
    defined for sets of different sizes. The interval is asymptotic (theorem 7 and corollary 8) and
    assumes independent samples, which resamples of the same rows are only approximately.

    Args:
        masks: One row per set, one column per feature.
        confidence: Confidence of the interval.

    Example:
        >>> str(nogueira_stability(np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]])))
        '0.33 (-0.02 to 0.69)'
    """
    chosen = check_numbers("masks", masks)
    if chosen.ndim != 2:
        raise ValueError(f"masks must be a table, one row per set, got shape {chosen.shape}.")
    if not np.isin(chosen, (0.0, 1.0)).all():
        raise ValueError("masks must hold 1 for selected features and 0 for others.")
    confidence = check_float("confidence", confidence, 0.0, 0.9999)
    n_sets, p = chosen.shape
    frequency = chosen.mean(axis=0)
    share = float(frequency.mean()) if p else 0.0
    if n_sets < 2 or share in (0.0, 1.0):
        return StabilityIndex(np.nan, np.nan, np.nan)
    chance = share * (1 - share)
    variance = frequency * (1 - frequency) * n_sets / (n_sets - 1)
    value = 1.0 - float(variance.mean()) / chance
    own = chosen.mean(axis=1)
    parts = (
        chosen @ frequency / p - own * share + value / 2 * (2 * share * own - own - share + 1)
    ) / chance
    deviation = 2 / n_sets * float(np.sqrt(((parts - parts.mean()) ** 2).sum()))
    half = float(stats.norm.ppf((1 + confidence) / 2)) * deviation
    return StabilityIndex(value, value - half, value + half)


def selection_instability(masks: Array) -> float:
    """Return how much feature sets differ: 0 if they are equal, about 1 if they are random.

    It is one minus :func:`nogueira_stability`, and 0 where that is undefined. Sets that avoid each
    other exceed 1, by at most 1 / (sets - 1). ``masks`` has one row per set.
    """
    value = nogueira_stability(masks).value
    return 0.0 if np.isnan(value) else 1.0 - value


@dataclass(frozen=True)
class InterchangeableFeatures:
    """Similar features that replace each other in resamples.

    Attributes:
        features: Their positions, the most frequent first.
        frequency: Share of the sets that contain at least one of them.
        together: Share of the sets that contain at least two of them.
        similarity: Smallest squared correlation of two of them.
    """

    features: tuple[int, ...]
    frequency: float
    together: float
    similarity: float


def interchangeable_features(
    masks: Array,
    similarity: Mapping[tuple[int, int], float],
    *,
    min_similarity: float = 0.5,
    min_frequency: float = 0.1,
) -> list[InterchangeableFeatures]:
    """Return groups of similar features of which sets contain one rather than several.

    Two features can replace each other if they are similar, and if fewer sets contain both than
    would if their selections were independent. In a group, each pair can. Groups are formed from
    the most similar pair on.

    Args:
        masks: One row per set, one column per feature.
        similarity: Squared correlation of pairs of features ``(i, j)``, ``i < j``; 0 for others.
        min_similarity: Smallest squared correlation of features of a group.
        min_frequency: Minimum share of the sets that contain a feature.

    Example:
        >>> masks = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 1], [0, 1, 1]], dtype=bool)
        >>> interchangeable_features(masks, {(0, 1): 0.9, (0, 2): 0.8})[0].features
        (0, 1)
    """
    chosen = np.asarray(masks, dtype=bool)
    if not len(chosen):
        return []
    frequency: Floats = chosen.mean(axis=0)
    min_similarity = check_float("min_similarity", min_similarity, 0.0, 1.0)
    frequent = frequency >= check_float("min_frequency", min_frequency, 0.0, 1.0)

    def replace_each_other(i: int, j: int) -> bool:
        pair = (min(i, j), max(i, j))
        both = float((chosen[:, i] & chosen[:, j]).mean())
        return (
            bool(frequent[i] and frequent[j])
            and similarity.get(pair, 0.0) >= min_similarity
            and both < float(frequency[i] * frequency[j]) - 1e-12
        )

    pairs = sorted(
        (pair for pair in similarity if replace_each_other(*pair)),
        key=lambda pair: (-similarity[pair], pair),
    )
    groups: list[list[int]] = []
    used: set[int] = set()
    for i, j in pairs:
        if i in used or j in used:
            continue
        group = [i, j]
        near = sorted({k for pair in pairs for k in pair if k not in used} - {i, j})
        for k in sorted(near, key=lambda k: -frequency[k]):
            if all(replace_each_other(k, member) for member in group):
                group.append(k)
        used.update(group)
        groups.append(sorted(group, key=lambda k: (-frequency[k], k)))
    found = []
    for group in groups:
        counts = chosen[:, group].sum(axis=1)
        alike = [similarity[min(a, b), max(a, b)] for a, b in itertools.combinations(group, 2)]
        found.append(
            InterchangeableFeatures(
                tuple(group),
                float((counts > 0).mean()),
                float((counts > 1).mean()),
                float(min(alike)),
            )
        )
    return sorted(found, key=lambda group: -group.frequency)
