from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.samplers import RandomSampler

from optuna_mofs.features._mask_sampling import weights_from_raw
from optuna_mofs.features._representation import MaskFeatures
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.samplers._initial_design import (
    RandomDesign,
    gower_distances,
    latin_hypercube,
    thin,
    thinned_design,
)
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import _table, make_study, mixed


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(0, 6), st.integers(0, 99))
def test_one_point_in_each_slice(count: int, d: int, seed: int) -> None:
    design = latin_hypercube(np.random.default_rng(seed), count, d)
    assert design.shape == (count, d)
    for column in np.floor(design * count).astype(int).T:
        assert sorted(column) == list(range(count))


def test_gower_by_hand() -> None:
    rows = np.array([[0.0, 0.2, np.nan], [2.0, 0.7, np.nan], [2.0, np.nan, 0.5]])
    found = gower_distances(rows, np.array([True, False, False]))
    assert np.isclose(found[0, 1], (1 + 0.5) / 2)  # the third is inactive in both
    assert np.isclose(found[1, 2], (0 + 1 + 1) / 3)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 0)


@settings(max_examples=25)
@given(st.integers(3, 30), st.integers(1, 30), st.integers(0, 99))
def test_thinning_drops_one_of_the_closest_pair(count: int, keep: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.random((count, 2))
    apart = gower_distances(points, np.zeros(2, dtype=bool))
    kept = thin(np.random.default_rng(seed), apart, keep)
    assert len(kept) == min(count, keep)
    # Literally: search all pairs, toss the same coin.
    coins = np.random.default_rng(seed).random(count) < 0.5
    alive = list(range(count))
    for step in range(count - keep):
        gaps = apart[np.ix_(alive, alive)] + np.diag(np.full(len(alive), np.inf))
        closest = gaps.min()
        pair = {alive[i] for i in np.argwhere(gaps == closest)[0]}
        gone = (pair - set(kept)) or pair
        assert gone & set(alive)
        first = min(pair)
        alive.remove(max(pair) if coins[step] else first)
    assert list(kept) == alive


def test_thinned_design_is_spread_better_than_chance() -> None:
    def sample(rng: np.random.Generator, count: int) -> np.ndarray:
        return rng.random((count, 3))

    def least(rows: np.ndarray) -> float:
        apart = gower_distances(rows, np.zeros(3, dtype=bool))
        return float(apart[~np.eye(len(rows), dtype=bool)].min())

    rng = np.random.default_rng(0)
    thinned = thinned_design(rng, sample, np.zeros(3, dtype=bool), 20)
    assert len(thinned) == 20
    assert least(thinned) > 2 * np.mean([least(rng.random((20, 3))) for _ in range(20)])


def with_features(table: FeatureTable) -> History:
    return History(StudyDescription(table, MaskFeatures(form="packed").bind(table)))


def test_mask_samplers_take_turns_by_trial_number() -> None:
    design = RandomDesign(("bernoulli", "geometric"))
    history = with_features(_table(60))
    made = [design(np.random.default_rng(0), history, number) for number in range(4)]
    names = [proposal.note.operator for proposal in made]
    assert names == ["initial_bernoulli", "initial_geometric"] * 2
    rng = np.random.default_rng(0)
    sizes = [design(rng, history, n).mask.sum() for n in range(40)]  # type: ignore[union-attr]
    assert np.mean(sizes[::2]) > 25
    assert np.mean(sizes[1::2]) < 8


def test_filter_weights_are_uniform_on_the_simplex() -> None:
    history = with_features(_table(60))
    rng = np.random.default_rng(0)
    weights = np.array(
        [
            weights_from_raw(np.array(RandomDesign()(rng, history, n).note.filter_weights))
            for n in range(600)
        ]
    )
    assert weights.sum(axis=1) == pytest.approx(1)
    # Of two weights each is uniform.
    assert np.quantile(weights[:, 0], [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.06)


def test_a_random_design_without_filters() -> None:
    history = with_features(FeatureTable(names=tuple(f"f{j}" for j in range(50))))
    for number in range(6):
        made = RandomDesign()(np.random.default_rng(number), history, number)
        assert made.note.filter_weights == ()
        assert made.mask is not None
        assert made.mask.shape == (50,)


def test_a_random_design_without_features() -> None:
    study = make_study("mixed", sampler=RandomSampler(seed=0))
    study.optimize(mixed, n_trials=3)
    history = History()
    history.update(study)
    made = RandomDesign()(np.random.default_rng(0), history, 3)
    assert made.note.operator == "random"
    assert made.mask is None
    assert set(history.space.decode(made.row)) == set(study.trials[0].params)


def test_hyperparameters_are_uniform() -> None:
    study = make_study("mixed", sampler=RandomSampler(seed=0))
    study.optimize(mixed, n_trials=3)
    history = History()
    history.update(study)
    rng = np.random.default_rng(0)
    rows = np.array([RandomDesign()(rng, history, n).row for n in range(400)])
    numbers = rows[:, ~history.space.categorical]
    assert numbers.mean(axis=0) == pytest.approx(np.full(numbers.shape[1], 0.5), abs=0.06)
    assert numbers.std(axis=0) == pytest.approx(
        np.full(numbers.shape[1], 1 / np.sqrt(12)), abs=0.03
    )


def test_unknown_mask_samplers_raise() -> None:
    message = r"mask sampler must be one of .*Did you mean 'ensemble'"
    with pytest.raises(ValueError, match=message):
        RandomDesign(("ensembel",))
