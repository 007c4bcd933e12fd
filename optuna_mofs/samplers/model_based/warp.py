"""Rows as models and searches see them: small fractions and small weights have room."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._representation import FilterEnsembleFeatures, weight_parameter
from optuna_mofs.study._description import StudyDescription

#: Suggestion of the filter representations that says how many features are taken.
_FRACTION = "fraction"
#: Raw weights are this power of their place.
_POWER = 3


class Warp:
    """Rows ↔ rows in which small fractions of features have as much room as large ones.

    Of 60 features the front may need 1 to 8. On a linear scale these share an eighth of the range:
    designs hardly meet them, and a model cannot tell them apart. A fraction ``f`` of ``p``
    features becomes ``log(1 + p f) / log(1 + p)``.

    Weights that are drawn evenly are nearly always a mixture of all filters. The raw weight ``u``
    of an ensemble becomes its cube root, so that one or two filters may have nearly all of the
    weight. All else stays as it is.

    Args:
        names: The parameters.
        described: What the study says of its features, if anything.

    Example:
        >>> Warp(["x"], None)(np.array([[0.3]])).tolist()
        [[0.3]]
    """

    def __init__(self, names: list[str], described: StudyDescription | None) -> None:
        self._column: int | None = None
        self._weights: list[int] = []
        if described is None or described.representation is None or described.features is None:
            return
        # Masks that are computed of filter ranks have a fraction.
        if described.representation.ranks is not None and _FRACTION in names:
            self._column = names.index(_FRACTION)
            self._p = max(1, len(described.features.free))
            self._several = len(described.measures) > 1
            if isinstance(described.representation, FilterEnsembleFeatures):
                weights = {weight_parameter(name) for name in described.features.filters}
                self._weights = [j for j, name in enumerate(names) if name in weights]

    def sizes(self, rows: Array) -> Array | None:
        """Number of features of warped rows, or None if there is no fraction among them."""
        if self._column is None:
            return None
        chosen = np.expm1(rows[:, self._column] * np.log1p(self._p))
        # As the representation counts, but for what the way there and back adds.
        sizes: Array = np.ceil(chosen - 1e-7)
        return sizes

    def with_none(self, rows: Array) -> Array:
        """Rows of a design, that of the smallest fraction with no feature at all.

        The empty set is an end of the front of error and size. No draw meets a fraction of 0. With
        one measure, or measures of a user's own, the rows stay as they are.
        """
        if self._column is None or not self._several:
            return rows
        rows = rows.copy()
        rows[rows[:, self._column].argmin(), self._column] = 0.0
        return rows

    def __call__(self, rows: Array) -> Array:
        """Rows of a history as models see them."""
        if self._column is None:
            return rows
        rows = rows.copy()
        fraction = rows[..., self._column]
        rows[..., self._column] = np.log1p(self._p * fraction) / np.log1p(self._p)
        rows[..., self._weights] **= 1 / _POWER
        return rows

    def back(self, rows: Array) -> Array:
        """The inverse."""
        if self._column is None:
            return rows
        rows = rows.copy()
        place = rows[..., self._column]
        rows[..., self._column] = np.expm1(place * np.log1p(self._p)) / self._p
        rows[..., self._weights] **= _POWER
        return rows
