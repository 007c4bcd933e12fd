"""Filters by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from optuna_mofs._validation import did_you_mean
from optuna_mofs.filters._information import chi2, cmim, information_gain, jmi, mrmr
from optuna_mofs.filters._relief import relieff
from optuna_mofs.filters._univariate import (
    anova_f,
    auc,
    mutual_information,
    pearson,
    random_forest,
    spearman,
    variance,
)

FilterFunction = Callable[..., Any]
FilterSpec = str | FilterFunction | tuple[str, FilterFunction]

_BUILT_IN: tuple[FilterFunction, ...] = (
    information_gain,
    random_forest,
    jmi,
    cmim,
    auc,
    anova_f,
    mutual_information,
    mrmr,
    chi2,
    variance,
    pearson,
    spearman,
    relieff,
)

FILTERS: dict[str, FilterFunction] = {f.__name__: f for f in _BUILT_IN}


"""All filters by name; a function ``f(X, y) -> scores`` of your own may be added."""


DEFAULT_FILTERS: tuple[str, ...] = ("information_gain", "random_forest", "jmi", "cmim", "auc")


"""The five filters of Binder et al. (2020)."""


def filter_names() -> list[str]:
    """Return the names of all filters.

    Example:
        >>> filter_names()[:5]
        ['information_gain', 'random_forest', 'jmi', 'cmim', 'auc']
    """
    return list(FILTERS)


def shares_data(function: FilterFunction) -> bool:
    """Tell whether a filter takes :class:`~optuna_mofs.filters.FilterData` in place of X and y."""
    return any(function is known for known in _BUILT_IN)


def get_filter(name: str) -> FilterFunction:
    """Return the filter of that name.

    Raises:
        ValueError: If there is none; the message lists the names and the closest one.
    """
    if name in FILTERS:
        return FILTERS[name]
    guess = did_you_mean(name, FILTERS)
    raise ValueError(f"unknown filter {name!r}.{guess} Known filters: {', '.join(FILTERS)}.")


def resolve_filters(
    filters: FilterSpec | Sequence[FilterSpec],
) -> list[tuple[str, FilterFunction]]:
    """Turn names, functions and (name, function) pairs into pairs with unique names."""
    if isinstance(filters, str) or callable(filters):
        filters = [filters]
    resolved = [_resolve(entry) for entry in filters]
    if not resolved:
        raise ValueError(f"filters is empty; choose at least one of {', '.join(FILTERS)}.")
    names = [name for name, _ in resolved]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"filter name(s) used twice: {', '.join(twice)}. "
            "Give a function of your own as a pair (name, function)."
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
        f"a filter is a name, a function f(X, y) or a pair (name, function), got {entry!r}"
    )
