"""The front of a study: its non-dominated trials, as a table, and the picks from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs.fronts._dominance import nondominated_mask
from optuna_mofs.fronts._hypervolume import hypervolume
from optuna_mofs.fronts._lexicographic import named_order
from optuna_mofs.fronts._picks import knee_index, one_standard_error_index
from optuna_mofs.study._completed_trials import (
    CompletedTrials,
    feature_count,
    feature_text,
    read_points,
)
from optuna_mofs.study._description import StudyDescription

if TYPE_CHECKING:
    import pandas as pd


def pareto_front(
    study: Study,
    *,
    targets: Sequence[str | int] | None = None,
    include_infeasible: bool = False,
    duplicates: bool = True,
    by: str | None = None,
) -> Front:
    """Return the non-dominated finished trials of a study.

    Args:
        study: Any Optuna study, of one of this package's objectives or of any other; with one
            objective the front holds the best trials.
        targets: Names or positions of the metrics that count. Default: all.
        include_infeasible: Whether trials that break a constraint may be on the front.
        duplicates: Whether all trials of equal values are kept, as ``study.best_trials`` does
            (they may use different features), or only the earliest.
        by: Name of a parameter. The fronts of each of its values are joined, so that
            ``by="learner"`` keeps the best of every learner, dominated by another or not.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize", "maximize"])
        >>> for values in [(0.3, 10), (0.1, 2), (0.2, 9), (0.2, 1)]:
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> front = pareto_front(study)
        >>> front.values.tolist()
        [[0.1, 2.0], [0.2, 9.0], [0.3, 10.0]]
        >>> front.knee().number
        2
    """
    points = read_points(study, targets=targets)
    allowed = np.full(len(points.trials), True) if include_infeasible else points.feasible
    groups = [np.flatnonzero(allowed)] if by is None else _groups(points, allowed, by)
    rows = np.concatenate(
        [g[nondominated_mask(points.losses[g], duplicates=duplicates)] for g in groups]
    )
    # lexsort is stable: trials of equal values stay in order of their number.
    return Front(points, rows[np.lexsort(points.losses[rows].T[::-1])])


def _groups(
    points: CompletedTrials, allowed: NDArray[np.bool_], by: str
) -> list[NDArray[np.intp]]:
    """Rows of the trials that share a value of a parameter."""
    rows = np.flatnonzero(allowed)
    values = [points.trials[row].params.get(by) for row in rows]
    known = dict.fromkeys(values)  # in order of appearance; values need not be sortable
    if rows.size and set(known) == {None}:
        names = sorted({name for row in rows for name in points.trials[row].params})
        raise ValueError(f"No trial has a parameter {by!r} to go by. There are {names}.")
    return [rows[[v == one for v in values]] for one in known] or [rows]


class Front(Sequence[FrozenTrial]):
    """Non-dominated trials, sorted by the first metric from best to worst.

    A front is made by :func:`pareto_front`. It is a sequence of
    :class:`~optuna.trial.FrozenTrial`; a slice of it is a front too. It is a snapshot: trials
    that finish later are not in it. All values taken and given are in the study's own directions.

    Attributes:
        study: The study it was made from.
        points: All finished trials of the study as arrays, from which the front was taken.
        metric_names: From ``study.metric_names``, or from what the objective wrote down, or
            ``value_0``, ``value_1``, ...
    """

    def __init__(self, points: CompletedTrials, rows: NDArray[np.intp]) -> None:
        self.points = points
        self._rows = rows
        self._losses = points.losses[rows]
        self.study = points.study
        self.metric_names = points.metric_names

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> FrozenTrial: ...
    @overload
    def __getitem__(self, index: slice) -> Front: ...
    def __getitem__(self, index: int | slice) -> FrozenTrial | Front:
        if isinstance(index, slice):
            return Front(self.points, self._rows[index])
        return self.points.trials[int(self._rows[index])]

    @property
    def values(self) -> NDArray[np.float64]:
        """Values of the metrics, one row a trial."""
        return self.points.to_values(self._losses)

    @property
    def directions(self) -> tuple[str, ...]:
        """``"minimize"`` or ``"maximize"`` for each metric."""
        return tuple("minimize" if sign > 0 else "maximize" for sign in self.points.signs)

    @property
    def ideal(self) -> NDArray[np.float64]:
        """The best value of each metric on the front."""
        self._refuse_empty()
        return self.points.to_values(self._losses.min(axis=0))

    @property
    def nadir(self) -> NDArray[np.float64]:
        """The worst value of each metric on the front."""
        self._refuse_empty()
        return self.points.to_values(self._losses.max(axis=0))

    def to_frame(self) -> pd.DataFrame:
        """Return the front as a table, one row a trial, indexed by trial number.

        Columns: the metrics, ``n_features`` and ``features`` where they are known, and the
        hyperparameters. Suggestions that only spell out a feature mask are left out; a
        hyperparameter with the name of another column is called ``params_<name>``.
        """
        return front_frame(self.study, list(self), self.metric_names, self.values)

    def hypervolume(self, reference: Mapping[str, float] | Sequence[float] | None = None) -> float:
        """Return the dominated hypervolume of the front; 0 for an empty front.

        Args:
            reference: The worst values that count, as a mapping from metric names (it may leave
                some out) or a sequence. A value not given is the worst possible one that the
                objective wrote into the study; without that it is the worst finite value of all
                finished trials of the study, which later trials can move: give a reference to
                compare studies.
        """
        if not len(self):
            return 0.0
        return hypervolume(self._losses, self.points.reference_losses(reference))

    def knee(self) -> FrozenTrial:
        """Return the trial where giving up on one metric stops paying in the others.

        See :func:`optuna_mofs.fronts.knee_index` for how it is found.
        """
        self._refuse_empty()
        return self[knee_index(self._losses)]

    def best(
        self,
        metric: str | int | None = None,
        *,
        max_features: int | None = None,
        **caps: float,
    ) -> FrozenTrial:
        """Return the front's best trial of one metric, under caps.

        Args:
            metric: Name or position of the metric. Default: the first.
            max_features: Most features the trial may use.
            **caps: For a metric by name the worst value allowed: at most that for a minimized
                metric, at least that for a maximized one. For a name that is no Python
                identifier: ``**{"false positives": 0.1}``.

        Returns:
            The best trial; of several, the one that is better in the other metrics in order.

        Raises:
            ValueError: If the front is empty or no trial of it keeps the caps.
        """
        self._refuse_empty()
        column = 0 if metric is None else self.points.column(metric)
        allowed = np.ones(len(self), dtype=np.bool_)
        for name, cap in caps.items():
            limited = self.points.column(name)
            allowed &= self._losses[:, limited] <= cap * self.points.signs[limited]
        if max_features is not None:
            allowed &= self._feature_counts("max_features") <= max_features
        rows = np.flatnonzero(allowed)
        if len(rows) == 0:
            wanted = {**caps, **({} if max_features is None else {"max_features": max_features})}
            raise ValueError(
                f"None of the {len(self)} trials of the front keeps {wanted}. Loosen a cap; the "
                f"best values of the front are {self._named(self.ideal)}."
            )
        order = [column, *(c for c in range(len(self.metric_names)) if c != column)]
        return self[int(rows[np.lexsort(self._losses[rows][:, order].T[::-1])[0]])]

    def one_standard_error(
        self, *, metric: str | int | None = None, sparsity: str | int | None = None
    ) -> FrozenTrial:
        """Return the sparsest trial whose error is within one standard error of the best.

        The standard error is that of the best trial's mean over its folds, from the values of
        single folds that the objective wrote on the trial (``fold_scores``).

        Args:
            metric: Name or position of the error. Default: the first metric.
            sparsity: Name or position of the metric that says how sparse a trial is. Default: its
                number of features.

        Raises:
            ValueError: If the front is empty, or the best trial has no values of single folds, or
                nothing says how many features the trials have.
        """
        self._refuse_empty()
        column = 0 if metric is None else self.points.column(metric)
        if sparsity is None:
            sizes = self._feature_counts("one_standard_error (or give sparsity='<metric>')")
        else:
            sizes = self._losses[:, self.points.column(sparsity)]
        errors = self._losses[:, column]
        best = int(np.lexsort((sizes, errors))[0])
        spread = self._standard_error(self[best], column)
        return self[one_standard_error_index(errors, sizes, spread)]

    def lexicographic(
        self,
        *,
        tolerances: Mapping[str, float | str] | Sequence[float | str] | None = None,
        goals: Mapping[str, float] | Sequence[float | None] | None = None,
        priorities: Sequence[str | int] | None = None,
    ) -> FrozenTrial:
        """Return the best trial by priority of the metrics, with tolerances and goals.

        Metric by metric the trials that miss its target leave; see
        :func:`optuna_mofs.fronts.lexicographic_index` and the paper cited there.

        Args:
            tolerances: What may be given up of a metric for the sake of the later ones: a number,
                or ``"5%"`` of the size of the best value. By metric name, or a sequence in the
                order of ``metric_names``. Default: nothing.
            goals: Values that are good enough, in the same form, in the metrics' own directions.
            priorities: Names or positions of metrics, the most important first; those left out
                follow in their order. Default: the order of ``metric_names``.

        Example:
            >>> import optuna
            >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
            >>> study = optuna.create_study(directions=["maximize", "minimize"])
            >>> study.set_metric_names(["accuracy", "features"])
            >>> for values in [(0.91, 40.0), (0.9, 12.0), (0.7, 3.0)]:
            ...     study.add_trial(optuna.trial.create_trial(values=values))
            >>> pareto_front(study).lexicographic(tolerances={"accuracy": 0.02}).values
            [0.9, 12.0]
        """
        self._refuse_empty()
        order = named_order(
            self.metric_names,
            self.points.signs,
            tolerances=tolerances,
            goals=goals,
            priorities=priorities,
        )
        return self[int(order.ranking(self._losses)[0])]

    def _standard_error(self, trial: FrozenTrial, column: int) -> float:
        """Return the standard error of a trial's mean over its folds."""
        scores = trial.user_attrs.get("fold_scores") or {}
        names = (self.points.measure_names[column], self.metric_names[column])
        folds = next((scores[name] for name in names if name in scores), None)
        if folds is None or len(folds) < 2:
            raise ValueError(
                f"The standard error of {names[1]!r} needs its values in two or more folds; trial "
                f"{trial.number} has {folds!r}. The objectives of this package write them as the "
                "user attribute 'fold_scores' (measure name -> list of values)."
            )
        return float(np.std(np.asarray(folds, dtype=np.float64), ddof=1) / np.sqrt(len(folds)))

    def _feature_counts(self, purpose: str) -> NDArray[np.float64]:
        """Return the number of features of each trial."""
        counts = [feature_count(self.study, trial) for trial in self]
        if None in counts:
            trial = self[counts.index(None)]
            raise ValueError(
                f"{purpose} needs the number of features, which nothing says for trial "
                f"{trial.number}. In an objective of your own: "
                "trial.set_user_attr('n_features', n)."
            )
        return np.array(counts, dtype=np.float64)

    def _refuse_empty(self) -> None:
        if not len(self):
            raise ValueError(
                f"The front of study {self.study.study_name!r} is empty: of "
                f"{len(self.points.trials)} finished trials none can be on it. Run more trials, "
                "or pass include_infeasible=True if all of them break a constraint."
            )

    def _named(self, values: NDArray[np.float64]) -> dict[str, float]:
        return dict(zip(self.metric_names, values.tolist()))

    def __repr__(self) -> str:
        title = self._title()
        return f"{title}\n{self.to_frame().to_string(max_rows=20)}" if len(self) else title

    def _repr_html_(self) -> str:
        from html import escape

        table = self.to_frame().to_html(max_rows=20, border=0) if len(self) else ""
        return f"<p>{escape(self._title())}</p>{table}"

    def _title(self) -> str:
        metrics = ", ".join(f"{n} {d}d" for n, d in zip(self.metric_names, self.directions))
        trials = "1 trial" if len(self) == 1 else f"{len(self)} trials"
        return f"Front of {trials} of study {self.study.study_name!r} ({metrics})"


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
