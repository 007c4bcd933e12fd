from __future__ import annotations

from optuna_mofs._validation import did_you_mean


def test_the_closest_name_or_nothing() -> None:
    assert did_you_mean("alcohl", {"alcohol": 1, "proline": 2}) == " Did you mean 'alcohol'?"
    assert did_you_mean(2, ["2.0", "20", "x"]) == " Did you mean '20'?"
    assert did_you_mean("zzz", ["alcohol"]) == ""
