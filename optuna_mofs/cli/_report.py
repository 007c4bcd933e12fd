"""``optuna-mofs report``: a study as one HTML page that needs no network."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna_mofs._format import format_number
from optuna_mofs.cli import _output as page
from optuna_mofs.cli._front import Pick, add_pick_options, picked
from optuna_mofs.cli._options import STORAGE, add_study_options
from optuna_mofs.cli._output import counted, without_steps, write_text
from optuna_mofs.cli._settings import Settings

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from optuna_mofs import Front, LexicographicPreference

_DESCRIPTION = """\
Write a study as one HTML page: the front, the chosen model, figures, and how it was searched. The
page holds everything it needs, so that it can be sent by mail and opened without a network.
Works on any Optuna study; the data is not needed.

examples:
  optuna-mofs report --study wine --output wine.html
  optuna-mofs report --study wine --max-features 5 --output small.html
  optuna-mofs report --study wine --tolerance error=0.01 --output wine.html
"""


def add_to(subparsers: Any) -> None:
    """Add the subcommand to the parser."""
    parser = subparsers.add_parser(
        "report",
        help="write a study as one HTML page",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_study_options(parser)
    parser.add_argument(
        "--output", metavar="FILE.html", required=True, help="the page; - for stdout"
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_pick_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    import optuna

    from optuna_mofs.cli._front import front_of
    from optuna_mofs.cli._storage import open_storage, open_study, storage_errors

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with storage_errors(arguments.storage):
        storage = open_storage(arguments.storage, create=False)
        study = open_study(storage, arguments.storage, arguments.study)
        front = front_of(study)
        settings = Settings.recall(study)
        pick = picked(front, arguments, settings)
        made = report_page(front, pick, settings, storage=arguments.storage)
    write_text(made, arguments.output)
    if arguments.output != "-" and not arguments.quiet:
        size = Path(arguments.output).stat().st_size / 1e6
        print(
            f"{arguments.output}: {size:.1f} MB, front of {counted(len(front), 'trial')}, "
            f"chosen: trial {pick.trial.number}, {pick.how}"
        )


def report_page(front: Front, pick: Pick, settings: Settings | None, *, storage: str) -> str:
    """The page as HTML.

    Args:
        front: Of the study.
        pick: The trial that is shown as the chosen model.
        settings: What the study remembers of ``run``.
        storage: URL of the storage.
    """
    figures = _figures(front, pick, settings)
    parts = [
        _numbers(front, pick),
        _chosen(front, pick, settings, storage),
        *map(page.figure, figures[:1]),
        _front_table(front, pick),
        *map(page.figure, figures[1:]),
        *_conditions(front, settings),
    ]
    return page.page(front.study.study_name, _lead(front, settings), parts, script=bool(figures))


def _lead(front: Front, settings: Settings | None) -> str:
    aims = ", ".join(f"{d} {n}" for n, d in zip(front.metric_names, front.directions))
    if settings is None:
        return aims
    file = Path(settings.data).name
    return f"{settings.learner} on {file}, predicting {settings.target}: {aims}"


def _numbers(front: Front, pick: Pick) -> str:
    values = {
        "finished trials": f"{len(front.points.trials):,}",
        "trials on the front": f"{len(front):,}",
        "hypervolume": format_number(front.hypervolume()),
    }
    # A trial that was asked for by number need not be on the front.
    for name, value in zip(front.metric_names, pick.trial.values):
        values[f"{name} of the chosen model"] = format_number(value)
    names = _features(front, pick.trial)
    if names is not None:
        total = _all_features(front)
        values["features of the chosen model"] = f"{len(names)}" + (f" / {total}" if total else "")
    return page.tiles(values)


def _chosen(front: Front, pick: Pick, settings: Settings | None, storage: str) -> str:
    trial = pick.trial
    names = _features(front, trial)
    rows = [
        [name, format_number(value), _spread(trial, name)]
        for name, value in zip(front.metric_names, trial.values)
    ]
    spread = any(row[2] for row in rows)
    head = ["metric", "value", "over folds"] if spread else ["metric", "value"]
    values = page.page_table(head, [row if spread else row[:2] for row in rows], text=[0])
    params = _hyperparameters(front, trial)
    tables = [values]
    if params:
        tables.append(page.page_table(["hyperparameter", "value"], params, text=[0]))
    parts = [] if names is None else [page.chips(names) if names else _NO_FEATURES]
    parts.append(page.columns(*tables))
    if settings is not None:
        parts.append("<br>" + page.command(_export_command(front, pick, storage)))
    return page.section(
        f"Chosen model: trial {trial.number}", *parts, note=f"Chosen as {pick.how}."
    )


_NO_FEATURES = '<p class="note">It uses no feature at all.</p>'


def _spread(trial: FrozenTrial, name: str) -> str:
    scores = (trial.user_attrs.get("fold_scores") or {}).get(name)
    return f"{format_number(min(scores))} to {format_number(max(scores))}" if scores else ""


def _front_table(front: Front, pick: Pick) -> str:
    frame = front.to_frame()
    hidden = {*front.metric_names, "n_features", "features"}
    extra = [name for name in frame.columns if name not in hidden]
    counted_features = "n_features" in frame
    listed = "features" in frame
    header = ["trial", *front.metric_names]
    header += ["features"] * counted_features + ["which"] * listed + without_steps(extra)
    rows: list[list[Any]] = []
    for i, (trial, values) in enumerate(zip(front, front.values)):
        row: list[Any] = [trial.number, *map(format_number, values)]
        row += [frame["n_features"].iloc[i]] if counted_features else []
        row += [_features(front, trial) or []] if listed else []
        rows.append([*row, *(_shown(frame[name].iloc[i]) for name in extra)])
    numbers = [trial.number for trial in front]
    chosen = numbers.index(pick.trial.number) if pick.trial.number in numbers else None
    text = [len(header) - len(extra) - 1] if listed else []
    note = f"{counted(len(front), 'trial')}; no other finished trial is better in every metric."
    return page.section(
        "The front", page.page_table(header, rows, text=text, chosen=chosen), note=note
    )


def _conditions(front: Front, settings: Settings | None) -> list[str]:
    from dataclasses import asdict

    if settings is None:
        return []
    said = {k.replace("_", " "): v for k, v in asdict(settings).items() if v not in (None, [], {})}
    rows = [
        [name, ", ".join(map(str, v)) if isinstance(v, list) else v] for name, v in said.items()
    ]
    return [
        page.section(
            "How it was searched", page.page_table(["setting", "value"], rows, text=[0, 1])
        )
    ]


def _figures(front: Front, pick: Pick, settings: Settings | None) -> list[Any]:
    from optuna_mofs.visualization import plot_all

    made = plot_all(front.study, preference=_preference(settings))
    drawn = made.get("front")
    if drawn is not None and len(front.metric_names) == 2 and pick.trial != front.knee():
        x, y = pick.trial.values
        marker = {"symbol": "star", "size": 15, "color": "#b5446e"}
        drawn.add_scatter(x=[x], y=[y], mode="markers", marker=marker, name="chosen")
    return list(made.values())


def _preference(settings: Settings | None) -> LexicographicPreference | None:
    from optuna_mofs.cli._settings import preference

    if settings is None or not (settings.priorities or settings.tolerances or settings.goals):
        return None
    return preference(settings)


def _features(front: Front, trial: FrozenTrial) -> list[str] | None:
    from optuna_mofs import selected_features

    return selected_features(front.study, trial)


def _all_features(front: Front) -> int | None:
    from optuna_mofs.study._description import StudyDescription

    known = StudyDescription.read(front.study)
    return None if known is None or known.features is None else len(known.features)


def _hyperparameters(front: Front, trial: FrozenTrial) -> list[list[str]]:
    from optuna_mofs.study._description import StudyDescription

    known = StudyDescription.read(front.study)
    mask = set() if known is None else set(known.mask_parameters)
    params = {name: _shown(value) for name, value in trial.params.items() if name not in mask}
    return [list(row) for row in zip(without_steps(list(params)), params.values())]


def _shown(value: Any) -> str:
    return format_number(value) if isinstance(value, float) else str(value)


def _export_command(front: Front, pick: Pick, storage: str) -> str:
    from optuna_mofs.cli._storage import shown

    place = "" if storage == STORAGE else f" --storage {shlex.quote(shown(storage))}"
    which = f"--study {shlex.quote(front.study.study_name)} --trial {pick.trial.number}"
    return f"optuna-mofs export{place} {which} --output model.joblib"
