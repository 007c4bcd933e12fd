from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from optuna_mofs.filters import relieff


@pytest.mark.parametrize("load", [load_wine, load_iris])
def test_order_agrees_with_skrebate(load):
    skrebate = pytest.importorskip("skrebate")
    X, y = load(return_X_y=True)
    reference = skrebate.ReliefF(n_features_to_select=1, n_neighbors=10).fit(X, y)
    ours = relieff(X, y)
    assert np.corrcoef(ours, reference.feature_importances_)[0, 1] > 0.97


def test_by_hand():
    # One neighbor of each class: hit differs by 1/3, misses by 1 and 2/3 (or mirrored).
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 0, 1, 1])
    # Samples 0 and 3: hit 1/3, both misses (k = 2) 2/3 and 1; samples 1 and 2: 1/3 and 2/3.
    expected = np.mean([5 / 6 - 1 / 3, 1 / 2 - 1 / 3, 1 / 2 - 1 / 3, 5 / 6 - 1 / 3])
    assert relieff(X, y)[0] == pytest.approx(expected)


def test_regression_prefers_the_signal():
    rng = np.random.default_rng(0)
    X = rng.random((300, 6))
    y = 4 * X[:, 2] + np.sin(6 * X[:, 4]) + 0.1 * rng.normal(size=300)
    assert set(np.argsort(-relieff(X, y))[:2].tolist()) == {2, 4}


def test_nominal_differences_do_not_depend_on_the_codes():
    import pandas as pd

    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c", "d"], 200)
    other = rng.random(200)
    y = np.isin(words, ["a", "c"]).astype(int)
    first = pd.DataFrame({"w": words, "o": other})
    renamed = first.assign(w=first.w.map({"a": "z", "b": "a", "c": "m", "d": "k"}))
    np.testing.assert_allclose(relieff(first, y), relieff(renamed, y))


def test_many_samples_are_drawn_by_the_seed():
    rng = np.random.default_rng(0)
    X = rng.random((1100, 3))
    y = (X[:, 1] > 0.5).astype(int)
    first = relieff(X, y, random_state=0)
    np.testing.assert_array_equal(first, relieff(X, y, random_state=0))
    assert (first != relieff(X, y, random_state=1)).any()
    assert first.argmax() == 1


def test_lonely_class_and_constant_column():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random((30, 2)), np.ones(30)])
    y = np.array([0] * 15 + [1] * 14 + [2])
    scores = relieff(X, y)
    assert np.isfinite(scores).all()
    assert scores[2] == scores.min()
