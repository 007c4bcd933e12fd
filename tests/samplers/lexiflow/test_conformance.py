from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler

from optuna_mofs import LexicographicPreference, LexiFlowSampler
from optuna_mofs.testing import SamplerConformance
from tests.samplers.conformance import OptunaConformance


class TestOptunas(OptunaConformance):
    make = LexiFlowSampler


class TestOurs(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        # A short start and impatience, so that steps shrink and threads restart within 30 trials.
        return lambda seed=0: LexiFlowSampler(
            LexicographicPreference(tolerances={0: "5%"}),
            start_trials=3,
            most_failures=2,
            least_step=0.06,
            seed=seed,
        )
