"""The sampler of docs/extend/sampler.md is short and passes the conformance suite."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from optuna_mofs.testing import SamplerConformance

PAGE = Path(__file__).parents[1] / "docs" / "extend" / "sampler.md"
CODE = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)[0]


def _hill_climbing_sampler() -> Any:
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(CODE, str(PAGE), "exec"), scope)
    return scope["HillClimbingSampler"]


#: Worker processes find the class of a pickled sampler here.
HillClimbingSampler = _hill_climbing_sampler()


def test_it_is_short() -> None:
    assert len(CODE.splitlines()) <= 40


class TestHillClimbingSampler(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Any:
        return lambda seed=0: HillClimbingSampler(seed=seed)
