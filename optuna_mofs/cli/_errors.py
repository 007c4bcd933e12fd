"""Errors shown to the user: one line on stderr, no traceback."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optuna_mofs._validation import did_you_mean

_MAX_NAMES = 8


class CommandError(Exception):
    """A command failed. The text gives the reason and the remedy."""

    def __init__(self, text: str, *, add: Sequence[str] = ()) -> None:
        super().__init__(" ".join(text.split()))
        #: Options that solve the problem when they are added to the command.
        self.add = tuple(add)


class Terminated(KeyboardInterrupt):
    """The process has received SIGTERM."""


def name_hint(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the closest known name, or with some of the known names.

    Example:
        >>> name_hint("doze", ["dose", "city"]), name_hint("x", ["dose", "city"])
        (" Did you mean 'dose'?", " Choose from 'dose', 'city'.")
    """
    names = list(known)
    listed = ", ".join(map(repr, names[:_MAX_NAMES]))
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return did_you_mean(name, names) or (f" Choose from {listed}{more}." if names else "")
