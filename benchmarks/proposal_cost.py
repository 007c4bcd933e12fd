"""Time spent in the sampler per trial, as the study grows and with the number of features.

Only the methods of the sampler are timed, in CPU time of the thread, so that other processes do
not count, except by what they leave in the caches. The first trials are random, so that all
samplers have the same history at each mark: feature sets as rules of a filter ensemble, as packed
masks, and, for Optuna's samplers, as one boolean per feature.

    python -m benchmarks.proposal_cost --seeds 3
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.trial import Trial

from benchmarks.common import markdown_table, parser  # first: it sets threads
from benchmarks.overhead import timed
from optuna_mofs import FeatureTable, FilterEnsembleNSGA2Sampler, ParEGOSampler
from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.features import FilterEnsembleFeatures, MaskFeatures, Representation, Similarity
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import suggest_mask


def table(p: int) -> FeatureTable:
    """Return features with ranks by five random filters, and eight similar ones of each."""
    rng = np.random.default_rng(0)
    ranks = np.array([rng.permutation(p) / (p - 1) for _ in range(5)])
    names = tuple(f"f{j}" for j in range(p))
    similar = Similarity(rng.integers(0, p, (p, 8)), rng.random((p, 8)))
    return FeatureTable(
        names, filters=tuple("abcde"), ranks=ranks, similar=similar, expected_n_features=8.0
    )


SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "FilterEnsembleNSGA2Sampler": lambda seed: FilterEnsembleNSGA2Sampler(seed=seed),
    "the same, surrogate=None": lambda seed: FilterEnsembleNSGA2Sampler(surrogate=None, seed=seed),
    "ParEGOSampler": lambda seed: ParEGOSampler(seed=seed),
    "Optuna's NSGAIISampler": lambda seed: NSGAIISampler(seed=seed),
    "Optuna's TPESampler": lambda seed: TPESampler(seed=seed, multivariate=True),
    "Optuna's GPSampler": lambda seed: GPSampler(seed=seed),
}
REPRESENTATIONS: dict[str, Callable[[], Representation]] = {
    "rule": lambda: FilterEnsembleFeatures(redundancy_penalty=True),
    "packed": lambda: MaskFeatures(form="packed"),
    "bits": lambda: MaskFeatures(form="bits"),
}
#: Sampler, representation, and the largest number of features and trials at which it is measured.
CASES = [
    ("FilterEnsembleNSGA2Sampler", "rule", 10_935, 10_000),
    ("FilterEnsembleNSGA2Sampler", "packed", 10_935, 10_000),
    ("the same, surrogate=None", "packed", 10_935, 10_000),
    ("ParEGOSampler", "rule", 10_935, 1_000),
    ("Optuna's TPESampler", "rule", 500, 1_000),
    ("Optuna's GPSampler", "rule", 500, 200),
    ("Optuna's NSGAIISampler", "bits", 500, 1_000),
]


def measure(p: int, form: str, sampler: BaseSampler, marks: list[int]) -> list[float]:
    """Return milliseconds in the sampler after each number of trials (median of 15)."""
    features = table(p)
    representation = REPRESENTATIONS[form]().bind(features)
    useful = np.arange(p) % max(1, p // 10) == 0
    measures = (MeasureDescription("error", worst=1.5), MeasureDescription("fraction", worst=1.0))

    def objective(trial: Trial) -> tuple[float, float]:
        mask, system = suggest_mask(trial, representation)
        write_trial_attrs(study, trial, system=system)
        rates = [trial.suggest_float(f"rate{i}", 1e-3, 1, log=True) for i in range(2)]
        error = np.count_nonzero(useful & ~mask) / useful.sum() + 0.01 * abs(np.log(rates)).sum()
        return float(error), float(mask.mean())

    spent, found = timed(sampler), []
    directions = ["minimize"] * 2
    for mark in marks:
        # A study of its own: at 10,000 trials most of the time would go into the trials between.
        start = RandomSampler(seed=mark)
        study = optuna.create_study(directions=directions, sampler=start)
        space = {f"rate{i}": FloatDistribution(1e-3, 1, log=True) for i in range(2)}
        StudyDescription(features, representation, measures=measures, space=space).write(study)
        study.optimize(objective, n_trials=mark)
        study.sampler = sampler
        # The first proposals read the history and estimate length scales.
        study.optimize(objective, n_trials=5)
        spent.clear()
        study.optimize(objective, n_trials=15)
        found.append(1000 * statistics.median(spent))
    return found


def main() -> None:
    options = parser(__doc__ or "", seeds=1)
    args = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    marks = [50, 100] if args.quick else [100, 1_000, 10_000]
    rows = []
    for p in (30,) if args.quick else (30, 500, 10_935):
        for name, form, most_features, most_trials in CASES:
            if p > most_features:
                continue
            chosen = [mark for mark in marks if mark <= most_trials]
            runs = [measure(p, form, SAMPLERS[name](s), chosen) for s in range(args.seeds)]
            middle = [f"{statistics.median(column):.1f}" for column in zip(*runs)]
            rows.append([f"{name}, {form}", p, *middle, *[""] * (len(marks) - len(chosen))])
            print(rows[-1], flush=True)
    header = ["ms in the sampler", "features", *(f"trial {mark:,}" for mark in marks)]
    print()
    print(markdown_table(header, rows))


if __name__ == "__main__":
    main()
