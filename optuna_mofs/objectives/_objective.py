"""What every objective of this package does: describe itself in the study, suggest, measure."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline

from optuna_mofs._optuna import frozen_attr
from optuna_mofs._typing import Array
from optuna_mofs.columns import ColumnSelector
from optuna_mofs.data._dataset import Dataset, Split, draw_splits, is_number
from optuna_mofs.data._target import plain_target
from optuna_mofs.features._ranking import Ranking
from optuna_mofs.features._redundancy import median_redundancy
from optuna_mofs.features._representation import Representation, get_representation
from optuna_mofs.features._table import FeatureTable, feature_layout
from optuna_mofs.filters import FilterData
from optuna_mofs.measures import Fold, Measure, get_measure
from optuna_mofs.objectives._estimator_space import Learners
from optuna_mofs.objectives._evaluator import Evaluator, RepeatIndex, baseline, fit_options
from optuna_mofs.objectives._fingerprint import conditions_of
from optuna_mofs.objectives._settings import check_measures, check_weights
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import MASK, note_features, suggest_mask, trial_mask


class TrialModels:
    """What an objective knows of finished trials; the base of objectives.

    Attributes:
        learners: What is fitted, random states set, and its space.
        data: X and y.
        table: The features without ranks.
        representation: How a feature set is suggested, not bound to a table.
        ranking: The features with ranks, when needed.
        measures: One a value.
        evaluator: The cross-validation.
    """

    learners: Learners
    data: Dataset
    table: FeatureTable
    representation: Representation | None
    ranking: Ranking
    measures: tuple[Measure, ...]
    evaluator: Evaluator

    @property
    def ranked_table(self) -> FeatureTable:
        """The features with their filter ranks and the size prior."""
        return self.ranking.table

    def params_for(self, trial: FrozenTrial) -> dict[str, Any]:
        """The estimator's parameters in a trial.

        Of a space given as a function, that function is asked again with the trial's values.
        """
        return self.learners.params_of(trial)

    def mask_for(self, trial: FrozenTrial) -> Array:
        """The mask over all features that a trial chose."""
        if not hasattr(trial, "params"):
            raise TypeError(
                f"A trial is needed, such as study.trials[3] or pareto_front(study).knee(), but "
                f"this is {type(trial).__name__}: {trial!r}."
            )
        if self.representation is None:
            return self.table.full_mask(np.zeros(0, dtype=bool))
        bound = self.representation.bind(self.ranking.unranked)
        if frozen_attr(trial, MASK) is None and not bound.is_plain:
            # Only a trial that does not remember its mask needs the filters to find it again.
            bound = self.representation.bind(self.ranked_table)
        mask = trial_mask(bound, trial)
        if mask is None:
            raise ValueError(
                f"Trial {trial.number} says nothing of its features: it has the parameters "
                f"{sorted(trial.params)}. Pass a trial of a study of this objective."
            )
        return self.table.full_mask(mask)

    def features_for(self, trial: FrozenTrial) -> list[str]:
        """Names of the features that a trial chose."""
        return self.table.names_of(self.mask_for(trial))

    def estimator_for(self, trial: FrozenTrial) -> Pipeline:
        """The unfitted pipeline of a trial: the chosen columns, then the configured estimator."""
        columns = self.table.columns_of(self.mask_for(trial))
        frame = hasattr(self.data.X, "iloc")
        select = ColumnSelector(columns=columns.tolist(), by_name=frame)
        if frame:
            select.set_output(transform="pandas")
        final = (
            self.learners.configured(self.params_for(trial))
            if len(columns)
            else baseline(self.data.classification)
        )
        return Pipeline([("select", select), ("estimator", final)])

    def refit(self, trial: FrozenTrial) -> Pipeline:
        """The pipeline of a trial fitted on all data.

        It takes tables with all columns; of DataFrames with names the chosen ones are enough.
        """
        model = self.estimator_for(trial)
        weight = self.data.sample_weight
        return model.fit(
            self.data.X,
            self.data.y,
            **fit_options(model.named_steps["estimator"], weight, "estimator__"),
        )

    def test_values(
        self, model: Pipeline, trial: FrozenTrial, X_test: Any, y_test: Any
    ) -> list[float]:
        """The trial's values with those of fitted models measured on new data.

        Args:
            model: From :meth:`refit` of the trial.
            trial: The trial.
            X_test: New data, as :meth:`refit` says.
            y_test: Its target.
        """
        # The selector checks the columns of new data and finds those of the model.
        fresh = self.evaluator.on_test_data(
            model.named_steps["estimator"],
            self.table.columns_of(self.mask_for(trial)),
            model[:-1].transform(X_test),
            plain_target(y_test, X_test.shape[0]),
        )
        return [fresh.get(m.name, v) for m, v in zip(self.measures, trial.values)]


# A child of Optuna's logger, so that its verbosity holds here too.
_logger = optuna.logging.get_logger("optuna.mofs")
#: So many failures without a success are no accident of single configurations.
_HOPELESS = 10
#: One or more measures, as users give them.
Measures = Sequence[str | Measure | Callable[[Fold], float]]


class StudyObjective(TrialModels):
    """The common part of objectives; see :class:`FeatureSelectionObjective` for the arguments.

    Args:
        learners: What is fitted, and which of its parameters are searched.
    """

    def __init__(
        self,
        learners: Learners,
        X: Any,
        y: Any,
        *,
        representation: str | Representation | None,
        measures: Measures,
        cv: Any,
        scoring: Any,
        filters: Sequence[Any],
        groups: Any,
        sample_weight: Any,
        feature_costs: Sequence[float] | Mapping[str, float] | None,
        feature_names: Sequence[str] | None,
        feature_groups: Mapping[str, Sequence[str]] | None,
        fixed_features: Sequence[str],
        expected_n_features: float | None,
        redraw_folds: bool,
        random_state: int,
        n_jobs: int | None,
    ) -> None:
        if n_jobs == 0:
            raise ValueError("n_jobs must not be 0. Use 1 for one fold at a time, -1 for all.")
        self.random_state = random_state
        self.learners = learners
        self.data = Dataset(
            X,
            y,
            classification=learners.classification,
            feature_names=feature_names,
            sample_weight=sample_weight,
            groups=groups,
        )
        self.table = feature_layout(
            self.data.column_names,
            groups=feature_groups,
            fixed=fixed_features,
            costs=feature_costs,
            all_fixed=representation is None,
        )
        self.representation: Representation | None = None
        if representation is not None:
            self.representation = get_representation(representation).resolve(
                self._median_redundancy
            )
        self.ranking = Ranking(
            self.data,
            self.table,
            filters,
            self.random_state,
            expected_n_features,
            n_jobs,
            similar=self.representation is not None and self.representation.needs_similar,
        )
        learners.check(self.representation, self.ranking.unranked)
        if isinstance(scoring, list | tuple | set | dict):
            raise ValueError(f"scoring must be one scorer or its name, but is {scoring!r}.")
        scorer = check_scoring(learners.estimators[0], scoring)
        if sample_weight is not None:
            for estimator in learners.estimators:
                check_weights(estimator, scorer)
        if isinstance(measures, str | Measure) or callable(measures):
            measures = (measures,)
        self.measures = tuple(get_measure(m, scorer) for m in measures)
        check_measures(self.measures, learners.estimators[0], learners.classification)
        if redraw_folds and not is_number(cv):
            raise ValueError(f"redraw_folds needs a number of folds, but cv is {cv!r}.")
        #: Number of folds to draw anew for each trial, or None for fixed folds.
        self.redraw_folds = int(cv) if redraw_folds else None
        self.evaluator = Evaluator(
            self.data,
            self.table,
            measures=self.measures,
            scorer=scorer,
            splits=draw_splits(self.data, cv, self.random_state),
            n_jobs=n_jobs,
        )
        self.__setstate__({})

    def _median_redundancy(self) -> float:
        return median_redundancy(FilterData(self.data.X, self.data.y), self.table.columns)

    def __getstate__(self) -> dict[str, Any]:
        # What belongs to studies of this process stays here; a copy attaches anew.
        return {k: v for k, v in self.__dict__.items() if k not in ("_repeats", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._repeats: WeakKeyDictionary[Study, RepeatIndex] = WeakKeyDictionary()
        self._lock = threading.Lock()

    # ---- what a study needs to know -----------------------------------------------------------

    @property
    def directions(self) -> list[Literal["minimize", "maximize"]]:
        """Directions for :func:`optuna.create_study`."""
        return [m.direction for m in self.measures]

    @property
    def metric_names(self) -> list[str]:
        """Names of the values."""
        return [m.name for m in self.measures]

    def create_study(self, **options: Any) -> Study:
        """Make (or reopen, with ``load_if_exists=True``) a study for this objective.

        Args:
            options: Passed to :func:`optuna.create_study`, except the directions.
        """
        study = optuna.create_study(directions=self.directions, **options)
        try:
            self.attach(study)
        except Exception:
            if not options.get("load_if_exists"):
                # Nothing is in it, and its name shall be free for the next attempt.
                optuna.delete_study(study_name=study.study_name, storage=study._storage)
            raise
        return study

    def attach(self, study: Study) -> None:
        """Write into a study what its parameters and values mean, or check that they fit.

        The first trial does it too; call it to see an error before any trial, or to queue trials.
        """
        found = [d.name.lower() for d in study.directions]
        if found != self.directions:
            raise ValueError(
                f"Study {study.study_name!r} has directions {found}, but this objective gives "
                f"{self.metric_names} with {self.directions}. "
                "Create the study with directions=objective.directions."
            )
        # Filters are the slow part: a study that has their ranks is not asked to wait for them.
        fresh = StudyDescription.read(study) is None
        self._description(self.ranked_table if fresh else self.ranking.unranked).write(study)
        if study.metric_names is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                study.set_metric_names(self.metric_names)
        described = StudyDescription.read(study)
        assert described is not None
        self._repeats[study] = RepeatIndex(described.representation)

    def _description(self, table: FeatureTable) -> StudyDescription:
        return StudyDescription(
            features=table,
            representation=None
            if self.representation is None
            else self.representation.bind(table),
            space=self.learners.distributions,
            measures=tuple(
                MeasureDescription(m.name, m.direction, m.worst_of(self.table))
                for m in self.measures
            ),
            active_if=self.learners.active_if,
            conditions=conditions_of(
                self.data,
                self.learners.estimators,
                self.evaluator.scorer,
                self.evaluator.splits if self.redraw_folds is None else self.redraw_folds,
                self.learners.searched,
            ),
        )

    # ---- a trial ------------------------------------------------------------------------------

    def __call__(self, trial: Trial) -> tuple[float, ...]:
        """Evaluate one trial: suggest, cross-validate, measure."""
        if not isinstance(trial, Trial):
            raise ValueError(
                f"The objective needs a running trial of a study, but got {type(trial).__name__}. "
                "Queue known parameters by study.enqueue_trial, or fit them by objective.refit."
            )
        study = trial.study
        with self._lock:
            if study not in self._repeats:
                self.attach(study)
        described = StudyDescription.read(study)
        assert described is not None
        mask = np.zeros(0, dtype=bool)
        if described.representation is not None:
            mask = suggest_mask(trial, described.representation)
        full = self.table.full_mask(mask)
        params = self.learners.suggest(trial)
        if described.representation is not None:
            note_features(trial, self.table, full)
        if self.redraw_folds is None:
            with self._lock:
                same = self._repeats[study].find(study, trial, mask)
            if same is not None:
                return _repeat(trial, same)
        try:
            splits = self._splits(trial.number)
            fold_masks = self._fold_masks(described.representation, trial.params, full, splits)
            values, by_fold = self.evaluator(
                self.learners.configured(params), full, fold_masks, splits
            )
        except optuna.TrialPruned:
            raise
        except Exception as error:
            return self._fail(trial, f"{type(error).__name__}: {error}")
        if by_fold:
            _note_folds(trial, by_fold)
        lost = [m.name for m, v in zip(self.measures, values) if math.isnan(v)]
        if lost:
            return self._fail(trial, f"NaN in {', '.join(lost)}")
        return tuple(values)

    def _fail(self, trial: Trial, reason: str) -> tuple[float, ...]:
        """Write down why: Optuna makes a failed trial of NaN, and the study goes on."""
        trial.set_user_attr("failure_reason", reason[:1000])
        _logger.warning(f"Trial {trial.number} failed: {reason}")
        failed = 1 + len(trial.study.get_trials(deepcopy=False, states=(TrialState.FAIL,)))
        if failed >= _HOPELESS and not _any_model(trial.study):
            raise AllTrialsFailedError(
                f"{failed} trials failed and no model could be evaluated. The last reason: "
                f"{reason}. Mend what it names in data, estimator, space or scoring; all reasons "
                "are in the trials' user attribute 'failure_reason'."
            )
        return tuple(math.nan for _ in self.measures)

    def _splits(self, number: int) -> list[Split]:
        if self.redraw_folds is None:
            return self.evaluator.splits
        return draw_splits(self.data, self.redraw_folds, self.random_state + 1 + number)

    def _fold_masks(
        self,
        chosen: Representation | None,
        params: Mapping[str, Any],
        full: Array,
        splits: list[Split],
    ) -> list[Array]:
        if chosen is None or chosen.ranks != "fold":
            return [full] * len(splits)
        return [
            self.table.full_mask(chosen.choose(params, seen=self.ranking.of_rows(train)))
            for train, _ in splits
        ]


class AllTrialsFailedError(RuntimeError):
    """Trial after trial failed; a longer search will not get better."""


def _any_model(study: Study) -> bool:
    """Whether a model of at least one feature was evaluated."""
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return any(trial.user_attrs.get("n_features") != 0 for trial in complete)


def _repeat(trial: Trial, same: FrozenTrial) -> tuple[float, ...]:
    """Answer a trial by an equal one."""
    trial.set_user_attr("duplicate_of", same.number)
    if "fold_scores" in same.user_attrs:
        _note_folds(trial, same.user_attrs["fold_scores"])
    return tuple(same.values)


def _note_folds(trial: Trial, by_fold: Mapping[str, Sequence[float]]) -> None:
    """Write down the values of single folds, and as a column to sort by how far they spread."""
    trial.set_user_attr("fold_scores", by_fold)
    first = next(iter(by_fold.values()))
    if len(first) > 1 and np.isfinite(first).all():
        trial.set_user_attr("fold_std", round(float(np.std(first, ddof=1)), 6))
