from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from optuna_mofs.data._target import check_target, detect_task


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
        ([float(k) for k in range(30)] * 20, "classification"),
        ([str(k) for k in range(40)], "classification"),
    ],
)
def test_detect_task(y, task):
    assert detect_task(y) == task
