"""Metrics by name or position, and arguments spread over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def metric_column(metric: str | int, names: Sequence[str]) -> int:
    """Return the column of a metric, given by name or position.

    Example:
        >>> metric_column("features", ["error", "features"]), metric_column(0, ["error"])
        (1, 0)
    """
    if isinstance(metric, str):
        if metric in names:
            return list(names).index(metric)
    elif isinstance(metric, int | np.integer) and 0 <= metric < len(names):
        return int(metric)
    raise ValueError(f"No metric {metric!r}; the metrics are {list(names)}.")


def per_metric(what: str, given: Any, default: Any, names: Sequence[str]) -> list[Any]:
    """Spread an argument given by metric name (or position), or as a sequence, over all metrics.

    Args:
        what: The argument's name, for messages.
        given: A mapping, a sequence with one entry a metric, or None.
        default: What a metric gets that is not named.
        names: Names of the metrics.

    Example:
        >>> per_metric("goals", {"features": 500}, None, ["error", "features"])
        [None, 500]
    """
    if isinstance(given, Mapping):
        spread = [default] * len(names)
        for metric, value in given.items():
            spread[metric_column(metric, names)] = value
        return spread
    if given is None:
        return [default] * len(names)
    spread = [given] if np.ndim(given) == 0 else list(given)
    if len(spread) != len(names):
        raise ValueError(
            f"{what} needs one value for each of {list(names)}, got {given!r}. "
            "A mapping from metric names may name some of them."
        )
    return spread
