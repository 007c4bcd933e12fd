"""``optuna-mofs quickstart``: run a first study and print the code that fits its model."""

from __future__ import annotations

import argparse
import importlib.util
import shlex
from typing import Any

import optuna
from optuna.trial import TrialState
from sklearn.datasets import load_breast_cancer

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    Front,
    pareto_front,
    retry_interrupted,
)
from optuna_mofs._optuna import trials_of
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._front import known
from optuna_mofs.cli._options import add_storage_option, nonnegative_int, positive_int
from optuna_mofs.cli._output import format_count, format_model, format_table, script_path
from optuna_mofs.cli._storage import display_url, open_storage, storage_errors
from optuna_mofs.spaces import get_learner

_STUDY = "quickstart"
_STORAGE = "sqlite:///optuna_mofs_quickstart.db"
_N_TRIALS = 80
_MAX_TRIAL_TIME = 120.0  # seconds after which a running trial counts as interrupted

DESCRIPTION = f"""\
Select features and tune a support vector machine at once, on the breast cancer data of
scikit-learn (569 rows, 30 features), and print the trade-off between error and number of
features. No download is needed; it takes well under a minute.

Every trial is stored in a database, by default the file 'optuna_mofs_quickstart.db' in the
current folder. Run the command again, or in a second terminal at the same time, to continue the
same study. Ctrl-C loses nothing.

examples:
  optuna-mofs quickstart                      {_N_TRIALS} trials, or {_N_TRIALS} more
  optuna-mofs quickstart --trials 300         a longer search
  optuna-mofs quickstart --storage sqlite:////tmp/first.db
"""

# Printed at the end; a test runs it.
_REFIT = """\
import optuna
from optuna_mofs import FeatureSelectionObjective, pareto_front
from optuna_mofs.spaces import get_learner
from sklearn.datasets import load_breast_cancer

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
estimator, space = get_learner("svm")
objective = FeatureSelectionObjective(estimator, X, y, space=space)
study = optuna.load_study(study_name="{study}", storage="{storage}")
model = objective.refit(pareto_front(study).pick())
print(model.predict(X.head()))  # selects its own columns"""


def add_options(parser: Any) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--trials",
        type=positive_int,
        default=_N_TRIALS,
        metavar="N",
        help="number of trials of this run (default: %(default)s)",
    )
    add_storage_option(parser, default=_STORAGE)
    parser.add_argument(
        "--seed",
        type=nonnegative_int,
        default=0,
        metavar="N",
        help="seed of the search (default: %(default)s)",
    )


def make_objective() -> FeatureSelectionObjective:
    """Return the objective of the study: error and fraction of features of an SVM."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    estimator, space = get_learner("svm")
    return FeatureSelectionObjective(estimator, X, y, space=space)


def run(arguments: argparse.Namespace) -> None:
    """Search, then print the front, the picked trial and the next steps."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = arguments.storage
    objective = make_objective()
    with storage_errors(url):
        try:
            study = objective.create_study(
                study_name=_STUDY,
                storage=open_storage(url),
                sampler=FilterEnsembleNSGA2Sampler(seed=arguments.seed),
                load_if_exists=True,
            )
        except ValueError as error:  # an unrelated study of this name
            raise CommandError(str(error)) from error
        # A trial takes seconds. One that has run for minutes was interrupted and is repeated.
        retry_interrupted(study, older_than=_MAX_TRIAL_TIME)
        n_completed = len(trials_of(study, (TrialState.COMPLETE,)))
        if n_completed:
            trials = format_count(n_completed, "completed trial")
            print(f"Continuing study {_STUDY!r} in {display_url(url)} after {trials}.")
        else:
            print(f"New study {_STUDY!r} in {display_url(url)}.")
        n, p = objective.all_data.shape
        print(f"Breast cancer data, {n} rows, {p} features; an SVM, 5-fold cross-validation.")
        try:
            study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"Completed trials are kept in {display_url(url)}. "
                "Run the command again to continue."
            ) from None
        front = pareto_front(study, duplicates=False)
        if not len(front):
            raise CommandError("No trial has completed with values, so there is no front.")
        _print_front(front)
        _print_pick(front, objective)
    _print_next_steps(display_url(url))


def _print_front(front: Front) -> None:
    rows = [
        [f"{trial.values[0]:.4f}", str(trial.user_attrs["n_features"]), str(trial.number)]
        for trial in front
    ]
    print(f"\nFront of {format_count(len(front.points.trials), 'completed trial')}:\n")
    print(format_table(["error", "features", "trial"], rows))
    print(f"\nHypervolume {front.hypervolume():.4f} (1 means no error without any feature)")


def _print_pick(front: Front, objective: FeatureSelectionObjective) -> None:
    pick = front.pick()
    count = f"{len(objective.features_for(pick))} of {objective.all_data.shape[1]} features"
    print("\nFewest features within one standard error of the lowest error:")
    print(f"trial {pick.number}, error {pick.values[0]:.4f} with {count}")
    print(format_model(objective, pick))
    expected = known(front.honest().picks.get("pick"))
    if expected is not None:
        print(f"The best of many trials is also a lucky one: expect {expected} on new rows.")


def _print_next_steps(url: str) -> None:
    print("\nOpen the study in your browser:\n")
    if importlib.util.find_spec("optuna_dashboard") is None:
        print(f"  {script_path('pip')} install optuna-dashboard")
    print(f"  {script_path('optuna-dashboard')} {shlex.quote(url)}")
    print(f"\nFit this model on all data, in {script_path('python')}:\n")
    code = _REFIT.format(study=_STUDY, storage=url)
    print("\n".join(f"  {line}".rstrip() for line in code.splitlines()))
    print("\nRun the same command again to continue the search.")
