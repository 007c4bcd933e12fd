"""What ``optuna-mofs run`` prints before and after the search."""

from __future__ import annotations

import shlex
from collections import Counter

import numpy as np
from optuna.study import Study
from optuna.trial import TrialState

from optuna_mofs import FeatureSelectionObjective, Front
from optuna_mofs._optuna import trials_of
from optuna_mofs.cli._output import format_count, print_status, script_path
from optuna_mofs.cli._settings import Settings
from optuna_mofs.cli._storage import study_options
from optuna_mofs.cli._table import Table
from optuna_mofs.fronts._warnings import leak_hint

_MAX_NAMES = 10  # of columns in one line
_MANY_CELLS = 200_000  # ranking the features of a larger table takes noticeably long


def print_task(settings: Settings, table: Table, objective: FeatureSelectionObjective) -> None:
    """Print rows, features and target of a search, and what is notable about them."""
    n, p = objective.all_data.shape
    kinds = [
        f"{kind}: {', '.join(names[:_MAX_NAMES])}"
        + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")
        for kind, names in (
            (format_count(len(table.text_columns), "text column"), table.text_columns),
            (format_count(len(table.date_columns), "date column"), table.date_columns),
        )
        if names
    ]
    texts = f" ({'; '.join(kinds)})" if kinds else ""
    task, classes = "regression", ""
    if objective.data.classification:
        task, classes = "classification", f" ({len(np.unique(table.y))} classes)"
    features = format_count(p, "feature")
    print_status(
        f"{settings.data}: {n} rows, {features}{texts}, {task} of {settings.target!r}{classes}"
    )
    if objective.holdout_rows is not None:
        held_out = format_count(len(objective.holdout_rows), "row")
        print_status(
            f"{held_out} not used by the search show what to expect on new rows (--holdout 0: "
            "use all)"
        )
    for column in table.names:
        if column.startswith("Unnamed: "):
            print_status(
                f"note: {column!r} looks like row numbers; ignore it with --drop {column!r}"
            )


def print_start(
    study: Study, settings: Settings, objective: FeatureSelectionObjective, *, is_new: bool
) -> None:
    """Print the study, its learner and sampler."""
    begin = f"New study {study.study_name!r}"
    if not is_new:
        n_completed = len(trials_of(study, (TrialState.COMPLETE,)))
        trials = format_count(n_completed, "completed trial")
        begin = f"Continuing study {study.study_name!r} after {trials}"
    print_status(f"{begin}: {settings.learner}, sampler {settings.sampler}.")
    n, p = objective.all_data.shape
    has_ranks = objective.representation is not None and objective.table.filters
    if n * p > _MANY_CELLS and has_ranks:
        print_status("Filters rank the features first; this can take a while.")


def print_hints(front: Front) -> None:
    """Print how many trials failed and why, and whether one feature alone is nearly perfect."""
    reasons = Counter(
        str(trial.user_attrs.get("failure_reason", "unknown reason"))
        for trial in trials_of(front.study, (TrialState.FAIL,))
    )
    if reasons:
        reason, count = reasons.most_common(1)[0]
        n_failed = format_count(reasons.total(), "trial")
        print_status(f"note: {n_failed} failed; the most frequent reason ({count}): {reason}")
    leak = leak_hint(front)
    if leak is not None:
        print_status(f"note: {leak[1]}: --drop {shlex.quote(leak[0])}")


def print_next_steps(study: Study, url: str) -> None:
    """Print the commands that write a report and a model."""
    print_status("\nnext:")
    name = "".join(c if c.isalnum() or c in "-_." else "_" for c in study.study_name)
    for command, suffix in (("report", "html"), ("export", "joblib")):
        options = f"{study_options(study, url)} --output {name}.{suffix}"
        print_status(f"  {script_path('optuna-mofs')} {command} {options}")
