"""Do the numbers of a front hold on rows that nobody saw, and is the default search better there?

Three parts, each with rows that neither the search nor the filters see:

- ``noise``: labels that no feature explains. Every sampler, representation and of three learners;
  the honest error of every pick must be near chance, and a warning must be printed.
- ``real``: raw and honest error of every pick against the error on held-out rows, many splits.
- ``default``: inner hypervolume and that on held-out rows of the default objective and sampler,
  against the default before it (masks by filters that see all rows of the search), reference
  (1, 1). The data sets of :data:`KEPT_OUT` took no part in any choice of a default.

    python -m benchmarks.honesty --data DIR --parts noise,real,default --keep honesty.json
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import moocore
import numpy as np
import optuna
import pandas as pd
from optuna.distributions import FloatDistribution, IntDistribution
from sklearn import datasets
from sklearn.model_selection import train_test_split

from benchmarks.common import load, markdown_table, parser  # first: it sets threads
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    GHGASampler,
    LexiFlowSampler,
    MOEADSampler,
    ParEGOSampler,
    SMSEGOSampler,
    pareto_front,
    spaces,
)
from optuna_mofs.features import FilterEnsembleFeatures
from optuna_mofs.samplers import NSGA2Settings, RandomDesign

SAMPLERS = (
    FilterEnsembleNSGA2Sampler,
    ParEGOSampler,
    SMSEGOSampler,
    GHGASampler,
    LexiFlowSampler,
    MOEADSampler,
)
REPRESENTATIONS = {
    "rule, ranks of each training fold": lambda: FilterEnsembleFeatures(),
    "rule, ranks of all rows": lambda: FilterEnsembleFeatures(ranks="all"),
    "mask": lambda: "mask",
}
NOISE = ((100, 2000), (60, 500))
NOISE_LEARNERS = ("logistic_regression", "svm", "knn")
PICKS = ("pick", "best", "knee", "one_standard_error")
#: Data set, number of rows of the search (None: three quarters), learner of even and odd splits.
REAL = {
    "sonar": None,
    "wdbc": None,
    "semeion_binary": None,
    "german_credit": None,
    "spambase": 300,
    "madelon": 600,
    "prostata_ge": None,
}
#: Learner by data set.
DEFAULT = {
    "sonar": "svm",
    "wdbc": "logistic_regression",
    "madelon": "svm",
    "german_credit": "logistic_regression",
    "wine": "knn",
    "digits": "svm",
    "diabetes": "ridge",
    "friedman": "svm",
    "hill-valley": "logistic_regression",
    "waveform_binary": "lightgbm",
    "semeion_binary": "knn",
    "bioresponse": "lightgbm",
}
KEPT_OUT = {
    "arcene": "logistic_regression",
    "fashion-mnist_sub": "knn",
    "ida_image": "svm",
    "ida_heart": "lightgbm",
}
MARKS = (50, 100, 200, 400)
MAX_ROWS = 700


def table(name: str, folder: Path | None, max_rows: int | None) -> tuple[Any, Any, str]:
    """Return X, y and the task of a data set."""
    rng = np.random.default_rng(0)
    task = "regression" if name in ("diabetes", "friedman") else "classification"
    if name == "friedman":
        X, y = datasets.make_friedman1(400, 60, noise=2.0, random_state=1)
    elif name in ("wine", "digits", "diabetes"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        X = np.hstack([X, rng.standard_normal((len(X), 20))])
    elif name == "german_credit":
        assert folder is not None, "Pass the folder of the data sets as --data DIR."
        frame = pd.read_csv(folder / f"{name}.csv.gz")
        X = pd.get_dummies(frame.iloc[:, :-1]).to_numpy(float)
        y = pd.factorize(frame.iloc[:, -1])[0]
    else:
        data = load(folder, name)
        X, y = data["X"].astype(float), data["y"]
    if max_rows is not None and len(X) > max_rows:
        rows = rng.permutation(len(X))[:max_rows]
        X, y = X[rows], y[rows]
    return X, y, task


def learner(name: str, task: str) -> tuple[Any, Any]:
    """Return an estimator and its space; boosting has few rounds."""
    if name != "lightgbm":
        return spaces.get_learner(name, task, random_state=0)
    from lightgbm import LGBMClassifier

    space = {
        "learning_rate": FloatDistribution(0.02, 0.5, log=True),
        "num_leaves": IntDistribution(2, 64, log=True),
        "min_child_samples": IntDistribution(2, 64, log=True),
    }
    return LGBMClassifier(n_estimators=30, num_threads=1, verbose=-1, random_state=0), space


def picks(objective: Any, study: Any, X_test: Any, y_test: Any) -> dict[str, Any]:
    """Return raw, honest, limits, test error and number of features of every pick."""
    front = pareto_front(study)
    honest = front.honest()
    found: dict[str, Any] = {"source": honest.source, "warning": honest.warning is not None}
    for name in PICKS:
        trial = getattr(front, name)()
        test = 1 - objective.refit(trial).score(X_test, y_test)
        estimate, size = honest.picks[name], trial.user_attrs["n_features"]
        found[name] = [trial.values[0], estimate.value, estimate.low, estimate.high, test, size]
    return found


def run_noise(
    shape: tuple[int, int], name: str, sampler: type, kind: str, seed: int, n_trials: int
) -> dict[str, Any]:
    """Search on noise; the test rows are 2,000 further rows."""
    rng = np.random.default_rng([seed, *shape])
    X = rng.standard_normal((shape[0] + 2000, shape[1]))
    y = np.arange(len(X)) % 2
    rows = shape[0]
    estimator, space = learner(name, "classification")
    objective = FeatureSelectionObjective(
        estimator,
        X[:rows],
        y[:rows],
        space=space,
        representation=REPRESENTATIONS[kind](),
        random_state=seed,
    )
    study = objective.create_study(sampler=sampler(seed=seed))
    study.optimize(objective, n_trials=n_trials)
    return picks(objective, study, X[rows:], y[rows:])


def run_real(name: str, kind: str, split: int, args: Any) -> dict[str, Any]:
    """Search on one split of a data set."""
    X, y, task = table(name, args.data, None if REAL[name] else 1600)
    n_test = len(X) - REAL[name] if REAL[name] else 0.25
    X, X_test, y, y_test = train_test_split(X, y, test_size=n_test, random_state=split, stratify=y)
    estimator, space = learner(("logistic_regression", "svm")[split % 2], task)
    objective = FeatureSelectionObjective(
        estimator, X, y, space=space, representation=kind, random_state=split
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=split))
    study.optimize(objective, n_trials=args.trials)
    return picks(objective, study, X_test, y_test)


def run_default(name: str, method: str, seed: int, args: Any) -> dict[str, Any]:
    """Return inner and outer hypervolume after each number of trials, and the picks at the end."""
    X, y, task = table(name, args.data, MAX_ROWS)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.25, random_state=seed, stratify=y if task == "classification" else None
    )
    estimator, space = learner({**DEFAULT, **KEPT_OUT}[name], task)
    options: dict[str, Any] = {}
    sampler = FilterEnsembleNSGA2Sampler(seed=seed)
    if method == "before":
        options = {"representation": "mask", "holdout": None}
        design = RandomDesign(("ensemble", "prefix", "geometric", "wide"), plain=True)
        sampler = FilterEnsembleNSGA2Sampler(
            surrogate=None, seed=seed, settings=NSGA2Settings(initial_design=design)
        )
    objective = FeatureSelectionObjective(
        estimator, X, y, space=space, random_state=seed, **options
    )
    study = objective.create_study(sampler=sampler)
    study.optimize(objective, n_trials=max(args.marks))
    found: dict[str, Any] = front_values(objective, study, args.marks, X_test, y_test)
    return {**found, "picks": picks(objective, study, X_test, y_test)}


def front_values(
    objective: Any, study: Any, marks: Sequence[int], X_test: Any, y_test: Any
) -> dict[str, list[float]]:
    """Return, by number of trials, four values.

    They are the inner and outer hypervolume, and of the trial with the lowest inner error how far
    that is too low, and the outer error. Outer values are those of the members of the inner front,
    fitted on all rows of the search.
    """
    found: dict[str, list[float]] = {}
    tested: dict[int, float] = {}
    for mark in marks:
        trials = [t for t in study.get_trials(deepcopy=False)[:mark] if t.values is not None]
        values = np.array([t.values for t in trials])
        front = np.flatnonzero(moocore.is_nondominated(values))
        for i in front:
            if trials[i].number not in tested:
                model = objective.refit(trials[i])
                tested[trials[i].number] = 1 - model.score(X_test, y_test)
        outer = [[tested[trials[i].number], values[i, 1]] for i in front]
        lowest = front[values[front, 0].argmin()]
        found[str(mark)] = [
            _hypervolume(values[front]),
            _hypervolume(np.array(outer)),
            tested[trials[lowest].number] - values[lowest, 0],
            tested[trials[lowest].number],
        ]
    return found


def _hypervolume(points: np.ndarray) -> float:
    return float(moocore.hypervolume(np.clip(points, 0.0, 1.0), ref=[1.0, 1.0]))


def _mean(values: Sequence[float]) -> str:
    spread = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.3f} ± {spread:.3f}"


# ---- the parts ----------------------------------------------------------------------------------


def noise_jobs(args: Any) -> Iterator[tuple[str, Any]]:
    shapes, learners = (NOISE, NOISE_LEARNERS) if not args.quick else (((60, 50),), ("knn",))
    samplers = SAMPLERS[:2] if args.quick else SAMPLERS
    seed = 0
    for repeat in range(args.seeds):
        for shape in shapes:
            for kind in REPRESENTATIONS:
                for sampler in samplers:
                    for name in learners:
                        # Another draw of the noise for each run.
                        seed += 1
                        job = (shape, name, sampler, kind, seed, args.trials)
                        key = f"noise|{shape[0]} x {shape[1]}|{kind}|{sampler.__name__}|{name}"
                        yield f"{key}|{repeat}", lambda job=job: run_noise(*job)


def print_noise(runs: dict[str, Any]) -> None:
    rows = []
    for shape in sorted({key.split("|")[1] for key in runs}, key=len, reverse=True):
        for kind in REPRESENTATIONS:
            some = [r for k, r in runs.items() if k.split("|")[1:3] == [shape, kind]]
            for name in PICKS if some else ():
                raw, honest, _, _, test, _ = np.array([r[name] for r in some]).T
                rows.append([f"{shape}, {kind}, {name}", len(some), f"{raw.mean():.3f}"])
                rows[-1] += [_mean(honest), f"{test.mean():.3f}"]
                rows[-1] += [f"{np.mean([r['warning'] for r in some]):.0%}"]
    print(markdown_table(["noise", "runs", "raw", "honest", "new rows", "warned"], rows))
    by_sampler = []
    for sampler in SAMPLERS:
        some = [r for k, r in runs.items() if k.split("|")[3] == sampler.__name__]
        if some:
            cells = [_mean([r[name][1] for r in some]) for name in PICKS]
            warned = f"{np.mean([r['warning'] for r in some]):.0%}"
            by_sampler.append([sampler.__name__, len(some), *cells, warned])
    print()
    print(markdown_table(["honest error by sampler", "runs", *PICKS, "warned"], by_sampler))


def real_jobs(args: Any) -> Iterator[tuple[str, Any]]:
    names = ["sonar"] if args.quick else list(REAL)
    for split in range(1 if args.quick else args.splits):
        for kind in ("auto", "mask"):
            if kind == "mask" and split >= args.splits // 2:
                continue
            for name in names:
                key = f"real|{kind}|{name}|{split}"
                yield key, lambda job=(name, kind, split): run_real(*job, args)


def print_real(runs: dict[str, Any]) -> None:
    for kind in ("auto", "mask"):
        rows, everything = [], []
        for name in [*REAL, "all"]:
            some = [
                r
                for k, r in runs.items()
                if k.split("|")[1] == kind and name in ("all", k.split("|")[2])
            ]
            if not some:
                continue
            for pick in ("pick", "best"):
                raw, honest, low, high, test, size = np.array([r[pick] for r in some]).T
                covered = np.mean((low <= test + 1e-9) & (test <= high + 1e-9))
                row = [f"{name}, {pick}", len(some), f"{test.mean():.3f}"]
                row += [_mean(raw - test), _mean(honest - test), f"{covered:.0%}"]
                rows.append([*row, f"{np.exp(np.log(np.maximum(size, 0.5)).mean()):.1f}"])
            everything = some
        if everything:
            header = [f"representation {kind}", "runs", "new rows", "raw minus new rows"]
            header += ["honest minus new rows", "interval covers", "features"]
            print("\n" + markdown_table(header, rows))


def default_jobs(args: Any) -> Iterator[tuple[str, Any]]:
    names = ["wine"] if args.quick else [*DEFAULT, *KEPT_OUT]
    for seed in range(args.seeds):
        for name in names:
            for method in ("before", "default"):
                key = f"default|{method}|{name}|{seed}"
                yield key, lambda job=(name, method, seed): run_default(*job, args)


def print_default(runs: dict[str, Any], marks: Sequence[int]) -> None:
    def pairs(names: Sequence[str]) -> list[tuple[Any, Any]]:
        found = []
        for key, run in runs.items():
            _, method, name, seed = key.split("|")
            other = runs.get(f"default|default|{name}|{seed}")
            if method == "before" and name in names and other is not None:
                found.append((run, other))
        return found

    rows = []
    groups = {"all": [*DEFAULT, *KEPT_OUT], "kept out of every choice": [*KEPT_OUT]}
    groups |= {name: [name] for name in (*DEFAULT, *KEPT_OUT)}
    for label, names in groups.items():
        both = pairs(names)
        for mark in map(str, marks) if both else ():
            old, new = (np.array([pair[i][mark] for pair in both]) for i in (0, 1))
            row = [f"{label}, {mark} trials", len(both)]
            row += [f"{old[:, 0].mean():.4f}", f"{new[:, 0].mean():.4f}"]
            row += [f"{old[:, 1].mean():.4f}", f"{new[:, 1].mean():.4f}"]
            row += [_mean(new[:, 1] - old[:, 1])]
            rows.append([*row, f"{old[:, 2].mean():.3f}", f"{new[:, 2].mean():.3f}"])
    header = ["hypervolume", "runs", "inner before", "inner", "new rows before", "new rows"]
    print("\n" + markdown_table([*header, "gain", "optimism before", "optimism"], rows))
    every = [new for _, new in pairs(groups["all"])]
    if every:
        first, last = str(min(marks)), str(max(marks))
        kept = np.mean([run[last][1] >= run[first][1] - 1e-12 for run in every])
        print(f"\nAt {last} trials not below {first} trials on new rows: {kept:.0%} of the runs.")
        test, size = np.array([run["picks"]["pick"][4:6] for run in every]).T
        old_test, old_size = np.array([run["picks"]["one_standard_error"][4:6] for run in every]).T
        print(
            f"Default pick not worse than one standard error on raw values: "
            f"{np.mean(test <= old_test + 1e-12):.0%} of the runs, with "
            f"{np.exp(np.log(np.maximum(size, 0.5)).mean()):.1f} against "
            f"{np.exp(np.log(np.maximum(old_size, 0.5)).mean()):.1f} features (geometric mean), "
            f"error {test.mean():.4f} against {old_test.mean():.4f}."
        )


def main() -> None:
    options = parser(__doc__ or "", seeds=1)
    options.add_argument("--parts", default="noise,real,default", help="parts to run")
    options.add_argument("--trials", type=int, default=60, help="trials on noise and real splits")
    options.add_argument("--splits", type=int, default=20, help="splits of the real data")
    options.add_argument("--keep", type=Path, metavar="FILE", help="keep runs, to continue later")
    args = options.parse_args()
    args.marks = MARKS if not args.quick else (10, 20)
    if args.quick:
        args.trials = 15
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    kept = json.loads(args.keep.read_text()) if args.keep and args.keep.exists() else {}
    parts = {"noise": noise_jobs, "real": real_jobs, "default": default_jobs}
    for part in args.parts.split(","):
        for key, job in parts[part](args):
            if key not in kept:
                kept[key] = job()
                if args.keep:
                    args.keep.write_text(json.dumps(kept))
        runs = {key: run for key, run in kept.items() if key.startswith(f"{part}|")}
        print(f"\n## {part}\n")
        if part == "default":
            print_default(runs, args.marks)
        else:
            (print_noise if part == "noise" else print_real)(runs)


if __name__ == "__main__":
    main()
