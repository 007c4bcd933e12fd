"""Argument checks. Every message names the argument, its value and the allowed values."""

from __future__ import annotations

import difflib
import math
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from optuna_mofs._typing import Floats

T = TypeVar("T")


class DamagedAttributeError(ValueError):
    """Raised for an attribute of a study or trial that was altered or truncated."""


#: What reading an altered value can raise.
_DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)


@contextmanager
def reading(attribute: str, owner: str) -> Iterator[None]:
    """Raise an error that names the attribute if it cannot be read.

    Args:
        attribute: Key of the attribute.
        owner: Whose attribute it is: a study or a trial.
    """
    try:
        yield
    except DamagedAttributeError:
        raise
    except _DAMAGE as error:
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise DamagedAttributeError(
            f"Attribute {attribute!r} of {owner} cannot be read ({reason[:300]}). It was altered "
            "or truncated: restore the storage from a copy, or use another study."
        ) from error


def expect_type(what: str, value: Any, *types: type) -> Any:
    """Return a value that was read from a storage, or raise if it has another type.

    Example:
        >>> expect_type("operator", "random", str)
        'random'
    """
    is_bool = isinstance(value, bool) and bool not in types
    if not isinstance(value, types) or is_bool:
        names = " or ".join(kind.__name__ for kind in types)
        raise ValueError(f"expected {what} to be {names}, got {repr(value)[:80]}")
    return value


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a sentence that names the closest known name, or an empty string.

    Example:
        >>> did_you_mean("colour", ["color", "size"])
        " Did you mean 'color'?"
    """
    text = str(name)
    near = difflib.get_close_matches(text, list(known))
    # People rather misremember the end of a name.
    near.sort(key=lambda other: -len(os.path.commonprefix([text, other])))  # noqa: RUF071
    return f" Did you mean {near[0]!r}?" if near else ""


def check_int(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int, or raise if it is not an integer in ``[low, high]``.

    Example:
        >>> check_int("n_trials", np.int64(5), 1)
        5
    """
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_integer or value < low or (high is not None and value > high):
        allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be an integer {allowed}, got {value!r}.")
    return int(value)


def check_optional_int(name: str, value: Any, low: int, high: int | None = None) -> int | None:
    """Return None, or ``value`` as :func:`check_int` does.

    Example:
        >>> check_optional_int("n_trials", None, 1) is None
        True
    """
    return None if value is None else check_int(name, value, low, high)


def check_float(
    name: str, value: Any, low: float, high: float = math.inf, *, low_is_open: bool = False
) -> float:
    """Return ``value`` as a float, or raise if it is not a number in ``[low, high]``.

    If ``low_is_open``, ``low`` itself is not allowed.

    Example:
        >>> check_float("kappa", 1, 0)
        1.0
    """
    is_number = isinstance(value, int | float | np.integer | np.floating)
    inside = is_number and not isinstance(value, bool) and low <= value <= high
    if not inside or (low_is_open and value == low):
        above = f"above {low:g}" if low_is_open else f"of at least {low:g}"
        allowed = f"{above} and at most {high:g}"
        if high == math.inf:
            allowed = above
        elif high == sys.float_info.max:
            allowed = f"{above} and finite"
        raise ValueError(f"{name} must be a number {allowed}, got {value!r}.")
    return float(value)


def check_probability(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise if it is not a number in [0, 1]."""
    return check_float(name, value, 0.0, 1.0)


def check_type(name: str, value: Any, kind: type[T]) -> T:
    """Return ``value``, or raise if it is of another type.

    Example:
        >>> check_type("name", "wine", str)
        'wine'
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be of type {kind.__name__}, got {value!r}.")
    return value


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return ``value``, or raise if it is not one of ``choices``.

    Example:
        >>> check_choice("acquisition", "lcb", ("lcb", "ei"))
        'lcb'
    """
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        listed = ", ".join(repr(choice) for choice in known)
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.{hint}")
    return value


def check_n_jobs(n_jobs: Any) -> int | None:
    """Return ``n_jobs`` as an int or None, or raise if it is neither.

    Example:
        >>> check_n_jobs(np.int64(2)), check_n_jobs(None)
        (2, None)
    """
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, int | np.integer) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be an integer other than 0, or None, got {n_jobs!r}. "
            "Use 1 for one job at a time, -1 for all cores."
        )
    return int(n_jobs)


def check_numbers(name: str, values: Any, ndim: int | None = None) -> Floats:
    """Return ``values`` as an array of floats, or raise if they are not numbers.

    Args:
        name: Name of the argument.
        values: Numbers, in a list or array of any shape.
        ndim: Number of dimensions that they must have.

    Example:
        >>> check_numbers("points", [[1, 2], [3]], ndim=2)
        Traceback (most recent call last):
        ...
        ValueError: points must be numbers, with as many in each row, got [[1, 2], [3]].
    """
    try:
        array: Floats = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be numbers, with as many in each row, got {repr(values)[:80]}."
        ) from error
    if ndim is not None and array.ndim != ndim:
        kind = ("a number", "one number after the other", "rows of numbers")[ndim]
        raise ValueError(f"{name} must hold {kind}, got shape {array.shape}.")
    return array


def check_one_kind(labels: Any) -> Any:
    """Return an array of labels, or raise if only some of them are strings: they have no order.

    Example:
        >>> check_one_kind(np.array(["yes", 0], dtype=object))
        Traceback (most recent call last):
        ...
        ValueError: y mixes strings with other labels: ['yes', 0]. Make all of them strings.
    """
    if labels.dtype.kind == "O" and len({isinstance(label, str) for label in labels.flat}) > 1:
        shown = ", ".join(sorted({repr(label) for label in labels.flat})[:4])
        raise ValueError(
            f"y mixes strings with other labels: [{shown}]. Make all of them strings."
        )
    return labels


def to_array(values: Any) -> Any:
    """Return a copy of ``values`` as an array; entries masked by :mod:`numpy.ma` become NaN.

    Example:
        >>> to_array(np.ma.array([1, 2], mask=[True, False])).tolist()
        [nan, 2.0]
    """
    try:
        return np.array(fill_masked(values))
    except ValueError as error:
        raise ValueError(
            f"Expected as many values in each row, got {repr(values)[:80]}. Pass an array."
        ) from error


def fill_masked(values: Any) -> Any:
    """Return ``values`` with NaN in place of entries that :mod:`numpy.ma` masks."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    # Strings and other objects can be missing only in an array of objects.
    kind = float if values.dtype.kind in "biuf" else object
    return np.ma.filled(values.astype(kind), np.nan)
