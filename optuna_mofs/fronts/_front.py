"""The front of a study: its non-dominated trials, their table, and the choice of one trial."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._typing import Bools, Floats, Indices
from optuna_mofs._validation import check_float, check_int, check_numbers, check_type
from optuna_mofs.fronts._candidates import FrontCandidates
from optuna_mofs.fronts._dominance import nondominated_mask
from optuna_mofs.fronts._honest_front import HonestFront, estimate_columns, honest_front
from optuna_mofs.fronts._hypervolume import hypervolume
from optuna_mofs.fronts._lexicographic import named_order
from optuna_mofs.fronts._picks import (
    fold_standard_error,
    knee_index,
    one_standard_error_index,
    round_off,
)
from optuna_mofs.study._baselines import Baselines
from optuna_mofs.study._completed_trials import (
    CompletedTrials,
    feature_count,
    feature_text,
    read_completed_trials,
)
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._partial import fold_scores

if TYPE_CHECKING:
    import pandas as pd

_MAX_TEXT = 60  # characters of a list of features that is printed


def pareto_front(
    study: Study,
    *,
    targets: Sequence[str | int] | None = None,
    include_infeasible: bool = False,
    duplicates: bool = True,
    by: str | None = None,
    trials: Collection[int] | None = None,
) -> Front:
    """Return the non-dominated completed trials of a study.

    Args:
        study: Any Optuna study, with an objective of this package or any other. With one
            objective the front contains the best trials.
        targets: Names or positions of the metrics to use. Default: all.
        include_infeasible: Whether trials that violate a constraint can be on the front.
        duplicates: Whether to keep all trials of equal values, as ``study.best_trials`` does
            (they may use different features), or only the earliest.
        by: Name of a parameter. One front is computed per value of the parameter and their union
            is returned: ``by="learner"`` keeps the best trials of every learner, even if another
            learner dominates them.
        trials: Numbers of the trials to choose from, such as those of the last generation of a
            genetic algorithm. Default: all.

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
    return front_of(
        read_completed_trials(study, targets=targets),
        include_infeasible=include_infeasible,
        duplicates=duplicates,
        by=by,
        trials=trials,
    )


def front_of(
    points: CompletedTrials,
    *,
    include_infeasible: bool = False,
    duplicates: bool = True,
    by: str | None = None,
    trials: Collection[int] | None = None,
) -> Front:
    """Return the front of trials that have been read; arguments as for :func:`pareto_front`."""
    allowed = np.full(len(points.trials), True) if include_infeasible else points.feasible
    if trials is not None:
        numbers = [trial.number for trial in points.trials]
        allowed = allowed & np.isin(numbers, list(trials))
    groups = [np.flatnonzero(allowed)] if by is None else _groups(points, allowed, by)
    rows = np.concatenate(
        [g[nondominated_mask(points.losses[g], duplicates=duplicates)] for g in groups]
    )
    # lexsort is stable: trials of equal values stay in the order of their numbers.
    return Front(points, rows[np.lexsort(points.losses[rows].T[::-1])])


def _groups(points: CompletedTrials, allowed: Bools, by: str) -> list[Indices]:
    """Return the rows of the allowed trials, grouped by the value of a parameter."""
    check_type("by", by, str)
    rows = np.flatnonzero(allowed)
    values = [points.trials[row].params.get(by) for row in rows]
    distinct = dict.fromkeys(values)  # in order of appearance; values need not be sortable
    if rows.size and set(distinct) == {None}:
        names = sorted({name for row in rows for name in points.trials[row].params})
        raise ValueError(f"by must be a parameter of the trials, one of {names}, got {by!r}.")
    return [rows[[v == value for v in values]] for value in distinct] or [rows]


#: Smallest standard error of a trial, relative to the worst value of the metric, which is that of
#: the constant model for the error of an objective of this package.
_MIN_STANDARD_ERROR = 0.02


class Front(Sequence[FrozenTrial]):
    """Non-dominated trials, sorted by the first metric from best to worst.

    Create a front with :func:`pareto_front`. It is a sequence of
    :class:`~optuna.trial.FrozenTrial`, and a slice of it is a front too. It is a snapshot: trials
    that complete later are not in it. All values are in the study's own directions.

    Attributes:
        study: The study that the front was computed from.
        points: All completed trials of the study as arrays.
        metric_names: ``study.metric_names``, or else the names of the objective's measures, or
            else ``value_0``, ``value_1``, ...
    """

    def __init__(self, points: CompletedTrials, rows: Indices) -> None:
        self.points = points
        self._rows = rows
        self._losses = points.losses[rows]
        self.study = points.study
        self.metric_names = points.metric_names
        self._honest: dict[tuple[int, float, int], HonestFront] = {}

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
    def values(self) -> Floats:
        """Values of the metrics, one row per trial."""
        return self.points.to_values(self._losses)

    @property
    def directions(self) -> tuple[str, ...]:
        """``"minimize"`` or ``"maximize"`` for each metric."""
        return tuple("minimize" if sign > 0 else "maximize" for sign in self.points.signs)

    @property
    def ideal(self) -> Floats:
        """The best value of each metric on the front."""
        self._check_not_empty()
        return self.points.to_values(self._losses.min(axis=0))

    @property
    def nadir(self) -> Floats:
        """The worst value of each metric on the front."""
        self._check_not_empty()
        return self.points.to_values(self._losses.max(axis=0))

    def to_frame(self) -> pd.DataFrame:
        """Return the front as a table, one row per trial, indexed by trial number.

        Columns: the metrics, ``honest``, ``honest_low`` and ``honest_high`` if there are honest
        values (:meth:`honest`), ``n_features`` and ``features`` if known, and the hyperparameters.
        Parameters that only encode a feature mask are left out. A hyperparameter with the name of
        another column is called ``params_<name>``.
        """
        import pandas as pd

        columns: dict[str, Any] = dict(zip(self.metric_names, self.values.T))
        honest = self.honest()
        if honest.source is not None:
            # A metric takes precedence over another column of its name.
            columns = {**columns, **estimate_columns(honest.members), **columns}
        description = StudyDescription.read(self.study)
        # The columns of features are there even if no trial is.
        selects = description is not None and description.features is not None
        counts = [feature_count(self.study, trial) for trial in self]
        if "n_features" not in columns and (selects or any(c is not None for c in counts)):
            # The nullable type keeps the counts integers if some are missing.
            columns["n_features"] = pd.array(counts, dtype="Int64" if None in counts else "int64")
        texts = [feature_text(self.study, trial) for trial in self]
        if "features" not in columns and (selects or any(text is not None for text in texts)):
            columns["features"] = texts
        hidden = () if description is None else description.mask_parameters
        # A dict keeps the order in which the trials suggested their parameters.
        for name in dict.fromkeys(name for trial in self for name in trial.params):
            if name not in hidden:
                column = f"params_{name}" if name in columns else name
                columns[column] = [trial.params.get(name) for trial in self]
        numbers = pd.Index([trial.number for trial in self], name="number", dtype="int64")
        return pd.DataFrame(columns, index=numbers)

    def hypervolume(self, reference: Mapping[str, float] | Sequence[float] | None = None) -> float:
        """Return the dominated hypervolume of the front; 0 for an empty front.

        Args:
            reference: The worst values that count, as a sequence or as a mapping from metric
                names, which can leave some out. The default for a metric is the worst possible
                value that the objective stored in the study, or else the worst finite value of
                all completed trials of the study. Later trials can change the latter: give a
                reference to compare studies.
        """
        if not len(self):
            return 0.0
        return hypervolume(self._losses, self.points.reference_losses(reference))

    def honest(
        self, *, n_bootstraps: int = 500, confidence: float = 0.95, seed: int = 0
    ) -> HonestFront:
        """Return what to expect on new rows: the values of the front, corrected for selection.

        The best of many trials is also a lucky one, so its cross-validated (raw) value is too
        good. Honest values come from one of two sources:

        - ``"bootstrap"``, if the features are selected inside the training folds: the choice of
          the best trial is repeated on bootstrap samples of the rows, and the chosen trial is
          evaluated on the rows that are not in the sample (BBC-CV, Tsamardinos et al., 2018,
          Machine Learning 107). This takes no further fit, only the out-of-fold losses that the
          objective stores with every trial.
        - ``"holdout"``, for other studies, if the objective held rows out.

        Each trial of the front is regarded as the best with at most k features, for every k up to
        the size of the next trial of the front, because it was better than all of them.

        Args:
            n_bootstraps: Number of bootstrap samples.
            confidence: Probability that an interval contains the value on new rows.
            seed: Seed of the bootstrap samples.

        Returns:
            The honest values, NaN for a study without a source. They are cached.

        Example:
            >>> import optuna
            >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
            >>> from sklearn.datasets import load_wine
            >>> from sklearn.naive_bayes import GaussianNB
            >>> from optuna_mofs import FeatureSelectionObjective
            >>> X, y = load_wine(return_X_y=True)
            >>> objective = FeatureSelectionObjective(
            ...     GaussianNB(), X, y, representation="filter_ensemble", filters=["anova_f"]
            ... )
            >>> study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
            >>> study.optimize(objective, n_trials=10)
            >>> honest = pareto_front(study).honest()
            >>> honest.source
            'bootstrap'
            >>> best = honest.picks["best"]
            >>> bool(honest.curve["raw"].min() <= best.value < best.high)
            True
        """
        key = (
            check_int("n_bootstraps", n_bootstraps, 1),
            check_float("confidence", confidence, 0.0, 0.9999),
            check_int("seed", seed, 0),
        )
        if key not in self._honest:
            self._honest[key] = honest_front(
                self, n_bootstraps=key[0], confidence=key[1], seed=key[2]
            )
        return self._honest[key]

    @cached_property
    def baselines(self) -> Baselines:
        """Values to compare the front with: constant model, all features, permuted labels."""
        return Baselines.read(self.study)

    def knee(self) -> FrozenTrial:
        """Return the trial at the knee: any gain in one metric costs much in the others.

        See :func:`optuna_mofs.fronts.knee_index` for the definition. The empty feature set and
        trials that are no better than the constant model in the first metric are left out, unless
        there are no others, because such an error would set the scale of the others.
        """
        self._check_not_empty()
        counts = [feature_count(self.study, trial) for trial in self]
        filled = np.array([count != 0 for count in counts])
        better = self._losses[:, 0] < self._constant_loss(0)
        rows = np.arange(len(self))
        for allowed in (filled & better, filled):
            if allowed.any():
                rows = np.flatnonzero(allowed)
                break
        return self[int(rows[knee_index(self._losses[rows])])]

    def pick(self) -> FrozenTrial:
        """Return the trial to use by default.

        It is the sparsest trial within one standard error of the best, see
        :meth:`one_standard_error`; with fronts of several learners, among the trials that are on
        the front of all. For a study without values per fold or without numbers of features it is
        the :meth:`knee`. The empty feature set, and a trial that is no better than the constant
        model, are returned only if nothing is better.
        """
        self._check_not_empty()
        every = FrontCandidates.of(self)
        rows = every.best_members
        if not len(rows) or self._fold_values(self.best(every.column), every.column) is None:
            return self.knee()
        kept = self._better_than_constant(every.column, every.member_sizes, rows)
        errors, spread = self._losses[kept, every.column], self._spread_of_best(every.column)
        index = one_standard_error_index(errors, every.member_sizes[kept], spread)
        return self[int(kept[index])]

    @property
    def has_standard_error(self) -> bool:
        """Whether trials have numbers of features, and the best one values per fold."""
        self._check_not_empty()
        has_counts = None not in [feature_count(self.study, trial) for trial in self]
        return has_counts and self._fold_values(self.best(), 0) is not None

    def best(
        self, metric: str | int | None = None, *, max_features: int | None = None, **limits: float
    ) -> FrozenTrial:
        """Return the best trial of the front by one metric, within limits.

        Args:
            metric: Name or position of the metric. Default: the first.
            max_features: Maximum number of features.
            **limits: Worst allowed value per metric name: an upper limit for a minimized metric,
                a lower limit for a maximized one. For a name that is not a Python identifier:
                ``**{"false positives": 0.1}``.

        Returns:
            The best trial. Ties (up to rounding errors) are broken by the other metrics in order.

        Raises:
            ValueError: If the front is empty or no trial is within the limits.
        """
        self._check_not_empty()
        column = 0 if metric is None else self.points.column(metric)
        allowed = np.ones(len(self), dtype=np.bool_)
        for name, limit in limits.items():
            limited = self.points.column(name)
            bound = float(check_numbers(name, limit, 0))
            allowed &= self._losses[:, limited] <= bound * self.points.signs[limited]
        if max_features is not None:
            most = float(check_numbers("max_features", max_features, 0))
            allowed &= self._feature_counts("max_features") <= most
        rows = np.flatnonzero(allowed)
        if len(rows) == 0:
            if max_features is not None:
                limits["max_features"] = max_features
            ideal = dict(zip(self.metric_names, self.ideal.tolist()))
            raise ValueError(
                f"None of the {len(self)} trials of the front is within the limits {limits}. "
                f"Loosen a limit; the best values of the front are {ideal}."
            )
        order = [column, *(c for c in range(len(self.metric_names)) if c != column)]
        losses = np.column_stack([round_off(self._losses[rows, c]) for c in order])
        return self[int(rows[np.lexsort(losses.T[::-1])[0]])]

    def one_standard_error(
        self, *, metric: str | int | None = None, sparsity: str | int | None = None
    ) -> FrozenTrial:
        """Return the sparsest trial whose error is within one standard error of the best.

        The standard error is that of the best trial's mean over its folds, computed from the user
        attribute ``fold_scores`` of the trial, but at least 2 % of the worst value of the metric,
        which is the constant model's, because small folds agree by chance, especially if the best
        trial makes no error. The empty feature set, and a trial that is no better than the
        constant model, are returned only if nothing is better.

        Args:
            metric: Name or position of the error. Default: the first metric.
            sparsity: Name or position of the metric that measures sparsity. Default: the number of
                features.

        Raises:
            ValueError: If the front is empty, the best trial has no ``fold_scores``, or the number
                of features of a trial is unknown.
        """
        self._check_not_empty()
        column = 0 if metric is None else self.points.column(metric)
        if sparsity is None:
            sizes = self._feature_counts("one_standard_error (or give sparsity='<metric>')")
        else:
            sizes = self._losses[:, self.points.column(sparsity)]
        rows = self._better_than_constant(column, sizes, np.arange(len(self)))
        errors, spread = self._losses[rows, column], self._spread_of_best(column)
        return self[int(rows[one_standard_error_index(errors, sizes[rows], spread)])]

    def lexicographic(
        self,
        *,
        tolerances: Mapping[str, float | str] | Sequence[float | str] | None = None,
        goals: Mapping[str, float] | Sequence[float | None] | None = None,
        priorities: Sequence[str | int] | None = None,
    ) -> FrozenTrial:
        """Return the best trial by priority of the metrics, with tolerances and goals.

        Metric by metric, the trials that miss its target are dropped; see
        :func:`optuna_mofs.fronts.lexicographic_index` and the paper cited there.

        Args:
            tolerances: How much worse than the best value a metric may be if later metrics gain: a
                number, or ``"5%"`` of the absolute best value. A mapping from metric names, or a
                sequence in the order of ``metric_names``. Default: 0.
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
        self._check_not_empty()
        order = named_order(
            self.metric_names,
            self.points.signs,
            tolerances=tolerances,
            goals=goals,
            priorities=priorities,
        )
        return self[int(order.ranking(self._losses)[0])]

    def _better_than_constant(self, column: int, sizes: Floats, rows: Indices) -> Indices:
        """Leave out the empty set and what is no better than the constant model.

        All rows are returned if nothing is better. The empty set stays if it is the best.
        """
        errors = self._losses[:, column]
        best = rows[np.lexsort((sizes[rows], round_off(errors[rows])))[0]]
        rows = rows if sizes[best] == 0 else rows[sizes[rows] > 0]
        better = rows[errors[rows] < self._constant_loss(column)]
        return better if len(better) else rows

    def _spread_of_best(self, column: int) -> float:
        """Return the standard error of the best trial's mean over its folds, or its minimum."""
        trial = self.best(column)
        folds = self._fold_values(trial, column)
        if folds is None:
            raise ValueError(
                f"The standard error of {self.metric_names[column]!r} requires its values in two "
                f"or more folds, which trial {trial.number} lacks. The objectives of this package "
                "store them in the user attribute 'fold_scores' (measure name -> list of values)."
            )
        return max(fold_standard_error(folds), self._min_standard_error(column))

    def _min_standard_error(self, column: int) -> float:
        """Return the smallest standard error of a metric that counts."""
        return float(_MIN_STANDARD_ERROR * abs(np.nan_to_num(self.points.worst[column])))

    def _constant_loss(self, column: int) -> float:
        """Return the loss below which a trial is better than the constant model.

        It is infinite if the constant model was not evaluated.
        """
        values = self.baselines.constant
        index = self.points.value_indices[column]
        if values is None or index >= len(values) or np.isnan(values[index]):
            return float(np.inf)
        loss = values[index] * self.points.signs[column]
        # Equal up to rounding errors is not better.
        return float(loss - 1e-9 * abs(loss))

    def _fold_values(self, trial: FrozenTrial, column: int) -> Floats | None:
        """Return the values of a trial per fold, or None for fewer than two folds."""
        scores = fold_scores(trial)
        for name in (self.points.measure_names[column], self.metric_names[column]):
            if name in scores and len(scores[name]) > 1:
                return np.asarray(scores[name], dtype=np.float64)
        return None

    def _feature_counts(self, purpose: str) -> Floats:
        """Return the number of features of each trial."""
        counts = [feature_count(self.study, trial) for trial in self]
        if None in counts:
            trial = self[counts.index(None)]
            raise ValueError(
                f"{purpose} requires the number of features, which is unknown for trial "
                f"{trial.number}. Store it in your objective: "
                "trial.set_user_attr('n_features', n)."
            )
        return np.array(counts, dtype=np.float64)

    def _check_not_empty(self) -> None:
        if not len(self):
            raise ValueError(
                f"The front of study {self.study.study_name!r} is empty: none of its "
                f"{len(self.points.trials)} completed trials can be on it. Run more trials, or "
                "pass include_infeasible=True if all of them violate a constraint."
            )

    def __repr__(self) -> str:
        title = self._title()
        if not len(self):
            return title
        return f"{title}\n{self._shown_frame().to_string(max_rows=20, float_format=_short)}"

    def _repr_html_(self) -> str:
        from html import escape

        table = ""
        if len(self):
            shown = self._shown_frame()
            table = shown.to_html(max_rows=20, border=0, float_format=_short)
        return f"<p>{escape(self._title())}</p>{table}"

    def _shown_frame(self) -> pd.DataFrame:
        """Return :meth:`to_frame` for display: without weights of filters, with short texts."""
        frame, description = self.to_frame(), StudyDescription.read(self.study)
        for name in () if description is None else description.rule_parameters:
            column = f"params_{name}"
            column = column if column in frame else name
            if column not in self.metric_names:
                frame = frame.drop(columns=column, errors="ignore")
        if "features" in frame:
            cut = [_cut(text) for text in frame["features"]]
            frame["features"] = cut
        return frame

    def _title(self) -> str:
        metrics = ", ".join(f"{n} {d}d" for n, d in zip(self.metric_names, self.directions))
        trials = "1 trial" if len(self) == 1 else f"{len(self)} trials"
        name = self.study.study_name
        of = "" if name.startswith("no-name-") else f" of study {name!r}"  # Optuna's default
        title = f"Front of {trials}{of} ({metrics})"
        warning = self.honest().warning
        return title if warning is None else f"{title}\n{warning}"


def _short(value: float) -> str:
    return f"{value:.4g}"


def _cut(text: Any) -> Any:
    """Shorten a text to one line."""
    return f"{text[:_MAX_TEXT]}..." if isinstance(text, str) and len(text) > _MAX_TEXT else text
