"""``optuna-mofs report``: write a study as one self-contained HTML page."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna_mofs._format import format_number
from optuna_mofs.cli import _output as out
from optuna_mofs.cli._front import Pick, add_pick_options, pick_trial, read_front
from optuna_mofs.cli._options import STORAGE, add_command, add_study_options
from optuna_mofs.cli._output import format_count, short_param_names, write_text
from optuna_mofs.cli._settings import Settings

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from optuna_mofs import Front, LexicographicPreference

_DESCRIPTION = """\
Write a study as one HTML page: the front, the chosen model, figures, and the settings of the
search. The page is self-contained, so it can be sent by mail and opened without a network.
Works on any Optuna study; the data is not needed.

examples:
  optuna-mofs report --study wine --output wine.html
  optuna-mofs report --study wine --max-features 5 --output small.html
  optuna-mofs report --study wine --tolerance error=0.01 --output wine.html
"""


def add_to(subparsers: Any) -> None:
    """Add the subcommand to the parser."""
    parser = add_command(
        subparsers, "report", run, help="write a study as one HTML page", description=_DESCRIPTION
    )
    add_study_options(parser)
    parser.add_argument(
        "--output", metavar="FILE.html", required=True, help="file for the page; - for stdout"
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_pick_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    from optuna_mofs.cli._storage import existing_study

    with existing_study(arguments.storage, arguments.study) as study:
        front = read_front(study)
        settings = Settings.read(study)
        pick = pick_trial(front, arguments, settings)
        page = report_page(front, pick, settings, storage=arguments.storage)
    write_text(page, arguments.output)
    if arguments.output != "-" and not arguments.quiet:
        size = Path(arguments.output).stat().st_size / 1e6
        print(
            f"{arguments.output}: {size:.1f} MB, front of {format_count(len(front), 'trial')}, "
            f"chosen: trial {pick.trial.number}, {pick.description}"
        )


def report_page(front: Front, pick: Pick, settings: Settings | None, *, storage: str) -> str:
    """Return the page as HTML.

    Args:
        front: Front of the study.
        pick: Trial of the chosen model.
        settings: Settings in the study, if it was created by ``run``.
        storage: URL of the storage.
    """
    figures = _figures(front, pick, settings)
    parts = [
        _tiles(front, pick),
        _chosen_model(front, pick, settings, storage),
        *map(out.html_figure, figures[:1]),
        _front_table(front, pick),
        *map(out.html_figure, figures[1:]),
        *_settings_table(settings),
    ]
    return out.html_page(
        front.study.study_name, _lead(front, settings), parts, has_figures=bool(figures)
    )


def _lead(front: Front, settings: Settings | None) -> str:
    objectives = ", ".join(f"{d} {n}" for n, d in zip(front.metric_names, front.directions))
    if settings is None:
        return objectives
    file = Path(settings.data).name
    return f"{settings.learner} on {file}, predicting {settings.target}: {objectives}"


def _tiles(front: Front, pick: Pick) -> str:
    values = {
        "completed trials": f"{len(front.points.trials):,}",
        "trials on the front": f"{len(front):,}",
        "hypervolume": format_number(front.hypervolume()),
    }
    # A trial that was picked by number may not be on the front.
    for name, value in zip(front.metric_names, pick.trial.values):
        values[f"{name} of the chosen model"] = format_number(value)
    names = _features(front, pick.trial)
    if names is not None:
        total = _n_features(front)
        values["features of the chosen model"] = f"{len(names)}" + (f" / {total}" if total else "")
    return out.html_tiles(values)


def _chosen_model(front: Front, pick: Pick, settings: Settings | None, storage: str) -> str:
    trial = pick.trial
    names = _features(front, trial)
    rows = [
        [name, format_number(value), _spread(trial, name)]
        for name, value in zip(front.metric_names, trial.values)
    ]
    has_spread = any(row[2] for row in rows)
    header = ["metric", "value", "over folds"][: 2 + has_spread]
    values = out.html_table(header, [row[: 2 + has_spread] for row in rows], text=[0])
    params = _hyperparameters(front, trial)
    tables = [values]
    if params:
        tables.append(out.html_table(["hyperparameter", "value"], params, text=[0]))
    parts = [] if names is None else [out.html_chips(names) if names else _NO_FEATURES]
    parts.append(out.html_columns(*tables))
    if settings is not None:
        parts.append("<br>" + out.html_command(_export_command(front, pick, storage)))
    return out.html_section(
        f"Chosen model: trial {trial.number}", *parts, note=f"Chosen: {pick.description}."
    )


_NO_FEATURES = '<p class="note">It uses no features.</p>'


def _spread(trial: FrozenTrial, name: str) -> str:
    scores = (trial.user_attrs.get("fold_scores") or {}).get(name)
    return f"{format_number(min(scores))} to {format_number(max(scores))}" if scores else ""


def _front_table(front: Front, pick: Pick) -> str:
    frame = front.to_frame()
    hidden = {*front.metric_names, "n_features", "features"}
    extra = [name for name in frame.columns if name not in hidden]
    has_counts = "n_features" in frame
    has_names = "features" in frame
    header = ["trial", *front.metric_names]
    header += ["features"] * has_counts + ["which"] * has_names + short_param_names(extra)
    rows: list[list[Any]] = []
    for i, (trial, values) in enumerate(zip(front, front.values)):
        row: list[Any] = [trial.number, *map(format_number, values)]
        row += [frame["n_features"].iloc[i]] if has_counts else []
        row += [_features(front, trial) or []] if has_names else []
        rows.append([*row, *(_format_value(frame[name].iloc[i]) for name in extra)])
    numbers = [trial.number for trial in front]
    chosen = numbers.index(pick.trial.number) if pick.trial.number in numbers else None
    text = [len(header) - len(extra) - 1] if has_names else []
    note = f"{format_count(len(front), 'trial')}; no other completed trial dominates them."
    return out.html_section(
        "The front", out.html_table(header, rows, text=text, chosen=chosen), note=note
    )


def _settings_table(settings: Settings | None) -> list[str]:
    if settings is None:
        return []
    rows = [
        [name.replace("_", " "), ", ".join(map(str, v)) if isinstance(v, list) else v]
        for name, v in asdict(settings).items()
        if v not in (None, [], {})
    ]
    return [
        out.html_section(
            "Settings of the search", out.html_table(["setting", "value"], rows, text=[0, 1])
        )
    ]


def _figures(front: Front, pick: Pick, settings: Settings | None) -> list[Any]:
    from optuna_mofs.visualization import plot_all

    figures = plot_all(front.study, preference=_preference(settings))
    drawn = figures.get("front")
    if drawn is not None and len(front.metric_names) == 2 and pick.trial != front.knee():
        x, y = pick.trial.values
        marker = {"symbol": "star", "size": 15, "color": "#b5446e"}
        drawn.add_scatter(x=[x], y=[y], mode="markers", marker=marker, name="chosen")
    return list(figures.values())


def _preference(settings: Settings | None) -> LexicographicPreference | None:
    from optuna_mofs.cli._settings import make_preference

    if settings is None or not (settings.priorities or settings.tolerances or settings.goals):
        return None
    return make_preference(settings)


def _features(front: Front, trial: FrozenTrial) -> list[str] | None:
    from optuna_mofs import selected_features

    return selected_features(front.study, trial)


def _n_features(front: Front) -> int | None:
    from optuna_mofs.study._description import StudyDescription

    description = StudyDescription.read(front.study)
    features = None if description is None else description.features
    return None if features is None else len(features)


def _hyperparameters(front: Front, trial: FrozenTrial) -> list[list[str]]:
    from optuna_mofs.study._description import StudyDescription

    description = StudyDescription.read(front.study)
    mask = () if description is None else description.mask_parameters
    params = {n: _format_value(value) for n, value in trial.params.items() if n not in mask}
    return [list(row) for row in zip(short_param_names(list(params)), params.values())]


def _format_value(value: Any) -> str:
    return format_number(value) if isinstance(value, float) else str(value)


def _export_command(front: Front, pick: Pick, storage: str) -> str:
    from optuna_mofs.cli._storage import display_url

    where = "" if storage == STORAGE else f" --storage {shlex.quote(display_url(storage))}"
    which = f"--study {shlex.quote(front.study.study_name)} --trial {pick.trial.number}"
    return f"optuna-mofs export{where} {which} --output model.joblib"
