from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit

from optuna_mofs.objectives.dataset import Dataset
from optuna_mofs.objectives.splits import draw_splits

X = np.zeros((60, 2))
Y = np.repeat([0, 1, 1], 20)


def data(**options):
    return Dataset(X, Y, **{"classification": True, **options})


def test_numbers_are_shuffled_stratified_folds_that_repeat():
    splits = draw_splits(data(), 5, seed=0)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(60))
    for train, test in splits:
        assert not set(train) & set(test)
        assert np.bincount(Y[test]).tolist() == [4, 8]
    assert any((np.diff(test) > 1).any() for _, test in splits)
    again, other = draw_splits(data(), 5, seed=0), draw_splits(data(), np.int64(5), seed=1)
    assert all((a[1] == b[1]).all() for a, b in zip(splits, again))
    assert any((a[1] != b[1]).any() for a, b in zip(splits, other))


@pytest.mark.parametrize("classification", [True, False])
def test_numbers_keep_groups_together(classification):
    groups = np.arange(60) % 12
    splits = draw_splits(data(groups=groups, classification=classification), 3, seed=0)
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])


def test_splitters_are_used_as_they_are():
    groups = np.arange(60) % 6
    for cv in (KFold(3), StratifiedKFold(4), TimeSeriesSplit(3), GroupKFold(3)):
        shuffled = Dataset(X, np.arange(60) % 2, classification=True, groups=groups)
        given = None if isinstance(cv, KFold | StratifiedKFold | TimeSeriesSplit) else groups
        shuffled.groups = given
        expected = list(cv.split(X, shuffled.y, given))
        found = draw_splits(shuffled, cv, seed=0)
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            np.testing.assert_array_equal(a[0], b[0])
            np.testing.assert_array_equal(a[1], b[1])


def test_splits_may_be_listed_as_rows_or_as_booleans_or_generated():
    odd = np.arange(60) % 2 == 1
    listed = draw_splits(data(), [(odd, ~odd)], seed=0)
    generated = draw_splits(data(), ((np.flatnonzero(odd), np.flatnonzero(~odd)) for _ in "a"), 0)
    for splits in (listed, generated):
        assert splits[0][0].tolist() == np.flatnonzero(odd).tolist()
        assert splits[0][1].tolist() == np.flatnonzero(~odd).tolist()


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "at least 2 folds, but is 1"),
        (41, "No class has rows for 41 folds: the largest of 2 has 40 of 60 rows"),
        (None, "but is None"),
        (True, "but is True"),
        ([], "gives no folds"),
        ([([0, 59], [60])], "rows 60 to 60, but X has rows 0 to 59"),
        ([([-1, 59], [0])], "rows -1 to 59"),
        ([([0, 30], [])], "test fold 0 .* has no rows"),
        ([([0, 1], [2])], "Training fold 0 .* only one class: .*0"),
        (TimeSeriesSplit(5), "only one class"),
        (GroupKFold(3), "groups"),
        ("five", "cv"),
    ],
)
def test_bad_folds_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        draw_splits(data(), cv, seed=0)
