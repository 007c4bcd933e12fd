"""StudyObjective: describes itself in the study, evaluates trials and rebuilds their models."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from sklearn.pipeline import Pipeline

from optuna_mofs._optuna import frozen_attr, storage_of
from optuna_mofs._typing import Array
from optuna_mofs.columns import ColumnSelector
from optuna_mofs.data._dataset import Dataset, Split, draw_splits
from optuna_mofs.data._target import check_target
from optuna_mofs.features._ranking import Ranking
from optuna_mofs.features._redundancy import median_redundancy
from optuna_mofs.features._representation import Representation, get_representation
from optuna_mofs.features._table import FeatureTable, feature_layout
from optuna_mofs.filters import FilterData
from optuna_mofs.objectives._estimator_space import EstimatorSpace, replay
from optuna_mofs.objectives._evaluator import DuplicateIndex, Evaluator, baseline, fit_options
from optuna_mofs.objectives._fingerprint import comparable_conditions
from optuna_mofs.objectives._settings import ObjectiveSettings
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import MASK, suggest_mask, trial_mask, write_features

# A child of Optuna's logger, so that Optuna's verbosity applies here too.
_logger = optuna.logging.get_logger("optuna.mofs")
#: Number of failed trials, without any success, after which the search is stopped.
_MAX_FAILURES = 10


class AllTrialsFailedError(RuntimeError):
    """Raised if the first trials all fail, so that continuing is pointless."""


class StudyObjective:
    """The common part of objectives.

    Args:
        estimator_space: What is fitted, and which of its parameters are searched.
        X: Array, DataFrame or sparse matrix.
        y: Target.
        settings: All other arguments.

    Attributes:
        data: X and y.
        table: The features, without ranks.
        representation: How a feature set is suggested, not bound to a table.
        ranking: Computes the ranks of the features when they are needed.
        measures: One per value.
        evaluator: The cross-validation.
    """

    def __init__(
        self, estimator_space: EstimatorSpace, X: Any, y: Any, settings: ObjectiveSettings
    ) -> None:
        self.estimator_space = estimator_space
        self.random_state = settings.random_state
        #: Number of folds to draw again for each trial, or None for fixed folds.
        self.redraw_folds = int(settings.cv) if settings.redraw_folds else None
        self.data = Dataset(
            X,
            y,
            classification=estimator_space.classification,
            feature_names=settings.feature_names,
            sample_weight=settings.sample_weight,
            groups=settings.groups,
        )
        layout = feature_layout(
            self.data.column_names,
            groups=settings.feature_groups,
            fixed=settings.fixed_features,
            costs=settings.feature_costs,
            all_fixed=settings.representation is None,
        )
        self.representation: Representation | None = None
        if settings.representation is not None:
            self.representation = get_representation(settings.representation).resolve(
                lambda: median_redundancy(FilterData(self.data.X, self.data.y), layout.columns)
            )
        self.ranking = Ranking(
            self.data,
            layout,
            settings.filters,
            settings.random_state,
            settings.expected_n_features,
            settings.n_jobs,
            similar=self.representation is not None and self.representation.needs_similar,
        )
        self.table = self.ranking.unranked
        estimator_space.check(self.representation, self.table)
        scorer = settings.get_scorer(estimator_space.estimators)
        self.measures = settings.get_measures(
            scorer, estimator_space.estimators[0], estimator_space.classification
        )
        self.evaluator = Evaluator(
            self.data,
            self.table,
            measures=self.measures,
            scorer=scorer,
            splits=draw_splits(self.data, settings.cv, settings.random_state),
            n_jobs=settings.n_jobs,
        )
        self.__setstate__({})

    def __getstate__(self) -> dict[str, Any]:
        # Caches of the studies of this process are not copied; a copy attaches again.
        return {k: v for k, v in self.__dict__.items() if k not in ("_duplicates", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._duplicates: WeakKeyDictionary[Study, DuplicateIndex] = WeakKeyDictionary()
        self._lock = threading.Lock()

    @property
    def ranked_table(self) -> FeatureTable:
        """The features with their filter ranks and the size prior."""
        return self.ranking.table

    @property
    def directions(self) -> list[Literal["minimize", "maximize"]]:
        """Directions for :func:`optuna.create_study`."""
        return [m.direction for m in self.measures]

    @property
    def metric_names(self) -> list[str]:
        """Names of the values."""
        return [m.name for m in self.measures]

    # ---- the study ----------------------------------------------------------------------------

    def create_study(self, **options: Any) -> Study:
        """Create (or reopen, with ``load_if_exists=True``) a study for this objective.

        Args:
            options: Passed to :func:`optuna.create_study`, except the directions.
        """
        study = optuna.create_study(directions=self.directions, **options)
        try:
            self.attach(study)
        except Exception:
            if not options.get("load_if_exists"):
                # It is empty, and its name must be free for the next attempt.
                optuna.delete_study(study_name=study.study_name, storage=storage_of(study))
            raise
        return study

    def attach(self, study: Study) -> None:
        """Write into a study what its parameters and values mean, or check that they match.

        The first trial does it too; call it to see an error before any trial, or to enqueue
        trials.
        """
        found = [d.name.lower() for d in study.directions]
        if found != self.directions:
            raise ValueError(
                f"Study {study.study_name!r} has directions {found}, but this objective returns "
                f"{self.metric_names} with {self.directions}. "
                "Create the study with directions=objective.directions."
            )
        # Filters are slow: they are not computed again for a study that has their ranks.
        is_new = StudyDescription.read(study) is None
        self._description(self.ranked_table if is_new else self.table).write(study)
        if study.metric_names is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                study.set_metric_names(self.metric_names)
        self._duplicates[study] = DuplicateIndex(StudyDescription.require(study).representation)

    def _description(self, table: FeatureTable) -> StudyDescription:
        chosen = self.representation
        return StudyDescription(
            features=table,
            representation=None if chosen is None else chosen.bind(table),
            space=self.estimator_space.distributions,
            measures=tuple(
                MeasureDescription(m.name, m.direction, m.worst_of(table), m.label)
                for m in self.measures
            ),
            active_if=self.estimator_space.active_if,
            conditions=comparable_conditions(
                self.data,
                self.estimator_space.estimators,
                self.evaluator.scorer,
                self.redraw_folds or self.evaluator.splits,
                self.estimator_space.searched,
            ),
        )

    # ---- one trial ----------------------------------------------------------------------------

    def __call__(self, trial: Trial) -> tuple[float, ...]:
        """Evaluate one trial: suggest, cross-validate, measure."""
        if not isinstance(trial, Trial):
            raise ValueError(
                f"The objective needs a running trial of a study, got {type(trial).__name__}. "
                "Enqueue known parameters with study.enqueue_trial, or fit them with "
                "objective.refit."
            )
        study = trial.study
        with self._lock:
            if study not in self._duplicates:
                self.attach(study)
        chosen = StudyDescription.require(study).representation
        mask = np.zeros(0, dtype=bool) if chosen is None else suggest_mask(trial, chosen)
        full = self.table.full_mask(mask)
        params = self.estimator_space.suggest(trial)
        if chosen is not None:
            write_features(trial, self.table, full)
        if self.redraw_folds is None:
            with self._lock:
                same = self._duplicates[study].find(study, trial, mask)
            if same is not None:
                trial.set_user_attr("duplicate_of", same.number)
                _write_fold_scores(trial, same.user_attrs.get("fold_scores", {}))
                return tuple(same.values)
        try:
            splits = self.evaluator.splits
            if self.redraw_folds is not None:
                seed = self.random_state + 1 + trial.number
                splits = draw_splits(self.data, self.redraw_folds, seed)
            fold_masks = [full] * len(splits)
            if chosen is not None and chosen.ranks == "fold":
                fold_masks = [self._fold_mask(chosen, trial.params, fold) for fold in splits]
            estimator = self.estimator_space.configure(params)
            values, fold_scores = self.evaluator(estimator, full, fold_masks, splits)
        except optuna.TrialPruned:
            raise
        except Exception as error:
            return self._fail(trial, f"{type(error).__name__}: {error}")
        _write_fold_scores(trial, fold_scores)
        undefined = [m.name for m, v in zip(self.measures, values) if math.isnan(v)]
        return self._fail(trial, f"NaN in {', '.join(undefined)}") if undefined else tuple(values)

    def _fail(self, trial: Trial, reason: str) -> tuple[float, ...]:
        """Store the reason and return NaN, which Optuna records as a failed trial."""
        trial.set_user_attr("failure_reason", reason[:1000])
        _logger.warning(f"Trial {trial.number} failed: {reason}")
        n_failed = 1 + len(trial.study.get_trials(deepcopy=False, states=(TrialState.FAIL,)))
        complete = trial.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        has_model = any(other.user_attrs.get("n_features") != 0 for other in complete)
        if n_failed >= _MAX_FAILURES and not has_model:
            raise AllTrialsFailedError(
                f"{n_failed} trials failed and no model with at least one feature could be "
                f"fitted. The last error was: {reason}. Fix the data, estimator, space or scoring "
                "that it names; all errors are in the trials' user attribute 'failure_reason'."
            )
        return tuple(math.nan for _ in self.measures)

    def _fold_mask(
        self, representation: Representation, params: Mapping[str, Any], fold: Split
    ) -> Array:
        """Return the mask over all features by the filters' ranks on the training rows alone."""
        table = self.ranking.of_rows(fold[0])
        return self.table.full_mask(representation.choose(params, table=table))

    # ---- models of trials ---------------------------------------------------------------------

    def params_for(self, trial: FrozenTrial) -> dict[str, Any]:
        """Return the estimator's parameters in a trial.

        A space that is a function is called again with the trial's values.
        """
        return self.estimator_space.suggest(replay(trial))

    def mask_for(self, trial: FrozenTrial) -> Array:
        """Return the mask over all features that a trial selected."""
        if not hasattr(trial, "params"):
            raise TypeError(
                "Expected a trial, such as study.trials[3] or pareto_front(study).pick(), got "
                f"{type(trial).__name__}: {trial!r}."
            )
        if self.representation is None:
            return self.table.full_mask(np.zeros(0, dtype=bool))
        bound = self.representation.bind(self.table)
        if frozen_attr(trial, MASK) is None and not bound.is_plain:
            # The filters are needed only for a trial without a stored mask.
            bound = self.representation.bind(self.ranked_table)
        mask = trial_mask(bound, trial)
        if mask is None:
            raise ValueError(
                f"The features of trial {trial.number} are unknown: it has the parameters "
                f"{sorted(trial.params)}. Pass a trial of a study of this objective."
            )
        return self.table.full_mask(mask)

    def features_for(self, trial: FrozenTrial) -> list[str]:
        """Return the names of the features that a trial selected."""
        return self.table.names_of(self.mask_for(trial))

    def estimator_for(self, trial: FrozenTrial) -> Pipeline:
        """Return the unfitted pipeline of a trial: column selection, then the estimator."""
        columns = self.table.columns_of(self.mask_for(trial))
        is_frame = hasattr(self.data.X, "iloc")
        select = ColumnSelector(columns=columns.tolist(), by_name=is_frame)
        if is_frame:
            select.set_output(transform="pandas")
        final = (
            self.estimator_space.configure(self.params_for(trial))
            if len(columns)
            else baseline(self.data.classification)
        )
        return Pipeline([("select", select), ("estimator", final)])

    def refit(self, trial: FrozenTrial) -> Pipeline:
        """Return the pipeline of a trial fitted on all data.

        It expects tables with all columns; of DataFrames with names the selected ones suffice.
        """
        model = self.estimator_for(trial)
        options = fit_options(
            model.named_steps["estimator"], self.data.sample_weight, "estimator__"
        )
        return model.fit(self.data.X, self.data.y, **options)

    def test_values(
        self, model: Pipeline, trial: FrozenTrial, X_test: Any, y_test: Any
    ) -> list[float]:
        """Return the trial's values, with those of fitted models measured on new data.

        Args:
            model: The result of :meth:`refit`.
            trial: The trial.
            X_test: New data, as for the model.
            y_test: Target of the new data.
        """
        # The selector checks the columns of the new data and finds those of the model.
        measured = self.evaluator.on_test_data(
            model.named_steps["estimator"],
            self.table.columns_of(self.mask_for(trial)),
            model[:-1].transform(X_test),
            check_target(y_test, X_test.shape[0]),
        )
        return [measured.get(m.name, v) for m, v in zip(self.measures, trial.values)]


def _write_fold_scores(trial: Trial, fold_scores: Mapping[str, Sequence[float]]) -> None:
    """Store the values per fold, and their standard deviation as a column to sort by."""
    if not fold_scores:
        return
    trial.set_user_attr("fold_scores", fold_scores)
    first = next(iter(fold_scores.values()))
    if len(first) > 1 and np.isfinite(first).all():
        trial.set_user_attr("fold_std", round(float(np.std(first, ddof=1)), 6))
