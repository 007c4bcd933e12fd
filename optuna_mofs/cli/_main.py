"""The parser of the command, and its exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from optuna_mofs import __version__
from optuna_mofs.cli import _compare, _export, _front, _quickstart, _report, _run
from optuna_mofs.cli._errors import CommandError, Terminated

#: Each module has ``DESCRIPTION``, ``add_options(parser)`` and ``run(arguments)``.
_COMMANDS = {
    "quickstart": (_quickstart, "run a first study on scikit-learn's breast cancer data"),
    "run": (_run, "select features and tune hyperparameters on your own table"),
    "front": (_front, "print the front of a study"),
    "report": (_report, "write a study as one HTML page"),
    "export": (_export, "fit the model of a trial on all rows and write it to a file"),
    "compare": (_compare, "compare several studies: hypervolume, ranks, tests"),
}
_INTERRUPTED = 130  # 128 + SIGINT
_TERMINATED = 143  # 128 + SIGTERM
_BROKEN_PIPE = 141  # 128 + SIGPIPE

_EPILOG = """\
exit codes:
  0 success, 1 failure (the reason is on stderr), 2 wrong usage, 130 stopped by Ctrl-C

from a table to a model:
  optuna-mofs run --data wine.csv --target quality
  optuna-mofs front
  optuna-mofs report --output wine.html
  optuna-mofs export --output wine.joblib

Run 'optuna-mofs COMMAND --help' for details and examples.
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="optuna-mofs",
        description="Select features and tune hyperparameters in one Optuna study.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (module, summary) in _COMMANDS.items():
        command = subparsers.add_parser(
            name,
            help=summary,
            description=module.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_options(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: Arguments without the program name; by default those of the process.

    Returns:
        The exit code. Wrong usage raises :exc:`SystemExit` with code 2.
    """
    arguments = build_parser().parse_args(argv)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except CommandError as error:
        print(f"optuna-mofs: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        print(f"\noptuna-mofs: stopped. {stopped}".rstrip(), file=sys.stderr)
        return _TERMINATED if isinstance(stopped, Terminated) else _INTERRUPTED
    except BrokenPipeError:
        # The reader has exited ('| head'). Python would fail again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return 0
