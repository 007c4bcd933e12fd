"""``optuna-mofs front``, and how the other commands pick a trial."""

from __future__ import annotations

import argparse
import json
import math
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optuna_mofs._format import format_number
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._options import (
    add_command,
    add_preference_options,
    add_study_options,
    nonnegative_int,
    positive_int,
)
from optuna_mofs.cli._output import (
    add_output_options,
    format_count,
    format_table,
    output_format,
    write_text,
)
from optuna_mofs.cli._settings import Settings

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from optuna_mofs import Front

_DESCRIPTION = """\
Print the Pareto front of a study: the trials that no other trial dominates. Works on any Optuna
study. The table is for reading; CSV and JSON contain all features and hyperparameters.

examples:
  optuna-mofs front --study wine
  optuna-mofs front --study wine --format csv | cut -d, -f1-4
  optuna-mofs front --study wine --output front.json
  optuna-mofs front --study wine --format json | jq '.trials[0].features'
"""


def add_to(subparsers: Any) -> None:
    """Add the subcommand to the parser."""
    parser = add_command(
        subparsers, "front", run, help="print the front of a study", description=_DESCRIPTION
    )
    add_study_options(parser)
    add_output_options(parser, formats=("table", "csv", "json"))


def run(arguments: argparse.Namespace) -> None:
    """Print the front."""
    from optuna_mofs.cli._storage import existing_study

    kind = output_format(arguments)
    with existing_study(arguments.storage, arguments.study) as study:
        front = read_front(study)
        text = {"table": front_text, "csv": front_csv, "json": front_json}[kind](front)
    write_text(text, arguments.output)


def read_front(study: Any) -> Front:
    """Return the front, one trial per vector of values.

    Raises:
        CommandError: If it is empty.
    """
    from optuna_mofs import pareto_front

    front = pareto_front(study, duplicates=False)
    if not len(front):
        raise CommandError(
            f"Study {study.study_name!r} has no front: no trial has completed with values "
            f"({format_count(len(study.get_trials(deepcopy=False)), 'trial')} in total)."
        )
    return front


def front_text(front: Front) -> str:
    """Return the front as a table, with as many names of features as fit the terminal."""
    frame = front.to_frame()
    knee = front.knee().number
    header = ["trial", *front.metric_names]
    has_counts = "n_features" in frame and "n_features" not in front.metric_names
    if has_counts:
        header.append("n")
    rows = []
    for row, (number, values) in enumerate(zip(frame.index, front.values)):
        cells = [f"*{number}" if number == knee else str(number)]
        cells += [format_number(value) for value in values]
        if has_counts:
            cells.append(str(frame["n_features"].iloc[row]))
        rows.append(cells)
    lines = format_table(header, rows).splitlines()
    if "features" in frame:
        width = max(20, shutil.get_terminal_size().columns - len(lines[0]) - 2)
        texts = ["features", *(_shorten(str(text or "-"), width) for text in frame["features"])]
        lines = [f"{line}  {text}" for line, text in zip(lines, texts)]
    trials = format_count(len(front.points.trials), "completed trial")
    lines.append(
        f"\nFront of {trials} of study {front.study.study_name!r}, "
        f"hypervolume {front.hypervolume():.4f}, * is the knee"
    )
    return "\n".join(lines)


def front_csv(front: Front) -> str:
    """Return the front with all features and hyperparameters as CSV."""
    frame = front.to_frame()
    frame.insert(0, "knee", frame.index == front.knee().number)
    return str(frame.to_csv(index_label="trial")).rstrip("\n")


def front_json(front: Front) -> str:
    """Return the front with all features and hyperparameters as JSON."""
    from optuna_mofs import selected_features

    shown = set(front.to_frame().columns)  # without the parameters that encode features
    trials = [
        {
            "number": trial.number,
            "values": _named(front, values),
            "features": selected_features(front.study, trial),
            "params": {name: value for name, value in trial.params.items() if name in shown},
        }
        for trial, values in zip(front, front.values)
    ]
    return json.dumps(
        {
            "study": front.study.study_name,
            "directions": dict(zip(front.metric_names, front.directions)),
            "completed_trials": len(front.points.trials),
            "hypervolume": _finite(front.hypervolume()),
            "knee": front.knee().number,
            "trials": trials,
        },
        indent=2,
        ensure_ascii=False,
    )


def _named(front: Front, values: Any) -> dict[str, float | None]:
    return {name: _finite(float(value)) for name, value in zip(front.metric_names, values)}


def _finite(value: float) -> float | None:
    # JSON has neither NaN nor infinity.
    return value if math.isfinite(value) else None


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rpartition(" ")[0] + " …"


_PICKS = ("knee", "best", "one_standard_error", "lexicographic")


@dataclass(frozen=True)
class Pick:
    """A trial of a front, with a description of how it was picked."""

    trial: FrozenTrial
    description: str


def add_pick_options(parser: Any) -> None:
    """Add the options that pick a trial of the front."""
    group = parser.add_argument_group("which trial")
    group.add_argument(
        "--pick",
        choices=_PICKS,
        help="knee: the best trade-off; best: lowest error; one_standard_error: fewest features "
        "within one standard error of the lowest error; lexicographic: by --priority, "
        "--tolerance and --goal (default: knee, or lexicographic if one of these is given here "
        "or was given to run)",
    )
    group.add_argument("--trial", type=nonnegative_int, metavar="N", help="this trial")
    group.add_argument(
        "--max-features",
        type=positive_int,
        metavar="N",
        help="lowest error with at most N features",
    )
    add_preference_options(group, purpose="lexicographic")


def pick_trial(front: Front, arguments: argparse.Namespace, settings: Settings | None) -> Pick:
    """Pick a trial by the options of :func:`add_pick_options`.

    Args:
        front: The front.
        arguments: The arguments with these options.
        settings: The settings in the study, whose preference is the default.

    Raises:
        CommandError: If the options contradict each other, or no trial fulfills them.
    """
    preference = {n: getattr(arguments, n) for n in ("priorities", "tolerances", "goals")}
    is_lexicographic = arguments.pick == "lexicographic" or any(preference.values())
    is_given = {
        "--trial": arguments.trial is not None,
        "--max-features": arguments.max_features is not None,
        "--pick": arguments.pick not in (None, "lexicographic"),
        "--priority, --tolerance, --goal or --pick lexicographic": is_lexicographic,
    }
    given = [option for option, value in is_given.items() if value]
    if len(given) > 1:
        raise CommandError(f"{' and '.join(given)} exclude each other. Give only one of them.")
    try:
        return _pick_trial(front, arguments, preference, settings)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _pick_trial(
    front: Front,
    arguments: argparse.Namespace,
    preference: dict[str, Any],
    settings: Settings | None,
) -> Pick:
    metric = front.metric_names[0]
    if arguments.trial is not None:
        return Pick(_trial_by_number(front, arguments.trial), "picked by number")
    if arguments.max_features is not None:
        limit = format_count(arguments.max_features, "feature")
        best = front.best(max_features=arguments.max_features)
        return Pick(best, f"the best {metric} with at most {limit}")
    if not any(preference.values()) and settings is not None:
        preference = {name: getattr(settings, name) for name in preference}
    pick = arguments.pick or ("lexicographic" if any(preference.values()) else "knee")
    if pick == "knee":
        return Pick(front.knee(), "the knee of the front")
    if pick == "best":
        return Pick(front.best(), f"the best {metric}")
    if pick == "one_standard_error":
        description = f"the fewest features within one standard error of the best {metric}"
        return Pick(front.one_standard_error(), description)
    trial = front.lexicographic(**preference)
    parts = [_format_preference(name, value) for name, value in preference.items() if value]
    description = "; ".join(parts) or ", ".join(front.metric_names)
    return Pick(trial, f"by lexicographic preference ({description})")


def _trial_by_number(front: Front, number: int) -> FrozenTrial:
    by_number = {trial.number: trial for trial in front.points.trials}
    if number not in by_number:
        on_front = ", ".join(str(trial.number) for trial in front)
        raise CommandError(
            f"Study {front.study.study_name!r} has no completed trial {number}. "
            f"The trials on the front are {on_front}."
        )
    return by_number[number]


def _format_preference(name: str, value: Any) -> str:
    pairs = [f"{k} {v}" for k, v in value.items()] if isinstance(value, dict) else value
    return f"{name} {', '.join(pairs)}"
