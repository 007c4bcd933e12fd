"""The kill test of the benchmarks, with few kills; ``python -m benchmarks.kills`` has 1,000."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks import kills
from optuna_mofs._optuna import close_connections
from optuna_mofs.testing.problems import PROBLEMS, make_study


@pytest.mark.parametrize("sampler", ["nsga2", "lexiflow"])
@pytest.mark.parametrize("where", ["sqlite:///{}/kills.db", "{}/kills.log"])
def test_a_killed_study_has_the_trials_of_an_uninterrupted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, sampler: str
) -> None:
    monkeypatch.setattr(kills, "FIRST_SECONDS", 0.03)  # eight trials take longer everywhere
    where = where.format(tmp_path)
    expected = make_study("packed", sampler=kills.SAMPLERS[sampler](1))
    expected.optimize(PROBLEMS["packed"], n_trials=8)
    study = make_study("packed", storage=kills.open_storage(where), study_name="s")
    close_connections(study)
    task = kills.Task(where, "s", sampler, "packed", seed=1, n_trials=8)
    assert kills.run_and_kill(task, random.Random(0), max_kills=4) > 0
    found = kills.compare(kills.outcomes(study), kills.outcomes(expected))
    assert found == {"trials": 8, "lost": 0, "repeated": 0, "different": 0}


def test_lost_repeated_and_other_trials_are_counted() -> None:
    expected = [(("x", 1), 0.5), (("x", 2), 0.4), (("x", 3), 0.3)]
    found = kills.compare([expected[0], expected[0]], expected)
    assert found == {"trials": 2, "lost": 1, "repeated": 1, "different": 1}
