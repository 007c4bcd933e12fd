from __future__ import annotations

import argparse
from argparse import ArgumentTypeError

import pytest

from optuna_mofs.cli._options import (
    assignments,
    duration,
    filter_name,
    measure_name,
    nonnegative_int,
    number,
    number_or_percentage,
    positive_int,
    scorer_name,
    storage_url,
)


def test_good_values_pass() -> None:
    assert positive_int("1") == 1
    assert nonnegative_int("0") == 0
    assert storage_url("postgresql://host/db") == "postgresql://host/db"


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "many", ""])
def test_positive_int_raises(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="at least 1"):
        positive_int(text)


def test_nonnegative_int_raises() -> None:
    with pytest.raises(ArgumentTypeError, match="expected an integer of at least 0, got '-1'"):
        nonnegative_int("-1")


def test_the_error_for_a_file_name_shows_its_url() -> None:
    with pytest.raises(ArgumentTypeError, match=r"write sqlite:///my\.db"):
        storage_url("my.db")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), (".5d", 43200)]
)
def test_times(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["0", "-1", "1w", "h", "1 2"])
def test_bad_times(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected a time"):
        duration(text)


def test_amounts() -> None:
    assert number_or_percentage("0.05") == 0.05
    assert number_or_percentage("5%") == "5%"
    for text in ("x%", "nan", "inf", ""):
        with pytest.raises(ArgumentTypeError, match="expected a finite number"):
            number_or_percentage(text)


def test_unknown_names_get_a_hint() -> None:
    assert scorer_name("roc_auc") == "roc_auc"
    assert filter_name("jmi") == "jmi"
    assert measure_name("error") == "error"
    with pytest.raises(ArgumentTypeError, match="Did you mean 'roc_auc'"):
        scorer_name("rocauc")
    with pytest.raises(ArgumentTypeError, match="Choose from "):
        filter_name("xyz")


def test_assignments_are_collected() -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--feature-cost", **assignments("FEATURE=COST", number))
    found = parser.parse_args(["--feature-cost", "a=1", "x=y=2", "--feature-cost", "a=3"])
    assert found.feature_cost == {"a": 3.0, "x=y": 2.0}
    for wrong in ("a", "=1", "a=b"):
        with pytest.raises(argparse.ArgumentError):
            parser.parse_args(["--feature-cost", wrong])
