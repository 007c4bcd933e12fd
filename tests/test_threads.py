from __future__ import annotations

import numpy as np
import optuna
from threadpoolctl import threadpool_info, threadpool_limits

from optuna_mofs._threads import one_blas_thread
from optuna_mofs.history._history import History
from optuna_mofs.samplers.base import HistorySampler, Proposal


def blas_threads() -> set[int]:
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_one_thread_and_back() -> None:
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_samplers_propose_with_one() -> None:
    found: list[set[int]] = []

    class Counting(HistorySampler):
        def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
            found.append(blas_threads())
            return Proposal(history.space.sample(rng)[0])

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        found.append(blas_threads())
        return x

    study = optuna.create_study(sampler=Counting(seed=0))
    with threadpool_limits(2, user_api="blas"):
        study.optimize(objective, n_trials=2)
    assert found == [{2}, {1}, {2}]
