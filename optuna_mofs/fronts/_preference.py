"""What matters first: an order of priorities over the metrics of a study, and its one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._optuna import total_violation
from optuna_mofs.fronts._lexicographic import LexicographicOrder, check_arguments, named_order
from optuna_mofs.study._completed_trials import CompletedTrials, Metrics, read_metrics, read_points

Metric = str | int


@dataclass(frozen=True)
class LexicographicPreference:
    """Which trial is wanted, said before the search: priorities, tolerances and goals.

    Zhang et al. (2023), *Targeted hyperparameter optimization with lexicographic preferences over
    multiple objectives* (ICLR), section 2.1. The metrics are taken by priority. Each gets a
    target: the best value seen among the trials that reach all targets before it, loosened by the
    tolerance, or the goal where that is laxer (equation 8). Values that reach the target count as
    equal; the next metric decides (equations 5 to 7), and in the end the values themselves.

    Metrics are named as in ``study.metric_names``, or as the objective's measures, or given by
    position. Everything is in the metrics' own directions.

    Args:
        priorities: Metrics, the most important first. Those left out follow in their order.
        tolerances: What may be given up of a metric for the sake of the later ones: a number in
            its unit, or ``"5%"`` of the size of its best value. By metric; or, without
            ``priorities``, a sequence in the order of the metrics. Default: nothing.
        goals: Values that are good enough, in the same form. Default: none.

    Example:
        The worked example of section 2.1: loss within 0.05, then 500 features, then instability.

        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize"] * 3)
        >>> study.set_metric_names(["loss", "features", "instability"])
        >>> for values in [(0.2, 100, 0.1), (0.1, 600, 0.2), (0.13, 500, 0.2), (0.1, 300, 0.5)]:
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> wanted = LexicographicPreference(tolerances={"loss": 0.05}, goals={"features": 500})
        >>> wanted.best(study).values
        [0.13, 500, 0.2]
        >>> wanted.targets(study)["features"]
        500.0
    """

    priorities: Sequence[Metric] | None = None
    tolerances: Mapping[Metric, float | str] | Sequence[float | str] | None = None
    goals: Mapping[Metric, float] | Sequence[float | None] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.priorities, str) or not isinstance(self.priorities, Sequence | None):
            raise ValueError(
                f"priorities must be a sequence of metrics, got {self.priorities!r}. "
                "A single metric goes into a list."
            )
        for what in ("tolerances", "goals"):
            given = getattr(self, what)
            if given is None or isinstance(given, Mapping):
                continue
            if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
                raise ValueError(
                    f"{what} must be a mapping from metrics or a sequence, got {given!r}."
                )
            if self.priorities is not None:
                # In the order of the priorities or of the metrics? Better not to guess.
                raise ValueError(
                    f"With priorities, {what} must name the metrics, got {given!r}. "
                    f"For example {what}={{{self.priorities[0]!r}: {given[0]!r}}}."
                )
        check_arguments(self.tolerances, self.goals)

    def order(self, study: Study | Metrics) -> LexicographicOrder:
        """Return the order of the values of a study, all minimized.

        Raises:
            ValueError: If the study does not have a metric that is named here.
        """
        return self._bound(*(study if isinstance(study, Metrics) else read_metrics(study)))

    def targets(self, study: Study) -> dict[str, float]:
        """The target of each metric after the trials of the study (equation 8).

        Raises:
            ValueError: If no finished trial keeps all constraints.
        """
        points = _with_feasible(read_points(study))
        order = self._bound(points.metric_names, points.signs)
        targets = points.to_values(order.targets(points.losses[points.feasible]))
        return dict(zip(points.metric_names, targets.tolist()))

    def best(self, study: Study) -> FrozenTrial:
        """The one trial that is wanted; of equal ones the earliest.

        Raises:
            ValueError: If no finished trial keeps all constraints.
        """
        points = _with_feasible(read_points(study))
        best = self.best_row(points)
        assert best is not None
        return points.trials[best]

    def best_row(self, points: CompletedTrials, *, but_last: int = 0) -> int | None:
        """Row of the trial that is wanted, or None if none keeps all constraints.

        Args:
            points: The finished trials of a study.
            but_last: How many of the latest are left out.
        """
        count = len(points.trials) - but_last
        if count < 1 or not points.feasible[:count].any():
            return None
        return int(self._ranking(points, count)[0])

    def rank(self, study: Study) -> list[FrozenTrial]:
        """All finished trials, the best first; those that break constraints come last."""
        points = read_points(study)
        return [points.trials[i] for i in self._ranking(points, len(points.trials))]

    def meets_goals(self, points: CompletedTrials, row: int) -> bool:
        """Whether a trial reaches every goal that is set; False if none is set.

        Args:
            points: The finished trials of a study.
            row: One of them.
        """
        goals = np.array(self._bound(points.metric_names, points.signs).goals)
        given = goals > -np.inf
        return bool(given.any() and (points.losses[row, given] <= goals[given]).all())

    def _ranking(self, points: CompletedTrials, count: int) -> NDArray[np.intp]:
        if count == 0:
            return np.zeros(0, dtype=np.intp)
        order = self._bound(points.metric_names, points.signs).after_violations()
        some = points.trials[:count]
        violations = [total_violation(t) for t in some]
        return order.ranking(np.column_stack([violations, points.losses[:count]]))

    def _bound(self, names: Sequence[str], signs: NDArray[np.float64]) -> LexicographicOrder:
        return named_order(
            names,
            signs,
            tolerances=self.tolerances,
            goals=self.goals,
            priorities=self.priorities,
        )


def _with_feasible(points: CompletedTrials) -> CompletedTrials:
    if not points.feasible.any():
        raise ValueError(
            f"Study {points.study.study_name!r} has no best trial: of {len(points.trials)} "
            "finished trials none keeps all constraints. Run more trials, or look at rank(study)."
        )
    return points
