"""Time spent in the sampler per trial, as the study grows and with the number of features.

Only the methods of the sampler are timed, in CPU time of the thread, so that other processes do
not count. Both samplers search the same booleans where Optuna's NSGA-II can run. From 33 features
on, FilterEnsembleNSGA2Sampler is also measured with packed masks, its default for that size.

    python -m benchmarks.overhead --seeds 1
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler, NSGAIISampler
from optuna.trial import Trial

from benchmarks.common import markdown_table, parser  # first: it sets threads
from optuna_mofs import FeatureTable, FilterEnsembleNSGA2Sampler, suggest_features

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


def measure(p: int, form: str, sampler: BaseSampler, marks: list[int]) -> list[float]:
    """Return milliseconds in the sampler around each mark (median of 21 trials)."""
    features = table(p)
    useful = np.arange(p) % max(1, p // 10) == 0

    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, features, form=form)
        rates = [trial.suggest_float(f"rate{i}", 1e-3, 1, log=True) for i in range(5)]
        error = np.count_nonzero(useful & ~mask) / useful.sum() + 0.01 * abs(np.log(rates)).sum()
        return float(error), float(mask.mean())

    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    spent = timed(sampler)
    study.optimize(objective, n_trials=marks[-1] + 10)
    return [1000 * statistics.median(spent[m - 11 : m + 10]) for m in marks]


def main() -> None:
    options = parser(__doc__ or "", seeds=1)
    args = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
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
                    else FilterEnsembleNSGA2Sampler(seed=seed)
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
