"""Time spent in the sampler per trial, as the study grows and with the number of features.

Only the methods of the sampler are timed, in CPU time of the thread, so that other processes do
not count. Both samplers search the same booleans where Optuna's NSGA-II can run. From 33 features
on, FilterEnsembleNSGA2Sampler is also measured with packed masks, its default for that size.

    python -m benchmarks.overhead --seeds 1
    python -m benchmarks.overhead --growth --samplers moead lexiflow ghga --trials 10000

With ``--growth``, every sampler searches 100 packed features and five floats by itself, and then a
new object of it proposes for the finished study: what reopening costs beyond reading the trials.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler, NSGAIISampler
from optuna.trial import Trial

from benchmarks.common import markdown_table, parser  # first: it sets threads
from optuna_mofs import (
    FeatureTable,
    FilterEnsembleNSGA2Sampler,
    GHGASampler,
    LexiFlowSampler,
    MOEADSampler,
    ParEGOSampler,
    SMSEGOSampler,
    suggest_features,
)

#: Samplers of ``--growth``.
SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "default": lambda seed: FilterEnsembleNSGA2Sampler(seed=seed),
    "genetic": lambda seed: FilterEnsembleNSGA2Sampler(surrogate=None, seed=seed),
    "moead": lambda seed: MOEADSampler(seed=seed),
    "lexiflow": lambda seed: LexiFlowSampler(seed=seed),
    "ghga": lambda seed: GHGASampler(seed=seed),
    "parego": lambda seed: ParEGOSampler(seed=seed),
    "smsego": lambda seed: SMSEGOSampler(seed=seed),
}

_HOOKS = (
    "before_trial",
    "infer_relative_search_space",
    "sample_relative",
    "sample_independent",
    "after_trial",
)


def timed(sampler: BaseSampler) -> list[float]:
    """Wrap the methods of a sampler, and return a list that collects the seconds per trial."""
    spent: list[float] = []

    def wrap(name: str) -> None:
        inner = getattr(sampler, name)

        def outer(*args: Any, **options: Any) -> Any:
            if name == "before_trial":
                spent.append(0.0)
            begin = time.thread_time()
            try:
                return inner(*args, **options)
            finally:
                spent[-1] += time.thread_time() - begin

        setattr(sampler, name, outer)

    for hook in _HOOKS:
        wrap(hook)
    return spent


def table(p: int) -> FeatureTable:
    """Return features with ranks by five random filters."""
    rng = np.random.default_rng(0)
    ranks = np.array([rng.permutation(p) / (p - 1) for _ in range(5)])
    names = tuple(f"f{j}" for j in range(p))
    return FeatureTable(names, filters=tuple("abcde"), ranks=ranks, expected_n_features=8.0)


def make_objective(p: int, form: str) -> Callable[[Trial], tuple[float, float]]:
    """Return a quick objective of p features and five floats."""
    features = table(p)
    useful = np.arange(p) % max(1, p // 10) == 0

    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, features, form=form)
        rates = [trial.suggest_float(f"rate{i}", 1e-3, 1, log=True) for i in range(5)]
        error = np.count_nonzero(useful & ~mask) / useful.sum() + 0.01 * abs(np.log(rates)).sum()
        return float(error), float(mask.mean())

    return objective


def measure(p: int, form: str, sampler: BaseSampler, marks: list[int]) -> list[float]:
    """Return milliseconds in the sampler around each mark (median of 21 trials)."""
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    spent = timed(sampler)
    study.optimize(make_objective(p, form), n_trials=marks[-1] + 10)
    return [1000 * statistics.median(spent[m - 11 : m + 10]) for m in marks]


def growth(name: str, n_trials: int, seed: int) -> dict[str, float]:
    """Return milliseconds in a sampler by number of trials, and seconds of its first proposal.

    Around each mark, the mean and the largest of the last trials before it are taken: a sampler
    that refits a model now and then has a median that leaves the refits out.
    """
    study = optuna.create_study(directions=["minimize"] * 2, sampler=SAMPLERS[name](seed))
    spent = timed(study.sampler)
    study.optimize(make_objective(100, "packed"), n_trials=n_trials)
    found = {}
    for mark in (n_trials // 100, n_trials // 10, n_trials // 2, n_trials):
        last = spent[mark - max(10, mark // 10) : mark]
        found[f"mean {mark}"] = 1000 * statistics.mean(last)
        found[f"median {mark}"] = 1000 * statistics.median(last)
    found["worst"] = 1000 * max(spent)
    study.sampler = SAMPLERS[name](seed)
    again = timed(study.sampler)
    study.optimize(make_objective(100, "packed"), n_trials=1)
    return {**found, "reopened": again[0]}


def print_growth(names: list[str], n_trials: int, keep: Path | None) -> None:
    """Measure the samplers one after the other, and print a table."""
    rows, header = [], []
    for name in names:
        found = growth(name, n_trials, 0)
        if keep is not None:
            with keep.open("a") as file:
                print(json.dumps([name, n_trials, found]), file=file)
        marks = (n_trials // 100, n_trials // 10, n_trials)
        ratio = found[f"mean {n_trials}"] / found[f"mean {n_trials // 10}"]
        times = [f"{found[f'mean {mark}']:.2f}" for mark in marks]
        rows.append([name, *times, f"{ratio:.2f}", f"{found['worst']:.0f}"])
        rows[-1].append(f"{found['reopened']:.2f}")
        header = ["ms in the sampler", *(f"before trial {mark:,}" for mark in marks)]
        print(rows[-1], flush=True)
    header += ["last : middle", "worst", "first proposal of a new process: s"]
    print(f"\n{markdown_table(header, rows)}")


def main() -> None:
    options = parser(__doc__ or "", seeds=1)
    options.add_argument("--growth", action="store_true", help="every sampler by itself")
    options.add_argument("--samplers", nargs="+", choices=list(SAMPLERS), default=list(SAMPLERS))
    options.add_argument("--trials", type=int, default=10_000, help="trials of --growth")
    options.add_argument("--keep", type=Path, metavar="FILE", help="append results as JSON lines")
    args = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if args.growth:
        print_growth(args.samplers, 1_000 if args.quick else args.trials, args.keep)
        return
    marks = [50, 100, 200] if args.quick else [100, 1000, 5000]
    rows = []
    for p in (30, 500, 10_935):
        cases = [("FilterEnsembleNSGA2Sampler", "bits"), ("NSGAIISampler", "bits")]
        if p > 32:
            cases = [("FilterEnsembleNSGA2Sampler", "packed"), *(cases if p <= 500 else [])]
        for name, form in cases:
            runs = []
            for seed in range(args.seeds):
                made: BaseSampler = (
                    NSGAIISampler(seed=seed)
                    if name == "NSGAIISampler"
                    else FilterEnsembleNSGA2Sampler(surrogate=None, seed=seed)
                )
                runs.append(measure(p, form, made, marks))
            middle = [statistics.median(column) for column in zip(*runs)]
            growth = middle[2] / middle[1]
            rows.append([f"{name}, {form}", p, *(f"{m:.2f}" for m in middle), f"{growth:.2f}"])
            print(rows[-1], flush=True)
    header = ["ms in the sampler", "features", *(f"trial {m}" for m in marks)]
    print()
    print(markdown_table([*header, f"trial {marks[2]} : {marks[1]}"], rows))


if __name__ == "__main__":
    main()
