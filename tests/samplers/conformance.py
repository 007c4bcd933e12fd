"""Optuna's own suite for samplers; ours is ``optuna_mofs.testing.SamplerConformance``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)


class OptunaConformance(
    BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase
):
    """Inherit from it and set :attr:`make`."""

    make: Callable[[], BaseSampler]

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return type(self).make
