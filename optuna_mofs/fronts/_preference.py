"""Lexicographic preferences over the metrics of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._optuna import total_violation
from optuna_mofs._typing import Indices
from optuna_mofs.fronts._lexicographic import (
    LexicographicOrder,
    check_priorities,
    named_order,
    parse_goal,
    parse_tolerance,
)
from optuna_mofs.study._completed_trials import (
    CompletedTrials,
    Metrics,
    read_completed_trials,
    read_metrics,
)

Metric = str | int


@dataclass(frozen=True)
class LexicographicPreference:
    """A preference for one trial of a study: priorities, tolerances and goals.

    Zhang et al. (2023), *Targeted hyperparameter optimization with lexicographic preferences over
    multiple objectives* (ICLR), section 2.1. The metrics are compared in order of priority. The
    target of each is its best value among the trials that reach all targets before it, relaxed
    by the tolerance, or the goal if that is easier to reach (equation 8). Values that reach the
    target count as equal and the next metric decides (equations 5 to 7); remaining ties are
    decided by the values.

    Metrics are named as in ``study.metric_names``, or as the objective's measures, or given by
    position. Tolerances and goals are in the directions of the metrics.

    Args:
        priorities: Metrics, the most important first. Other metrics follow in their order.
        tolerances: How much worse than its best value a metric may be in favor of later ones: a
            number in its unit, or ``"5%"`` of the absolute value of its best value. By metric;
            or, without ``priorities``, a sequence in the order of the metrics. Default: 0.
        goals: Values that are good enough, in the same form. Default: none.

    Example:
        The worked example of section 2.1: loss within 0.05, then 500 features, then instability.

        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize"] * 3)
        >>> study.set_metric_names(["loss", "features", "instability"])
        >>> for values in [(0.2, 100, 0.1), (0.1, 600, 0.2), (0.13, 500, 0.2), (0.1, 300, 0.5)]:
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> preference = LexicographicPreference(
        ...     tolerances={"loss": 0.05}, goals={"features": 500}
        ... )
        >>> preference.best(study).values
        [0.13, 500, 0.2]
        >>> preference.targets(study)["features"]
        500.0
    """

    priorities: Sequence[Metric] | None = None
    tolerances: Mapping[Metric, float | str] | Sequence[float | str] | None = None
    goals: Mapping[Metric, float] | Sequence[float | None] | None = None

    def __post_init__(self) -> None:
        check_priorities(self.priorities)
        checks: dict[str, Any] = {"tolerances": parse_tolerance, "goals": parse_goal}
        for what, check in checks.items():
            given: Any = () if getattr(self, what) is None else getattr(self, what)
            is_mapping = isinstance(given, Mapping)
            if isinstance(given, str) or not (
                is_mapping or isinstance(given, Sequence | np.ndarray)
            ):
                raise ValueError(
                    f"{what} must be a mapping from metrics or a sequence, got {given!r}."
                )
            if len(given) and self.priorities is not None and not is_mapping:
                # They could be in the order of the priorities or of the metrics.
                raise ValueError(
                    f"With priorities, {what} must name the metrics, got {given!r}. "
                    f"For example {what}={dict(zip(self.priorities, given))}."
                )
            for entry in given.values() if is_mapping else given:
                check(entry)

    def order(self, study: Study | Metrics) -> LexicographicOrder:
        """Return the order of the values of a study, all minimized.

        Raises:
            ValueError: If the study lacks a metric that is named here.
        """
        names, signs = study if isinstance(study, Metrics) else read_metrics(study)
        return named_order(
            names,
            signs,
            tolerances=self.tolerances,
            goals=self.goals,
            priorities=self.priorities,
        )

    def targets(self, study: Study) -> dict[str, float]:
        """Return the target of each metric after the completed trials (equation 8).

        Raises:
            ValueError: If no completed trial is feasible.
        """
        trials = _read_with_feasible(study)
        losses = self._order_of(trials).targets(trials.losses[trials.feasible])
        return dict(zip(trials.metric_names, trials.to_values(losses).tolist()))

    def best(self, study: Study) -> FrozenTrial:
        """Return the best trial, the earliest in case of ties.

        Raises:
            ValueError: If no completed trial is feasible.
        """
        trials = _read_with_feasible(study)
        return trials.trials[int(self._ranking(trials)[0])]

    def rank(self, study: Study) -> list[FrozenTrial]:
        """Return all completed trials, best first; infeasible ones come last."""
        trials = read_completed_trials(study)
        return [trials.trials[i] for i in self._ranking(trials)]

    def best_row(self, trials: CompletedTrials, *, exclude_last: int = 0) -> int | None:
        """Return the row of the best trial, or None if no trial is feasible.

        The latest ``exclude_last`` trials are ignored.
        """
        count = len(trials.trials) - exclude_last
        if count < 1 or not trials.feasible[:count].any():
            return None
        return int(self._ranking(trials, count)[0])

    def prioritized_goals(self, trials: CompletedTrials) -> dict[int, float]:
        """Return the goal of each prioritized column of the losses, minus infinity for none.

        All columns are prioritized if the preference has no priorities.
        """
        order = self._order_of(trials)
        count = None if self.priorities is None else len(self.priorities)
        return {column: order.goals[column] for column in order.columns[:count]}

    def _order_of(self, trials: CompletedTrials) -> LexicographicOrder:
        return self.order(Metrics(trials.metric_names, trials.signs))

    def _ranking(self, trials: CompletedTrials, count: int | None = None) -> Indices:
        """Return the rows of the first ``count`` trials, best first."""
        first = trials.trials[:count]
        if not first:
            return np.zeros(0, dtype=np.intp)
        order = self._order_of(trials).after_violations()
        violations = [total_violation(trial) for trial in first]
        return order.ranking(np.column_stack([violations, trials.losses[:count]]))


def _read_with_feasible(study: Study) -> CompletedTrials:
    trials = read_completed_trials(study)
    if not trials.feasible.any():
        raise ValueError(
            f"Study {study.study_name!r} has no best trial: none of its "
            f"{len(trials.trials)} completed trials is feasible. Run more trials, or look at "
            "rank(study)."
        )
    return trials
