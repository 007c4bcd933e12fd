"""``optuna-mofs front``: the front of a study as a table, CSV or JSON."""

from __future__ import annotations

import argparse
import json
import math
import shutil
from typing import TYPE_CHECKING, Any

from optuna_mofs.cli.errors import CommandError
from optuna_mofs.cli.options import add_study_options
from optuna_mofs.cli.output import add_output_options, chosen_format, write_text
from optuna_mofs.cli.text import counted, table

if TYPE_CHECKING:
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

    from optuna_mofs.cli.storage import open_storage, open_study, storage_errors

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
        cells += [f"{value:.4g}" for value in values]
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
