from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from optuna_mofs.data._target import (
    check_repeats,
    check_target,
    detect_task,
    strata,
    varying_outputs,
)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[0, 1], [1, 0]], "vector"),
        ([0.0, np.nan, 1.0], "1 missing"),
        (["a", None, "b"], "1 missing"),
        ([0.0, np.inf], "infinity"),
    ],
)
def test_bad_targets_raise(y, message):
    with pytest.raises(ValueError, match=message):
        check_target(y)


def test_target_containers():
    assert check_target(pd.Series([1, 2], dtype="Int64")).dtype.kind == "i"
    assert check_target(pd.Series(["a", "b"], dtype="category")).tolist() == ["a", "b"]
    assert check_target(pd.DataFrame({"y": [1, 0]})).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("y", "task"),
    [
        ([True, False, True], "classification"),
        (["a", "b", "c"], "classification"),
        ([0.0, 1.0, 1.0], "classification"),
        ([0.1, 1.0, 2.5], "regression"),
        (list(range(40)), "regression"),
        (list(range(40)) * 20, "classification"),
        ([float(k) for k in range(40)] * 20, "regression"),
        (list(range(300)) * 20, "regression"),
        ([float(k) for k in range(30)] * 20, "classification"),
        ([str(k) for k in range(40)], "classification"),
    ],
)
def test_detect_task(y, task):
    assert detect_task(y) == task


def test_numbers_are_no_classes():
    numbers = np.arange(100) % 50
    with pytest.raises(ValueError, match=r"50 different numbers in 100 rows.*Pass a regressor"):
        check_repeats(numbers)
    for classes in (numbers.astype(str), np.arange(100) % 30, np.arange(400) % 100):
        check_repeats(classes)


def test_several_outputs():
    assert check_target([[0, 1], [1, 0]], 2, several=True).tolist() == [[0, 1], [1, 0]]
    assert check_target([["a", "b"], ["b", "a"]], several=True).dtype.kind == "U"
    with pytest.raises(ValueError, match="first in row 1"):
        check_target([[0, 1.0], [1, np.nan]], several=True)
    with pytest.raises(ValueError, match="row 1"):
        check_target([[0, 1.0], [np.inf, 0]], several=True)
    with pytest.raises(ValueError, match="shape"):
        check_target(np.zeros((2, 2, 2)), several=True)


def test_outputs_that_vary():
    y = np.array([["a", "b"], ["a", "c"]])
    assert [output.tolist() for output in varying_outputs(y)] == [["b", "c"]]
    assert varying_outputs(np.zeros(3)) == []


def test_rare_combinations_of_labels_are_one_stratum():
    y = np.array([[0, 0]] * 5 + [[0, 1]] * 4 + [[1, 0]] + [[1, 1]])
    assert np.bincount(strata(y, 4)).tolist() == [7, 4]
    assert np.bincount(strata(y, 2)).tolist() == [5, 4, 2]
    assert strata(np.array([3, 1, 3])).tolist() == [3, 1, 3]
