"""Filters by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from optuna_mofs._validation import check_choice

FilterFunction = Callable[..., Any]
FilterSpec = str | FilterFunction | tuple[str, FilterFunction]
F = TypeVar("F", bound=FilterFunction)

DEFAULT_FILTERS: tuple[str, ...] = ("information_gain", "random_forest", "jmi", "cmim", "auc")
"""The five filters of Binder et al. (2020)."""

PAPER_FILTERS: tuple[str, ...] = (*DEFAULT_FILTERS, "constant")
"""The same and the constant filter of the authors' code."""

RULE_FILTERS: tuple[str, ...] = (
    "random_forest",
    "jmi",
    "forest_elimination",
    "linear_elimination",
    "l1_path",
)
"""Filters of rules that are repeated in every training fold: also those that fit models."""

_FILTERS: dict[str, FilterFunction] = {}
_SHARING: list[FilterFunction] = []  # filters that take FilterData


def register_filter(function: F, *, shares_data: bool = True) -> F:
    """Make a filter available under the name of its function; usable as a decorator.

    A filter returns one score per column, higher is more relevant.

    Args:
        function: Called as ``f(data)`` with one :class:`~optuna_mofs.filters.FilterData`, whose
            encoded, sorted and binned columns all filters of an ensemble share.
        shares_data: False if it is to be called as ``f(X, y)`` instead, with what the user gave.
            Such a function need not be registered: an ensemble takes it as it is.

    Example:
        >>> @register_filter
        ... def n_bins(data):
        ...     return data.levels
        >>> from optuna_mofs.filters import FilterEnsemble
        >>> FilterEnsemble(["n_bins"]).fit([[0, 0], [0, 1], [1, 2]], [0, 1, 1]).scores_.tolist()
        [[2.0, 3.0]]
        >>> del _FILTERS["n_bins"]
    """
    _FILTERS[function.__name__] = function
    if shares_data:
        _SHARING.append(function)
    return function


def filter_names() -> list[str]:
    """Return the names of all filters.

    Example:
        >>> filter_names()[:5]
        ['anova_f', 'auc', 'chi2', 'cmim', 'constant']
    """
    return sorted(_FILTERS)


def get_filter(name: str) -> FilterFunction:
    """Return the filter of that name.

    Raises:
        ValueError: If there is none; the message lists the names and the closest one.
    """
    return _FILTERS[check_choice("filter", name, filter_names())]


def takes_filter_data(function: FilterFunction) -> bool:
    """Return whether a filter takes :class:`~optuna_mofs.filters.FilterData` in place of X, y."""
    marked = getattr(function, "shares_data", False)
    return marked is True or any(function is known for known in _SHARING)


def resolve_filters(
    filters: FilterSpec | Sequence[FilterSpec],
) -> list[tuple[str, FilterFunction]]:
    """Turn names, functions and (name, function) pairs into pairs with unique names."""
    if isinstance(filters, str) or callable(filters):
        filters = [filters]
    resolved = [_resolve(entry) for entry in filters]
    if not resolved:
        raise ValueError(
            f"filters must not be empty. Choose at least one of {', '.join(filter_names())}."
        )
    names = [name for name, _ in resolved]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"Names of filters must be unique, got {', '.join(repeated)} more than once. "
            "Pass a function of your own as a pair (name, function)."
        )
    return resolved


def _resolve(entry: Any) -> tuple[str, FilterFunction]:
    if isinstance(entry, str):
        return entry, get_filter(entry)
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str):
        if callable(entry[1]):
            return entry[0], entry[1]
    elif callable(entry):
        return getattr(entry, "__name__", type(entry).__name__), entry
    raise ValueError(
        f"A filter must be a name, a function f(X, y) or a pair (name, function), got {entry!r}."
    )
