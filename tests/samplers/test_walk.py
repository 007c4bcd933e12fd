"""How many files and functions of the package one proposal passes through."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import optuna
import pytest

import optuna_mofs
from optuna_mofs.samplers import (
    FilterEnsembleNSGA2Sampler,
    GHGASampler,
    HistorySampler,
    ParEGOSampler,
)
from optuna_mofs.testing.problems import packed

PACKAGE = Path(optuna_mofs.__file__).parent


def walk(sampler: HistorySampler, n_trials: int = 60) -> set[tuple[str, str, int]]:
    """Return file, name and line of every function of the package that proposes one trial."""
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(packed, n_trials=n_trials)
    trial = study.ask()
    frozen = study.get_trials(deepcopy=False)[trial.number]
    called = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        path = Path(code.co_filename)
        if event == "call" and PACKAGE in path.parents and "testing" not in path.parts:
            called.add((str(path.relative_to(PACKAGE)), code.co_name, code.co_firstlineno))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        space = sampler.infer_relative_search_space(study, frozen)
        sampler.sample_relative(study, frozen, space)
    finally:
        sys.setprofile(before)
    return called


@pytest.mark.parametrize(
    ("sampler", "max_files", "max_functions"),
    [
        (FilterEnsembleNSGA2Sampler(seed=1), 26, 197),
        (FilterEnsembleNSGA2Sampler(seed=1, surrogate=None), 20, 110),
        (ParEGOSampler(seed=1), 27, 184),
        (GHGASampler(seed=1), 22, 114),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, HistorySampler) else None,
)
def test_a_proposal_is_a_short_walk(
    sampler: HistorySampler, max_files: int, max_functions: int
) -> None:
    called = walk(sampler)
    files = {path for path, _, _ in called}
    assert len(files) <= max_files, sorted(files)
    assert len(called) <= max_functions, sorted(called)
