"""What does it save to stop a search early, and what does it lose on rows that it has not seen?

Ten searches of 400 trials of the default sampler, with learners whose fits take milliseconds. Each
rule is applied afterwards to the trials as they came, and stops the search where its callback
would have stopped it. Printed are the trials that it saves, and the hypervolume of the front at
that trial relative to that of the front of all trials: of the cross-validated values, and of the
same trials on other rows. For ``StagnationCallback`` there is also the risk that it states, beside
how often the gain did come in the trials after the stop.

    python -m benchmarks.stopping --data DIR --keep FOLDER
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import optuna
from optuna.study import Study
from optuna.trial import TrialState
from sklearn.model_selection import train_test_split

from benchmarks.common import markdown_table, parser  # first: it sets threads
from benchmarks.honesty import table
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    LexicographicPreference,
    LexicographicStoppingCallback,
    NoNewOptimaCallback,
    StagnationCallback,
    spaces,
)
from optuna_mofs._optuna import storage_of, study_key
from optuna_mofs._typing import Floats
from optuna_mofs.callbacks import StoppingCallback
from optuna_mofs.fronts import (
    entered_front_mask,
    hypervolume,
    hypervolume_over_time,
    nondominated_mask,
)
from optuna_mofs.fronts._front import front_of
from optuna_mofs.study._completed_trials import CompletedTrials, read_completed_trials

#: Data set and learner of each search.
SEARCHES = (
    ("sonar", "logistic_regression"),
    ("sonar", "knn"),
    ("wdbc", "logistic_regression"),
    ("wdbc", "knn"),
    ("wine", "knn"),
    ("german_credit", "logistic_regression"),
    ("diabetes", "ridge"),
    ("friedman", "knn"),
    ("ida_waveform", "logistic_regression"),
    ("spambase", "logistic_regression"),
)
MAX_ROWS = 600


def search(name: str, learner: str, folder: Path | None, n_trials: int, keep: Path) -> Study:
    """Run what is missing of a search, and store the test values of what entered the front."""
    X, y, task = table(name, folder, MAX_ROWS)
    stratify = y if task == "classification" else None
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=stratify)
    estimator, space = spaces.get_learner(learner, task, random_state=0)
    objective = FeatureSelectionObjective(estimator, X, y, space=space, random_state=0)
    backend = optuna.storages.journal.JournalFileBackend(str(keep / f"{name}-{learner}.log"))
    study = objective.create_study(
        study_name=f"{name}, {learner}",
        sampler=FilterEnsembleNSGA2Sampler(seed=0),
        storage=optuna.storages.JournalStorage(backend),
        load_if_exists=True,
    )
    study.optimize(objective, n_trials=max(0, n_trials - len(study.trials)))
    path = keep / f"{name}-{learner}.json"
    if not path.exists():
        trials = study.get_trials(states=(TrialState.COMPLETE,))
        entered = entered_front_mask(np.array([trial.values for trial in trials]))
        tested = {
            trial.number: objective.test_values(objective.refit(trial), trial, X_test, y_test)
            for trial, is_new in zip(trials, entered)
            if is_new
        }
        path.write_text(json.dumps(tested))
    return study


def rules() -> dict[str, StoppingCallback]:
    """Return the rules by name."""
    found: dict[str, StoppingCallback] = {}
    for monitor in ("hypervolume", "pick"):
        for horizon, risk in ((50, 0.1), (50, 0.2), (20, 0.2)):
            name = f"stagnation of {monitor}, horizon {horizon}, risk {risk:g}"
            found[name] = StagnationCallback(monitor, horizon=horizon, risk=risk)
    found["no new optimum in 60 trials"] = NoNewOptimaCallback(60)
    preference = LexicographicPreference(tolerances={"error": 0.01})
    found["lexicographic best unchanged for 60 trials"] = LexicographicStoppingCallback(
        preference, patience=60
    )
    return found


def replay(study: Study, tested: dict[int, list[float]]) -> dict[str, dict[str, float]]:
    """Return where each rule stops, and the hypervolumes there relative to the end.

    Args:
        study: A finished search.
        tested: Values on other rows, by the number of a trial.
    """
    trials = study.get_trials(states=(TrialState.COMPLETE,))
    copied = optuna.create_study(directions=study.directions)
    for key, value in storage_of(study).get_study_system_attrs(study_key(study)[1]).items():
        storage_of(copied).set_study_system_attr(study_key(copied)[1], key, value)
    waiting, stops = rules(), {}
    stated: dict[str, float] = {}
    for n, trial in enumerate(trials, start=1):
        copied.add_trial(trial)
        for name, rule in list(waiting.items()):
            if rule.should_stop(copied):
                stops[name] = n
                if isinstance(rule, StagnationCallback):
                    stated[name] = rule.missed_gain_probability(copied)
                del waiting[name]
    points = read_completed_trials(copied)
    bound = points.reference_losses(None)
    inner = hypervolume_over_time(points.losses, bound)
    found = {}
    for name, rule in rules().items():
        n = stops.get(name, len(trials))
        volumes = [
            hypervolume([tested[points.trials[row].number] for row in rows], bound)
            for rows in (_front(points.losses[:n]), _front(points.losses))
        ]
        found[name] = {
            "trials": n,
            "saved": 1 - n / len(trials),
            "inner": inner[n - 1] / inner[-1] - 1,
            "outer": volumes[0] / volumes[1] - 1,
        }
        if name in stated and isinstance(rule, StagnationCallback):
            found[name]["stated"] = stated[name]
            if n + rule.horizon <= len(trials):
                found[name]["came"] = _came(rule, points, inner, n)
    return found


def _front(losses: Floats) -> list[int]:
    # Of equal trials the first one: only those that entered the front were tested.
    first = nondominated_mask(losses) & entered_front_mask(losses)
    return [int(row) for row in np.flatnonzero(first)]


def _came(rule: StagnationCallback, points: CompletedTrials, inner: Floats, n: int) -> float:
    """Return 1 if the trials after a stop brought what the rule calls a gain, else 0."""
    after = slice(n, n + rule.horizon)
    if rule.monitor == "hypervolume":
        return float(inner[after].max() > inner[n - 1] * (1 + rule.min_gain))
    picks = [front_of(points.take(np.arange(k))).pick() for k in range(n, n + rule.horizon + 1)]
    first, margin = picks[0], rule.min_gain * points.worst[0]
    return float(
        any(
            pick.user_attrs["n_features"] != first.user_attrs["n_features"]
            or abs(pick.values[0] - first.values[0]) > margin
            for pick in picks
        )
    )


def print_tables(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print the means of the searches, and each search under the default rule."""
    if not found:
        print("No search is finished.")
        return
    rows = []
    for rule in rules():
        runs = [by_rule[rule] for by_rule in found.values()]
        stops = [run for run in runs if "stated" in run]
        came = [run["came"] for run in stops if "came" in run]
        rows.append(
            [
                rule,
                f"{np.mean([run['trials'] for run in runs]):.0f}",
                f"{np.mean([run['saved'] for run in runs]):.0%}",
                *(
                    f"{np.mean([run[key] for run in runs]):+.2%} "
                    f"({min(run[key] for run in runs):+.2%})"
                    for key in ("inner", "outer")
                ),
                f"{np.mean([run['stated'] for run in stops]):.0%}" if stops else "",
                f"{int(sum(came))} of {len(came)}" if stops else "",
            ]
        )
    header = [
        f"rule ({len(found)} searches)",
        "trials",
        "saved",
        "hypervolume inside (worst)",
        "on other rows (worst)",
        "stated risk",
        "gain came",
    ]
    print(markdown_table(header, rows), end="\n\n")
    default = next(iter(rules()))
    rows = [
        [name, int(run[default]["trials"])]
        + [f"{run[default][key]:+.2%}" for key in ("inner", "outer")]
        for name, run in found.items()
    ]
    print(markdown_table([default, "trials", "inside", "on other rows"], rows))


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, apply the rules, and print the tables."""
    options = parser(__doc__ or "")
    options.add_argument("--keep", type=Path, required=True, metavar="FOLDER", help="searches")
    options.add_argument("--only", nargs="+", metavar="NAME", help="data sets")
    options.add_argument("--finished", action="store_true", help="no new searches")
    given = options.parse_args(arguments)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    given.keep.mkdir(parents=True, exist_ok=True)
    n_trials, found = 20 if given.quick else 400, {}
    for name, learner in SEARCHES:
        if given.only and name not in given.only:
            continue
        stored = given.keep / f"{name}-{learner}.json"
        if given.finished and not stored.exists():
            continue
        study = search(name, learner, given.data, n_trials, given.keep)
        tested = {int(k): v for k, v in json.loads(stored.read_text()).items()}
        found[study.study_name] = replay(study, tested)
    print_tables(found)


if __name__ == "__main__":
    main()
