from __future__ import annotations

import subprocess
import sys

import optuna
import pytest

from benchmarks import throughput


@pytest.mark.parametrize("storage", ["sqlite", "journal"])
@pytest.mark.parametrize("name", [throughput.PEER, "genetic"])
def test_time_per_trial(storage: str, name: str) -> None:
    verbosity = optuna.logging.get_verbosity()
    with throughput.STORAGES[storage]() as open_storage:
        own, serving = throughput.measure(open_storage, name, features=20, trials=3)
    optuna.logging.set_verbosity(verbosity)
    assert own > 0
    assert serving >= 0


def test_the_time_of_other_processes_is_that_of_descendants() -> None:
    before = throughput.server_seconds()
    work = "sum(range(20_000_000)); print(); input()"
    command = [sys.executable, "-c", work]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert throughput.server_seconds() > before
        child.communicate(b"\n")
