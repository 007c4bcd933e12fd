from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from optuna.samplers import BaseSampler

from optuna_mofs.samplers import ParEGOSampler, SMSEGOSampler
from optuna_mofs.samplers.model_based import InfillSearch, MaskSearch, ModelBasedSettings
from optuna_mofs.testing import SamplerConformance
from tests.samplers.conformance import OptunaConformance

#: A short search: the suite checks that proposals are valid and repeatable, not their quality.
QUICK = {
    "settings": ModelBasedSettings(
        infill_search=InfillSearch(
            n_restarts=2, n_rounds=2, n_points=15, n_local_starts=2, n_neighbors=5
        ),
        mask_search=MaskSearch(n_parents=5, n_masks=12, n_rows=2, n_rounds=2),
    ),
    "n_startup_trials": 12,
}


class TestOptunasParEGO(OptunaConformance):
    make = partial(ParEGOSampler, seed=0, **QUICK)


class TestOptunasSMSEGO(OptunaConformance):
    make = partial(SMSEGOSampler, seed=0, **QUICK)


class TestOursParEGO(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        return lambda seed=0: ParEGOSampler(seed=seed, **QUICK)


class TestOursSMSEGO(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        return lambda seed=0: SMSEGOSampler(seed=seed, **QUICK)
