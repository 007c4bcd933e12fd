"""Figure 2 and Tables II and III of Horn and Bischl (2016): two error rates.

False negative and false positive rates of a support vector machine (``svm``, 160 evaluations), and
in the joint, conditional space of three learners (``joint``, 300 evaluations). Half of the rows
are tuned on by 10-fold cross-validation, the other half tests. Values of a data set and seed are
scaled to [0, 1] over all methods; the hypervolume has the reference point (1.1, 1.1). As in the
paper, ParEGO proposes four trials at a time and SMS-EGO one; a Gaussian process models the numbers
of ``svm``, a forest of 500 trees ``joint``; methods are compared by paired Wilcoxon tests per data
set and by the Friedman and Nemenyi tests over all.

    python -m benchmarks.papers.horn_2016 --data DIR --keep FILE --seeds 10
    python -m benchmarks.papers.horn_2016 --data DIR --keep FILE --parts joint --seeds 10
    python -m benchmarks.papers.horn_2016 --data DIR --keep FILE --finished
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from benchmarks.common import markdown_table, parser  # first: it sets threads
from benchmarks.model_based import rates
from benchmarks.model_based.runs import BREAST_CANCER, Job, Result, collect, finished
from optuna_mofs import FilterEnsembleNSGA2Sampler, ParEGOSampler, SMSEGOSampler
from optuna_mofs.statistics import compare_ranks

DEFAULT = "default"
#: Part of :mod:`benchmarks.model_based.rates`, its evaluations, and surrogate of the paper.
PARTS = {"svm": ("a", 160, "gaussian_process"), "joint": ("b", 300, "paper_forest")}
#: Wins, draws and losses over nine data sets (Tables II and III).
PAPER = {
    ("svm", "SMS-EGO", "ParEGO"): (1, 7, 1),
    ("svm", "SMS-EGO", "Latin hypercube"): (8, 1, 0),
    ("svm", "ParEGO", "Latin hypercube"): (7, 2, 0),
    ("joint", "SMS-EGO", "ParEGO"): (4, 4, 1),
    ("joint", "SMS-EGO", "Latin hypercube"): (9, 0, 0),
    ("joint", "ParEGO", "Latin hypercube"): (8, 1, 0),
}
_ALPHA = 0.05


def methods(part: str) -> dict[str, object]:
    """Return the methods of a part by name; the default also with a quarter of the evaluations."""
    surrogate = PARTS[part][2]
    run = rates.run_optuna
    return {
        DEFAULT: partial(run, lambda s: FilterEnsembleNSGA2Sampler(seed=s)),
        "ParEGO": partial(
            run, lambda s: ParEGOSampler.from_paper("mixed", surrogate=surrogate, seed=s)
        ),
        "SMS-EGO": partial(
            run,
            lambda s: SMSEGOSampler.from_paper(
                n_trials=PARTS[part][1], surrogate=surrogate, seed=s
            ),
        ),
        "Latin hypercube": rates.run_latin,
    }


def run(job: Job) -> Result:
    """Run one job; methods are those of this script."""
    name, _, part = job.method.partition("|")
    rates.METHODS[job.method] = methods(part)[name]  # type: ignore[assignment]
    result = rates.run(job)
    result["quarter"] = job.trials // 4
    return result


def report(part: str, found: dict[Job, Result], jobs: list[Job]) -> None:
    """Print the size, hypervolumes per data set, the tests, and the default at a quarter."""
    if jobs:
        rows = "all rows" if jobs[0].rows >= 10**9 else f"at most {jobs[0].rows} rows"
        print(
            f"\nSize of {part}: {rows}, {jobs[0].folds} folds, {jobs[0].trials} evaluations, "
            f"{len({job.seed for job in jobs})} runs of {len({job.task for job in jobs})} data "
            f"sets. The paper: all rows, 10, {PARTS[part][1]}, 10 runs of 9."
        )
    volumes: dict[tuple[str, int], dict[str, float]] = {}
    names = [*(job.method.partition("|")[0] for job in jobs)]
    names = list(dict.fromkeys(names))
    for task, seed in dict.fromkeys((job.task, job.seed) for job in jobs):
        here = {
            j.method.partition("|")[0]: found[j] for j in jobs if (j.task, j.seed) == (task, seed)
        }
        if set(here) != set(names):
            continue
        tested = {name: np.array(result["tested"]) for name, result in here.items()}
        inner = {name: np.array(result["tuned"]) for name, result in here.items()}
        quarter = inner[DEFAULT][: here[DEFAULT]["quarter"]]
        scaled = rates.scaled_volumes([*tested.values()])
        tuned = rates.scaled_volumes([*inner.values(), quarter])
        volumes[task, seed] = dict(zip(tested, scaled))
        volumes[task, seed] |= {f"{name}, inner": v for name, v in zip(tested, tuned)}
        volumes[task, seed][f"{DEFAULT} at a quarter, inner"] = tuned[-1]
    if not volumes:
        print("No data set has runs of all methods.")
        return
    columns = list(next(iter(volumes.values())))
    tasks = list(dict.fromkeys(task for task, _ in volumes))
    rows = []
    for column in columns:
        cells = []
        for task in tasks:
            values = [v[column] for (t, _), v in volumes.items() if t == task]
            cells.append(f"{np.median(values):.3f} [{min(values):.3f}, {max(values):.3f}]")
        rows.append([column, len(values), *cells])
    print(f"\n### {part}: median hypervolume on the other half, and inside\n")
    print(markdown_table(["method", "runs", *tasks], rows))
    rows = []
    pairs = [(a, b) for p, a, b in PAPER if p == part]
    pairs += [(DEFAULT, "ParEGO"), (DEFAULT, "SMS-EGO")]
    for a, b in pairs:
        signs = [_sign(volumes, task, a, b) for task in tasks]
        counts = [signs.count(s) for s in (1, 0, -1)]
        paper = PAPER.get((part, a, b))
        text = "-" if paper is None else "{} / {} / {} of 9".format(*paper)
        rows.append([f"{a} against {b}", "{} / {} / {}".format(*counts), text])
    print(f"\n### {part}: data sets won / drawn / lost (paired Wilcoxon tests, 0.05)\n")
    print(markdown_table(["methods", "here", "paper"], rows))
    if len(tasks) > 1:
        medians = [
            [np.median([v[n] for (t, _), v in volumes.items() if t == task]) for n in names]
            for task in tasks
        ]
        print(f"\nFriedman and Nemenyi over {len(tasks)} data sets:")
        print(compare_ranks(np.array(medians), names))


def _sign(volumes: dict[tuple[str, int], dict[str, float]], task: str, a: str, b: str) -> int:
    """Return 1 if method a is significantly better on a data set, -1 if b is, else 0."""
    pairs = np.array([(v[a], v[b]) for (t, _), v in volumes.items() if t == task])
    difference = pairs[:, 0] - pairs[:, 1]
    if not difference.any() or len(pairs) < 2 or wilcoxon(difference).pvalue > _ALPHA:
        return 0
    return int(np.sign(np.median(difference)))


def main() -> None:
    options = parser(__doc__ or "", seeds=10)
    options.add_argument("--parts", default="svm,joint", help="svm, joint")
    options.add_argument("--sets", default="phoneme,spambase,waveform_binary,eeg-eye-state")
    options.add_argument("--rows", type=int, default=10**9, help="use at most this many rows")
    options.add_argument("--folds", type=int, default=10, help="inner folds")
    options.add_argument("--trials", type=int, help="evaluations; default 160 and 300")
    options.add_argument("--jobs", type=int, default=1, help="parallel runs")
    options.add_argument("--keep", type=Path, help="file of completed runs, not repeated")
    options.add_argument(
        "--finished", action="store_true", help="only print the runs in --keep, run nothing"
    )
    args = options.parse_args()
    if args.quick:
        args.seeds, args.rows, args.folds, args.trials = 1, 200, 3, 70
        args.sets = BREAST_CANCER if args.data is None else "phoneme"
    for part in args.parts.split(","):
        jobs = _jobs(part, args)
        kept = finished(args.keep)
        if args.finished:
            jobs = [job for job in jobs if job in kept]
        found = kept if args.finished else collect(run, jobs, args.jobs, args.keep)
        report(part, found, jobs)


def _jobs(part: str, args: argparse.Namespace) -> list[Job]:
    letter, trials, _ = PARTS[part]
    return [
        Job(
            letter,
            task,
            args.rows,
            args.folds,
            args.trials or trials,
            f"{name}|{part}",
            seed,
            str(args.data or ""),
        )
        for seed in range(args.seeds)
        for task in args.sets.split(",")
        for name in methods(part)
    ]


if __name__ == "__main__":
    main()
