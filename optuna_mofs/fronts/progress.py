"""How the front of a study grew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from optuna.study import Study

from optuna_mofs.fronts.volume import hypervolume_over_time
from optuna_mofs.study._completed_trials import read_points

if TYPE_CHECKING:
    import pandas as pd


def hypervolume_history(
    study: Study, reference: Mapping[str, float] | Sequence[float] | None = None
) -> pd.Series[float]:
    """Return the dominated hypervolume after each finished trial.

    Args:
        study: Any Optuna study.
        reference: As for :meth:`Front.hypervolume`, with one reference point for the whole
            history: the last value is the hypervolume of the study's front.

    Returns:
        A series indexed by trial number, one entry a finished trial. A trial that breaks a
        constraint adds nothing.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize", "minimize"])
        >>> for values in [(0.5, 0.5), (0.75, 0.75), (0.25, 0.5)]:
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> hypervolume_history(study, reference=[1, 1]).tolist()
        [0.25, 0.25, 0.375]
    """
    import pandas as pd

    points = read_points(study)
    numbers = pd.Index([trial.number for trial in points.trials], name="number", dtype="int64")
    if not points.feasible.any():
        return pd.Series(np.zeros(len(numbers)), index=numbers, name="hypervolume")
    # A NaN adds nothing to the volume.
    losses = np.where(points.feasible[:, None], points.losses, np.nan)
    volumes = hypervolume_over_time(losses, points.reference_losses(reference))
    return pd.Series(volumes, index=numbers, name="hypervolume")
