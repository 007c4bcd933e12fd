"""Tables of trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs.study._completed_trials import feature_count, feature_text
from optuna_mofs.study._description import StudyDescription

if TYPE_CHECKING:
    import pandas as pd


def front_frame(
    study: Study,
    trials: Sequence[FrozenTrial],
    metric_names: Sequence[str],
    values: NDArray[np.float64],
) -> pd.DataFrame:
    """Return trials as a table: metrics, features, hyperparameters; indexed by trial number."""
    import pandas as pd

    columns: dict[str, Any] = dict(zip(metric_names, values.T))
    described = StudyDescription.read(study)
    # A study that has nothing to show yet has its columns nevertheless.
    chooses = described is not None and described.features is not None
    counts = [feature_count(study, trial) for trial in trials]
    # A metric keeps its name.
    if "n_features" not in columns and (chooses or any(count is not None for count in counts)):
        # The nullable type keeps the counts integers next to trials without one.
        columns["n_features"] = pd.array(counts, dtype="Int64" if None in counts else "int64")
    texts = [feature_text(study, trial) for trial in trials]
    if "features" not in columns and (chooses or any(text is not None for text in texts)):
        columns["features"] = texts
    # Suggestions that only spell out a mask; the features are in columns of their own.
    hidden = set() if described is None else set(described.mask_parameters)
    # A dict keeps the order in which the trials suggested their parameters.
    parameters = dict.fromkeys(name for trial in trials for name in trial.params)
    for name in parameters:
        if name not in hidden:
            column = f"params_{name}" if name in columns else name
            columns[column] = [trial.params.get(name) for trial in trials]
    numbers = pd.Index([trial.number for trial in trials], name="number", dtype="int64")
    return pd.DataFrame(columns, index=numbers)
