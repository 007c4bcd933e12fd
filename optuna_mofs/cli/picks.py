"""Options that choose one trial of a front: ``report`` and ``export`` have them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optuna_mofs.cli.errors import CommandError
from optuna_mofs.cli.options import add_preference_options, positive, seed
from optuna_mofs.cli.settings import Settings
from optuna_mofs.cli.text import counted

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from optuna_mofs import Front

_PICKS = ("knee", "best", "one_standard_error", "lexicographic")


@dataclass(frozen=True)
class Pick:
    """A trial, and how it was chosen, in words."""

    trial: FrozenTrial
    how: str


def add_pick_options(parser: Any) -> None:
    """Which trial of the front is meant."""
    group = parser.add_argument_group("which trial")
    group.add_argument(
        "--pick",
        choices=_PICKS,
        help="knee: where giving up features stops paying; best: lowest error; "
        "one_standard_error: fewest features within one standard error of the best; "
        "lexicographic: by --priority, --tolerance and --goal (default: knee, or lexicographic "
        "if one of these is given here or was given to run)",
    )
    group.add_argument("--trial", type=seed, metavar="N", help="the trial of that number")
    group.add_argument(
        "--max-features", type=positive, metavar="N", help="the best with at most so many features"
    )
    add_preference_options(group, purpose="lexicographic")


def picked(front: Front, arguments: argparse.Namespace, settings: Settings | None) -> Pick:
    """The trial that the options choose.

    Args:
        front: Of the study.
        arguments: With the options of :func:`add_pick_options`.
        settings: What the study remembers of ``run``.

    Raises:
        CommandError: If options exclude each other, or no trial keeps them.
    """
    here = {n: getattr(arguments, n) for n in ("priorities", "tolerances", "goals")}
    given = [
        option
        for option, value in (
            ("--trial", arguments.trial),
            ("--max-features", arguments.max_features),
            ("--pick", arguments.pick if arguments.pick != "lexicographic" else None),
            (
                "--pick lexicographic",
                arguments.pick if arguments.pick == "lexicographic" else None,
            ),
            ("--priority, --tolerance or --goal", next((v for v in here.values() if v), None)),
        )
        if value is not None
    ]
    if len(given) > 1 and given != ["--pick lexicographic", "--priority, --tolerance or --goal"]:
        raise CommandError(f"{' and '.join(given)} choose a trial each; give one of them.")
    try:
        return _picked(front, arguments, here, settings)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _picked(
    front: Front, arguments: argparse.Namespace, here: dict[str, Any], settings: Settings | None
) -> Pick:
    metric = front.metric_names[0]
    if arguments.trial is not None:
        return Pick(_numbered(front, arguments.trial), f"trial {arguments.trial}, as asked for")
    if arguments.max_features is not None:
        most = counted(arguments.max_features, "feature")
        best = front.best(max_features=arguments.max_features)
        return Pick(best, f"the best {metric} with at most {most}")
    before = {} if settings is None else {n: getattr(settings, n) for n in here}
    wanted = here if any(here.values()) else before
    pick = arguments.pick or ("lexicographic" if any(wanted.values()) else "knee")
    if pick == "knee":
        return Pick(front.knee(), "the knee of the front")
    if pick == "best":
        return Pick(front.best(), f"the best {metric}")
    if pick == "one_standard_error":
        how = f"the fewest features within one standard error of the best {metric}"
        return Pick(front.one_standard_error(), how)
    trial = front.lexicographic(**wanted)
    told = "; ".join(_spoken(name, value) for name, value in wanted.items() if value)
    return Pick(trial, f"by priority ({told or ', '.join(front.metric_names)})")


def _numbered(front: Front, number: int) -> FrozenTrial:
    by_number = {trial.number: trial for trial in front.points.trials}
    if number not in by_number:
        on_front = ", ".join(str(trial.number) for trial in front)
        raise CommandError(
            f"Study {front.study.study_name!r} has no finished trial {number}; "
            f"on the front are {on_front}."
        )
    return by_number[number]


def _spoken(name: str, value: Any) -> str:
    pairs = [f"{k} {v}" for k, v in value.items()] if isinstance(value, dict) else value
    return f"{name} {', '.join(pairs)}"
