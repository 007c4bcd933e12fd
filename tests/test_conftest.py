"""Unseeded randomness fails in tests that are not marked."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from conftest import UnseededError, entropy
from sklearn.ensemble import RandomForestClassifier

from optuna_mofs import FilterEnsembleNSGA2Sampler


def _first_value(sampler: optuna.samplers.BaseSampler | None) -> float:
    study = optuna.create_study(sampler=sampler)
    study.ask()  # our samplers propose a parameter once a trial has it
    return study.ask().suggest_float("x", 0, 1)


UNSEEDED: dict[str, Callable[[], Any]] = {
    "default_rng": lambda: np.random.default_rng().random(),
    "RandomState": lambda: np.random.RandomState().random(),
    "default sampler": lambda: _first_value(None),
    "Optuna's sampler": lambda: _first_value(optuna.samplers.RandomSampler()),
    "our sampler": lambda: _first_value(FilterEnsembleNSGA2Sampler()),
}


@pytest.mark.parametrize("name", UNSEEDED)
def test_a_test_cannot_draw_without_a_seed(name: str) -> None:
    with pytest.raises(UnseededError, match="Give a seed"):
        UNSEEDED[name]()
    assert entropy.has_failed
    entropy.has_failed = False  # it would fail the test although the error was caught


@pytest.mark.unseeded
@pytest.mark.parametrize("name", UNSEEDED)
def test_a_marked_test_draws_the_same_in_every_run(name: str, request: Any) -> None:
    first = UNSEEDED[name]()
    assert UNSEEDED[name]() != first
    entropy.begin(request.node.nodeid, allowed=True)
    assert UNSEEDED[name]() == first


def test_seeded_generators_are_unchanged() -> None:
    assert np.random.default_rng(0).random() == 0.6369616873214543
    state = np.random.RandomState(0)
    assert state.random_sample() == 0.5488135039273248
    assert isinstance(state, np.random.RandomState)
    assert pickle.loads(pickle.dumps(state)).random_sample() == state.random_sample()
    assert _first_value(optuna.samplers.RandomSampler(seed=0)) == 0.5488135039273248


@pytest.mark.parametrize("_", range(2))
def test_global_generators_are_seeded_before_every_test(_: int) -> None:
    forest = RandomForestClassifier(2).fit([[0], [1], [2], [3]], [0, 1, 0, 1])
    assert [tree.random_state for tree in forest.estimators_] == [209652396, 398764591]
