"""Argument checks that name the value and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A sentence that names the closest of the known names, or nothing.

    Example:
        >>> did_you_mean("colour", ["color", "size"])
        " Did you mean 'color'?"
    """
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
