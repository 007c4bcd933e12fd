"""The front of a study on test data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs.fronts._front import Front, pareto_front
from optuna_mofs.fronts._hypervolume import hypervolume

if TYPE_CHECKING:
    import pandas as pd


class RefittableObjective(Protocol):
    """The methods of an objective that :func:`generalization` calls."""

    def refit(self, trial: FrozenTrial) -> Any:
        """Return an estimator fitted on all training data; it predicts from all features."""

    def test_values(
        self, model: Any, trial: FrozenTrial, X_test: Any, y_test: Any
    ) -> Sequence[float]:
        """Return the metrics of ``model`` on test data, one per direction of the study."""


@dataclass(frozen=True)
class Generalization:
    """Result of :func:`generalization`.

    Attributes:
        hypervolume: Volume dominated by the front's values on the test data (domHV_gen).
        optimization_hypervolume: Volume dominated by the values of the same front in the study,
            with the same reference. Its excess over ``hypervolume`` is overtuning.
        frame: One row per trial of the front, indexed by trial number, with the columns
            ``<metric>`` and ``<metric>_test`` for each metric.
        reference: Reference point by metric name.
        front: The front that was tested.
    """

    hypervolume: float
    optimization_hypervolume: float
    frame: pd.DataFrame
    reference: dict[str, float]
    front: Front


def generalization(
    study: Study,
    objective: RefittableObjective,
    X_test: Any,
    y_test: Any,
    *,
    reference: Mapping[str, float] | Sequence[float] | None = None,
    trials: Collection[int] | None = None,
) -> Generalization:
    """Evaluate the front of a study on test data.

    Binder et al. (2020), *Multi-objective hyperparameter tuning and feature selection using filter
    ensembles* (GECCO), section 5.4: the non-dominated trials of the study are refitted on all
    training data, and the hypervolume of their values on the test data is the generalization
    estimate domHV_gen. Trials are not chosen by their test values, so overtuning does not bias it.
    The front is that of all completed trials, or of those given.

    Args:
        study: A study of ``objective``.
        objective: Has ``refit(trial)`` and ``test_values(model, trial, X_test, y_test)``.
        X_test: Test data with all features.
        y_test: Target of the test data.
        reference: As for :meth:`Front.hypervolume`. The paper's is (1, 1) for error and fraction.
        trials: Numbers of the trials to choose from. The paper's genetic algorithms report only
            their current generation, see
            :meth:`FilterEnsembleNSGA2Sampler.current_generation`.

    Raises:
        ValueError: If the front is empty, or the objective returns another number of values than
            the study has directions.
    """
    import pandas as pd

    front = pareto_front(study, trials=trials)
    if not len(front):
        raise ValueError(
            f"Nothing to test: the front of study {study.study_name!r} is empty. Run trials first."
        )
    points = front.points
    rows: dict[int, list[float]] = {}
    for trial in front:
        # The objective marks trials of equal parameters: their model is fitted once.
        same = trial.user_attrs.get("duplicate_of")
        if isinstance(same, int) and same in rows:
            rows[trial.number] = rows[same]
            continue
        values = objective.test_values(objective.refit(trial), trial, X_test, y_test)
        if len(values) != len(front.metric_names):
            raise ValueError(
                f"Expected one test value per metric {list(front.metric_names)}, got "
                f"{len(values)} test values for trial {trial.number}. Pass the objective of this "
                "study."
            )
        rows[trial.number] = [float(value) for value in values]
    tested = np.array(list(rows.values()), dtype=np.float64)
    bound = points.reference_losses(reference)
    columns: dict[str, Any] = {}
    for name, value, test_value in zip(front.metric_names, front.values.T, tested.T):
        columns |= {name: value, f"{name}_test": test_value}
    numbers = pd.Index(list(rows), name="number", dtype="int64")
    return Generalization(
        hypervolume=hypervolume(points.to_losses(tested), bound),
        optimization_hypervolume=hypervolume(points.to_losses(front.values), bound),
        frame=pd.DataFrame(columns, index=numbers),
        reference=dict(zip(front.metric_names, points.to_values(bound).tolist())),
        front=front,
    )
