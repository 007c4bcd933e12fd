from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from optuna_mofs.cli.options import positive, seed, storage_url


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
