"""Racing over folds against all folds, on rows that nobody saw.

Both searches have the same rows, folds, seeds and sampler; a quarter of the rows is held out.
Printed are the hypervolume of error and fraction of features, reference (1, 1), of the front by
cross-validation and on the held-out rows: after the same number of trials, with the share of the
fits that racing needed, and after the same number of fits, when racing has tried more. The second
table has the held-out error and the number of features of the default pick, less those without
races; "repeats" spends the fits that racing saved on further folds of the members near the pick.
With seed 0 and the first learner, the search is also run in two halves, of which the second
reopens the storage.

    python -m benchmarks.racing --data DIR --seeds 2 --keep racing.json
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import moocore
import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState
from sklearn.model_selection import train_test_split

from benchmarks.common import markdown_table, parser  # first: it sets threads
from benchmarks.honesty import learner, table
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    fold_scores,
    pareto_front,
)
from optuna_mofs.data._dataset import draw_splits
from optuna_mofs.features import _ranking

NAMES = ("sonar", "wdbc", "german_credit", "spambase", "waveform_binary", "diabetes")
LEARNERS = ("linear", "knn", "svm")
MAX_ROWS = 500
N_FOLDS = 5
#: Further draws of the folds for members near the pick, at most.
MAX_REPEATS = 3


def n_fits(trial: FrozenTrial) -> int:
    """Return the number of folds that a trial fitted."""
    if "duplicate_of" in trial.user_attrs:
        return 0
    return int(trial.user_attrs.get("n_folds", N_FOLDS))


class Objective(FeatureSelectionObjective):
    """An objective whose trials can be evaluated on other folds."""

    def scores_on(self, trial: FrozenTrial, splits: Any) -> list[float]:
        """Return the error of a trial on each of some folds."""
        estimator = self.estimator_space.configure(self.params_for(trial))
        assert self.representation is not None
        masks = [self.mask_for(trial)] * len(splits)
        if self.representation.ranks == "fold":
            masks = self._fold_masks(self.representation.bind(self.table), trial.params, splits)
        found = self.evaluator(estimator, masks[0], masks, splits)
        return found.by_fold["error"]


def _standard_error(scores: dict[int, list[float]], trial: FrozenTrial) -> float:
    """Return the standard error of the mean of five folds; more folds repeat the same rows."""
    return float(np.std(scores[trial.number], ddof=1) / np.sqrt(N_FOLDS))


class Search:
    """One search, and what its fronts are worth on the held-out rows.

    Args:
        name: Name of the data set.
        kind: One of :data:`LEARNERS`.
        seed: Seed of the split, the folds and the sampler.
        args: Options of the script.
        racing: As of the objective.
        file: A journal that is continued if it exists; by default the study is kept in memory.
    """

    def __init__(
        self, name: str, kind: str, seed: int, args: Any, racing: Any, file: Path | None = None
    ) -> None:
        X, y, task = table(name, args.data, MAX_ROWS)
        is_classes = task == "classification"
        X, self._X, y, self._y = train_test_split(
            X, y, test_size=0.25, random_state=seed, stratify=y if is_classes else None
        )
        linear = "logistic_regression" if is_classes else "ridge"
        estimator, space = learner(linear if kind == "linear" else kind, task)
        self._objective = Objective(
            estimator, X, y, space=space, cv=N_FOLDS, random_state=seed, racing=racing
        )
        self.study = self._objective.create_study(
            sampler=FilterEnsembleNSGA2Sampler(seed=seed),
            study_name=None if file is None else "search",
            storage=None if file is None else JournalStorage(JournalFileBackend(str(file))),
            load_if_exists=file is not None,
        )
        self._tested: dict[int, float] = {}

    @property
    def fits(self) -> int:
        """Number of fits so far."""
        return sum(map(n_fits, self.study.get_trials(deepcopy=False)))

    def run(self, n_trials: int, until: Callable[[], bool] = lambda: False) -> None:
        """Run trials."""
        for _ in range(n_trials):
            if until():
                return
            self.study.optimize(self._objective, n_trials=1)

    def values(self) -> dict[str, Any]:
        """Return fits, hypervolumes inside and outside, and error and size of the pick."""
        front = pareto_front(self.study)
        outer = [[self._test(trial), trial.values[1]] for trial in front]
        pick = front.pick()
        return {
            "trials": len(self.study.trials),
            "stopped": len(self.study.get_trials(states=(TrialState.PRUNED,))),
            "fits": self.fits,
            "inner": hypervolume([trial.values for trial in front]),
            "outer": hypervolume(outer),
            "pick": [self._test(pick), pick.user_attrs["n_features"]],
        }

    def repeated_pick(self, budget: int) -> dict[str, Any]:
        """Return the pick after further folds of the members near it, and the fits they took.

        All members within two standard errors of the best error are evaluated on new draws of the
        folds, in rounds, as long as several are left and the budget lasts. One that is clearly
        more than a standard error worse than the best is left out.
        """
        objective, spent = self._objective, 0
        left = list(pareto_front(self.study))
        scores = {t.number: list(fold_scores(t)["error"]) for t in left}
        error = partial(_standard_error, scores)
        best = min(left, key=lambda t: t.values[0])
        left = [t for t in left if t.values[0] <= best.values[0] + 2 * error(best)]
        for repeat in range(MAX_REPEATS):
            if len(left) < 2 or spent + N_FOLDS * len(left) > budget:
                break
            splits = draw_splits(objective.data, N_FOLDS, 1000 + repeat)
            spent += N_FOLDS * len(left)
            for trial in left:
                scores[trial.number] += objective.scores_on(trial, splits)
            best = min(left, key=lambda t: np.mean(scores[t.number]))
            for trial in left.copy():
                worse = np.subtract(scores[trial.number], scores[best.number])
                limit = 2 * worse.std(ddof=1) / np.sqrt(len(worse))
                if worse.mean() - limit > error(best):
                    left.remove(trial)
        best = min(left, key=lambda t: np.mean(scores[t.number]))
        limit = np.mean(scores[best.number]) + error(best)
        good = [t for t in left if np.mean(scores[t.number]) <= limit]
        pick = min(good, key=lambda t: t.values[1])
        return {"fits": spent, "pick": [self._test(pick), pick.user_attrs["n_features"]]}

    def _test(self, trial: FrozenTrial) -> float:
        if trial.number not in self._tested:
            model = self._objective.refit(trial)
            self._tested[trial.number] = 1 - model.score(self._X, self._y)
        return self._tested[trial.number]


def hypervolume(points: Any) -> float:
    """Return the hypervolume of errors and fractions of features, reference (1, 1)."""
    return float(moocore.hypervolume(np.clip(np.array(points), 0.0, 1.0), ref=[1.0, 1.0]))


def run(name: str, kind: str, seed: int, args: Any) -> dict[str, Any]:
    """Return the values without races, and with them at equal trials and at equal fits."""
    plain = Search(name, kind, seed, args, False)
    plain.run(args.trials)
    races = Search(name, kind, seed, args, True)
    races.run(args.trials)
    found = {"plain": plain.values(), "equal trials": races.values()}
    budget = plain.fits
    found["repeats"] = races.repeated_pick(budget - races.fits)
    found["repeats"]["fits"] += races.fits
    races.run(3 * args.trials, lambda: races.fits >= budget)
    found["equal fits"] = races.values()
    if seed == 0 and kind == LEARNERS[0]:
        found["resumed"] = _resumed(races, name, kind, args)
    return found


def _resumed(whole: Search, name: str, kind: str, args: Any) -> bool:
    """Return whether a search in two halves has the same trials, bit for bit."""
    with tempfile.TemporaryDirectory() as folder:
        for n_trials in (args.trials // 2, args.trials - args.trials // 2):
            half = Search(name, kind, 0, args, True, Path(folder) / "journal.log")
            half.run(n_trials)
        pairs = list(zip(whole.study.trials[: args.trials], half.study.trials, strict=True))
    return all(
        (a.state, a.params, a.values, a.user_attrs) == (b.state, b.params, b.values, b.user_attrs)
        for a, b in pairs
    )


def mean_text(values: Any) -> str:
    """Return a mean and its standard error."""
    spread = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):+.4f} ± {spread:.4f}"


def report(results: dict[str, dict[str, Any]]) -> str:
    """Return the tables: by data set, and over all runs."""
    header = ["", "runs", "fits", "inner", "outer", "inner, equal fits", "outer, equal fits"]
    header += ["trials, equal fits"]
    rows = []
    parts = [dict.fromkeys(key.split("/")[i] for key in results) for i in (0, 1)]
    for name in [*parts[0], *parts[1], "all"]:
        cells = [r for key, r in results.items() if name in ("all", *key.split("/"))]
        gains = {
            (mark, what): [c[mark][what] - c["plain"][what] for c in cells]
            for mark in ("equal trials", "equal fits")
            for what in ("inner", "outer")
        }
        share = np.mean([c["equal trials"]["fits"] / c["plain"]["fits"] for c in cells])
        trials = np.mean([c["equal fits"]["trials"] / c["plain"]["trials"] for c in cells])
        rows.append(
            [name, len(cells), f"{100 * share:.0f} %"]
            + [mean_text(values) for values in gains.values()]
            + [f"{100 * trials:.0f} %"]
        )
    picks = []
    for mark in ("equal trials", "repeats", "equal fits"):
        worse = [np.subtract(r[mark]["pick"], r["plain"]["pick"]) for r in results.values()]
        fits = [r[mark]["fits"] / r["plain"]["fits"] for r in results.values()]
        picks.append([mark, f"{100 * np.mean(fits):.0f} %", *map(mean_text, np.transpose(worse))])
    header_of_picks = ["default pick of racing", "fits", "error", "features"]
    tables = [markdown_table(header, rows), markdown_table(header_of_picks, picks)]
    resumed = [r["resumed"] for r in results.values() if "resumed" in r]
    same = f"Resumed with the same trials: {sum(resumed)} of {len(resumed)} searches."
    return "\n\n".join([*tables, same])


def results_of_all(args: Any, run: Callable[..., dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Run all seeds, learners and data sets that the file of ``--keep`` lacks."""
    _ranking._SLOW_SECONDS = 0.0  # searches on the same rows share their rankings, on disk
    kept = args.keep is not None and args.keep.is_file()
    results: dict[str, dict[str, Any]] = json.loads(args.keep.read_text()) if kept else {}
    for seed in range(args.seeds):
        for name in args.names:
            for kind in args.learners:
                key = f"{name}/{kind}/{seed}/{args.trials}"
                if key in results:
                    continue
                results[key] = run(name, kind, seed, args)
                if args.keep is not None:
                    args.keep.write_text(json.dumps(results, indent=1))
    return results


def main(argv: list[str] | None = None) -> None:
    """Run all searches that the file of ``--keep`` lacks, and print the tables."""
    options = parser(__doc__ or "", seeds=2)
    options.add_argument("--trials", type=int, default=60, help="default: %(default)s")
    options.add_argument("--names", nargs="+", default=NAMES)
    options.add_argument("--learners", nargs="+", default=LEARNERS)
    options.add_argument("--keep", type=Path, help="file of results, continued if it exists")
    args = options.parse_args(argv)
    if args.quick:
        args.names, args.learners, args.seeds, args.trials = ("diabetes",), ("linear",), 1, 14
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    print(report(results_of_all(args, run)))


if __name__ == "__main__":
    main()
