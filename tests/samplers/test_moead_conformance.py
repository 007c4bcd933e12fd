from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from optuna.samplers import BaseSampler

from optuna_mofs.samplers import MOEADSampler
from optuna_mofs.testing import SamplerConformance
from tests.samplers.conformance import OptunaConformance


class TestOptunas(OptunaConformance):
    make = partial(MOEADSampler, seed=0)


class TestOurs(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        return lambda seed=0: MOEADSampler(seed=seed, population_size=8)
