from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from optuna_mofs.samplers import GHGASampler
from optuna_mofs.testing import SamplerConformance

# GHGASampler is still a draft: workers can race to a clone. To be taken away.
DRAFT = pytest.mark.xfail(reason="draft", strict=False)


class TestOptunas(BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return GHGASampler


@DRAFT
class TestOurs(SamplerConformance):
    @pytest.fixture
    def sampler(self) -> Callable[..., BaseSampler]:
        # Six first sets, then four children: elimination is under way before the tenth trial.
        return lambda seed=0: GHGASampler(
            seed=seed, start_size=5, first_phase=2, guide="frequency", retrain_every=5, budget=4
        )

    @pytest.mark.xfail(reason="two workers may leave out the same feature at once", strict=False)
    def test_four_processes(self, sampler: Callable[..., BaseSampler], tmp_path: Path) -> None:
        super().test_four_processes(sampler, tmp_path)

    @pytest.mark.xfail(reason="a category is switched too rarely in 30 trials", strict=False)
    def test_failing_between_suggestions_forbids_nothing(
        self, sampler: Callable[..., BaseSampler]
    ) -> None:
        super().test_failing_between_suggestions_forbids_nothing(sampler)
