"""Studies whose trials have losses of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna

from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.features import FeatureTable, MaskFeatures, Representation
from optuna_mofs.study import MeasureDescription, StudyDescription
from optuna_mofs.study._baselines import write_baselines
from optuna_mofs.study._losses import losses_attr, write_loss_rows

N_ROWS = 80


def study_with_losses(
    losses: Sequence[np.ndarray | None],
    sizes: Sequence[int],
    *,
    holdout: Sequence[np.ndarray | None] | None = None,
    masks: bool = False,
    representation: Representation | None = None,
    constant: float | None = 0.5,
    maximize: bool = False,
    label: str = "1 - accuracy",
    learners: bool = False,
    **rows: Any,
) -> optuna.Study:
    """Create a study whose trials have these losses on test folds; their means are the errors."""
    sign = -1.0 if maximize else 1.0
    directions = ["maximize" if maximize else "minimize", "minimize"]
    study = optuna.create_study(
        directions=directions, sampler=optuna.samplers.RandomSampler(seed=0)
    )
    names = tuple(f"x{j}" for j in range(50))
    table = FeatureTable(names=names, filters=("anova_f",), ranks=np.ones((1, 50)))
    representation = MaskFeatures() if masks else representation
    StudyDescription(
        features=None if representation is None else table,
        representation=None if representation is None else representation.bind(table),
        measures=(
            MeasureDescription(
                "error", directions[0], None if constant is None else constant * sign, label
            ),
            MeasureDescription("n_features", worst=50.0),
        ),
    ).write(study)
    write_loss_rows(study, "error", **rows)
    if constant is not None:
        write_baselines(study, constant=(constant * sign, 0.0))
    for i, (loss, size) in enumerate(zip(losses, sizes)):
        trial = study.ask()
        if learners:
            trial.suggest_categorical("learner", ["a", "b"])
        own = np.full(10, 0.5) if loss is None else loss * sign
        trial.set_user_attr("n_features", int(size))
        halves = [float(np.nanmean(half)) for half in np.array_split(own, 2)]
        trial.set_user_attr("fold_scores", {"error": halves})
        parts: dict[str, Any] = {} if loss is None else {"cross_validation": own}
        if holdout is not None:
            parts["holdout"] = None if holdout[i] is None else holdout[i] * sign
        write_trial_attrs(study, trial, system=losses_attr(parts))
        study.tell(trial, [float(np.nanmean(own)), float(size)])
    return study


def random_losses(errors: Sequence[float], seed: int = 0, n_rows: int = N_ROWS) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random((len(errors), n_rows)) < np.asarray(errors)[:, None]).astype(float)


ERRORS = [0.5, 0.42, 0.3, 0.28, 0.2, 0.16, 0.17, 0.15, 0.18, 0.14]
SIZES = [0, 1, 2, 2, 3, 5, 8, 9, 20, 30]


def typical_losses() -> np.ndarray:
    """Return losses of trials with the sizes ``SIZES``; the first is the constant model."""
    found = random_losses(ERRORS)
    found[0] = np.arange(N_ROWS) % 2
    return found
