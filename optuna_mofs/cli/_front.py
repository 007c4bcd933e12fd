"""``optuna-mofs front``: the front of a study as a table, CSV or JSON."""

from __future__ import annotations

import argparse
import json
import math
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optuna_mofs._format import format_number
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._options import add_preference_options, add_study_options, positive, seed
from optuna_mofs.cli._output import add_output_options, chosen_format, counted, table, write_text
from optuna_mofs.cli._settings import Settings

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from optuna_mofs import Front

_DESCRIPTION = """\
Print the front of a study: the trials of which none is better in every metric. Works on any
Optuna study. The table is for people; CSV and JSON hold all features and hyperparameters.

examples:
  optuna-mofs front --study wine
  optuna-mofs front --study wine --format csv | cut -d, -f1-4
  optuna-mofs front --study wine --output front.json
  optuna-mofs front --study wine --format json | jq '.trials[0].features'
"""


def add_to(subparsers: Any) -> None:
    """Add the subcommand to the parser."""
    parser = subparsers.add_parser(
        "front",
        help="print the front of a study",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_study_options(parser)
    add_output_options(parser, formats=("table", "csv", "json"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the front."""
    import optuna

    from optuna_mofs.cli._storage import open_storage, open_study, storage_errors

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kind = chosen_format(arguments)
    with storage_errors(arguments.storage):
        storage = open_storage(arguments.storage, create=False)
        front = front_of(open_study(storage, arguments.storage, arguments.study))
        made = {"table": front_text, "csv": front_csv, "json": front_json}[kind](front)
    write_text(made, arguments.output)


def front_of(study: Any) -> Front:
    """The front, each values once.

    Raises:
        CommandError: If it is empty.
    """
    from optuna_mofs import pareto_front

    front = pareto_front(study, duplicates=False)
    if not len(front):
        raise CommandError(
            f"Study {study.study_name!r} has no front: no trial has finished with values "
            f"({counted(len(study.get_trials(deepcopy=False)), 'trial')} in all)."
        )
    return front


def front_text(front: Front) -> str:
    """The front for people: names of features as far as they fit the terminal."""
    frame = front.to_frame()
    knee = front.knee().number
    header = ["trial", *front.metric_names]
    known = "n_features" in frame and "n_features" not in front.metric_names
    if known:
        header.append("n")
    rows = []
    for row, (number, values) in enumerate(zip(frame.index, front.values)):
        cells = [f"*{number}" if number == knee else str(number)]
        cells += [format_number(value) for value in values]
        if known:
            cells.append(str(frame["n_features"].iloc[row]))
        rows.append(cells)
    lines = table(header, rows).splitlines()
    if "features" in frame:
        room = max(20, shutil.get_terminal_size().columns - len(lines[0]) - 2)
        texts = ["features", *(_cut(str(text or "-"), room) for text in frame["features"])]
        lines = [f"{line}  {text}" for line, text in zip(lines, texts)]
    trials = counted(len(front.points.trials), "finished trial")
    lines.append(
        f"\nFront of {trials} of study {front.study.study_name!r}, "
        f"hypervolume {front.hypervolume():.4f}, * is the knee"
    )
    return "\n".join(lines)


def front_csv(front: Front) -> str:
    """The front with all features and hyperparameters."""
    frame = front.to_frame()
    frame.insert(0, "knee", frame.index == front.knee().number)
    return str(frame.to_csv(index_label="trial")).rstrip("\n")


def front_json(front: Front) -> str:
    """The front with what is known of its study."""
    from optuna_mofs import selected_features

    shown = set(front.to_frame().columns)  # without what only spells out features
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
            "finished_trials": len(front.points.trials),
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
    # JSON knows neither NaN nor infinity.
    return value if math.isfinite(value) else None


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1].rpartition(" ")[0] + " …"


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
