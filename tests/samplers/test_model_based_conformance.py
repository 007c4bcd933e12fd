from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from optuna.samplers import BaseSampler

from optuna_mofs.samplers import ParEGOSampler, SMSEGOSampler
from optuna_mofs.samplers.model_based import InfillSearch, MaskSearch
from optuna_mofs.testing import SamplerConformance
from tests.samplers.conformance import OptunaConformance

#: Little effort: the suite asks whether proposals are legal and repeatable, not whether good.
QUICK = {
    "search": InfillSearch(restarts=2, rounds=2, points=15, starts=2, neighbors=5),
    "mask_search": MaskSearch(parents=5, masks=12, rows=2, rounds=2),
    "start_size": 12,
}


class TestOptunasParEGO(OptunaConformance):
    make = partial(ParEGOSampler, **QUICK)


class TestOptunasSMSEGO(OptunaConformance):
    make = partial(SMSEGOSampler, **QUICK)


class TestOursParEGO(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        return lambda seed=0: ParEGOSampler(seed=seed, **QUICK)


class TestOursSMSEGO(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        return lambda seed=0: SMSEGOSampler(seed=seed, **QUICK)
