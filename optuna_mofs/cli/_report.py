"""``optuna-mofs report``: write a study as one self-contained HTML page."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial

from optuna_mofs import FeatureSelectionObjective, Front, ResampledFronts, selected_features
from optuna_mofs._format import format_number
from optuna_mofs.cli import _html as html
from optuna_mofs.cli import _output as out
from optuna_mofs.cli._diagnostics import (
    Stability,
    honest_predictions,
    importance,
    load_objective,
    stability,
)
from optuna_mofs.cli._front import (
    Pick,
    add_pick_options,
    honest_cells,
    honest_header,
    pick_trial,
    read_front,
)
from optuna_mofs.cli._options import add_study_options
from optuna_mofs.cli._settings import Settings, make_preference
from optuna_mofs.cli._storage import existing_study, study_options
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._partial import fold_scores
from optuna_mofs.visualization import plot_all
from optuna_mofs.visualization._honest_layers import SizeErrorAxes

DESCRIPTION = """\
Write a study as one HTML page: what to expect on new rows, the front, the chosen model and its
features, and, folded, how the search went. The page is self-contained, so it can be sent by mail
and opened without a network. Works on any Optuna study. If the data of the study is still where it
was, the page also shows predictions of the chosen model on rows that it was not fitted on.

examples:
  optuna-mofs report --study wine --output wine.html
  optuna-mofs report --study wine --max-features 5 --output small.html
  optuna-mofs report --study wine --tolerance error=0.01 --output wine.html
"""


def add_options(parser: Any) -> None:
    """Add the options of the command."""
    add_study_options(parser)
    parser.add_argument(
        "--output", metavar="FILE.html", required=True, help="file for the page; - for stdout"
    )
    parser.add_argument(
        "--no-predictions",
        action="store_true",
        help="do not fit the models of the chosen trial again, which takes as long as the trial: "
        "no confusion matrix, ROC curve, residuals and importances",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_pick_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    with existing_study(arguments.storage, arguments.study) as study:
        front = read_front(study)
        settings = Settings.read(study)
        pick = pick_trial(front, arguments, settings)
        objective = load_objective(front, settings)
        predictions: list[str] = []
        if objective is not None and not arguments.no_predictions:
            if not arguments.quiet:
                out.print_refit(pick.trial)
            predictions = _predictions(pick, objective)
        page = _page(front, pick, settings, objective, predictions, arguments.storage)
    out.write_text(page, arguments.output)
    if arguments.output != "-" and not arguments.quiet:
        size = Path(arguments.output).stat().st_size / 1e6
        trials = out.format_count(len(front), "trial")
        chosen = f"trial {pick.trial.number}, {pick.description}"
        print(f"{arguments.output}: {size:.1f} MB, front of {trials}, chosen: {chosen}")


def _page(
    front: Front,
    pick: Pick,
    settings: Settings | None,
    objective: FeatureSelectionObjective | None,
    predictions: list[str],
    url: str,
) -> str:
    """Return the page as HTML; there are no settings if the study was not created by ``run``."""
    figures = _figures(front, pick, settings)
    first, *others = [figure for name, figure in figures.items() if name != "stability"] or [None]
    search = [*map(html.figure, others), *_settings_table(settings)]
    warning = front.honest().warning
    parts = [
        *([html.warning(warning)] if warning else []),
        _tiles(front, pick),
        *([] if first is None else [html.figure(first)]),
        _chosen_model(front, pick, stability(front, pick.trial, objective), settings, url),
        *_resamples(front, figures.get("stability")),
        *predictions,
        _front_table(front, pick),
        *([html.details("How the search went", *search)] if search else []),
    ]
    lead = _lead(front, settings)
    return html.page(front.study.study_name, lead, parts, has_figures=bool(figures))


def _lead(front: Front, settings: Settings | None) -> str:
    objectives = ", ".join(f"{d} {n}" for n, d in zip(front.metric_names, front.directions))
    if settings is None:
        return objectives
    file = Path(settings.data).name
    return f"{settings.learner} on {file}, predicting {settings.target}: {objectives}"


def _tiles(front: Front, pick: Pick) -> str:
    values = {}
    if pick.expected is not None:
        metric = front.honest().metric_name
        values[f"{metric} to expect on new rows"] = f"{pick.expected.value:.3g}"
        low, high = pick.expected.low, pick.expected.high
        values[f"95 % interval of the {metric} on new rows"] = f"{low:.2g}–{high:.2g}"
    # A trial that was picked by number may not be on the front.
    for name, value in zip(front.metric_names, pick.trial.values):
        values[f"{name}{_how(front, name)}"] = format_number(value)
    names = selected_features(front.study, pick.trial)
    if names is not None:
        description = StudyDescription.read(front.study)
        features = None if description is None else description.features
        total = "" if features is None else f" / {len(features)}"
        values["features"] = f"{len(names)}{total}"
    values["completed trials"] = f"{len(front.points.trials):,}"
    return html.tiles(values)


def _how(front: Front, name: str) -> str:
    """Return how a metric was measured, if there is another value of it."""
    honest = front.honest()
    is_honest = honest.source is not None and honest.metric_name == name
    return ", cross-validated: usually too good" if is_honest else ""


def _chosen_model(
    front: Front, pick: Pick, found: Stability | None, settings: Settings | None, url: str
) -> str:
    trial = pick.trial
    rows = [
        [name, format_number(value), _spread(trial, name)]
        for name, value in zip(front.metric_names, trial.values)
    ]
    n_columns = 3 if any(row[2] for row in rows) else 2
    header = ["metric", "value", "over folds"][:n_columns]
    tables = [html.table(header, [row[:n_columns] for row in rows], text=[0])]
    description = StudyDescription.read(front.study)
    mask = () if description is None else description.mask_parameters
    params = {name: value for name, value in trial.params.items() if name not in mask}
    if params:
        named = zip(out.short_param_names(list(params)), map(out.format_value, params.values()))
        tables.append(html.table(["hyperparameter", "value"], named, text=[0]))
    parts = []
    names = selected_features(front.study, trial)
    if names is not None:
        if found is not None:
            names = [f"{name} {count}/{found.n_sets}" for name, count in found.counts.items()]
            parts.append(
                f'<p class="note">Selected features, and how often each is selected in the '
                f"{found.n_sets} {found.source}. Stability of these sets: {found.index:.2f} "
                "(1: always the same features, 0: like random sets).</p>"
            )
        parts.append(html.chips(names) if names else '<p class="note">No features.</p>')
    parts.append(html.columns(*tables))
    if settings is not None:
        options = f"{study_options(front.study, url)} --trial {trial.number}"
        command = f"optuna-mofs export {options} --output model.joblib"
        parts.append(f"<br><pre>{escape(command)}</pre>")
    note = f"Chosen: {pick.description}."
    if pick.expected is not None:
        note = f"Expect {front.honest().metric_name} {pick.expected} on new rows. {note}"
    return html.section(f"Chosen model: trial {trial.number}", *parts, note=note)


def _resamples(front: Front, figure: Any) -> list[str]:
    """Return the section about searches on resamples, if the study has some."""
    found = ResampledFronts.read(front.study)
    if found is None:
        return []
    parts = [] if figure is None else [html.plot(figure)]
    groups = [
        [", ".join(found.names_of(group)), f"{group.frequency:.0%}", f"{group.together:.0%}"]
        for group in found.groups()
    ]
    if groups:
        header = ["features that replace each other", "one of them", "several"]
        parts.append(html.table(header, groups, text=[0]))
    note = (
        f"The search was repeated on {found.n_resamples} {found.method}s of {found.n_rows[0]} of "
        f"{found.n_rows[1]} rows. Stability of the default picks: {found.stability()} (1: always "
        "the same features, 0: like random sets)."
    )
    return [html.section("Stability on other rows", *parts, note=note)]


def _predictions(pick: Pick, objective: FeatureSelectionObjective) -> list[str]:
    try:
        folds = objective.tested_folds(pick.trial)
        found = honest_predictions(objective, folds)
        important = importance(objective, pick.trial, folds)
    except Exception as error:  # of the learner
        note = f"The chosen model could not be fitted again: {error}"
        return [html.section("Predictions", note=note)]
    note = "The search did not use these rows."
    if objective.holdout_rows is None:
        note = (
            "Each row was predicted by a model that was not fitted on it. The trial was chosen by "
            "these rows, so expect somewhat more errors on new ones."
        )
    parts = [html.columns(*map(html.plot, found.figures()))]
    parts += [] if important is None else [html.plot(important.figure())]
    return [html.section(f"Predictions on {found.source}", *parts, note=note)]


def _spread(trial: FrozenTrial, name: str) -> str:
    scores = fold_scores(trial).get(name)
    return f"{format_number(min(scores))} to {format_number(max(scores))}" if scores else ""


def _front_table(front: Front, pick: Pick) -> str:
    frame = front.to_frame()
    hidden = {*front.metric_names, "n_features", "features"}
    hidden |= {"honest", "honest_low", "honest_high"} if honest_header(front) else set()
    description = StudyDescription.read(front.study)
    # The features show what a rule of filter weights selects; the chosen model lists the weights.
    rule = () if description is None else description.rule_parameters
    hidden |= {*rule, *(f"params_{name}" for name in rule)} - set(front.metric_names)
    extra = [name for name in frame.columns if name not in hidden]
    has_counts = "n_features" in frame
    has_names = "features" in frame
    header = ["trial", *front.metric_names, *honest_header(front)]
    header += ["features"] * has_counts + ["selected"] * has_names + out.short_param_names(extra)
    rows: list[list[Any]] = []
    for i, (trial, values) in enumerate(zip(front, front.values)):
        row: list[Any] = [trial.number, *map(format_number, values), *honest_cells(front, i)]
        row += [frame["n_features"].iloc[i]] if has_counts else []
        row += [selected_features(front.study, trial) or []] if has_names else []
        rows.append([*row, *(out.format_value(frame[name].iloc[i]) for name in extra)])
    numbers = [trial.number for trial in front]
    chosen = numbers.index(pick.trial.number) if pick.trial.number in numbers else None
    text = [len(header) - len(extra) - 1] if has_names else []
    table = html.table(header, rows, text=text, chosen=chosen)
    note = f"{out.format_count(len(front), 'trial')}; no other completed trial dominates them."
    return html.section("The front", table, note=note)


def _settings_table(settings: Settings | None) -> list[str]:
    if settings is None:
        return []
    rows = [
        [name.replace("_", " "), ", ".join(map(str, v)) if isinstance(v, list) else v]
        for name, v in asdict(settings).items()
        if v not in (None, [], {})
    ]
    table = html.table(["setting", "value"], rows, text=[0, 1])
    return [html.section("Settings of the search", table)]


def _figures(front: Front, pick: Pick, settings: Settings | None) -> dict[str, Any]:
    preference = None if settings is None else make_preference(settings)
    figures = plot_all(front.study, preference=preference)
    drawn = figures.get("front")
    if drawn is not None and len(front.metric_names) == 2 and pick.trial != front.pick():
        axes = SizeErrorAxes.of(front)
        x, y = pick.trial.values if axes is None else axes.point(pick.trial)
        marker = {"symbol": "star", "size": 15, "color": "#b5446e"}
        drawn.add_scatter(x=[x], y=[y], mode="markers", marker=marker, name="chosen")
    return figures
