"""``optuna-mofs stability``: repeat the search of a study on resamples of its rows."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import Any

import optuna

from optuna_mofs import ResampledFronts, pareto_front, resampled_fronts
from optuna_mofs._optuna import storage_of, trials_of
from optuna_mofs.cli._diagnostics import load_objective
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._options import add_study_options, number, positive_int
from optuna_mofs.cli._output import format_count, print_status, script_path
from optuna_mofs.cli._settings import Settings, make_sampler
from optuna_mofs.cli._storage import existing_study, study_options

DESCRIPTION = """\
Repeat the search of a study on subsamples (or bootstrap samples) of its rows, and print how often
each feature is selected, how stable the chosen sets are (Nogueira's index: 1 for always the same,
0 for random sets), which features replace each other, and how much the front varies. Each resample
takes about as long as the search. After an interruption, run it again to continue. The report of
the study shows the result.

examples:
  optuna-mofs stability --study wine
  optuna-mofs stability --study wine --resamples 50 --workers 4
  optuna-mofs stability --study wine --method bootstrap --trials 50
"""

_MAX_FEATURES = 20  # in the table


def add_options(parser: Any) -> None:
    """Add the options of the command."""
    add_study_options(parser)
    parser.add_argument(
        "--resamples", type=positive_int, metavar="N", default=20, help="default: %(default)s"
    )
    parser.add_argument(
        "--trials",
        type=positive_int,
        metavar="N",
        help="number of trials of each search (default: as many as the study has)",
    )
    parser.add_argument(
        "--method",
        choices=("subsample", "bootstrap"),
        default="subsample",
        help="rows without or with replacement (default: %(default)s)",
    )
    parser.add_argument(
        "--fraction",
        type=number,
        metavar="F",
        default=0.5,
        help="fraction of the rows of a subsample (default: %(default)s)",
    )
    parser.add_argument(
        "--workers", type=positive_int, metavar="N", default=1, help="number of processes"
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace) -> None:
    """Search on the resamples, store the result in the study, and print it."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with existing_study(arguments.storage, arguments.study) as study:
        settings = Settings.read(study)
        objective = load_objective(pareto_front(study), settings)
        if settings is None or objective is None:
            raise CommandError(
                f"Study {study.study_name!r} was not created by 'optuna-mofs run', or its data is "
                "missing or has changed, so that the search cannot be repeated."
            )
        storage, prefix = storage_of(study), _prefix(study.study_name, arguments)
        try:
            found = resampled_fronts(
                objective,
                sampler=make_sampler(settings, n_existing=0),
                n_trials=arguments.trials or len(trials_of(study)),
                n_resamples=arguments.resamples,
                method=arguments.method,
                fraction=arguments.fraction,
                storage=storage,
                study_name=prefix,
                n_jobs=arguments.workers,
                show_progress_bar=not arguments.quiet,
            )
        except ValueError as error:
            raise CommandError(str(error)) from error
        found.write(study)
        for k in range(arguments.resamples):
            with suppress(KeyError):
                optuna.delete_study(study_name=f"{prefix}_resample{k}", storage=storage)
    if not arguments.quiet:
        print(stability_text(found))
        options = f"{study_options(study, arguments.storage)} --output report.html"
        print_status(f"\nnext:\n  {script_path('optuna-mofs')} report {options}")


def _prefix(study_name: str, arguments: argparse.Namespace) -> str:
    """Return the prefix of the studies of resamples: other rows need other studies."""
    share = f"_{arguments.fraction:g}" if arguments.method == "subsample" else ""
    return f"{study_name}_{arguments.method}{share}"


def stability_text(found: ResampledFronts) -> str:
    """Return the result as text."""
    metric = found.metric_names[0]
    lines = [
        f"{format_count(found.n_resamples, found.method)} of {found.n_rows[0]} of "
        f"{found.n_rows[1]} rows, {format_count(found.n_trials, 'trial')} each",
        f"Stability of the default picks: {found.stability()} (1: always the same features, "
        "0: like random sets)",
        "",
        "selected in  feature",
    ]
    frequency = found.selection_frequency()
    chosen = frequency[frequency > 0]
    lines += [f"{share:>11.0%}  {name}" for name, share in chosen.head(_MAX_FEATURES).items()]
    if len(chosen) > _MAX_FEATURES:
        lines.append(f"{'':>11}  and {len(chosen) - _MAX_FEATURES} more, less often")
    groups = found.groups()
    if groups:
        lines += ["", "Similar features that replace each other:"]
        lines += [
            f"{group.frequency:>11.0%}  one of {', '.join(found.names_of(group))}"
            for group in groups
        ]
    band = found.band()
    lines += ["", f"features  {metric} (80 % of the resamples)   on other rows"]
    for size, row in band.iterrows():
        inner = f"{row['median']:.4g} ({row['low']:.4g} to {row['high']:.4g})"
        outer = f"{row['test_median']:.4g} ({row['test_low']:.4g} to {row['test_high']:.4g})"
        lines.append(f"{size:>8}  {inner:<32} {outer}")
    return "\n".join(lines)
