"""A proposal context for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from optuna_mofs.history._history import History
from optuna_mofs.samplers._context import ProposalContext


def _no_metrics() -> Any:
    raise NotImplementedError


def make_context(history: History, study_cache: dict[str, Any] | None = None) -> ProposalContext:
    """Return the context of the first attempt of a trial."""
    return ProposalContext(
        history,
        rng=np.random.default_rng(0),
        trial_number=len(history),
        attempt=0,
        n_conflicts=0,
        seed=0,
        _read_metrics=_no_metrics,
        _study_cache={} if study_cache is None else study_cache,
        _trial_cache={},
    )
