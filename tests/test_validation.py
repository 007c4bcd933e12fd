from __future__ import annotations

import math

import numpy as np
import pytest

from optuna_mofs._validation import (
    check_choice,
    check_float,
    check_int,
    check_probability,
    did_you_mean,
)


def test_the_closest_name_or_nothing() -> None:
    assert did_you_mean("alcohl", {"alcohol": 1, "proline": 2}) == " Did you mean 'alcohol'?"
    assert did_you_mean(2, ["2.0", "20", "x"]) == " Did you mean '20'?"
    assert did_you_mean("zzz", ["alcohol"]) == ""


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_integers_of_any_type_become_int(value) -> None:
    assert type(check_int("n", value, 1, 3)) is int


@pytest.mark.parametrize("value", [0, 4, 2.0, True, "2", None, math.nan])
def test_bad_integers_raise(value) -> None:
    with pytest.raises(ValueError, match=r"n must be an integer from 1 to 3, got "):
        check_int("n", value, 1, 3)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(1)])
def test_numbers_of_any_type_become_float(value) -> None:
    assert type(check_float("x", value, 0)) is float
    assert type(check_probability("x", value)) is float


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, True, "0.5", None])
def test_bad_probabilities_raise(value) -> None:
    with pytest.raises(ValueError, match="p must be a number of at least 0 and at most 1, got "):
        check_probability("p", value)


def test_an_open_bound_is_not_allowed_itself() -> None:
    assert check_float("x", 0.0, 0) == 0.0
    with pytest.raises(ValueError, match=r"x must be a number above 0, got 0\.0"):
        check_float("x", 0.0, 0, low_is_open=True)


def test_choices() -> None:
    assert check_choice("kernel", "cos", ("cos", "inv")) == "cos"
    with pytest.raises(ValueError, match=r"'cos', 'inv', got 'coss'\. Did you mean 'cos'\?"):
        check_choice("kernel", "coss", ("cos", "inv"))
    with pytest.raises(ValueError, match="got 3"):
        check_choice("kernel", 3, ("cos", "inv"))
