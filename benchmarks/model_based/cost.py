"""Parts (d) and (e): cost of models and proposals."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import TPESampler
from optuna.trial import create_trial
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from benchmarks.common import Spread, markdown_table
from benchmarks.peers.smac_parego import SmacParEGO
from optuna_mofs import ParEGOSampler, SMSEGOSampler
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.samplers.model_based import Forest


def forests(repeats: int) -> None:
    """Print milliseconds of a fit and 5,000 predictions at 500 trials of 10 parameters."""
    rng = np.random.default_rng(0)
    X, X_new = rng.random((500, 10)), rng.random((5000, 10))
    truth = [((part[:, :4] - 0.3) ** 2).sum(axis=1) for part in (X, X_new)]
    y = truth[0] + 0.05 * rng.standard_normal(500)

    def of(kind: Any) -> Callable[[], np.ndarray]:
        def run() -> np.ndarray:
            model = kind(40, min_samples_leaf=2, max_features=0.7, n_jobs=1).fit(X, y)
            found = np.array([tree.predict(X_new) for tree in model.estimators_])
            found.std(axis=0)
            return found.mean(axis=0)

        return run

    kinds: dict[str, Callable[[], np.ndarray]] = {
        "RandomForestRegressor": of(RandomForestRegressor),
        "ExtraTreesRegressor": of(ExtraTreesRegressor),
        "LightGBM, rf mode": lambda: _lightgbm(X, y, X_new),
        "our Forest": lambda: Forest(np.random.default_rng(0)).fit(X, y).predict(X_new)[0],
    }
    if importlib.util.find_spec("lightgbm") is None:
        del kinds["LightGBM, rf mode"]
    rows = []
    for name, run in kinds.items():
        spent = []
        for _ in range(repeats):
            before = time.thread_time()
            mean = run()
            spent.append(1000 * (time.thread_time() - before))
        rows.append([name, str(Spread.of(spent)), f"{np.corrcoef(mean, truth[1])[0, 1]:.3f}"])
    print(markdown_table(["forest of 40 trees", "ms", "correlation with the truth"], rows))


def _lightgbm(X: np.ndarray, y: np.ndarray, X_new: np.ndarray) -> np.ndarray:
    lgb = importlib.import_module("lightgbm")
    options = {
        "boosting": "rf",
        "bagging_freq": 1,
        "bagging_fraction": 0.632,
        "feature_fraction": 0.7,
        "min_data_in_leaf": 2,
        "num_leaves": 256,
        "num_threads": 1,
        "verbose": -1,
    }
    booster = lgb.train(options, lgb.Dataset(X, y), 40)
    leaves = booster.predict(X_new, pred_leaf=True, num_threads=1)
    found = np.array(
        [
            np.array([booster.get_leaf_output(i, k) for k in range(int(column.max()) + 1)])[column]
            for i, column in enumerate(leaves.T)
        ]
    )
    found.std(axis=0)
    return found.mean(axis=0)


#: Ten parameters of all kinds.
TEN = {
    **{f"x{j}": FloatDistribution(0, 1) for j in range(5)},
    "C": FloatDistribution(2**-10, 2**10, log=True),
    "gamma": FloatDistribution(2**-10, 2**10, log=True),
    "leaf": IntDistribution(1, 50),
    "kernel": CategoricalDistribution(("rbf", "poly", "linear")),
    "scale": CategoricalDistribution((True, False)),
}


def _values(row: np.ndarray) -> tuple[float, float]:
    return float(row[0] + row[8]), float(((row[:8] - 0.3) ** 2).sum() + (row[9] > 0))


def proposals(repeats: int, n_completed: int) -> None:
    """Print seconds of a proposal after some trials of ten parameters with two objectives.

    The samplers take turns, so that other load on the core affects all of them.
    """
    space = SearchSpace(TEN)
    rows = space.sample(np.random.default_rng(0), n_completed)
    makers: dict[str, Callable[[], Any]] = {
        "ParEGOSampler": lambda: ParEGOSampler(seed=0),
        "SMSEGOSampler": lambda: SMSEGOSampler(seed=0),
        "ParEGOSampler, forest": lambda: ParEGOSampler(seed=0, surrogate="forest"),
        "SMSEGOSampler, forest": lambda: SMSEGOSampler(seed=0, surrogate="forest"),
        "TPESampler": lambda: TPESampler(seed=0),
    }
    clocks = {name: _of_optuna(make(), space, rows) for name, make in makers.items()}
    if importlib.util.find_spec("smac"):
        clocks["SMAC3 ParEGO"] = _of_smac(space, rows, len(rows) + 4 * repeats)
    spent: dict[str, list[float]] = {name: [] for name in clocks}
    for turn in range(repeats + 1):
        for name, clock in clocks.items():
            # SMAC3 fits once for several proposals: it makes two per turn.
            seconds = [next(clock) for _ in range(2 if name == "SMAC3 ParEGO" else 1)]
            if turn:  # the first reads the history
                spent[name] += seconds
    table = [
        [name, f"{np.mean(found):.3f}", str(Spread.of(found))] for name, found in spent.items()
    ]
    header = [
        f"a proposal after {n_completed} trials",
        "mean seconds",
        "median [minimum, maximum]",
    ]
    print(markdown_table(header, table))


def _of_optuna(sampler: Any, space: SearchSpace, rows: np.ndarray) -> Iterator[float]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    for row in rows:
        params, values = space.decode(row), _values(row)
        study.add_trial(create_trial(params=params, distributions=TEN, values=values))
    while True:
        before = time.thread_time()
        trial = study.ask(TEN)
        spent = time.thread_time() - before
        study.tell(trial, _values(space.encode(trial.params)))
        yield spent


def _of_smac(space: SearchSpace, rows: np.ndarray, n_trials: int) -> Iterator[float]:
    smac = SmacParEGO({name: (d, None) for name, d in TEN.items()}, n_trials, 0)
    for row in rows:
        smac.tell_known(space.decode(row), _values(row))
    while True:
        before = time.thread_time()
        asked = smac.ask()
        smac.tell(asked, _values(space.encode(dict(asked.config))))
        yield time.thread_time() - before
