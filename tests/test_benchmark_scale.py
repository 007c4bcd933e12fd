from __future__ import annotations

import optuna
import pytest

from benchmarks import scale


@pytest.mark.parametrize("table", ["wide", "sparse"])
def test_a_set_up_is_measured(table: str) -> None:
    n, p = scale.QUICK[table][0]
    found = scale.measure(table, "mofs", n, p)
    assert found["seconds"] > 0
    assert found["size"] > 0
    row = scale.format_row(table, n, p, "mofs", found)
    assert row[:2] == [f"{n:,} × {p:,}", "mofs"]
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def test_limits_are_checked_at_the_largest_size_only() -> None:
    found = {"seconds": 10.0, "bytes": 3e9, "size": 1e9}
    assert scale.format_row("wide", 500, 200_000, "mofs", found)[-1] == "yes, **no**"
    assert scale.format_row("wide", 500, 50_000, "mofs", found)[-1] == ""
    assert scale.format_row("wide", 500, 200_000, "forest", None)[2] == "failed"
