from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler

from optuna_mofs.samplers import GHGASampler
from optuna_mofs.testing import SamplerConformance
from tests.samplers.conformance import OptunaConformance


class TestOptunas(OptunaConformance):
    make = GHGASampler


class TestOurs(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        # Six first sets, then four children: elimination is under way before the tenth trial.
        return lambda seed=0: GHGASampler(
            seed=seed, start_size=5, first_phase=2, guide="frequency", retrain_every=5, budget=4
        )
