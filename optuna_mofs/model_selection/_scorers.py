"""The scorers of a search by name: of ``scoring`` in all forms that scikit-learn accepts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from optuna_mofs._estimators import unfitted_copy
from optuna_mofs._tables import to_pandas
from optuna_mofs._typing import Array
from optuna_mofs.data._dataset import take_rows
from optuna_mofs.objectives._evaluator import baseline

#: Rows on which a function shows which scores it returns.
_MAX_ROWS = 500


def named_scorers(
    estimator: Any, scoring: Any, X: Any, y: Any, *, classification: bool
) -> tuple[Any, dict[str, Any] | None]:
    """Return ``scoring`` as scikit-learn's ``scorer_``, and several scorers by name or None.

    A function that returns a dict of scores becomes one scorer per entry.
    """
    scorer = check_scoring(estimator, scoring)
    # scikit-learn's object for several scorers keeps them by name.
    several: dict[str, Any] | None = getattr(scorer, "_scorers", None)
    if several is not None:
        return several, several
    if hasattr(scorer, "_score_func") or hasattr(scorer, "_estimator"):
        return scorer, None
    names = _returned_names(scorer, estimator, X, y, classification)
    if names is None:
        return scorer, None
    shared = _SharedScores(scorer)
    return scorer, {name: NamedScore(shared, name) for name in names}


def _returned_names(
    function: Callable[..., Any], estimator: Any, X: Any, y: Any, classification: bool
) -> list[str] | None:
    """Return the keys of what a function returns for a model of some rows, None for a number."""
    X, y = to_pandas(X), np.asarray(y)
    if not len(y):
        return None  # the check of the data shows the error
    rows = np.unique(np.linspace(0, len(y) - 1, _MAX_ROWS).astype(int))
    X, y = take_rows(X, rows), y[rows]
    # The model of no features costs nothing, but lacks, for example, a decision function.
    for model in (baseline(classification), unfitted_copy(estimator)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = function(model.fit(X, y), X, y)
        except Exception:  # nosec B112
            continue  # trials show the error
        return [str(name) for name in found] if isinstance(found, Mapping) else None
    return None


class _SharedScores:
    """A function that returns several scores, called once per model and rows."""

    def __init__(self, function: Callable[..., Mapping[str, float]]) -> None:
        self.function = function
        self._last: tuple[tuple[Any, ...], Mapping[str, float]] | None = None

    def __call__(self, estimator: Any, X: Any, y: Array, **options: Any) -> Mapping[str, float]:
        given = (estimator, X, y, *options.values())
        last = self._last
        if last is None or len(last[0]) != len(given):
            is_same = False
        else:
            is_same = all(a is b for a, b in zip(last[0], given))
        if last is None or not is_same:
            last = self._last = given, self.function(estimator, X, y, **options)
        return last[1]

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "_last": None}


class NamedScore:
    """A scorer: one entry of what a function returns.

    Args:
        shared: The function.
        name: Key of the entry.
    """

    def __init__(self, shared: _SharedScores, name: str) -> None:
        self.shared = shared
        self.name = self.__name__ = name

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        # The signature of the function tells whether it accepts sample weights.
        return self.shared.function

    def __call__(self, estimator: Any, X: Any, y: Array, **options: Any) -> float:
        """Return the score of a model."""
        scores = self.shared(estimator, X, y, **options)
        if self.name not in scores:
            raise ValueError(
                f"scoring returned the scores {list(scores)}, without {self.name!r}. Return the "
                "same names for each model."
            )
        return float(scores[self.name])
