"""``optuna-mofs run``: search features and hyperparameters on a table of the user's."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._options import (
    STORAGE,
    add_data_options,
    add_preference_options,
    add_search_options,
    add_study_options,
    duration,
    positive,
    read_costs,
    seed,
)
from optuna_mofs.cli._output import counted, script
from optuna_mofs.cli._settings import Settings

if TYPE_CHECKING:
    from optuna.study import Study

    from optuna_mofs import FeatureSelectionObjective
    from optuna_mofs.cli._table import Table

_TRIALS = 100

_DESCRIPTION = """\
Search feature sets and hyperparameters of a learner at once, on your own table. Every trial is
kept in a database. Run the command again to go on: what is searched is remembered, so that
--study and --trials are enough. A table, learner or scoring that differs from the study's is
refused, and the message names the difference. Ctrl-C loses nothing: the trial that it cuts off
comes first next time.

Columns of words become one column a category (one feature still); missing numbers and words are
fine. The target is a column too: words or few whole numbers are classes, other numbers a
regression target.

examples:
  optuna-mofs run --data wine.csv --target quality
                                  100 trials of an SVM, study 'wine' in optuna_mofs.db
  optuna-mofs run --study wine --trials 400 --workers 4
                                  400 more, in four processes
  optuna-mofs run --data wine.csv --target quality --learner lightgbm --scoring roc_auc \\
      --drop id --timeout 30m --storage sqlite:///boosted.db
  optuna-mofs run --data wine.csv --target quality --cost ash=5 --fixed alcohol
                                  error against cost instead of number of features
  optuna-mofs run --data wine.csv --target quality --sampler lexiflow --tolerance error=0.01
                                  as few features as an error within 0.01 of the best allows

then:
  optuna-mofs front --study wine
  optuna-mofs report --study wine --output wine.html
  optuna-mofs export --study wine --output wine.joblib
"""


def add_to(subparsers: Any) -> None:
    """Add the subcommand to the parser."""
    from optuna_mofs.cli._settings import sampler_names

    parser = subparsers.add_parser(
        "run",
        help="search features and hyperparameters on your own table",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_data_options(parser)
    add_search_options(parser)
    group = parser.add_argument_group("search")
    group.add_argument(
        "--trials",
        type=positive,
        metavar="N",
        help=f"configurations to evaluate in this run (default: {_TRIALS}, or no limit with "
        "--timeout)",
    )
    group.add_argument(
        "--timeout",
        type=duration,
        metavar="TIME",
        help="begin no trial after this time: 90, 15m, 2h",
    )
    group.add_argument(
        "--sampler",
        choices=sampler_names(),
        metavar="NAME",
        default=argparse.SUPPRESS,
        help=f"{', '.join(sampler_names())} (default: {Settings().sampler}, with filters)",
    )
    group.add_argument(
        "--seed",
        type=seed,
        metavar="N",
        default=argparse.SUPPRESS,
        help=f"seed of the search (default: {Settings().seed})",
    )
    group.add_argument(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="processes that search at once (default: %(default)s); the command may also be "
        "started several times, on other machines too if they reach the storage",
    )
    add_preference_options(group, purpose="lexiflow", default=argparse.SUPPRESS)
    group = parser.add_argument_group("study")
    add_study_options(group)
    group.add_argument(
        "--retry-running",
        action="store_true",
        help="no other worker runs now: put trials that seem to run back in the queue at once, "
        "not a minute after their process died",
    )
    group.add_argument(
        "--dashboard",
        action="store_true",
        help="save figures and a note in the study for optuna-dashboard, which must be installed",
    )
    group.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Search, then print the front."""
    import optuna

    from optuna_mofs import retry_interrupted
    from optuna_mofs.cli._settings import load_table, make_objective, make_sampler
    from optuna_mofs.cli._storage import is_missing_file, open_storage, storage_errors

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    url = arguments.storage
    read_costs(arguments)
    if arguments.dashboard:
        _require_dashboard()
    say = _silence if arguments.quiet else _say
    with storage_errors(url):
        # A new file is made only once the rest is known to be right.
        storage = None if is_missing_file(url) else open_storage(url, heartbeat=True)
        name, found = _find(storage, arguments)
        settings = _settings(arguments, found, name)
        table = load_table(settings)
        objective = make_objective(settings, table)
        started = 0 if found is None else len(found.get_trials(deepcopy=False))
        sampler = make_sampler(settings, started=started)
        _check_preference(settings, objective)
        _tell_what(say, settings, table, objective, name, found)
        if storage is None:
            storage = open_storage(url, heartbeat=True)
        study = _attached(objective, storage, name, found, sampler)
        settings.remember(study)
        if arguments.retry_running:
            again = retry_interrupted(study)
            say(f"{counted(len(again), 'trial')} of dead workers put back in the queue.")
        _search(arguments, settings, study, objective, started)
        if arguments.dashboard:
            _show_in_dashboard(settings, study)
        _tell_front(say, study, url)


def _find(storage: Any, arguments: argparse.Namespace) -> tuple[str, Study | None]:
    """The study's name, and the study if there is a storage and it is there."""
    import optuna

    names = [] if storage is None else optuna.get_all_study_names(storage)
    name = arguments.study
    if name is None and hasattr(arguments, "data"):
        name = Path(arguments.data).name.partition(".")[0]
    elif name is None and len(names) == 1:
        name = names[0]
    if name is None:
        raise CommandError(
            "Say what to search by --data and --target, or what to go on with by --study."
        )
    found = optuna.load_study(study_name=name, storage=storage) if name in names else None
    return name, found


def _settings(arguments: argparse.Namespace, found: Study | None, name: str) -> Settings:
    remembered = None if found is None else Settings.recall(found)
    settings = (remembered or Settings()).updated(arguments)
    for option in ("data", "target"):
        if not getattr(settings, option):
            there = "is new" if found is None else "was not made by 'optuna-mofs run'"
            raise CommandError(f"Study {name!r} {there}, so --{option} is needed.")
    if remembered is None:
        trials = arguments.trials
        if trials is None and arguments.timeout is None:
            trials = _TRIALS
        settings = replace(settings, budget=trials)
    return settings


def _attached(
    objective: FeatureSelectionObjective,
    storage: Any,
    name: str,
    found: Study | None,
    sampler: Any,
) -> Study:
    try:
        if found is None:
            return objective.create_study(
                study_name=name, storage=storage, sampler=sampler, load_if_exists=True
            )
        found.sampler = sampler
        objective.attach(found)
        return found
    except ValueError as error:
        # Other data, another learner, or a study of something else: the difference is named.
        raise CommandError(str(error)) from error


def _check_preference(settings: Settings, objective: FeatureSelectionObjective) -> None:
    """Refuse metrics that the study will not have."""
    import optuna

    from optuna_mofs.cli._settings import preference

    like = optuna.create_study(directions=objective.directions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        like.set_metric_names(objective.metric_names)
    try:
        preference(settings).order(like)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _search(
    arguments: argparse.Namespace,
    settings: Settings,
    study: Study,
    objective: FeatureSelectionObjective,
    started: int,
) -> None:
    from optuna_mofs.cli._worker import Job, Progress, work_alone, work_together

    trials = arguments.trials
    if trials is None and arguments.timeout is None:
        trials = _TRIALS
    deadline = None if arguments.timeout is None else time.time() + arguments.timeout
    progress = Progress(study, trials, quiet=arguments.quiet)
    try:
        if arguments.workers == 1:
            work_alone(study, objective, progress, trials=trials, deadline=deadline)
        else:
            job = Job(settings, arguments.storage, study.study_name, started, deadline)
            work_together(job, progress, trials=trials, workers=arguments.workers)
    except KeyboardInterrupt as stopped:
        raise type(stopped)(
            f"{counted(progress.done, 'trial')} of this run kept; "
            f"go on by: {_again(arguments, study)}"
        ) from None
    finally:
        progress.close()


def _tell_what(
    say: Any,
    settings: Settings,
    table: Table,
    objective: FeatureSelectionObjective,
    name: str,
    found: Study | None,
) -> None:
    from optuna_mofs.cli._storage import finished

    n, p = objective.data.shape
    words = f" ({counted(len(table.words), 'column')} of words)" if table.words else ""
    kind = "classification" if objective.data.classification else "regression"
    say(
        f"{settings.data}: {n} rows, {counted(p, 'feature')}{words}, {kind} of {settings.target!r}"
    )
    indices = [column for column in table.names if column.startswith("Unnamed: ")]
    if indices:
        say(f"note: {indices[0]!r} looks like row numbers; leave it out by --drop {indices[0]!r}")
    if found is None:
        say(f"New study {name!r}: {settings.learner}, sampler {settings.sampler}.")
    else:
        trials = counted(len(finished(found)), "finished trial")
        say(f"Continuing study {name!r} after {trials}: {settings.learner}, {settings.sampler}.")


def _tell_front(say: Any, study: Study, url: str) -> None:
    from optuna_mofs import pareto_front
    from optuna_mofs.cli._front import front_text
    from optuna_mofs.cli._worker import failure

    front = pareto_front(study, duplicates=False)
    if not len(front):
        trials = study.get_trials(deepcopy=False)
        raise CommandError(f"No trial has finished with values. {failure(trials)}")
    if say is _silence:
        return
    print(front_text(front))
    options = _study_options(study, url)
    say("\nnext:")
    for command, ending in (("report", "html"), ("export", "joblib")):
        file = f"{_file_name(study.study_name)}.{ending}"
        say(f"  {script('optuna-mofs')} {command} {options} --output {file}")


def _require_dashboard() -> None:
    from optuna_mofs import DashboardFigures

    try:
        DashboardFigures()
    except ImportError as error:
        raise CommandError(str(error)) from error


def _show_in_dashboard(settings: Settings, study: Study) -> None:
    from optuna_mofs.cli._settings import preference
    from optuna_mofs.dashboard import save_figures, save_note

    wanted = preference(settings)
    save_note(study)
    save_figures(study, preference=wanted if wanted != type(wanted)() else None)


def _again(arguments: argparse.Namespace, study: Study) -> str:
    return f"{script('optuna-mofs')} run {_study_options(study, arguments.storage)}"


def _study_options(study: Study, url: str) -> str:
    from optuna_mofs.cli._storage import shown

    storage = "" if url == STORAGE else f"--storage {shlex.quote(shown(url))} "
    return f"{storage}--study {shlex.quote(study.study_name)}"


def _file_name(study: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in study)


def _say(text: str) -> None:
    # Not a result: results go to stdout.
    print(text, file=sys.stderr, flush=True)


def _silence(text: str) -> None:
    pass
