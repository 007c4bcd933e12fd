"""``optuna-mofs run``: select features and tune hyperparameters on the user's table."""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs import (
    AllTrialsFailedError,
    DashboardFigures,
    FeatureSelectionObjective,
    StagnationCallback,
    noise_floor,
    pareto_front,
    retry_interrupted,
    warm_start,
)
from optuna_mofs._optuna import trials_of
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._front import front_text
from optuna_mofs.cli._options import (
    add_data_options,
    add_preference_options,
    add_search_options,
    add_study_options,
    duration,
    nonnegative_int,
    positive_int,
    probability,
    read_feature_costs,
    storage_url,
)
from optuna_mofs.cli._output import format_count, print_status, script_path
from optuna_mofs.cli._run_messages import print_hints, print_next_steps, print_start, print_task
from optuna_mofs.cli._settings import (
    Settings,
    load_table,
    make_objective,
    make_preference,
    make_sampler,
    resolve_learner,
    sampler_names,
)
from optuna_mofs.cli._storage import (
    is_missing_file,
    open_storage,
    open_study,
    storage_errors,
    study_options,
)
from optuna_mofs.cli._worker import Job, Limits, Progress, run_trials, search_in_workers
from optuna_mofs.dashboard import save_figures, save_note
from optuna_mofs.fronts import WarmStartWarning
from optuna_mofs.honesty import default_noise_floor_trials
from optuna_mofs.study._completed_trials import Metrics

_N_TRIALS = 100
_MAX_NAMES = 10  # reasons that are printed
_MIN_FLOOR_SECONDS = 30.0
_FLOOR_SHARE = 0.25  # of the time of the search, for trials on permuted labels

DESCRIPTION = """\
Select features and tune a learner at once, on your own table. Every trial is stored in a
database. Run the command again to continue: the settings are stored in the study, so --study and
--trials are enough. If the table, learner or scoring differs from the study's, the command fails
and names the difference. Ctrl-C loses nothing: the interrupted trial is the first one next time.

A text column is one feature; the learner gets one column per category. Dates such as 2026-01-31
become days. Missing values are allowed. A target of texts or few integers is a classification
task, other numbers are a regression task.

At the end the front is printed, with the values to expect on new rows next to the cross-validated
ones, which are too good because they are the best of many. A short search on permuted labels shows
what luck alone finds (--noise-floor). A warning is printed if the front is not clearly better than
chance.

examples:
  optuna-mofs run --data wine.csv --target quality
                                  100 trials, study 'wine' in optuna_mofs.db
  optuna-mofs run --study wine --trials 400 --workers 4
                                  400 more, in four processes
  optuna-mofs run --data wine.csv --target quality --learner lightgbm --scoring roc_auc \\
      --drop id --timeout 30m --storage sqlite:///boosted.db
  optuna-mofs run --data wine.csv --target quality --feature-cost ash=5 \\
      --fixed-features alcohol    error and cost instead of error and number of features
  optuna-mofs run --data wine.csv --target quality --sampler lexiflow --tolerance error=0.01
                                  fewest features with an error within 0.01 of the lowest

then:
  optuna-mofs front --study wine
  optuna-mofs report --study wine --output wine.html
  optuna-mofs export --study wine --output wine.joblib
"""


def add_options(parser: Any) -> None:
    """Add the options of the command."""
    add_data_options(parser)
    add_search_options(parser)
    group = parser.add_argument_group("search")
    group.add_argument(
        "--trials",
        type=positive_int,
        metavar="N",
        help=f"number of trials of this run (default: {_N_TRIALS}, or no limit with --timeout)",
    )
    group.add_argument(
        "--timeout",
        type=duration,
        metavar="TIME",
        help="start no trial that is unlikely to end within this time, by the duration of the "
        "latest ones: 90, 15m, 2h",
    )
    group.add_argument(
        "--stop",
        choices=("hypervolume", "pick"),
        help="stop when more trials are unlikely to bring a gain: in the hypervolume of the "
        "front, or another default pick",
    )
    group.add_argument(
        "--stop-risk",
        type=probability,
        metavar="P",
        default=0.1,
        help="with --stop: largest probability that --stop-horizon more trials would have brought "
        "a gain (default: %(default)s)",
    )
    group.add_argument(
        "--stop-horizon",
        type=positive_int,
        metavar="N",
        default=50,
        help="with --stop: number of these trials (default: %(default)s)",
    )
    group.add_argument(
        "--stop-gain",
        type=probability,
        metavar="G",
        default=0.01,
        help="with --stop: what counts as a gain, relative to the hypervolume (for the pick, to "
        "the worst error, if the number of features stays the same; default: %(default)s)",
    )
    group.add_argument(
        "--sampler",
        choices=sampler_names(),
        metavar="NAME",
        default=argparse.SUPPRESS,
        help=f"{', '.join(sampler_names())} (default: {Settings().sampler})",
    )
    group.add_argument(
        "--seed",
        type=nonnegative_int,
        metavar="N",
        default=argparse.SUPPRESS,
        help=f"seed of the search (default: {Settings().seed})",
    )
    group.add_argument(
        "--workers",
        type=positive_int,
        default=1,
        metavar="N",
        help="number of processes (default: %(default)s); the command can also be started several "
        "times, on other machines too if they can access the storage",
    )
    group.add_argument(
        "--noise-floor",
        type=nonnegative_int,
        metavar="N",
        help="trials on permuted labels at the end, 0 for none (default: once per study, "
        "a tenth of its trials, at least 5 and at most 20, for at most a quarter of the time of "
        "the search; none with --timeout)",
    )
    add_preference_options(group, purpose="lexiflow", default=argparse.SUPPRESS)
    group = parser.add_argument_group("study")
    add_study_options(group)
    group.add_argument(
        "--warm-start",
        metavar="STUDY",
        help="evaluate the front of this other study first, with those of its features and "
        "parameters that exist; its rows, columns and learner can differ",
    )
    group.add_argument(
        "--warm-start-storage",
        type=storage_url,
        metavar="URL",
        help="database of that study (default: --storage)",
    )
    group.add_argument(
        "--retry-running",
        action="store_true",
        help="enqueue all running trials again at once, not a minute after their process died; "
        "only if no other worker is running",
    )
    group.add_argument(
        "--dashboard",
        action="store_true",
        help="save figures and a note for optuna-dashboard, which must be installed",
    )
    group.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace) -> None:
    """Search, then print the front."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    url = arguments.storage
    read_feature_costs(arguments)
    if arguments.dashboard:
        try:
            DashboardFigures()  # raises if optuna-dashboard is not installed
        except ImportError as error:
            raise CommandError(str(error)) from error
    with storage_errors(url):
        # A new file is created only after everything else has been checked.
        storage = None if is_missing_file(url) else open_storage(url, heartbeat=True)
        name, existing = _find_study(storage, arguments)
        if existing is not None and storage and _is_dead(existing, arguments):
            optuna.delete_study(study_name=name, storage=storage)
            print_status(f"Study {name!r} holds no model: it is replaced.")
            existing = None
        source = _warm_start_source(arguments)
        settings = _settings(arguments, existing, name)
        table = load_table(settings)
        settings = resolve_learner(settings, table)
        objective = make_objective(settings, table)
        n_existing = 0 if existing is None else len(trials_of(existing))
        sampler = make_sampler(settings, n_existing=n_existing)
        _check_preference(settings, objective)
        if not arguments.quiet:
            print_task(settings, table, objective)
        if storage is None:
            storage = open_storage(url, heartbeat=True)
        study = _open_study(objective, storage, name, existing, sampler)
        settings.write(study)
        if not arguments.quiet:
            print_start(study, settings, objective, is_new=existing is None)
        if source is not None:
            _start_warm(study, source, quiet=arguments.quiet)
        if arguments.retry_running:
            retried = format_count(len(retry_interrupted(study)), "running trial")
            if not arguments.quiet:
                print_status(f"{retried} enqueued again.")
        started = time.monotonic()
        _search(arguments, settings, study, objective, n_existing)
        _add_noise_floor(arguments, study, objective, time.monotonic() - started)
        if arguments.dashboard:
            save_note(study)
            save_figures(study, preference=make_preference(settings))
        front = pareto_front(study, duplicates=False)
        if not len(front):
            reasons = [trial.user_attrs.get("failure_reason") for trial in trials_of(study)]
            last = next((f" The last error was: {r}" for r in reversed(reasons) if r), "")
            raise CommandError(f"No trial has completed with values.{last}")
        if not arguments.quiet:
            print(front_text(front))
            print_hints(front)
            print_next_steps(study, url)


def _find_study(storage: Any, arguments: argparse.Namespace) -> tuple[str, Study | None]:
    """Return the name of the study, and the study if it exists."""
    names = [] if storage is None else optuna.get_all_study_names(storage)
    name = arguments.study
    if name is None and hasattr(arguments, "data"):
        name = Path(arguments.data).name.partition(".")[0]
    elif name is None and len(names) == 1:
        name = names[0]
    if name is None:
        raise CommandError("Give --data and --target for a new study, or --study to continue one.")
    existing = optuna.load_study(study_name=name, storage=storage) if name in names else None
    return name, existing


def _is_dead(study: Study, arguments: argparse.Namespace) -> bool:
    """Return whether no model of a study could be fitted, and the command can create it anew."""
    if not (hasattr(arguments, "data") and hasattr(arguments, "target")):
        return False
    trials = trials_of(study)
    # The empty feature set needs no fit, so it completes whatever is wrong.
    others = {t.state for t in trials if t.user_attrs.get("n_features") != 0}
    return Settings.read(study) is not None and others == {TrialState.FAIL}


def _settings(arguments: argparse.Namespace, existing: Study | None, name: str) -> Settings:
    stored = None if existing is None else Settings.read(existing)
    settings = (stored or Settings()).updated(arguments)
    for option in ("data", "target"):
        if not getattr(settings, option):
            reason = "is new" if existing is None else "was not created by 'optuna-mofs run'"
            raise CommandError(f"Study {name!r} {reason}, so --{option} is required.")
    return settings if stored is not None else replace(settings, n_trials=_n_trials(arguments))


def _n_trials(arguments: argparse.Namespace) -> int | None:
    has_default = arguments.trials is None and arguments.timeout is None
    return _N_TRIALS if has_default else arguments.trials


def _open_study(
    objective: FeatureSelectionObjective,
    storage: Any,
    name: str,
    existing: Study | None,
    sampler: Any,
) -> Study:
    try:
        if existing is None:
            return objective.create_study(
                study_name=name, storage=storage, sampler=sampler, load_if_exists=True
            )
        existing.sampler = sampler
        objective.attach(existing)
        return existing
    except ValueError as error:
        # Other data, another learner, or an unrelated study. The message names the difference.
        raise CommandError(str(error)) from error


def _warm_start_source(arguments: argparse.Namespace) -> Study | None:
    """Return the study to start from, before anything is created."""
    if arguments.warm_start is None:
        if arguments.warm_start_storage is not None:
            raise CommandError("--warm-start-storage needs --warm-start with the study's name.")
        return None
    url = arguments.warm_start_storage or arguments.storage
    return open_study(open_storage(url, create=False), url, arguments.warm_start)


def _start_warm(study: Study, source: Study, *, quiet: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WarmStartWarning)  # printed below
        try:
            start = warm_start(study, source)
        except ValueError as error:
            raise CommandError(str(error)) from error
    if quiet:
        return
    first = format_count(len(start.numbers), "trial")
    print_status(f"Starting with {first} of study {source.study_name!r}.")
    for name, reason in list(start.refused.items())[:_MAX_NAMES]:
        print_status(f"note: left out {name}: {reason}")


def _check_preference(settings: Settings, objective: FeatureSelectionObjective) -> None:
    """Raise if the preference contains metrics that the study will not have."""
    preference, names = make_preference(settings), tuple(objective.metric_names)
    try:
        # Only the names are checked, so the directions do not matter.
        if preference is not None:
            preference.order(Metrics(names, np.ones(len(names))))
    except ValueError as error:
        raise CommandError(str(error)) from error


def _search(
    arguments: argparse.Namespace,
    settings: Settings,
    study: Study,
    objective: FeatureSelectionObjective,
    n_existing: int,
) -> None:
    n_trials = _n_trials(arguments)
    limits = _limits(arguments)
    progress = Progress(study, n_trials, quiet=arguments.quiet)

    def may_start() -> bool:
        return (n_trials is None or progress.n_trials < n_trials) and limits.allow(study)

    try:
        if arguments.workers == 1:
            run_trials(study, objective, may_start=may_start, on_end=progress.update)
        else:
            job = Job(settings, arguments.storage, study.study_name, n_existing, limits)
            search_in_workers(job, progress, n_trials=n_trials, n_workers=arguments.workers)
    except KeyboardInterrupt as stopped:
        progress.close()
        front = pareto_front(study, duplicates=False)
        if len(front) and not arguments.quiet:
            print(f"\n{front_text(front)}")
        command = f"{script_path('optuna-mofs')} run {study_options(study, arguments.storage)}"
        raise type(stopped)(
            f"{format_count(progress.n_trials, 'trial')} of this run kept; "
            f"continue with: {command}"
        ) from None
    finally:
        progress.close()
    if isinstance(limits.stop, StagnationCallback) and not arguments.quiet:
        chance = limits.stop.missed_gain_probability(study)
        if chance < limits.stop.risk:
            print_status(
                f"Stopped after {format_count(progress.n_trials, 'trial')}: the chance that "
                f"{limits.stop.horizon} more bring a gain is {chance:.0%}."
            )


def _limits(arguments: argparse.Namespace) -> Limits:
    deadline = None if arguments.timeout is None else time.time() + arguments.timeout
    if arguments.stop is None:
        return Limits(deadline)
    stop = StagnationCallback(
        arguments.stop,
        min_gain=arguments.stop_gain,
        horizon=arguments.stop_horizon,
        risk=arguments.stop_risk,
    )
    return Limits(deadline, stop)


def _add_noise_floor(
    arguments: argparse.Namespace,
    study: Study,
    objective: FeatureSelectionObjective,
    search_seconds: float,
) -> None:
    """Search on permuted labels; by default for a part of the time of the search.

    On labels that cannot be learned some learners, such as boosting, take longer.
    """
    n_trials = arguments.noise_floor
    limit = max(_MIN_FLOOR_SECONDS, _FLOOR_SHARE * search_seconds) if n_trials is None else np.inf
    front = pareto_front(study)
    is_known = front.baselines.noise_floor is not None or arguments.timeout is not None
    if n_trials == 0 or (n_trials is None and is_known) or not len(front):
        return
    n_trials = n_trials or default_noise_floor_trials(study)
    if not arguments.quiet:
        print_status("Noise floor: the same search on permuted labels (Ctrl-C skips it)")
    progress = Progress(None, n_trials, quiet=arguments.quiet)
    begin = time.monotonic()

    def callback(permuted: Study, trial: FrozenTrial) -> None:
        progress.update(trial.state)
        if time.monotonic() - begin > limit:
            permuted.stop()

    try:
        noise_floor(study, objective, n_trials=n_trials, callbacks=[callback])
    except (ValueError, AllTrialsFailedError) as error:
        print_status(f"optuna-mofs: note: there is no noise floor. {error}")
    except KeyboardInterrupt:
        progress.close()
        print_status("\nnote: the noise floor was skipped")
    finally:
        progress.close()
