from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import pytest
from optuna.samplers import BaseSampler

from optuna_mofs.samplers import FilterEnsembleNSGA2Sampler
from optuna_mofs.testing import SamplerConformance
from tests.samplers.conformance import OptunaConformance


class TestOptunas(OptunaConformance):
    make = partial(FilterEnsembleNSGA2Sampler, seed=0, n_startup_trials=4)


class TestOptunasGenetic(OptunaConformance):
    make = partial(FilterEnsembleNSGA2Sampler, seed=0, surrogate=None)


class TestOurs(SamplerConformance):
    n_trials = 20

    #: Arguments of the sampler.
    options: ClassVar[dict[str, Any]] = {}

    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        return lambda seed=0: FilterEnsembleNSGA2Sampler(
            seed=seed, n_startup_trials=8, population_size=8, **self.options
        )


class TestOursGenetic(TestOurs):
    n_trials = 30
    options: ClassVar[dict[str, Any]] = {"surrogate": None}
