"""What may be wrong with a study that went well."""

from __future__ import annotations

from optuna_mofs._format import format_number
from optuna_mofs.fronts._front import Front
from optuna_mofs.study._feature_sets import selected_features

#: A feature with so small a part of the error of a constant may be a copy of the target.
_LEAK = 0.02


def leak_hint(front: Front) -> tuple[str, str] | None:
    """Return the name of a feature that alone is nearly perfect, with a sentence about it.

    Such a feature is often known only after the target, or computed from it.

    Args:
        front: The front of a study of this package.

    Returns:
        None if there is no such feature.
    """
    constant = front.baselines.constant
    for trial, values in zip(front, front.values):
        names = selected_features(front.study, trial) or []
        if len(names) == 1 and constant is not None and values[0] <= _LEAK * constant[0]:
            return names[0], (
                f"{names[0]!r} alone is nearly perfect ({front.metric_names[0]} "
                f"{format_number(values[0])}). Is it known only after the target? Then leave it "
                "out"
            )
    return None
