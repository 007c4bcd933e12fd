"""The tables of the benchmark of the default sampler."""

from __future__ import annotations

from types import SimpleNamespace

import optuna
import pytest

from benchmarks import flagship


def test_ranks_and_bars(capsys: pytest.CaptureFixture[str]) -> None:
    def values(high: float) -> dict[str, object]:
        after_50, after_100 = [high, high - 0.1, 0.1, 1 - high], [high + 0.01, high, 0.1, 1 - high]
        return {"50": after_50, "100": after_100, "cpu": 1.0}

    runs = {
        f"{method}|{name}|0": values(high + shift)
        for method, high in [
            ("default", 0.9),
            ("genetic algorithm", 0.8),
            ("TPE on bits", 0.7),
            ("lasso path, k best tuned", 0.85),
            ("all features tuned", 0.75),
        ]
        for name, shift in [("wine", 0.0), ("arcene", 0.02)]
    }
    runs["default|sonar|0"] = values(0.1)  # the others have no run yet
    flagship.print_tables(runs, ["wine", "arcene", "sonar"], [50, 100])
    printed = capsys.readouterr().out
    assert "| default | 0.9100 | 0.9200 | 1.0 | 1.0 |" in printed
    assert "| TPE on bits | 0.7100 | 0.7200 | 4.0 | 4.0 |" in printed
    assert "default at 100 minus TPE on bits, the best peer, at 100: +0.200" in printed
    assert "new rows: default minus lasso path, k best tuned at 50: +0.050" in printed
    assert "| all features tuned | 0.2400 | 0.2400 |" in printed  # its error, no hypervolume
    flagship.print_tables(runs, ["sonar"], [50])
    assert "No task" in capsys.readouterr().out


PACKAGES = {
    "default": "optuna",
    "lasso path, k best tuned": "optuna",
    "all features tuned": "optuna",
    "SMAC3 ParEGO on the filter ensemble": "smac",
    "MOFS-RFGA (moofs)": "moofs",
    "L0 path (abess), k best tuned": "abess",
}


@pytest.mark.parametrize("name", list(PACKAGES))
def test_a_run_has_values_after_each_number_of_trials(name: str) -> None:
    pytest.importorskip(PACKAGES[name])
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    args = SimpleNamespace(data=None, marks=[4, 6])
    found = flagship.run("wine", flagship.METHODS[name], 0, args)
    assert found.keys() == {"4", "6", "cpu"}
    assert 0 <= found["4"][0] <= found["6"][0] <= 1
    assert 0 <= found["6"][3] <= 1
