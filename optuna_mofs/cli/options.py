"""Types of options: they refuse a bad value with what was wrong and the remedy."""

from __future__ import annotations

from argparse import ArgumentTypeError


def positive(text: str) -> int:
    """An integer of at least 1.

    Example:
        >>> positive("80")
        80
    """
    return _integer(text, least=1)


def seed(text: str) -> int:
    """An integer of at least 0."""
    return _integer(text, least=0)


def storage_url(text: str) -> str:
    """A database URL; a bare file name is the usual slip, so it is told how to write one.

    Example:
        >>> storage_url("sqlite:///study.db")
        'sqlite:///study.db'
    """
    if "://" not in text:
        raise ArgumentTypeError(
            f"{text!r} is no database URL; for a file write sqlite:///{text or 'study.db'}"
        )
    return text


def _integer(text: str, *, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ArgumentTypeError(f"{text!r} is no integer of at least {least}")
    return number
