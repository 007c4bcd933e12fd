"""Quality of the front if filters rank a part of large data, against ranks of all of it.

    python -m benchmarks.screening --data DIR --seeds 5

Filters rank the 2,000 most relevant of more than 5,000 columns, and a sample of 30,000 of more
than 50,000 rows. Few data sets are that large, so the limits are lower here for some: 500 of the
columns of bioresponse, 150 of those of madelon, 1,000 of the rows of spambase and waveform_binary.
All else is the same. A quarter of the rows is held out; the front is that of the search, the error
that of its pick on the rows held out.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.common import load, markdown_table, parser  # first: it sets threads

import numpy as np  # isort: skip
import optuna
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler, pareto_front
from optuna_mofs.features import _ranking, _screening

os.environ["OPTUNA_MOFS_CACHE"] = "0"  # ranks of a part must not come from those of all
#: Limits of each set: columns that are ranked, or rows.
SETS: dict[str, dict[str, int]] = {
    "arcene": {"columns": 2_000},
    "prostata_ge": {"columns": 2_000},
    "bioresponse": {"columns": 500},
    "madelon": {"columns": 150},
    "spambase": {"rows": 1_000},
    "waveform_binary": {"rows": 1_000},
}
FILTERS = ["auc", "information_gain", "jmi", "random_forest"]


def limited(columns: float = math.inf, rows: float = math.inf) -> Any:
    """Return a context in which filters rank at most so many columns and rows."""
    return (
        mock.patch.multiple(_screening, MAX_COLUMNS=columns, N_CANDIDATES=columns),
        mock.patch.multiple(_ranking, MAX_ROWS=rows, N_SAMPLED=rows),
    )


def search(X: Any, y: Any, limits: dict[str, int], trials: int, seed: int) -> dict[str, float]:
    """Return hypervolume of the front, error on held-out rows, and seconds before trial 0."""
    kept, out, y_kept, y_out = train_test_split(X, y, stratify=y, random_state=seed)
    columns, rows = limited(**limits)
    with columns, rows:
        begin = time.process_time()
        objective = FeatureSelectionObjective(
            GaussianNB(),
            kept,
            y_kept,
            filters=FILTERS,
            cv=StratifiedKFold(3, shuffle=True, random_state=seed),
        )
        sampler = FilterEnsembleNSGA2Sampler(seed=seed)
        study = objective.create_study(sampler=sampler)
        set_up = time.process_time() - begin
        study.optimize(objective, n_trials=trials)
        front = pareto_front(study)
        model = objective.refit(front.pick())
    error = float(np.mean(model.predict(out) != y_out))
    return {"hypervolume": front.hypervolume(), "error": error, "seconds": set_up}


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    options.add_argument("--trials", type=int, default=60)
    options.add_argument("--keep", type=Path, metavar="FILE", help="append results, and continue")
    args = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    trials = 5 if args.quick else args.trials
    found: dict[tuple[str, int, bool], dict[str, float]] = {}
    if args.keep is not None and args.keep.exists():
        for name, seed, part, result in map(json.loads, args.keep.read_text().splitlines()):
            found[name, seed, part] = result
    for seed in range(args.seeds):
        for name in args.sets:
            data = load(args.data, name)
            for part in (False, True):
                if (name, seed, part) in found:
                    continue
                limits = SETS[name] if part else {}
                result = search(data["X"], data["y"], limits, trials, seed)
                found[name, seed, part] = result
                print(name, seed, part, result, flush=True)
                if args.keep is not None:
                    with args.keep.open("a") as file:
                        print(json.dumps([name, seed, part, result]), file=file)
    rows = []
    for name in args.sets:
        cells = [
            np.mean([found[name, seed, part][key] for seed in range(args.seeds)])
            for key in ("hypervolume", "error", "seconds")
            for part in (False, True)
        ]
        rows.append([name, *(f"{cell:.3f}" for cell in cells)])
    header = ["data set"]
    for key in ("hypervolume", "error on new rows", "seconds before trial 0"):
        header += [f"{key}: all", "a part"]
    print(f"\n{trials} trials, {args.seeds} seeds\n\n{markdown_table(header, rows)}")
    for key in ("hypervolume", "error"):
        differences = [
            found[n, s, True][key] - found[n, s, False][key]
            for n in args.sets
            for s in range(args.seeds)
        ]
        se = np.std(differences, ddof=1) / np.sqrt(len(differences))
        print(f"{key}: a part - all {np.mean(differences):+.4f}, standard error {se:.4f}")


if __name__ == "__main__":
    main()
