"""Expected gain of hypervolume per second against the plain gain, at equal seconds of fits.

The time of a fit differs at least tenfold within a space: rounds of boosting, width of a network.
Both searches have the same rows, folds and seeds, and the same initial design. Printed are the
hypervolumes of error and fraction of features, reference (1, 1), by cross-validation and on a
quarter of the rows that is held out, when each search has spent a part of the CPU seconds that the
plain one needs for all its trials, and the ratio of the trials done by then. "Range" is the 95 %
quantile of the seconds per fit in the plain search, divided by the 5 % quantile.

    python -m benchmarks.fit_time --data DIR --seeds 5 --keep fit_time.json
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import moocore
import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import markdown_table, parser  # first: it sets threads
from benchmarks.honesty import table
from benchmarks.racing import hypervolume, mean_text, results_of_all
from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler, fold_scores
from optuna_mofs.samplers import NSGA2Settings

NAMES = ("wdbc", "spambase", "sonar")
LEARNERS = ("boosting", "network")
MAX_ROWS = 400
SHARES = (0.25, 0.5, 1.0)
#: A search per second stops after so many times the trials of the plain one.
MOST = 4


def learner(kind: str) -> tuple[Any, Any]:
    """Return an estimator and its space."""
    if kind == "boosting":
        return GradientBoostingClassifier(random_state=0), {
            "n_estimators": IntDistribution(5, 150, log=True),
            "learning_rate": FloatDistribution(0.02, 0.5, log=True),
            "max_depth": IntDistribution(1, 4),
        }
    network = MLPClassifier(max_iter=30, random_state=0)
    return make_pipeline(StandardScaler(), network), {
        "mlpclassifier__hidden_layer_sizes": CategoricalDistribution([2, 8, 32, 128, 512, 2048]),
        "mlpclassifier__alpha": FloatDistribution(1e-6, 1.0, log=True),
        "mlpclassifier__learning_rate_init": FloatDistribution(1e-3, 0.1, log=True),
    }


def seconds(trial: FrozenTrial) -> float:
    """Return the CPU seconds of the fits of a trial."""
    if "duplicate_of" in trial.user_attrs:
        return 0.0
    return float(sum(fold_scores(trial)["fit_time"]))


def run(name: str, kind: str, seed: int, args: Any) -> dict[str, Any]:
    """Return the hypervolumes of both searches at each share of the seconds."""
    X, y, _ = table(name, args.data, MAX_ROWS)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
    found: dict[str, Any] = {}
    budget = np.inf
    for rate in (False, True):
        estimator, space = learner(kind)
        objective = FeatureSelectionObjective(
            estimator, X, y, space=space, random_state=seed, recorded_measures=["fit_time"]
        )
        sampler = FilterEnsembleNSGA2Sampler(
            seed=seed, settings=NSGA2Settings(gain_per_second=rate)
        )
        study = objective.create_study(sampler=sampler)
        spent = 0.0
        for _ in range(MOST * args.trials if rate else args.trials):
            study.optimize(objective, n_trials=1)
            spent += seconds(study.get_trials(deepcopy=False)[-1])
            if spent >= budget:
                break
        budget = min(budget, spent)
        if not rate:
            trials = study.get_trials(deepcopy=False)
            low, high = np.quantile([s for t in trials if (s := seconds(t))], [0.05, 0.95])
            found["range"] = high / low
        found[str(rate)] = _marks(objective, study, budget, X_test, y_test)
    return found


def _marks(
    objective: Any, study: Any, budget: float, X_test: Any, y_test: Any
) -> list[list[float]]:
    """Return inner and outer hypervolume and number of trials at each share of the budget."""
    tested: dict[int, float] = {}
    trials = study.get_trials(deepcopy=False)
    until = np.cumsum([seconds(trial) for trial in trials])
    marks = []
    for share in SHARES:
        count = max(1, int(np.searchsorted(until, share * budget, side="right")))
        values = np.array([trial.values for trial in trials[:count]])
        front = np.flatnonzero(moocore.is_nondominated(values))
        for i in front:
            if i not in tested:
                tested[i] = 1 - objective.refit(trials[i]).score(X_test, y_test)
        outer = [[tested[i], values[i, 1]] for i in front]
        marks.append([hypervolume(values[front]), hypervolume(outer), count])
    return marks


def report(results: dict[str, dict[str, Any]]) -> str:
    """Return the table: per second minus plain."""
    rows = []
    for kind in [*dict.fromkeys(key.split("/")[1] for key in results), "all"]:
        cells = [r for key, r in results.items() if kind in ("all", key.split("/")[1])]
        for i, share in enumerate(SHARES):
            pairs = [(np.array(c["True"][i]), np.array(c["False"][i])) for c in cells]
            gains = [mean_text([a[j] - b[j] for a, b in pairs]) for j in (0, 1)]
            ratio = np.mean([a[0] / b[0] for a, b in pairs])
            trials = np.mean([a[2] / b[2] for a, b in pairs])
            spread = np.median([c["range"] for c in cells])
            rows.append([kind, spread, f"{share:.0%}", len(cells), *gains, ratio, trials])
    header = ["", "range", "seconds", "runs", "inner", "outer", "inner, ratio", "trials, ratio"]
    return markdown_table(header, rows)


def main(argv: list[str] | None = None) -> None:
    """Run all searches that the file of ``--keep`` lacks, and print the table."""
    options = parser(__doc__ or "", seeds=5)
    options.add_argument("--trials", type=int, default=50, help="default: %(default)s")
    options.add_argument("--names", nargs="+", default=NAMES)
    options.add_argument("--learners", nargs="+", default=LEARNERS)
    options.add_argument("--keep", type=Path, help="file of results, continued if it exists")
    args = options.parse_args(argv)
    if args.quick:
        args.names, args.learners, args.seeds, args.trials = ("wine",), ("boosting",), 1, 20
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    print(report(results_of_all(args, run)))


if __name__ == "__main__":
    main()
