from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from optuna.samplers import BaseSampler

from optuna_mofs import LexicographicPreference, LexiFlowSampler
from optuna_mofs.samplers.lexiflow import LexiFlowSettings
from optuna_mofs.testing import SamplerConformance
from tests.samplers.conformance import OptunaConformance


class TestOptunas(OptunaConformance):
    make = partial(LexiFlowSampler, seed=0)


class TestOurs(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        # Few failures are allowed, so that steps shrink and the search restarts within 30 trials.
        return lambda seed=0: LexiFlowSampler(
            LexicographicPreference(tolerances={0: "5%"}),
            n_startup_trials=3,
            settings=LexiFlowSettings(max_failures=2, min_step_size=0.06),
            seed=seed,
        )
