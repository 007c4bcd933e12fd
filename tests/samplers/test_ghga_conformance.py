from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from optuna.samplers import BaseSampler

from optuna_mofs.samplers import GHGASampler
from optuna_mofs.samplers.ghga import GHGASettings
from optuna_mofs.testing import SamplerConformance
from tests.samplers.conformance import OptunaConformance


class TestOptunas(OptunaConformance):
    make = partial(GHGASampler, seed=0)


class TestOurs(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        # Six initial sets, then four children: eliminations begin before the tenth trial.
        settings = GHGASettings(n_phase1_iterations=2, retrain_every=5, budget=4)
        return lambda seed=0: GHGASampler(
            guide="frequency", n_startup_trials=5, settings=settings, seed=seed
        )
