"""Where results go: stdout, or a file that is there whole or not at all."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from optuna_mofs.cli.errors import CommandError


def add_output_options(parser: Any, *, formats: Sequence[str]) -> None:
    """``--format`` and ``--output``."""
    parser.add_argument(
        "--format",
        choices=formats,
        help=f"of the output (default: by the ending of --output, else {formats[0]})",
    )
    parser.add_argument("--output", metavar="FILE", help="write to a file instead of stdout")
    parser.set_defaults(formats=formats)


def chosen_format(arguments: argparse.Namespace) -> str:
    """``--format``, or what the ending of ``--output`` says."""
    ending = Path(arguments.output or "").suffix.removeprefix(".").lower()
    known = ending if ending in arguments.formats else arguments.formats[0]
    return str(arguments.format or known)


def write_text(text: str, path: str | None) -> None:
    """Print a text, or write it to a file."""
    if path is None or path == "-":
        print(text)
        return
    write_file(path, lambda file: file.write_text(text + "\n", encoding="utf-8"))


def write_file(path: str, write: Callable[[Path], object]) -> None:
    """Make a file in one step: a command that fails half-way leaves what was there.

    Args:
        path: The file.
        write: Writes to the path it is given, which is then renamed.

    Raises:
        CommandError: If the file cannot be written.
    """
    file = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        os.close(handle)
        made = Path(name)
        try:
            write(made)
            # As any new file, not only for its owner.
            mask = os.umask(0)
            os.umask(mask)
            made.chmod(0o666 & ~mask)
            made.replace(file)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error
