"""A table of the cases that each fuzz test has run, for ``python -m tools.fuzz``."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from optuna.storages._rdb.storage import _VersionManager

from optuna_mofs._database_reads import SCHEMA
from tests.fuzz.cases import tally

KEYS = ("cases", "results", "errors")


@pytest.fixture(scope="module", autouse=True)
def _known_version() -> Iterator[None]:
    """Do not read Optuna's scripts, which takes most of the time to open a database."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_VersionManager, "get_head_version", lambda self: SCHEMA)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Count the cases of a test."""
    tally.clear()
    try:
        return (yield)
    finally:
        item.user_properties += [(key, tally[key]) for key in KEYS]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table."""
    if "MOFS_FUZZ_CASES" not in os.environ:
        return
    terminalreporter.section("cases")
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    for report in reports:
        found = dict(report.user_properties)
        if report.when == "call" and found.get("cases"):
            numbers = ", ".join(f"{found[key]} {key}" for key in KEYS)
            name = report.nodeid.removeprefix("tests/fuzz/")
            terminalreporter.line(f"{name}: {numbers}, {report.duration:.0f} s, {report.outcome}")
