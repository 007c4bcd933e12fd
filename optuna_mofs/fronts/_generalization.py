"""What a front is worth on data that the search did not see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs.fronts._front import Front, pareto_front
from optuna_mofs.fronts._hypervolume import hypervolume

if TYPE_CHECKING:
    import pandas as pd


class RefitsAndTests(Protocol):
    """What :func:`generalization` asks of an objective."""

    def refit(self, trial: FrozenTrial) -> Any:
        """Return an estimator fitted on all data of the search, which takes the full ``X``."""

    def test_values(
        self, model: Any, trial: FrozenTrial, X_test: Any, y_test: Any
    ) -> Sequence[float]:
        """Return the study's metrics of ``model`` on test data, one a direction."""


@dataclass(frozen=True)
class Generalization:
    """The outcome of :func:`generalization`.

    Attributes:
        hypervolume: Volume dominated by the front's values on the test data (domHV_gen).
        optimization_hypervolume: Volume of the same front by the values the search saw, with the
            same reference. What it is above ``hypervolume`` is overtuning.
        frame: One row a trial of the front, indexed by trial number, with the columns
            ``<metric>`` and ``<metric>_test`` for each metric.
        reference: The reference point by metric name.
        front: The front that was tested.
    """

    hypervolume: float
    optimization_hypervolume: float
    frame: pd.DataFrame
    reference: dict[str, float]
    front: Front


def generalization(
    study: Study,
    objective: RefitsAndTests,
    X_test: Any,
    y_test: Any,
    *,
    reference: Mapping[str, float] | Sequence[float] | None = None,
) -> Generalization:
    """Measure the front of a study on test data.

    Binder et al. (2020), *Multi-objective hyperparameter tuning and feature selection using filter
    ensembles* (GECCO), section 5.4: the trials that are non-dominated by what the search saw are
    fitted again on all its data, and the hypervolume of their values on the test data is the
    generalization estimate domHV_gen. Trials are not chosen by their test values, so it is not
    flattered by overtuning. The front is that of all finished trials.

    Args:
        study: A finished study of ``objective``.
        objective: Has ``refit(trial)`` and ``test_values(model, trial, X_test, y_test)``.
        X_test: Test data with all features.
        y_test: Its target.
        reference: As for :meth:`Front.hypervolume`. The paper's is (1, 1) for error and fraction.

    Raises:
        ValueError: If the study has no front yet, or the objective gives another number of values
            than the study has directions.
    """
    import pandas as pd

    front = pareto_front(study)
    if not len(front):
        raise ValueError(
            f"Nothing to test: the front of study {study.study_name!r} is empty. Run trials first."
        )
    points = front.points
    rows: dict[int, list[float]] = {}
    for trial in front:
        # The objective marks trials of equal parameters: they are one model, fitted once.
        same = trial.user_attrs.get("duplicate_of")
        if same in rows:
            rows[trial.number] = rows[same]
            continue
        values = objective.test_values(objective.refit(trial), trial, X_test, y_test)
        if len(values) != len(front.metric_names):
            raise ValueError(
                f"The objective gave {len(values)} test values for trial {trial.number}, but the "
                f"study has the metrics {list(front.metric_names)}. Is it the study's objective?"
            )
        rows[trial.number] = [float(value) for value in values]
    tested = np.array(list(rows.values()), dtype=np.float64)
    bound = points.reference_losses(reference)
    columns = {}
    for i, name in enumerate(front.metric_names):
        columns[name] = front.values[:, i]
        columns[f"{name}_test"] = tested[:, i]
    numbers = pd.Index(list(rows), name="number", dtype="int64")
    return Generalization(
        hypervolume=hypervolume(points.to_losses(tested), bound),
        optimization_hypervolume=hypervolume(points.to_losses(front.values), bound),
        frame=pd.DataFrame(columns, index=numbers),
        reference=dict(zip(front.metric_names, points.to_values(bound).tolist())),
        front=front,
    )
