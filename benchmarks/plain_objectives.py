"""Objectives without features: the default sampler on plain functions of Optuna's parameters.

Functions with categories, integers, conditions, many numbers and many switches; hypervolume
relative to the reference box, after each number of trials, mean and standard deviation over seeds.
*Forest* is the default with a forest as surrogate, which it has on more than 200 columns.

    python -m benchmarks.plain_objectives --seeds 3
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import markdown_table, parser  # first: it sets threads

# isort: split
import moocore
import numpy as np
import optuna
from optuna.trial import Trial

from optuna_mofs import FilterEnsembleNSGA2Sampler, ParEGOSampler

MARKS = (30, 60, 120)


@dataclass(frozen=True)
class Problem:
    """An objective of two values, both minimized, and the reference point of its hypervolume."""

    objective: Callable[[Trial], tuple[float, float]]
    reference: tuple[float, float]


def mixed(trial: Trial) -> tuple[float, float]:
    """Category, log scale and log integer; one category has a parameter of its own."""
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    rate = trial.suggest_float("rate", 1e-5, 1, log=True)
    n = trial.suggest_int("n", 1, 256, log=True)
    error = {"a": 0.0, "b": 0.09, "c": 0.18}[kind] + (np.log10(rate) + 2.5) ** 2 / 10 + n**-0.5
    if kind == "b":
        error -= 0.25 * (1 - 4 * (trial.suggest_float("share", 0, 1) - 0.7) ** 2)
    return float(error), float(np.log2(n) / 8 + 0.1 * (kind == "b"))


def integers(trial: Trial) -> tuple[float, float]:
    """Four integers."""
    x = np.array([trial.suggest_int(f"x{k}", 0, 20) for k in range(4)]) / 20
    away = float(((x[1:] - 0.6) ** 2).sum())
    return float(x[0]) + away, float((1 - x[0]) ** 2) + away


def numbers(trial: Trial) -> tuple[float, float]:
    """Twenty-four numbers that matter equally."""
    x = np.array([trial.suggest_float(f"x{k}", 0, 1) for k in range(24)])
    away = float(4 * ((x[1:] - 0.3) ** 2).mean())
    return float(x[0]) + away, float(1 - np.sqrt(x[0])) + away


def few_of_many(trial: Trial) -> tuple[float, float]:
    """Thirty numbers, four of which matter."""
    x = np.array([trial.suggest_float(f"x{k}", 0, 1) for k in range(30)])
    away = float(((x[1:4] - 0.3) ** 2).sum() + 0.02 * ((x[4:] - 0.6) ** 2).sum())
    return float(x[0]) + away, float(1 - np.sqrt(x[0])) + away


_RNG = np.random.default_rng(0)
_BEST, _OFFSET, _SIZE = _RNG.random((7, 4)), 0.2 + 0.2 * _RNG.random(7), _RNG.random(7)
_GAIN = _RNG.normal(size=60) * np.where(np.arange(60) < 10, 1.0, 0.1)


def branches(trial: Trial) -> tuple[float, float]:
    """Seven learners with four parameters each."""
    kind = trial.suggest_categorical("learner", list("abcdefg"))
    k = "abcdefg".index(kind)
    x = np.array([trial.suggest_float(f"{kind}{j}", 0, 1) for j in range(4)])
    error = _OFFSET[k] + ((x - _BEST[k]) ** 2 * [1, 0.6, 0.3, 0.1]).sum()
    return float(error), float(0.6 * _SIZE[k] + 0.4 * x[0])


def switches(trial: Trial) -> tuple[float, float]:
    """Sixty booleans, ten of which matter much."""
    x = np.array([trial.suggest_categorical(f"x{k}", [False, True]) for k in range(60)])
    return float(8 - _GAIN[x].sum()), float(x.mean())


PROBLEMS = {
    "category and integer": Problem(mixed, (2.0, 1.2)),
    "4 integers": Problem(integers, (2.2, 2.2)),
    "24 numbers": Problem(numbers, (2.0, 2.0)),
    "4 of 30 numbers": Problem(few_of_many, (2.0, 2.0)),
    "7 learners": Problem(branches, (1.2, 1.0)),
    "60 booleans": Problem(switches, (12.0, 1.0)),
}
SAMPLERS: dict[str, Callable[[int], Any]] = {
    "default": lambda seed: FilterEnsembleNSGA2Sampler(seed=seed),
    "default, forest": lambda seed: FilterEnsembleNSGA2Sampler(seed=seed, surrogate="forest"),
    "ParEGOSampler": lambda seed: ParEGOSampler(seed=seed),
    "Optuna's TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "Optuna's NSGAIISampler": lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
}


def run(problem: Problem, sampler: Any, marks: Sequence[int]) -> list[float]:
    """Return the relative hypervolume after each number of trials."""
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(problem.objective, n_trials=max(marks))
    values = np.array([trial.values for trial in study.trials])
    box = np.prod(problem.reference)
    return [float(moocore.hypervolume(values[:k], ref=problem.reference) / box) for k in marks]


def main() -> None:
    options = parser(__doc__ or "", seeds=3)
    options.add_argument("--keep", type=Path, metavar="FILE", help="keep runs, to continue later")
    args = options.parse_args()
    marks, seeds, problems = MARKS, args.seeds, list(PROBLEMS)
    if args.quick:
        marks, seeds, problems = (10, 15), 1, ["category and integer"]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    kept = json.loads(args.keep.read_text()) if args.keep and args.keep.exists() else {}
    rows = []
    for name in problems:
        for method, sampler in SAMPLERS.items():
            found = []
            for seed in range(seeds):
                key = f"{name}|{method}|{seed}"
                if key not in kept:
                    kept[key] = run(PROBLEMS[name], sampler(seed), marks)
                    if args.keep:
                        args.keep.write_text(json.dumps(kept))
                found.append(kept[key])
            means, spreads = np.mean(found, axis=0), np.std(found, axis=0)
            rows.append([name, method, *(f"{m:.3f} ± {s:.3f}" for m, s in zip(means, spreads))])
    print(markdown_table(["problem", "sampler", *(f"{k} trials" for k in marks)], rows))


if __name__ == "__main__":
    main()
