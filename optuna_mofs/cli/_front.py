"""``optuna-mofs front``, and how the other commands pick a trial."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs import Front, pareto_front, selected_features
from optuna_mofs._format import format_number
from optuna_mofs._optuna import trials_of
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._options import (
    add_preference_options,
    add_study_options,
    nonnegative_int,
    positive_int,
)
from optuna_mofs.cli._output import (
    add_output_options,
    csv_text,
    format_count,
    format_table,
    output_format,
    write_text,
)
from optuna_mofs.cli._settings import Settings
from optuna_mofs.cli._storage import existing_study
from optuna_mofs.fronts import HonestEstimate
from optuna_mofs.visualization._honest_layers import expectation
from optuna_mofs.visualization._utils import metric_label

DESCRIPTION = """\
Print the Pareto front of a study: the trials that no other trial dominates. Works on any Optuna
study. The table is for reading; CSV and JSON contain all features and hyperparameters.

The best of many trials is also a lucky one: its cross-validated value is too good. The column
'honest' is what to expect on new rows, with a 95 % interval, for studies of 'optuna-mofs run'.

examples:
  optuna-mofs front --study wine
  optuna-mofs front --study wine --format csv | cut -d, -f1-4
  optuna-mofs front --study wine --output front.json
  optuna-mofs front --study wine --format json | jq '.trials[0].features'
"""


def add_options(parser: Any) -> None:
    """Add the options of the command."""
    add_study_options(parser)
    add_output_options(parser, formats=("table", "csv", "json"))


def run(arguments: argparse.Namespace) -> None:
    """Print the front."""
    kind = output_format(arguments)
    with existing_study(arguments.storage, arguments.study) as study:
        front = read_front(study)
        text = {"table": front_text, "csv": _csv, "json": _json}[kind](front)
    write_text(text, arguments.output)


def read_front(study: Study) -> Front:
    """Return the front, one trial per vector of values, or raise if it is empty."""
    front = pareto_front(study, duplicates=False)
    if not len(front):
        raise CommandError(
            f"Study {study.study_name!r} has no front: no trial has completed with values "
            f"({format_count(len(trials_of(study)), 'trial')} in total)."
        )
    return front


def front_text(front: Front) -> str:
    """Return the front as a table, with the names of features cut to the terminal's width."""
    frame = front.to_frame()
    pick = front.pick().number
    header = ["trial", *front.metric_names, *honest_header(front)]
    has_counts = "n_features" in frame and "n_features" not in front.metric_names
    if has_counts:
        header.append("n")
    rows = []
    for row, (number, values) in enumerate(zip(frame.index, front.values)):
        cells = [f"*{number}" if number == pick else str(number)]
        cells += [format_number(value) for value in values]
        cells += honest_cells(front, row)
        if has_counts:
            cells.append(str(frame["n_features"].iloc[row]))
        rows.append(cells)
    lines, picked = format_table(header, rows).splitlines(), None
    if "features" in frame:
        # A file or a pipe has no width.
        width = max(30, shutil.get_terminal_size((160, 24)).columns - len(lines[0]) - 2)
        texts = ["features", *(str(text or "-") for text in frame["features"])]
        short = [
            textwrap.shorten(t, width, placeholder=" …", break_on_hyphens=False) for t in texts
        ]
        lines = [f"{line}  {text}" for line, text in zip(lines, short)]
        place = 1 + frame.index.tolist().index(pick)
        picked = None if short[place] == texts[place] else texts[place]
    trials = format_count(len(front.points.trials), "completed trial")
    n_stopped = len(trials_of(front.study, (TrialState.PRUNED,)))
    trials += f" ({n_stopped:,} more were stopped early)" if n_stopped else ""
    lines.append(
        f"\nFront of {trials} of study {front.study.study_name!r}, "
        f"hypervolume {front.hypervolume():.4f}, * is the default pick"
    )
    lines.append(sentence(expectation(front)))
    if picked is not None:
        lines.append(f"Its features: {picked}")
    lines += _baselines(front)
    if front.honest().warning:
        lines.append(str(front.honest().warning))
    return "\n".join(lines)


def _baselines(front: Front) -> list[str]:
    """Return a line with the baselines that are known."""
    baselines, floor = front.baselines, front.baselines.noise_floor
    parts = {
        "a constant prediction": baselines.constant,
        "all features, not tuned": baselines.all_features,
        "the search on permuted labels": None if floor is None else floor.values[-1:],
    }
    texts = [f"{name} {format_number(values[0])}" for name, values in parts.items() if values]
    metric = metric_label(front.points, 0)
    return [f"For comparison, {metric}: {'; '.join(texts)}."] if texts else []


def honest_header(front: Front) -> list[str]:
    """Return the names of the columns of honest values, if there are such values."""
    return [] if front.honest().source is None else ["honest", "interval"]


def honest_cells(front: Front, row: int) -> list[str]:
    """Return the honest value of a trial and its interval as text, if there are such values."""
    if not honest_header(front):
        return []
    estimate = known(front.honest().members[row])
    if estimate is None:
        return ["-", "-"]
    return [f"{estimate.value:.3g}", f"{estimate.low:.3g} to {estimate.high:.3g}"]


def known(estimate: HonestEstimate | None) -> HonestEstimate | None:
    """Return an estimate, or None if its value is unknown."""
    return None if estimate is None or math.isnan(estimate.value) else estimate


def sentence(text: str) -> str:
    """Return a text as a sentence.

    Example:
        >>> sentence("2 features, expect 0.1")
        '2 features, expect 0.1.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def _csv(front: Front) -> str:
    frame = front.to_frame()
    frame.insert(0, "pick", frame.index == front.pick().number)
    return csv_text(frame, index_label="trial")


def _json(front: Front) -> str:
    honest, frame = front.honest(), front.to_frame()
    estimates = honest.to_frame().drop(columns="raw").to_dict("records")
    trials = [
        {
            "number": trial.number,
            "values": dict(zip(front.metric_names, values)),
            **estimate,
            "features": selected_features(front.study, trial),
            # Without the parameters that encode features.
            "params": {name: value for name, value in trial.params.items() if name in frame},
        }
        for trial, values, estimate in zip(front, front.values.tolist(), estimates)
    ]
    content = {
        "study": front.study.study_name,
        "directions": dict(zip(front.metric_names, front.directions)),
        "completed_trials": len(front.points.trials),
        "hypervolume": front.hypervolume(),
        "pick": front.pick().number,
        "knee": front.knee().number,
        "honest": {
            "source": honest.source,
            "metric": honest.metric_name,
            "picks": {name: asdict(estimate) for name, estimate in honest.picks.items()},
            "warning": honest.warning,
        },
        "baselines": asdict(honest.baselines),
        "trials": trials,
    }
    return json.dumps(_finite(content), indent=2, ensure_ascii=False)


def _finite(value: Any) -> Any:
    """Return a value with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Pick:
    """A trial of a front, with a description of how it was picked."""

    trial: FrozenTrial
    description: str
    #: What to expect on new rows, None if it is unknown.
    expected: HonestEstimate | None = None


def add_pick_options(parser: Any) -> None:
    """Add the options that pick a trial of the front."""
    group = parser.add_argument_group("which trial")
    group.add_argument(
        "--pick",
        choices=("one_standard_error", "knee", "best", "lexicographic"),
        help="one_standard_error: fewest features within one standard error of the lowest "
        "cross-validated error; knee: the best trade-off; best: lowest error; lexicographic: by "
        "--priority, --tolerance and --goal (default: one_standard_error, or the knee of a study "
        "without values per fold; lexicographic if one of these is given here or was given to "
        "run)",
    )
    group.add_argument("--trial", type=nonnegative_int, metavar="N", help="trial number N")
    group.add_argument(
        "--max-features",
        dest="at_most",
        type=positive_int,
        metavar="N",
        help="lowest error with at most N features",
    )
    add_preference_options(group, purpose="lexicographic")


def pick_trial(front: Front, arguments: argparse.Namespace, settings: Settings | None) -> Pick:
    """Pick a trial by the options of :func:`add_pick_options`.

    The default for the preference is that of the settings in the study.
    """
    preference = {n: getattr(arguments, n) for n in ("priorities", "tolerances", "goals")}
    is_lexicographic = arguments.pick == "lexicographic" or any(preference.values())
    is_given = {
        "--trial": arguments.trial is not None,
        "--max-features": arguments.at_most is not None,
        "--pick": arguments.pick not in (None, "lexicographic"),
        "--priority, --tolerance, --goal or --pick lexicographic": is_lexicographic,
    }
    given = [option for option, value in is_given.items() if value]
    if len(given) > 1:
        raise CommandError(f"{' and '.join(given)} are mutually exclusive. Give only one of them.")
    if settings is not None and not any(preference.values()):
        preference = {name: getattr(settings, name) for name in preference}
    try:
        return _pick_trial(front, arguments, preference)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _pick_trial(front: Front, arguments: argparse.Namespace, preference: dict[str, Any]) -> Pick:
    metric = front.metric_names[0]
    if arguments.trial is not None:
        trial = _trial_by_number(front, arguments.trial)
        return Pick(trial, "picked by number", _expected(front, trial))
    if arguments.at_most is not None:
        limit = format_count(arguments.at_most, "feature")
        trial = front.best(max_features=arguments.at_most)
        return Pick(trial, f"the best {metric} with at most {limit}", _expected(front, trial))
    pick = arguments.pick or ("lexicographic" if any(preference.values()) else None)
    if pick == "lexicographic":
        trial = front.lexicographic(**preference)
        parts = [_format_preference(name, value) for name, value in preference.items() if value]
        order = "; ".join(parts) or ", ".join(front.metric_names)
        description = f"by lexicographic preference ({order})"
        return Pick(trial, description, _expected(front, trial))
    honest = front.honest()
    descriptions = {
        "knee": "the knee of the front",
        "best": f"the best {metric}",
        "one_standard_error": "the fewest features within one standard error of the best "
        f"{metric}",
    }
    trial = front.pick() if pick is None else getattr(front, pick)()
    rule = pick or ("one_standard_error" if front.has_standard_error else "knee")
    return Pick(trial, descriptions[rule], known(honest.picks.get(pick or "pick")))


def _expected(front: Front, trial: FrozenTrial) -> HonestEstimate | None:
    """Return what to expect of a trial on new rows, None if it is not on the front."""
    honest = front.honest()
    return known(dict(zip(honest.numbers, honest.members)).get(trial.number))


def _trial_by_number(front: Front, number: int) -> FrozenTrial:
    for trial in front.points.trials:
        if trial.number == number:
            return trial
    on_front = ", ".join(str(trial.number) for trial in front)
    raise CommandError(
        f"Study {front.study.study_name!r} has no completed trial {number}. "
        f"The trials on the front are {on_front}."
    )


def _format_preference(name: str, value: Any) -> str:
    pairs = [f"{k}={v}" for k, v in value.items()] if isinstance(value, dict) else value
    return f"{name}: {', '.join(pairs)}"
