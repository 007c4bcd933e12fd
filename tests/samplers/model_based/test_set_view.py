from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution

from optuna_mofs import FeatureTable, FilterEnsembleFeatures, SingleFilterFeatures
from optuna_mofs.features._redundancy import Similarity
from optuna_mofs.features._representation import FilterFeatures
from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers.model_based.set_view import FilterSets, SetView


def table(p: int, filters: int = 3, seed: int = 0, fixed: tuple[int, ...] = ()) -> FeatureTable:
    """Features with ties among the ranks, each like four others or fewer."""
    rng = np.random.default_rng(seed)
    ranks = np.round(rng.random((filters, p)), 1 if seed % 2 else 3)
    others = rng.integers(p, size=(p, 4))
    shares = np.round(rng.random((p, 4)), 2) * (rng.random((p, 4)) < 0.8)
    # None is its own neighbour, and none is named twice.
    for j in range(p):
        first = np.unique(others[j], return_index=True)[1]
        shares[j] *= np.isin(np.arange(4), first) & (others[j] != j)
    return FeatureTable(
        tuple(f"x{j}" for j in range(p)),
        filters=tuple(f"f{i}" for i in range(filters)),
        ranks=ranks,
        fixed=fixed,
        similar=Similarity(others, shares),
    )


def space_of(chosen: FilterFeatures) -> ParameterSpace:
    return ParameterSpace({"C": FloatDistribution(0, 9), **chosen.distributions})


REPRESENTATIONS = [
    FilterEnsembleFeatures(),
    FilterEnsembleFeatures(redundancy_penalty=True),
    FilterEnsembleFeatures(redundancy_penalty=False),
    SingleFilterFeatures(),
]


def test_distance_is_what_sets_have_in_common() -> None:
    masks = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    points = SetView(FeatureTable(tuple("abcd")))(masks)
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squares[0], [0, 1, 2, 1], atol=1e-6)


def test_of_many_features_those_are_shown_that_a_filter_likes() -> None:
    features = table(900)
    view = SetView(features)
    assert len(view.shown) == 500
    assert features.ranks is not None
    liked = features.ranks.max(axis=0)
    assert liked[view.shown].min() >= np.delete(liked, view.shown).max()
    assert len(SetView(FeatureTable(tuple(map(str, range(900))))).shown) == 500


@pytest.mark.parametrize("features", REPRESENTATIONS, ids=lambda f: f"{f.kind} {f.needs_similar}")
@settings(max_examples=25)
@given(p=st.integers(1, 32), seed=st.integers(0, 99), fixed=st.booleans())
def test_sets_are_those_that_the_objective_chooses(
    features: FilterFeatures, p: int, seed: int, fixed: bool
) -> None:
    names = (0, p - 1) if fixed and p > 2 else ()
    chosen = features.bind(table(p, seed=seed, fixed=names))
    space = space_of(chosen)
    rng = np.random.default_rng(seed)
    rows = space.sample(rng, 20)
    at = space.names.index("fraction")
    rows[:4, at] = [0, 1, 1 / p, 1 - 1 / p]
    # Raw weights of 0 and 1 are legal too.
    rows[4:8, 1:] = np.round(rows[4:8, 1:])
    sets = FilterSets(chosen, space)(rows)
    for row, found in zip(rows, sets):
        np.testing.assert_array_equal(found, chosen.choose(space.decode(row)))


def test_large_sets_are_nearly_those_that_the_objective_chooses() -> None:
    chosen = FilterEnsembleFeatures(redundancy_penalty=True).bind(table(200, seed=2))
    space = space_of(chosen)
    rows = space.sample(np.random.default_rng(0), 50)
    sets = FilterSets(chosen, space)(rows)
    real = np.array([chosen.choose(space.decode(row)) for row in rows])
    assert sets.sum(axis=1).tolist() == real.sum(axis=1).tolist()
    assert (sets & real).sum() > 0.9 * real.sum()
    assert (sets != real).any()


def test_rows_that_lack_a_parameter_have_no_set() -> None:
    chosen = FilterEnsembleFeatures(redundancy_penalty=True).bind(table(9))
    space = space_of(chosen)
    rows = np.full((4, len(space)), 0.5)
    rows[1, space.names.index("weight_f1")] = np.nan
    rows[2, space.names.index("C")] = np.nan  # not about features
    rows[3, space.names.index("fraction")] = np.nan
    assert FilterSets(chosen, space)(rows).sum(axis=1).tolist() == [5, 0, 5, 0]


@pytest.mark.parametrize("features", REPRESENTATIONS, ids=lambda f: f"{f.kind} {f.needs_similar}")
def test_what_only_says_which_features_are_chosen(features: FilterFeatures) -> None:
    chosen = features.bind(table(9))
    hidden = FilterSets(chosen, space_of(chosen)).parameters
    assert hidden == chosen.distributions.keys() - {"fraction"}


def test_a_filter_without_a_choice() -> None:
    chosen = SingleFilterFeatures().bind(table(9, filters=1))
    space = space_of(chosen)
    assert "filter" not in space.names
    params: dict[str, Any] = {"C": 1.0, "fraction": 0.4, "filter": "f0"}
    found = FilterSets(chosen, space)(space.encode(params)[None])[0]
    np.testing.assert_array_equal(found, chosen.choose(params))


def test_features_must_be_ranked() -> None:
    unranked = FeatureTable(("a", "b"), filters=("f0",))
    chosen = FilterEnsembleFeatures().bind(unranked)
    with pytest.raises(ValueError, match="have not ranked"):
        FilterSets(chosen, space_of(chosen))
