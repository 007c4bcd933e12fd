"""Limits of the number of features."""

from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs import FeatureTable
from optuna_mofs.features import FilterEnsembleFeatures, MaskFeatures, SingleFilterFeatures
from optuna_mofs.features._codec import MaskCodec
from optuna_mofs.features._limits import check_limits, limit_mask, n_masks
from optuna_mofs.features._mask_sampling import MASK_SAMPLERS, mask_from_seed
from optuna_mofs.samplers._mask_operators import (
    AddDrop,
    BitFlip,
    FilterEnsembleMutation,
    HammingPreserving,
)


def ranked(p: int, **options: object) -> FeatureTable:
    rng = np.random.default_rng(0)
    ranks = np.array([rng.permutation(p), rng.permutation(p)]) / (p - 1)
    names = tuple(f"x{j}" for j in range(p))
    return FeatureTable(names, filters=("a", "b"), ranks=ranks, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_features": 2, "min_features": 3}, "max_features must be at least min_features"),
        ({"max_features": 1, "fixed": (0, 1)}, "max_features is 1, but 2 features are fixed"),
        ({"min_features": 9}, "min_features is 9, but there are 8 features"),
        ({"max_features": -1}, "max_features must be an integer of at least 0, got -1"),
        ({"max_features": 0.5}, "max_features must be an integer of at least 0, got 0.5"),
        ({"min_features": True}, "min_features must be an integer of at least 0, got True"),
    ],
)
def test_impossible_limits_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ranked(8, **arguments)


def test_limits_count_fixed_features() -> None:
    assert check_limits(3, 5, n_features=8, n_fixed=2) == (1, 3)
    assert check_limits(1, None, n_features=8, n_fixed=2) == (0, 6)
    assert check_limits(0, 100, n_features=8, n_fixed=0) == (0, 8)


def test_a_mask_within_the_limits_stays_as_it_is() -> None:
    mask = np.array([True, False, True])
    assert limit_mask(mask, 1, 2) is mask


def test_of_too_many_features_some_are_kept_and_to_too_few_some_are_added() -> None:
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(50):
        mask = rng.random(30) < 0.5
        fewer, more = limit_mask(mask, 0, 4), limit_mask(mask, 25, 30)
        assert fewer.sum() == 4
        assert not (fewer & ~mask).any()
        assert more.sum() == 25
        assert not (mask & ~more).any()
        assert (limit_mask(mask, 0, 4) == fewer).all()
        seen.update(np.flatnonzero(fewer).tolist())
    assert len(seen) > 25  # not always the first features


def test_scores_decide_which_features_are_kept_or_added() -> None:
    score = np.array([0.1, 0.9, 0.5, 0.7])
    assert limit_mask(np.array([True, True, True, False]), 0, 2, score).tolist() == [
        False,
        True,
        True,
        False,
    ]
    assert limit_mask(np.array([True, False, False, False]), 2, 4, score).tolist() == [
        True,
        True,
        False,
        False,
    ]


def test_number_of_masks() -> None:
    assert n_masks(6, 0, 6) == 64
    assert n_masks(6, 1, 2) == 6 + 15
    assert n_masks(10_000, 0, 5_000) == 2.0**1000


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_the_codec_keeps_the_limits(form: str) -> None:
    table = ranked(12, max_features=3, min_features=1, fixed=(4,))
    codec = MaskCodec(table, form=form)
    for mask in (np.ones(11, dtype=bool), np.zeros(11, dtype=bool)):
        params, attr = codec.encode(mask)
        found = codec.decode(params, attr)
        assert found is not None
        assert table.allows(found)
        assert codec.encode(found)[0] == params


def test_bits_of_a_sampler_without_masks_are_limited() -> None:
    table = ranked(12, max_features=3)
    codec = MaskCodec(table, form="bits")
    found = codec.decode(dict.fromkeys(table.names, True))
    assert found is not None
    assert found.sum() == 3


@pytest.mark.parametrize("p", [1, 2, 40, 2_000])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 5), (2, 5), (5, 5), (7, None)])
def test_random_masks_and_mutations_keep_the_limits(p: int, low: int, high: int | None) -> None:
    rng = np.random.default_rng(1)
    low = min(low, p)
    table = ranked(p, min_features=low, max_features=high) if p > 1 else FeatureTable(("x",))
    weights = np.full(len(table.filters), 0.5)
    masks = [sample(rng, table, weights) for sample in MASK_SAMPLERS.values() for _ in range(20)]
    masks += [mask_from_seed(table, seed) for seed in range(20)]
    mutations = (AddDrop(), BitFlip(), HammingPreserving(), FilterEnsembleMutation())
    masks += [mutate(rng, mask, table, weights) for mutate in mutations for mask in masks]
    assert all(table.allows(mask) for mask in masks)


def test_sizes_of_random_masks_are_spread_over_what_the_limit_allows() -> None:
    rng, table = np.random.default_rng(1), ranked(2_000, max_features=5)
    weights = np.full(2, 0.5)
    for name in ("geometric", "prefix", "wide", "uniform"):
        sizes = {int(MASK_SAMPLERS[name](rng, table, weights).sum()) for _ in range(200)}
        assert sizes >= {1, 2, 3, 4, 5}, name


@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize(("low", "high"), [(0, 5), (2, 5), (5, 5), (38, 40), (3, 3), (0, 1)])
def test_fractions_of_rules_reach_all_allowed_sizes_and_no_others(
    scale: str, low: int, high: int
) -> None:
    table = ranked(40, min_features=low, max_features=high)
    for cls in (FilterEnsembleFeatures, SingleFilterFeatures):
        rule = cls(ranks="all", scale=scale).bind(table)  # type: ignore[arg-type]
        bounds = rule.fraction
        fractions = np.linspace(bounds.low, bounds.high, 2_000)
        sizes = set(rule.sizes({"fraction": fractions}).tolist())
        assert sizes == set(range(low, high + 1))


def test_exceptions_of_rules_keep_the_limits_and_stay_exceptions() -> None:
    table = ranked(40, min_features=3, max_features=5, fixed=(7,))
    rule = FilterEnsembleFeatures(ranks="all", redundancy_penalty=False, exceptions=2).bind(table)
    rng = np.random.default_rng(2)
    for _ in range(100):
        first, second = rng.choice(np.arange(1, 40), 2, replace=False) * rng.choice([-1, 1], 2)
        params = {"fraction": rng.uniform(rule.fraction.low, rule.fraction.high)}
        params |= {"weight_a": rng.random(), "weight_b": rng.random()}
        params |= {"exception_1": int(first), "exception_2": int(second)}
        mask = rule.choose(params)
        assert 3 <= table.full_mask(mask).sum() <= 5
        for exception in (int(first), int(second)):
            assert mask[abs(exception) - 1] == (exception > 0)


def test_limits_survive_json() -> None:
    table = ranked(8, min_features=1, max_features=4)
    again = FeatureTable.from_json(table.to_json())
    assert again.size_limits == (1, 4)
    bound = MaskFeatures().bind(again)
    assert bound.codec.table.max_features == 4
