"""The parser of the command, and its exit codes."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shlex
import sys
from collections.abc import Sequence
from typing import NoReturn

from optuna_mofs import __version__
from optuna_mofs._validation import did_you_mean
from optuna_mofs.cli._errors import CommandError, Terminated

#: Each has a module with ``DESCRIPTION``, ``add_options(parser)`` and ``run(arguments)``.
_COMMANDS = {
    "quickstart": "run a first study on scikit-learn's breast cancer data",
    "run": "select features and tune hyperparameters on your own table",
    "front": "print the front of a study",
    "report": "write a study as one HTML page",
    "stability": "repeat the search on other rows: are the features stable?",
    "export": "fit the model of a trial on all rows and write it to a file",
    "compare": "compare several studies: hypervolume, ranks, tests",
    "studies": "list the studies of a database",
    "delete": "delete a study",
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


class _Parser(argparse.ArgumentParser):
    """A parser whose errors name the closest option or command."""

    def error(self, message: str) -> NoReturn:
        """Print the error with a hint, and exit."""
        choice = re.match(r".*invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice:
            known = re.findall(r"[\w.,-]+", choice[2].replace(", ", " "))
            message += "." + did_you_mean(choice[1], known) if known else ""
        options = re.findall(r"(?<=[ ,])--[\w-]+", message.partition("unrecognized")[2])
        hints = "".join(did_you_mean(option, sorted(self._all_options())) for option in options)
        message += f".{hints}" if hints else ""
        super().error(message)

    def _all_options(self) -> set[str]:
        found = {option for action in self._actions for option in action.option_strings}
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                found.update(*(sub._all_options() for sub in action.choices.values()))
        return found


def build_parser(*given: str) -> argparse.ArgumentParser:
    """Return the parser with all commands, and with the options of the commands in ``given``.

    Only their modules are loaded, which takes seconds.
    """
    parser = _Parser(
        prog="optuna-mofs",
        description="Select features and tune hyperparameters in one Optuna study.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in _COMMANDS.items():
        command = subparsers.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name in given:
            module = importlib.import_module(f"optuna_mofs.cli._{name}")
            command.description = module.DESCRIPTION
            module.add_options(command)
            command.set_defaults(run=module.run)
    return parser


def _without_password(argument: str) -> str:
    """Return an argument of the command; a URL loses its password."""
    from optuna_mofs._database import hide_password  # loads Optuna, which --version does not need

    option, equals, value = argument.partition("=")
    if option.startswith("--") and "://" in value:
        return f"{option}{equals}{hide_password(value)}"
    return hide_password(argument) if "://" in argument else argument


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: Arguments without the program name; by default those of the process.

    Returns:
        The exit code. Wrong usage raises :exc:`SystemExit` with code 2.
    """
    given = sys.argv[1:] if argv is None else list(argv)
    arguments = build_parser(*given).parse_args(given)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except CommandError as error:
        print(f"optuna-mofs: {error}", file=sys.stderr)
        if error.add:
            command = shlex.join(["optuna-mofs", *map(_without_password, given), *error.add])
            print(f"Try: {command}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        print(f"\noptuna-mofs: stopped. {stopped}".rstrip(), file=sys.stderr)
        return _TERMINATED if isinstance(stopped, Terminated) else _INTERRUPTED
    except BrokenPipeError:
        # The reader has exited ('| head'). Python would fail again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return 0
