from __future__ import annotations

import argparse
from argparse import ArgumentTypeError

import pytest

from optuna_mofs.cli._options import (
    amount,
    assigning,
    duration,
    filter_name,
    measure_name,
    number,
    positive,
    scorer_name,
    seed,
    storage_url,
)


def test_good_values_pass() -> None:
    assert positive("1") == 1
    assert seed("0") == 0
    assert storage_url("postgresql://host/db") == "postgresql://host/db"


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "many", ""])
def test_positive_refuses(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="at least 1"):
        positive(text)


def test_seed_refuses_negative() -> None:
    with pytest.raises(ArgumentTypeError, match="'-1' is no integer of at least 0"):
        seed("-1")


def test_a_file_name_is_told_its_url() -> None:
    with pytest.raises(ArgumentTypeError, match=r"write sqlite:///my\.db"):
        storage_url("my.db")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), (".5d", 43200)]
)
def test_times(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["0", "-1", "1w", "h", "1 2"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is no time"):
        duration(text)


def test_amounts() -> None:
    assert amount("0.05") == 0.05
    assert amount("5%") == "5%"
    for text in ("x%", "nan", "inf", ""):
        with pytest.raises(ArgumentTypeError, match="is no number"):
            amount(text)


def test_names_are_known_or_guessed() -> None:
    assert scorer_name("roc_auc") == "roc_auc"
    assert filter_name("jmi") == "jmi"
    assert measure_name("error") == "error"
    with pytest.raises(ArgumentTypeError, match="did you mean 'roc_auc'"):
        scorer_name("rocauc")
    with pytest.raises(ArgumentTypeError, match="there are "):
        filter_name("xyz")


def test_assignments_are_gathered() -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--cost", nargs="+", action=assigning(number))
    found = parser.parse_args(["--cost", "a=1", "x=y=2", "--cost", "a=3"])
    assert found.cost == {"a": 3.0, "x=y": 2.0}
    for wrong in ("a", "=1", "a=b"):
        with pytest.raises(argparse.ArgumentError):
            parser.parse_args(["--cost", wrong])
