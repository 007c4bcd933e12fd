from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from optuna_mofs.samplers import MOEADSampler
from optuna_mofs.testing import SamplerConformance


class TestOptunas(BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return MOEADSampler


class TestOurs(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        return lambda seed=0: MOEADSampler(seed=seed, population_size=8)
