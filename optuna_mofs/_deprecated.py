"""Decorators for public names that will be removed. They still work, and name the replacement.

The policy is described in ``.github/CONTRIBUTING.md``. A test fails when a release is reached that
should have removed a name.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

#: What is deprecated, by the release that removes it.
PENDING: list[tuple[str, str]] = []


def deprecated(*, since: str, removed_in: str, instead: str) -> Callable[[F], F]:
    """Mark a function or class as deprecated. Each use raises a :exc:`FutureWarning`.

    Args:
        since: Release that deprecates it, for example ``"0.2.0"``.
        removed_in: Release that removes it, at least one minor release later.
        instead: What to use, as the end of a sentence: ``"use Front.pick()"``.

    Example:
        >>> @deprecated(since="0.2.0", removed_in="9.0.0", instead="use sum()")
        ... def total(values):
        ...     "Return the sum."
        ...     return sum(values)
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     total([1, 2])
        3
        >>> print(caught[0].message)
        total is deprecated since 0.2.0 and will be removed in 9.0.0: use sum().
    """

    def decorate(item: F) -> F:
        text = (
            f"{item.__qualname__} is deprecated since {since} and will be removed in "
            f"{removed_in}: {instead}."
        )
        PENDING.append((removed_in, item.__qualname__))
        note = f"\n\n.. deprecated:: {since}\n    {instead[:1].upper()}{instead[1:]}.\n"
        item.__doc__ = f"{(item.__doc__ or '').rstrip()}{note}"
        if isinstance(item, type):
            create = item.__init__  # type: ignore[misc]

            @functools.wraps(create)
            def init(self: Any, *args: Any, **options: Any) -> None:
                warnings.warn(text, FutureWarning, stacklevel=2)
                create(self, *args, **options)

            item.__init__ = init  # type: ignore[misc]
            return item

        @functools.wraps(item)
        def call(*args: Any, **options: Any) -> Any:
            warnings.warn(text, FutureWarning, stacklevel=2)
            return item(*args, **options)

        return call  # type: ignore[return-value]

    return decorate


def renamed_argument(old: str, new: str, *, since: str, removed_in: str) -> Callable[[F], F]:
    """Accept an argument under its former name, with a :exc:`FutureWarning`.

    Args:
        old: Former name; it is passed by keyword.
        new: Name in the signature.
        since: Release that renamed it.
        removed_in: Release that no longer accepts the former name.

    Raises:
        TypeError: If both names are given.

    Example:
        >>> @renamed_argument("n", "n_trials", since="0.2.0", removed_in="9.0.0")
        ... def search(n_trials):
        ...     return n_trials
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     search(n=5)
        5
        >>> print(caught[0].message)
        search: the argument n is called n_trials since 0.2.0; n will be removed in 9.0.0.
    """

    def decorate(function: F) -> F:
        name = function.__qualname__
        PENDING.append((removed_in, f"{name}({old}=)"))

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if old in options:
                if new in options:
                    raise TypeError(
                        f"{name} got both {new} and its former name {old}: give {new}."
                    )
                warnings.warn(
                    f"{name}: the argument {old} is called {new} since {since}; {old} will be "
                    f"removed in {removed_in}.",
                    FutureWarning,
                    stacklevel=2,
                )
                options[new] = options.pop(old)
            return function(*args, **options)

        return call  # type: ignore[return-value]

    return decorate
