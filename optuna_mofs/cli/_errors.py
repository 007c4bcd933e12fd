"""The error that a user is expected to meet: one line on stderr, no traceback."""

from __future__ import annotations


class CommandError(Exception):
    """A command cannot do what it was asked for; the text says why and what to do."""

    def __init__(self, text: str) -> None:
        super().__init__(" ".join(text.split()))


class Terminated(KeyboardInterrupt):
    """SIGTERM: the process is asked to stop."""
