from __future__ import annotations

from pathlib import Path

from benchmarks import quickstart


def test_time_per_trial_of_this_checkout(tmp_path: Path) -> None:
    here = Path(quickstart.__file__).parents[1]
    wall, cpu = quickstart.measure(here, str(tmp_path), (2, 2), 0)
    assert wall > 0
    assert cpu > 0
