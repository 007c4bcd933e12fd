"""The conformance suite that every sampler runs, on top of Optuna's own.

It needs pytest. A test module does::

    class TestMine(SamplerConformance):
        @pytest.fixture
        def sampler(self):
            return lambda seed=0: MySampler(seed=seed)
"""

from __future__ import annotations

import optuna
import pytest

from optuna_mofs.testing.proposing import Proposing
from optuna_mofs.testing.resuming import Resuming
from optuna_mofs.testing.surviving import Surviving
from optuna_mofs.testing.worker import no_waiting


class SamplerConformance(Proposing, Resuming, Surviving):
    """Inherit from it and define a fixture ``sampler``: a function of ``seed`` (None allowed).

    The sampler must be set so that it leaves its start-up phase well before :attr:`trials`.
    """

    #: Trials after which the sampler's own proposals are well under way.
    trials = 30

    @pytest.fixture(autouse=True)
    def _quick_and_quiet(self, monkeypatch: pytest.MonkeyPatch) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        monkeypatch.setattr("os.fsync", no_waiting)
