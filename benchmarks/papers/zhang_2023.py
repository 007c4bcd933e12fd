"""Tables 1 and 2, Figures 2 and 3 of Zhang et al. (2023), made small.

The lexicographic best trial of LexiFlowSampler, and of other methods in as many trials. The tasks
(``benchmarks/lexiflow_tasks.py``) are those of section 4: (a) XGBoost, loss then disparity; (b)
XGBoost with filter selection: error, number of features, instability; (c) random forest with
filter selection: validation error then features, and the test error; (d) a network: error then
parameters, and in the paper's space (Table 3) error then floating-point operations. Two more
forests, on breast cancer data and on synthetic data, are probes and need no folder. With
``--tables`` the forests are looked up in tables (``benchmarks/lexiflow_tables.py``), which takes
little time.

All methods use the same folds. Targets (equation 8) are computed over the trials of all methods
and seeds together; each run is scored by its best trial under these common targets. No method
uses the number of trials, so the first trials of a run are a run with a smaller budget.

    python -m benchmarks.papers.zhang_2023 --data DIR --seeds 5 --trials 60,100 --keep runs.jsonl
    python -m benchmarks.papers.zhang_2023 --data DIR --seeds 5 --tables FOLDER --overhead
    python -m benchmarks.papers.zhang_2023 --quick
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import sklearn
from optuna.samplers import NSGAIISampler, RandomSampler, TPESampler

from benchmarks.common import markdown_table, parser  # first: it sets threads
from benchmarks.lexiflow_tables import table_tasks
from benchmarks.lexiflow_tasks import TASKS, Task
from benchmarks.peers.flaml_lexico import run_flaml
from optuna_mofs import LexiFlowSampler
from optuna_mofs.fronts._lexicographic import LexicographicOrder, named_order
from optuna_mofs.testing.problems import PROBLEMS, make_study

#: What the paper reports of LexiFlow, with one hour, two hours or 10,000 seconds per run.
PAPER = {
    "a: german_credit": "validation loss 0.434, disparity 0.034 (best loss of all methods 0.424)",
    "a: compas": "validation loss 0.345, disparity 0.016 (best loss of all methods 0.340)",
    "b: prostata_ge": "on AP_Colon_Kidney the only method that reaches 500 features",
    "c: madelon": "test error 16.3 % (CFO with selection 18.5, without 17.1)",
    "c: bioresponse": "test error 2.19 % as printed (CFO with selection 2.14, without 2.15)",
    "d: fashion-mnist_sub": "a half to a quarter of the parameters of qEHVI",
    "d: fashion-mnist_sub, FLOPs": "a half to a quarter of the operations of qEHVI",
}
OURS, FLAML, CFO = "LexiFlowSampler", "FLAML's LexiFlow", "FLAML's CFO, first objective"

#: Name of a method: sampler of (task, seed), or None for FLAML.
METHODS: dict[str, Callable[[Task, int], Any] | None] = {
    OURS: lambda task, seed: LexiFlowSampler(task.preference, seed=seed),
    "from the paper": lambda task, seed: LexiFlowSampler.from_paper(task.preference, seed=seed),
    FLAML: None,
    "TPESampler + pick": lambda task, seed: TPESampler(seed=seed),
    "NSGAIISampler + pick": lambda task, seed: NSGAIISampler(seed=seed, population_size=20),
    "random + pick": lambda task, seed: RandomSampler(seed=seed),
    CFO: None,
}


class Timed:
    """Count the processor time that a sampler uses."""

    def __init__(self, sampler: Any) -> None:
        self.seconds = 0.0
        for name in ("infer_relative_search_space", "sample_relative", "sample_independent"):
            setattr(sampler, name, self._timed(getattr(sampler, name)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args)
            finally:
                self.seconds += time.process_time() - start

        return run


@dataclass(frozen=True)
class Run:
    """Values of all trials, milliseconds per trial in the sampler, test errors by budget."""

    values: list[list[float]]
    milliseconds: float | None
    tests: dict[str, float]

    def first(self, trials: int) -> np.ndarray:
        """Return the values of the first trials."""
        return np.array(self.values[:trials])


#: Task, method, seed, budgets as text, quick.
Job = tuple[str, str, int, str, bool]


@lru_cache
def task_of(name: str, folder: Path | None, quick: bool) -> Task:
    return TASKS[name](folder, quick)


def run(job: Job, folder: Path | None) -> Run:
    """Run one method on one task; include the test error of its own lexicographic best."""
    name, method, seed, budgets, quick = job
    task = task_of(name, folder, quick)
    n_trials = max(numbers(budgets))
    make = METHODS[method]
    sampler = RandomSampler(seed=seed) if make is None else make(task, seed)
    clock = Timed(sampler)
    study = task.objective.create_study(sampler=sampler)
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        if make is None:
            run_flaml(
                task.objective,
                study,
                tolerances=task.tolerances,
                goals=task.goals,
                n_trials=n_trials,
                seed=seed,
                lexicographic=method == FLAML,
            )
        else:
            study.optimize(task.objective, n_trials=n_trials)
    done = [t for t in study.get_trials(deepcopy=False)[:n_trials] if t.values is not None]
    values = [list(t.values) for t in done]
    tests = {}
    if task.test is not None:
        for budget in numbers(budgets):
            best = done[order_of(task).ranking(np.array(values[:budget]))[0]]
            predicted = task.objective.refit(best).predict(task.test[0])
            tests[str(budget)] = float(np.mean(predicted != task.test[1]))
    spent = None if make is None else 1000 * clock.seconds / n_trials
    return Run(values, spent, tests)


def numbers(text: str) -> list[int]:
    """Parse comma-separated numbers."""
    return [int(part) for part in text.split(",")]


# ---- report -------------------------------------------------------------------------------------


def order_of(task: Task) -> LexicographicOrder:
    names = task.objective.metric_names
    return named_order(names, [1.0] * len(names), tolerances=task.tolerances, goals=task.goals)


def report(task: Task, runs: dict[str, list[Run]], trials: int) -> tuple[str, dict[str, float]]:
    """Return a table of one task, scored by common targets, and the mean rank of each method."""
    names = task.objective.metric_names
    order = order_of(task)
    points = {method: [r.first(trials) for r in rs] for method, rs in runs.items()}
    targets = order.targets(np.concatenate([p for ps in points.values() for p in ps]))
    picks = {
        method: np.array([p[order.ranking(p, targets)[0]] for p in ps])
        for method, ps in points.items()
    }
    ranks = mean_ranks(order, targets, picks)
    rows = []
    for method, found in picks.items():
        reached = found[:, 0] <= targets[0] + 1e-12
        later = found[reached]
        row = [method, f"{int(reached.sum())} of {len(reached)}"]
        row.append(f"{statistics.median(found[:, 0]):.4f}")
        row += [
            f"{statistics.median(later[:, k]):.4g}" if len(later) else "-"
            for k in range(1, len(names))
        ]
        middle = found[order.ranking(found, targets)[(len(found) - 1) // 2]]
        row.append(" / ".join(f"{v:.4g}" for v in middle))
        row.append(f"{ranks[method]:.2f}")
        errors = [r.tests[str(trials)] for r in runs[method] if r.tests]
        row += [f"{statistics.mean(errors):.4f}"] if errors else []
        spent = [r.milliseconds for r in runs[method] if r.milliseconds is not None]
        row.append(f"{statistics.median(spent):.1f}" if spent else "-")
        rows.append(row)
    header = ["method", "reach the target", *names, "middle run", "mean rank"]
    header += ["test error"] if task.test is not None else []
    shown = ", ".join(f"{n} {t:.4g}" for n, t in zip(names, targets))
    table = markdown_table([*header, "ms per trial in the sampler"], rows)
    return f"Common targets: {shown}\n\n{table}", ranks


def mean_ranks(
    order: LexicographicOrder, targets: np.ndarray, picks: dict[str, np.ndarray]
) -> dict[str, float]:
    """Return the mean rank of each method over all combinations of one run per method."""
    keys = {m: order.lifted(found, targets).tolist() for m, found in picks.items()}
    ranks = {}
    for method, mine in keys.items():
        lost = [
            float(np.mean([(b < a) + 0.5 * (b == a) for a, b in itertools.product(mine, theirs)]))
            for other, theirs in keys.items()
            if other != method
        ]
        ranks[method] = 1.0 + sum(lost)
    return ranks


def overhead(trials: int) -> str:
    """Return a table of milliseconds per trial in the sampler, late in a long study."""
    rows = []
    for problem in ("mixed", "packed"):
        sampler = LexiFlowSampler(seed=0)
        clock = Timed(sampler)
        study = make_study(problem, sampler=sampler)
        spent = []
        for _ in range(trials + 50):
            before = clock.seconds
            study.optimize(PROBLEMS[problem], n_trials=1)
            spent.append(1000 * (clock.seconds - before))
        marks = [m for m in (100, 300) if m < trials] + [trials]
        rows.append([problem, *(statistics.median(spent[m : m + 50]) for m in marks)])
    header = ["problem", *(f"ms at trial {m}" for m in marks)]
    return f"### Milliseconds per trial in LexiFlowSampler\n\n{markdown_table(header, rows)}"


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--tasks", help="only these; parts of names, separated by semicolons")
    options.add_argument("--methods", help="only these; parts of names, separated by semicolons")
    options.add_argument(
        "--trials", default="100", help="budgets, separated by commas (default: %(default)s)"
    )
    options.add_argument(
        "--keep", type=Path, help="file of completed runs, which are not run again"
    )
    options.add_argument("--tables", type=Path, help="look forests up in tables in this folder")
    options.add_argument("--overhead", action="store_true", help="print the time in the sampler")
    args = options.parse_args()
    if args.tables:
        TASKS.clear()
        TASKS.update(table_tasks(args.tables))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    trials = [25] if args.quick else numbers(args.trials)
    seeds = min(args.seeds, 2) if args.quick else args.seeds
    tasks = _chosen(list(TASKS), args.tasks)
    if args.data is None:
        tasks = [name for name in tasks if name.endswith(("breast_cancer", "like madelon"))]
    methods = _chosen(list(METHODS), args.methods)
    if importlib.util.find_spec("flaml") is None:
        print("flaml is not installed and is left out (pip install flaml).", file=sys.stderr)
        methods = [m for m in methods if METHODS[m] is not None]
    jobs: list[Job] = [
        # The probes have half as many trials again.
        (name, method, seed, _text(trials, 2 if name[1] == ":" else 3), args.quick)
        for seed in range(seeds)
        for name in tasks
        for method in methods
    ]
    runs = completed_runs(args.keep)
    for job in jobs:
        if job in runs:
            continue
        runs[job] = run(job, args.data)
        print(*job, file=sys.stderr, flush=True)
        if args.keep:
            with args.keep.open("a") as file:
                file.write(json.dumps([job, asdict(runs[job])]) + "\n")
    for at in range(len(trials)):
        ranks = []
        for name in tasks:
            mine: dict[str, list[Run]] = {method: [] for method in methods}
            for job in jobs:
                if job[0] == name:
                    mine[job[1]].append(runs[job])
                    n_trials = numbers(job[3])[at]
            table, found = report(task_of(name, args.data, args.quick), mine, n_trials)
            ranks.append(list(found.values()))
            print(f"\n### {name}, {n_trials} trials, {seeds} seeds\n\n{table}")
            if name in PAPER:
                print(f"\nThe paper's LexiFlow: {PAPER[name]}.")
        means = [[m, f"{r:.2f}"] for m, r in zip(methods, np.mean(ranks, axis=0))]
        title = f"Mean rank over tasks, {trials[at]} trials"
        print(f"\n### {title}\n\n{markdown_table(['method', 'mean rank'], means)}")
    if args.overhead or args.quick:
        print(f"\n{overhead(50 if args.quick else 1000)}")


def completed_runs(file: Path | None) -> dict[Job, Run]:
    """Return the runs of a file, by job."""
    if file is None or not file.exists():
        return {}
    lines = map(json.loads, file.read_text().splitlines())
    return {tuple(job): Run(**kept) for job, kept in lines}


def _text(trials: Sequence[int], half: int) -> str:
    return ",".join(str(n * half // 2) for n in trials)


def _chosen(names: Sequence[str], parts: str | None) -> list[str]:
    if not parts:
        return list(names)
    return [name for name in names if any(part in name for part in parts.split(";"))]


if __name__ == "__main__":
    main()
