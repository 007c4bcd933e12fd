from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from optuna_mofs.features.similarity import Similarity, best_first, chosen_apart


@st.composite
def similarities(draw: st.DrawFn) -> Similarity:
    p = draw(st.integers(1, 9))
    width = draw(st.integers(0, p - 1))
    shape = (p, width)
    others = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, p - 1)))
    shares = draw(hnp.arrays(float, shape, elements=st.floats(0, 1)))
    return Similarity(others, shares)


@given(hnp.arrays(float, st.integers(0, 12), elements=st.sampled_from([0.0, 0.3, 0.7, np.nan])))
def test_best_first_is_a_stable_sort_cut_off(score: np.ndarray) -> None:
    everything = [j for j in np.argsort(-score, kind="stable").tolist() if not np.isnan(score[j])]
    for count in range(len(score) + 2):
        assert best_first(score, count).tolist() == everything[:count]


@given(similarities())
def test_json_there_and_back(similar: Similarity) -> None:
    again = Similarity.from_json(json.loads(json.dumps(similar.to_json())))
    assert again.others.shape == similar.others.shape
    assert (again.others == similar.others).all()
    assert np.abs(again.shares - similar.shares).max(initial=0) <= 0.5 / 255 + 1e-12


@given(similarities(), st.data())
def test_chosen_step_by_step(similar: Similarity, data: st.DataObject) -> None:
    """Against the definition: at each step the feature of most worth, ties by position."""
    p = len(similar.others)
    score = np.array(data.draw(st.lists(st.floats(0, 1), min_size=p, max_size=p))).round(12)
    count, penalty = data.draw(st.integers(0, p)), data.draw(st.floats(0, 1))
    share = np.zeros(p)
    expected: list[int] = []
    for _ in range(count):
        worth = np.array([round(s * (1 - penalty * r), 12) for s, r in zip(score, share)])
        worth[expected] = -1
        expected.append(int(worth.argmax()))
        np.maximum.at(share, similar.others[expected[-1]], similar.shares[expected[-1]])
    assert chosen_apart(score, count, penalty=penalty, similar=similar) == expected


TWINS = Similarity(np.array([[1], [0], [0]]), np.array([[1.0], [1.0], [0.0]]))


def test_a_copy_of_a_fixed_feature_comes_last() -> None:
    score = np.array([np.nan, 0.9, 0.1])
    assert chosen_apart(score, 1, penalty=1.0, similar=TWINS, fixed=[0]) == [2]
    assert chosen_apart(score, 1, penalty=0.5, similar=TWINS, fixed=[0]) == [1]
    assert chosen_apart(score, 3, penalty=1.0, similar=TWINS, fixed=[0]) == [2, 1]


@pytest.mark.parametrize(
    ("others", "shares", "message"),
    [
        (np.zeros((3, 1), int), np.zeros((2, 1)), "one shape"),
        (np.full((3, 1), 3), np.zeros((3, 1)), r"positions in 0\.\.2"),
        (np.zeros((3, 1), int), np.full((3, 1), 1.5), r"in \[0, 1\], but go from 1\.5"),
    ],
)
def test_nonsense_is_refused(others: np.ndarray, shares: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Similarity(others, shares)
