from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optuna_mofs import FeatureTable, FilterEnsembleFeatures, MaskFeatures
from optuna_mofs.samplers.model_based.warp import Warp
from optuna_mofs.study._description import StudyDescription


def described(features: object, p: int = 60) -> StudyDescription:
    table = FeatureTable(
        tuple(f"f{j}" for j in range(p)),
        filters=("auc",),
        ranks=np.linspace(0, 1, p)[None],
        mean_size=2.0,
    )
    return StudyDescription(features=table, representation=features.bind(table))  # type: ignore[attr-defined]


@settings(deadline=None, max_examples=50)
@given(arrays(float, (3, 2), elements=st.floats(0, 1)))
def test_there_and_back(rows: np.ndarray) -> None:
    warp = Warp(["C", "fraction"], described(FilterEnsembleFeatures()))
    there = warp(rows)
    np.testing.assert_array_equal(there[:, 0], rows[:, 0])
    assert ((there >= 0) & (there <= 1 + 1e-12)).all()
    np.testing.assert_allclose(warp.back(there), rows, atol=1e-12)
    np.testing.assert_allclose(warp.back(there[0]), rows[0], atol=1e-12)


def test_one_filter_may_have_nearly_all_of_the_weight() -> None:
    names = ["C", "weight_auc", "fraction", "weight_other"]
    warp = Warp(names, described(FilterEnsembleFeatures()))
    rows = np.array([[0.5, 0.125, 1.0, 0.5]])
    np.testing.assert_allclose(warp(rows), [[0.5, 0.5, 1.0, 0.5]])
    np.testing.assert_allclose(warp.back(warp(rows)), rows)


def test_few_features_get_room() -> None:
    warp = Warp(["fraction"], described(FilterEnsembleFeatures()))
    place = warp(np.array([[0.0], [1 / 60], [7 / 60], [1.0]]))[:, 0]
    np.testing.assert_allclose(place[[0, 3]], [0, 1])
    np.testing.assert_allclose(place[[1, 2]], np.log([2, 8]) / np.log(61))


def test_other_fractions_are_left_alone() -> None:
    rows = np.array([[0.25]])
    for known in (None, described(MaskFeatures())):
        warp = Warp(["fraction"], known)
        assert warp(rows) is rows
        assert warp.back(rows) is rows
