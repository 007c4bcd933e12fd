"""Figures 1 and 2 of Jung and Zscheischler (2013), readings of it, other methods, and cost.

``guides``: Figure 1, evaluations until one, two, three and four optima are found. The problem
``ratios`` is that of section 3.1: 250 features, of which four sets of ten explain the target
equally well, with noisy copies; ``twins`` is another one. Every run has its own data. ``sizes``:
Figure 2, how many evaluations had sets of about 10 features, and how often features of the optima
were selected. ``quarter``: optima found in a quarter of the paper's mean evaluations, if the
sampler knows that there are no more. ``readings``: Figure 1 by a transcription of the paper, in
several readings. ``peers``: optima that other methods find on the same data. ``cost``: CPU time of
a proposal and of fitting the guide.

    python -m benchmarks.papers.jung_2013 --seeds 12 --jobs 2
    python -m benchmarks.papers.jung_2013 --parts guides --problem twins --guides forest
    python -m benchmarks.papers.jung_2013 --parts guides,sizes --variant paper
    python -m benchmarks.papers.jung_2013 --parts quarter
    python -m benchmarks.papers.jung_2013 --parts readings --seeds 2 --keep FILE

Comparison with the selectors of scikit-learn: ``python -m benchmarks.ghga_selectors``.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
import unittest.mock
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.common import Spread, markdown_table, parser  # first: it sets threads

# isort: split
import numpy as np
import optuna
from optuna.trial import Trial

from benchmarks.ghga_problems import PROBLEMS, TOLERANCE, problem
from benchmarks.papers.jung_2013_literal import LiteralGHGA, Reading
from benchmarks.peers.selectors import PEERS
from optuna_mofs import FeatureTable, GHGASampler, suggest_features
from optuna_mofs.samplers.ghga._guides import ForestGuide, Prediction

#: Mean evaluations until all four are found in the paper, 12 runs each.
PAPER_MEANS = {"forest": "4,185", "frequency": "5,113", "random": "5,632"}
PAPER = {**PAPER_MEANS, "none": "2 of 12 runs"}


def _both(**options: Any) -> Reading:
    return Reading(median="skip", best=False, **options)


#: Readings of the paper by name: as printed, and what is changed.
READINGS: dict[str, tuple[str, Reading]] = {
    "as printed": ("ratios", Reading()),
    "as printed, budget 10 per choice": ("ratios", Reading(budget="ten per choice")),
    "best set only if not inert": ("ratios", Reading(best=False)),
    "sets below the median skipped": ("ratios", Reading(median="skip")),
    "both": ("ratios", Reading(median="skip", best=False)),
    "both, at the median too": ("ratios", Reading(median="skip", best=False, strict=False)),
    "both, budget: tenth of the size": ("ratios", _both(budget="tenth")),
    "both, budget: times chosen": ("ratios", _both(budget="chosen")),
    "both, budget: 10 per choice": ("ratios", _both(budget="ten per choice")),
    "both, no limit of budget": ("ratios", _both(budget="unlimited")),
    "both, crowding not compared": ("ratios", _both(crowding=False)),
    "both, ties in B": ("ratios", _both(b_ties=True)),
    "both, moves to archived sets": ("ratios", _both(to_archived=True)),
    "both, random sizes at the start": ("ratios", _both(start="uniform")),
    "both, 100 sets at the start": ("ratios", _both(n_start=100)),
    "both, noise of copies is a variance": ("ratios, noisier copies", _both()),
    "as printed, noise of copies is a variance": ("ratios, noisier copies", Reading()),
    "best set only if not inert, noise of copies is a variance": (
        "ratios, noisier copies",
        Reading(best=False),
    ),
    "the same as both, by frequency": ("ratios, noisier copies", _both(guide="frequency")),
    "the same, by frequency, budget: 10 per choice": (
        "ratios, noisier copies",
        _both(guide="frequency", budget="ten per choice"),
    ),
    "the same as both, no guide": ("ratios, noisier copies", _both(guide="none")),
    "both, no guide": ("ratios", _both(guide="none")),
    "as printed, no guide": ("ratios", Reading(guide="none")),
}

#: Kind of run, problem, method, variant, seed, maximum number of evaluations.
Job = tuple[str, str, str, str, int, int]


#: CPU seconds of a run of the transcription.
MAX_SECONDS = 15.0


class Watch:
    """Evaluates masks, and records at which evaluation each optimum was found."""

    def __init__(self, name: str, seed: int) -> None:
        self.problem = problem(name, seed)
        self.found: dict[int, int] = {}
        self.count = 0

    def __call__(self, mask: np.ndarray) -> float:
        """Return the modeling efficiency."""
        self.count += 1
        for which in self.problem.which(mask):
            self.found.setdefault(which, self.count)
        return self.problem.models(mask)


def run(job: Job) -> tuple[Job, list[int]]:
    """Return the evaluations at which a run found its first, second, third and fourth optimum."""
    kind, name, method, variant, seed, trials = job
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    watch = Watch(name, seed)
    if kind == "reading":
        name, reading = READINGS[method]
        watch = Watch(name, seed)
        began = time.process_time()
        LiteralGHGA(watch, watch.problem.features, reading, seed).run(
            lambda: (
                len(watch.found) == len(watch.problem.wanted)
                or watch.count >= trials
                # Some readings end in a population from which nothing new can come.
                or time.process_time() - began > MAX_SECONDS
            )
        )
        return job, [*sorted(watch.found.values()), -watch.count]
    if kind == "peer":
        PEERS[method](watch.problem, watch, trials, seed)
        return job, sorted(watch.found.values())
    search(watch, method, variant, seed, trials, [], planned=kind == "quarter")
    return job, sorted(watch.found.values())


def search(
    watch: Watch,
    method: str,
    variant: str,
    seed: int,
    trials: int,
    masks: list[np.ndarray],
    *,
    planned: bool = False,
) -> optuna.Study:
    """Run GHGASampler until all optima are found; append the masks of all trials.

    If ``planned``, the sampler knows the number of trials.
    """
    table = FeatureTable(tuple(f"x{j + 1}" for j in range(watch.problem.features)))

    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table)
        masks.append(mask)
        value = watch(mask)
        if len(watch.found) == len(watch.problem.wanted):
            trial.study.stop()
        return value, float(mask.sum())

    make = GHGASampler.from_paper if variant == "paper" else GHGASampler
    sampler = make(
        guide=method, tolerance=TOLERANCE, n_trials=trials if planned else None, seed=seed
    )
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.optimize(objective, n_trials=trials)
    return study


def finished(keep: Path | None) -> dict[Job, list[int]]:
    """Return the results in a file."""
    if keep is None or not keep.exists():
        return {}
    return {tuple(job): found for job, found in map(json.loads, keep.read_text().splitlines())}


def run_jobs(jobs: list[Job], workers: int, keep: Path | None) -> dict[Job, list[int]]:
    """Return the results of all jobs; those in the file are not run again."""
    done = finished(keep)
    todo = [job for job in jobs if job not in done]
    with ProcessPoolExecutor(workers) as pool:
        for job, found in map(run, todo) if workers == 1 else pool.map(run, todo):
            done[job] = found
            print(*job, found, file=sys.stderr, flush=True)
            if keep is not None:
                with keep.open("a") as file:
                    file.write(json.dumps([job, found]) + "\n")
    return done


def guides(args: Any) -> None:
    """Print the evaluations until k optima are found, one row per guide."""
    methods = args.guides.split(",")
    jobs: list[Job] = [
        ("guide", args.problem, method, args.variant, seed, args.trials)
        for seed in range(args.seeds)
        for method in methods
    ]
    done = run_jobs(jobs, args.jobs, args.keep)
    rows = []
    for method in methods:
        runs = [done[job] for job in jobs if job[2] == method]
        cells: list[object] = [method]
        for k in range(4):
            found = [run[k] for run in runs if len(run) > k]
            mean = f"{statistics.mean(found):,.0f}" if found else "-"
            cells.append(mean if len(found) == len(runs) else f"{mean} ({len(found)} runs)")
        slowest = max((run[3] for run in runs if len(run) > 3), default=0)
        rows.append([*cells, f"{slowest:,}" if slowest else "-"])
        if args.problem != "twins":
            rows[-1].append(PAPER.get(method, "-"))
    header = ["guide", "1", "2", "3", "4", "4, slowest run"]
    if args.problem != "twins":
        header.append("4, in the paper")
    print(f"\n### {args.problem}: mean evaluations until k optima are found, {args.seeds} runs\n")
    print(markdown_table(header, rows))
    print(f"\nAt most {args.trials:,} evaluations per run.")


def quarter(args: Any) -> None:
    """Print how many optima are found in a quarter of the paper's mean evaluations."""
    budgets = {method: int(mean.replace(",", "")) // 4 for method, mean in PAPER_MEANS.items()}
    methods = [method for method in args.guides.split(",") if method in budgets]
    jobs: list[Job] = [
        ("quarter", args.problem, method, args.variant, seed, budgets[method])
        for seed in range(args.seeds)
        for method in methods
    ]
    done = run_jobs(jobs, args.jobs, args.keep)
    rows = []
    for method in methods:
        runs = [done[job] for job in jobs if job[2] == method]
        complete = [run[3] for run in runs if len(run) == 4]
        rows.append(
            [
                method,
                f"{budgets[method]:,}",
                f"{len(complete)} of {len(runs)}",
                f"{statistics.mean(map(len, runs)):.1f}",
                f"{statistics.mean(complete):,.0f}" if complete else "-",
            ]
        )
    print(f"\n### {args.problem}: optima found in a quarter of the paper's evaluations\n")
    header = ["guide", "evaluations", "runs with all four", "mean optima", "mean evaluations, all"]
    print(markdown_table(header, rows))


def readings(args: Any) -> None:
    """Print how many optima a transcription of the paper finds, one row per reading."""
    chosen = [name for name in READINGS if any(p in name for p in args.readings.split(";"))]
    jobs: list[Job] = [
        ("reading", "ratios", name, "", seed, args.trials)
        for seed in range(args.seeds)
        for name in chosen
    ]
    done = finished(args.keep) if args.finished else run_jobs(jobs, args.jobs, args.keep)
    rows = []
    for name in chosen:
        runs = [done[job] for job in jobs if job[2] == name and job in done]
        complete = [run[3] for run in runs if len(run) == 5]
        if runs:
            rows.append(
                [
                    name,
                    len(runs),
                    f"{len(complete)} of {len(runs)}",
                    f"{statistics.mean(complete):,.0f}" if complete else "-",
                    "; ".join(" / ".join(f"{n:,}" for n in run[:-1]) or "none" for run in runs),
                    "; ".join(f"{-run[-1]:,}" for run in runs),
                ]
            )
    print("\n### Readings, random guide if not said otherwise; one entry per run\n")
    header = ["reading", "runs", "all four", "mean", "optima found at", "evaluations spent"]
    print(markdown_table(header, rows))
    print(
        f"\nA run ends with the fourth optimum, after {args.trials:,} evaluations or "
        f"{MAX_SECONDS:.0f} s of CPU time.\n"
        "The paper: all four in every run, mean 5,632; without guiding the first at about 4,000."
    )


def sizes(args: Any) -> None:
    """Print Figure 2: evaluations near 10 features, and selection of the optima's features."""
    rows = []
    for method in args.guides.split(","):
        watch = Watch(args.problem, 0)
        masks: list[np.ndarray] = []
        study = search(watch, method, args.variant, 0, args.trials, masks)
        assert study is not None
        drawn = np.array(masks)
        counts, inside = drawn.sum(axis=1), watch.problem.wanted.any(axis=0)
        near = np.mean((counts >= 8) & (counts <= 12))
        share = drawn.mean(axis=0)
        rows.append(
            [
                method,
                len(drawn),
                f"{100 * near:.0f} %",
                f"{np.median(counts):.0f}",
                f"{share[inside].mean():.2f}",
                f"{share[~inside].mean():.2f}",
            ]
        )
    print("\n### Figure 2, one run per guide\n")
    header = ["guide", "evaluations", "with 8 to 12 features", "median size"]
    print(markdown_table([*header, "selection, optima", "selection, others"], rows))
    print("\nThe paper: a clear peak at 10 with guides, none without.")


def peers(args: Any) -> None:
    """Print how many of the four optima other methods find."""
    seeds = min(3, args.seeds)
    methods = [name for name in PEERS if any(part in name for part in args.peers.split(";"))]
    jobs: list[Job] = [
        ("peer", args.problem, method, "", seed, min(5000, args.trials))
        for method in methods
        for seed in range(seeds)
    ]
    done = run_jobs(jobs, args.jobs, args.keep)
    rows = [
        [method, ", ".join(str(len(done[job])) for job in jobs if job[2] == method)]
        for method in methods
    ]
    print(
        f"\n### {args.problem}: optima found in {jobs[0][-1]:,} evaluations, one number per run\n"
    )
    print(markdown_table(["method", "of four"], rows))


def cost(args: Any) -> None:
    """Print the CPU time of proposals with 5,000 sets in the archive, and of fitting the guide."""
    sets, proposals = (1100, 60) if args.quick else (5000, 200)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = []
    for filters in (0, 5):
        times, trained = measured_cost(sets, proposals, filters)
        rows.append(
            [
                f"{filters} filters" if filters else "without filters",
                str(Spread.of(times)),
                f"{times[int(0.95 * len(times))]:.1f}",
                str(Spread.of(trained)),
            ]
        )
    print(f"\n### Cost with {sets:,} sets of 250 features, CPU time, median [minimum, maximum]\n")
    header = ["", "proposal, ms", "95 % quantile, ms", "fit of the guide, s"]
    print(markdown_table(header, rows))


def measured_cost(sets: int, proposals: int, filters: int) -> tuple[list[float], list[float]]:
    """Return milliseconds per proposal, shortest first, and seconds per fit of the guide.

    Args:
        sets: Trials before the first proposal.
        proposals: How many proposals are measured.
        filters: Number of filters with random ranks; 0 for none.
    """
    watch = Watch("ratios", 0)
    p = watch.problem.features
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(p), (filters, 1)), axis=1)
    table = FeatureTable(
        tuple(f"x{j + 1}" for j in range(p)),
        filters=tuple(f"filter {k}" for k in range(filters)),
        ranks=orders / (p - 1) if filters else None,
    )
    trained: list[float] = []
    fit = ForestGuide.__call__

    def timed(
        guide: ForestGuide, masks: np.ndarray, losses: np.ndarray, rng: np.random.Generator
    ) -> Prediction:
        began = time.process_time()
        prediction = fit(guide, masks, losses, rng)
        trained.append(time.process_time() - began)
        return prediction

    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table)
        return watch(mask), float(mask.sum())

    study = optuna.create_study(
        directions=["maximize", "minimize"], sampler=GHGASampler(guide="random", seed=0)
    )
    study.optimize(objective, n_trials=sets)
    study.sampler = GHGASampler(seed=0)
    spent = []
    with unittest.mock.patch.object(ForestGuide, "__call__", timed):
        for _ in range(proposals + 1):
            before = sum(trained)
            began = time.process_time()
            trial = study.ask()
            mask = suggest_features(trial, table)
            spent.append(1000 * (time.process_time() - began - (sum(trained) - before)))
            study.tell(trial, [watch(mask), float(mask.sum())])
    return sorted(spent[1:]), trained  # the first one reads the study


PARTS = {
    "guides": guides,
    "sizes": sizes,
    "quarter": quarter,
    "readings": readings,
    "peers": peers,
    "cost": cost,
}


def main() -> None:
    options = parser(__doc__ or "", seeds=12)
    options.add_argument(
        "--parts", default="guides,peers,cost", help=f"parts to run: {', '.join(PARTS)}"
    )
    options.add_argument("--problem", default="ratios", choices=list(PROBLEMS))
    options.add_argument("--guides", default="forest,frequency,random,none", help="guides")
    options.add_argument("--readings", default="", help="parts of names, separated by ;")
    options.add_argument(
        "--finished", action="store_true", help="readings: only print the runs in --keep"
    )
    options.add_argument("--peers", default="", help="only these: parts of names, separated by ;")
    options.add_argument(
        "--variant", default="", choices=["", "paper"], help="paper: GHGASampler.from_paper"
    )
    options.add_argument("--trials", type=int, default=5_000, help="maximum per run")
    options.add_argument("--jobs", type=int, default=2, help="parallel runs")
    options.add_argument(
        "--keep", type=Path, help="file that collects the results; runs in it are not repeated"
    )
    args = options.parse_args()
    if args.quick:
        args.seeds, args.trials = 1, min(args.trials, 1500)
    began = time.perf_counter()
    for part in args.parts.split(","):
        PARTS[part](args)
    spent = sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    took = time.perf_counter() - began
    print(f"\n{took:.0f} s in total, {spent:.0f} s of CPU time.", file=sys.stderr)


if __name__ == "__main__":
    main()
