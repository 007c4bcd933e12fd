"""Several studies of the same metrics side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.study import Study

from optuna_mofs.fronts.front import pareto_front
from optuna_mofs.study._completed_trials import StudyPoints, per_metric, read_points

if TYPE_CHECKING:
    import pandas as pd

Reference = Mapping[str, float] | Sequence[float] | None


def shared_reference(studies: Sequence[Study], reference: Reference = None) -> dict[str, float]:
    """Return one reference point of the hypervolume for several studies, by metric name.

    Args:
        studies: Studies of the same metrics.
        reference: As for :meth:`Front.hypervolume`. What it leaves out is the worst of the values
            that the studies would use on their own, so that every study is measured by the same.

    Raises:
        ValueError: If the studies have different metrics or directions, or no finished trial.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> studies = [optuna.create_study(directions=["minimize", "maximize"]) for _ in "ab"]
        >>> for study, values in zip(studies, [(0.5, 3), (0.25, 2)]):
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> shared_reference(studies)
        {'value_0': 0.5, 'value_1': 2.0}
    """
    everything = [read_points(study) for study in studies]
    first = same_metrics(everything)
    given = per_metric("reference", reference, None, first.metric_names)
    measured = [points for points in everything if len(points.trials)]
    if not measured and None in given:
        names = ", ".join(repr(points.study.study_name) for points in everything)
        raise ValueError(f"No finished trial in {names}: nothing to compare. Run some trials.")
    if measured:
        losses = np.max([points.reference_losses(reference) for points in measured], axis=0)
        given = first.flip(losses).tolist()
    return dict(zip(first.metric_names, map(float, given)))


def hypervolume_table(
    studies: Mapping[str, Sequence[Study]], reference: Reference = None
) -> pd.DataFrame:
    """Return the hypervolume of every study: one row a data set or run, one column a method.

    Args:
        studies: By method, each with one study a data set or run, all in the same order: the
            studies of one row are compared with each other.
        reference: As for :func:`shared_reference`, which is applied to each row.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> a, b = (optuna.create_study(directions=["minimize"] * 2) for _ in "ab")
        >>> a.add_trial(optuna.trial.create_trial(values=(0.5, 0.5)))
        >>> b.add_trial(optuna.trial.create_trial(values=(0.5, 0.25)))
        >>> hypervolume_table({"a": [a], "b": [b]}, reference=[1, 1]).to_numpy().tolist()
        [[0.25, 0.375]]
    """
    import pandas as pd

    counts = {name: len(runs) for name, runs in studies.items()}
    if not counts or len(set(counts.values())) > 1 or 0 in counts.values():
        raise ValueError(
            "Every method needs one study a data set or run, in the same order; the numbers of "
            f"studies are {counts}."
        )
    rows: list[dict[str, Any]] = []
    for row in zip(*studies.values()):
        bound = shared_reference(row, reference)
        rows.append(
            {name: pareto_front(study).hypervolume(bound) for name, study in zip(studies, row)}
        )
    return pd.DataFrame(rows, columns=list(studies))


def same_metrics(everything: Sequence[StudyPoints]) -> StudyPoints:
    """Return the first of several studies' points, or refuse them if their metrics differ."""
    if not everything:
        raise ValueError("No studies: give at least one.")
    first = everything[0]
    for other in everything[1:]:
        mine, theirs = (list(zip(p.metric_names, p.signs.tolist())) for p in (first, other))
        if mine != theirs:
            raise ValueError(
                f"Studies {first.study.study_name!r} and {other.study.study_name!r} have "
                f"different metrics: {_spoken(first)} and {_spoken(other)}."
            )
    return first


def _spoken(points: StudyPoints) -> str:
    said = ["minimize" if sign > 0 else "maximize" for sign in points.signs]
    return ", ".join(f"{how} {name!r}" for how, name in zip(said, points.metric_names))
