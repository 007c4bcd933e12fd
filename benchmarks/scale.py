"""Set-up of large data and cost of a trial, compared with scikit-learn and plain Optuna.

``python -m benchmarks.scale`` (about ten minutes of CPU time, 3 GB), ``--before PATH`` to measure
another checkout of this repository too, ``--tasks wide sparse`` for some tables, ``--quick`` for a
small run. Every measurement is a new process with one thread, without ranks on disk.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import markdown_table, parser

import numpy as np  # isort: skip
import optuna
import sqlalchemy
from optuna.distributions import FloatDistribution, IntDistribution
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import chi2, f_classif
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.tree import DecisionTreeClassifier

#: Rows and columns of each table.
SIZES: dict[str, list[tuple[int, int]]] = {
    "wide": [(500, 1_000), (500, 10_000), (500, 50_000), (500, 200_000)],
    "tall": [(10_000, 40), (100_000, 40), (1_000_000, 40)],
    "sparse": [(5_000, 20_000), (5_000, 200_000)],
    "ensemble": [(500, 10_000), (500, 50_000)],
    "trial": [(300, 30)],
}
QUICK: dict[str, list[tuple[int, int]]] = {
    "wide": [(100, 300)],
    "tall": [(1_000, 10)],
    "sparse": [(200, 500)],
    "ensemble": [(100, 300)],
    "trial": [(100, 30)],
}
#: Who is measured in a table.
METHODS = {
    "wide": ("mofs", "f_classif", "forest"),
    "tall": ("mofs", "f_classif", "optuna"),
    "sparse": ("mofs", "chi2", "forest"),
    "ensemble": ("mofs",),
    "trial": ("mofs", "optuna"),
}
#: Limits by table and size: CPU seconds, and peak memory in sizes of X (sparse: in MB).
LIMITS = {
    ("wide", 200_000): (15.0, 2.0),
    ("tall", 40): (3.0, 2.0),
    ("sparse", 200_000): (20.0, 500.0),
    ("ensemble", 50_000): (20.0, None),
}
SPACE = {
    "max_depth": IntDistribution(1, 9),
    "min_samples_leaf": IntDistribution(1, 20),
    "ccp_alpha": FloatDistribution(0.0, 0.1),
}
N_TRIALS = 40


def make_data(table: str, n: int, p: int) -> tuple[Any, Any]:
    """Return data in which five columns determine two classes."""
    rng = np.random.default_rng(0)
    if table == "sparse":
        X = sparse.random_array((n, p), density=min(1.0, 600_000 / (n * p)), rng=rng, format="csr")
        total = np.asarray(X[:, : p // 50].sum(axis=1)).ravel()
        return X, (total > np.median(total)).astype(int)
    X = rng.standard_normal((n, p))
    return X, (X[:, :5].sum(axis=1) + rng.standard_normal(n) > 0).astype(int)


def peak() -> float:
    """Return the largest memory of this process so far, in bytes."""
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def set_up(table: str, X: Any, y: Any) -> None:
    """Do all that happens before trial 0, and for filter ensembles trial 0 as well."""
    from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler

    is_ensemble = table == "ensemble"
    objective = FeatureSelectionObjective(
        MultinomialNB() if table == "sparse" else GaussianNB(),
        X,
        y,
        space={"alpha" if table == "sparse" else "var_smoothing": FloatDistribution(1e-9, 1.0)},
        representation="filter_ensemble" if is_ensemble else "mask",
        n_jobs=1,
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    if is_ensemble:
        study.optimize(objective, n_trials=1)


def peer(method: str, X: Any, y: Any) -> None:
    """Do what a user of scikit-learn or Optuna would do first."""
    if method == "forest":
        RandomForestClassifier(100, random_state=0, n_jobs=1).fit(X, y)
    elif method == "optuna":
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(lambda trial: cross_val_score(GaussianNB(), X, y).mean(), n_trials=1)
    else:
        {"f_classif": f_classif, "chi2": chi2}[method](X, y)


def trial_costs(method: str, n: int, p: int) -> dict[str, float]:
    """Return statements, commits and milliseconds of a trial on SQLite with its defaults."""
    X, y = make_data("wide", n, p)
    model = DecisionTreeClassifier(random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        storage = optuna.storages.RDBStorage(f"sqlite:///{folder}/a.db")
        objective: Callable[[optuna.Trial], Any]
        if method == "mofs":
            from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler

            objective = made = FeatureSelectionObjective(
                model, X, y, space=SPACE, representation="mask"
            )
            study = made.create_study(storage=storage, sampler=FilterEnsembleNSGA2Sampler(seed=0))
        else:

            def objective(trial: optuna.Trial) -> tuple[float, float]:
                chosen = {
                    "max_depth": trial.suggest_int("max_depth", 1, 9),
                    "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 20),
                    "ccp_alpha": trial.suggest_float("ccp_alpha", 0.0, 0.1),
                }
                score = cross_val_score(model.set_params(**chosen), X, y, cv=5).mean()
                return 1.0 - score, float(p)

            study = optuna.create_study(
                directions=["minimize"] * 2,
                storage=storage,
                sampler=optuna.samplers.NSGAIISampler(seed=0),
            )
        study.optimize(objective, n_trials=5)
        found: Counter[str] = Counter()
        for what, event in (("statements", "before_cursor_execute"), ("commits", "commit")):
            sqlalchemy.event.listen(storage.engine, event, lambda *_, w=what: found.update([w]))
        start, cpu = time.perf_counter(), time.process_time()
        study.optimize(objective, n_trials=N_TRIALS)
        seconds = time.perf_counter() - start, time.process_time() - cpu
    costs = {what: found[what] / N_TRIALS for what in ("statements", "commits")}
    return costs | {"ms": 1e3 * seconds[0] / N_TRIALS, "cpu_ms": 1e3 * seconds[1] / N_TRIALS}


def measure(table: str, method: str, n: int, p: int) -> dict[str, float]:
    """Return the costs of one method on one table, in this process."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if table == "trial":
        return trial_costs(method, n, p)
    import optuna_mofs  # noqa: F401 - its import is no part of the set-up

    peer("f_classif" if table != "sparse" else "chi2", *make_data(table, 60, 20))
    before = peak()
    X, y = make_data(table, n, p)
    size = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    start = time.process_time()
    if method == "mofs":
        set_up(table, X, y)
    else:
        peer(method, X, y)
    return {"seconds": time.process_time() - start, "bytes": peak() - before, "size": size}


def in_new_process(root: Path, *task: Any, limit: float) -> dict[str, float] | None:
    """Return :func:`measure` of a new process with the package of a checkout, or None."""
    # This script with the package of the checkout, which need not have the script.
    script = (
        f"import json, runpy, sys; sys.path.insert(0, {str(root)!r}); "
        f"measure = runpy.run_path({__file__!r})['measure']; print(json.dumps(measure{task}))"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=limit,
            cwd=tempfile.gettempdir(),
            env={**os.environ, "OPTUNA_MOFS_CACHE": "0"},
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(done.stderr[-400:], file=sys.stderr)
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def format_row(table: str, n: int, p: int, method: str, found: dict[str, float] | None) -> list:
    """Return one row of a table."""
    size = f"{n:,} × {p:,}"
    if found is None:
        return [size, method, "failed", "", "", ""]
    if table == "trial":
        return [size, method, *(round(found[k], 1) for k in ("statements", "commits", "cpu_ms"))]
    memory = found["bytes"] / found["size"]
    text = f"{memory:.1f} × X"
    if table == "sparse":
        memory = found["bytes"] / 1e6
        text = f"{memory:.0f} MB"
    limits = LIMITS.get((table, p)) if method == "mofs" and (n, p) == SIZES[table][-1] else None
    verdict = ""
    if limits is not None:
        passed = [found["seconds"] <= limits[0]]
        passed += [] if limits[1] is None else [memory <= limits[1]]
        verdict = ", ".join("yes" if ok else "**no**" for ok in passed)
    shown = (
        ""
        if limits is None
        else f"{limits[0]:g} s"
        + ("" if limits[1] is None else f", {limits[1]:g} {'MB' if table == 'sparse' else '× X'}")
    )
    return [size, method, round(found["seconds"], 2), text, shown, verdict]


def main() -> None:
    options = parser(__doc__ or "", seeds=1)
    options.add_argument("--before", type=Path, metavar="PATH", help="another checkout")
    options.add_argument("--tasks", nargs="+", choices=list(SIZES), default=list(SIZES))
    options.add_argument("--limit", type=float, default=1800.0, help="seconds per measurement")
    options.add_argument("--largest", action="store_true", help="largest size of each table only")
    options.add_argument("--keep", type=Path, metavar="FILE", help="append results as JSON lines")
    arguments = options.parse_args()
    here = Path(__file__).parents[1]
    for table in arguments.tasks:
        rows = []
        sizes = (QUICK if arguments.quick else SIZES)[table]
        for n, p in sizes[-1:] if arguments.largest else sizes:
            runs = [(method, method, here) for method in METHODS[table]]
            if arguments.before is not None:
                runs.insert(0, ("mofs, before", "mofs", arguments.before.resolve()))
            for label, method, root in runs:
                found = in_new_process(root, table, method, n, p, limit=arguments.limit)
                row = format_row(table, n, p, label, found)
                rows.append(row)
                print(row, file=sys.stderr, flush=True)
                if arguments.keep is not None:
                    with arguments.keep.open("a") as file:
                        print(json.dumps([table, n, p, label, found]), file=file)
        header = ["size", "method", "CPU seconds", "peak memory", "limit", "passed"]
        if table == "trial":
            header = ["size", "method", "statements", "commits", "CPU ms per trial"]
        print(f"\n### {table}\n\n{markdown_table(header, rows)}", flush=True)


if __name__ == "__main__":
    main()
