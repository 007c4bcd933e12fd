"""The objective factory: estimator, data, feature representation and measures in one function."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline

from optuna_mofs._storage import frozen_attr
from optuna_mofs.columns import ColumnSelector
from optuna_mofs.description import MeasureDescription, StudyDescription
from optuna_mofs.features.representation import Representation, representation
from optuna_mofs.features.table import Array, FeatureTable
from optuna_mofs.filters import DEFAULT_FILTERS
from optuna_mofs.measures import Fold, Measure, measure
from optuna_mofs.measures.registry import CLASSIFIER_ONLY
from optuna_mofs.objectives.checks import check_space
from optuna_mofs.objectives.dataset import Dataset
from optuna_mofs.objectives.evaluator import Evaluator, Split, baseline, fit_options
from optuna_mofs.objectives.ranking import Ranking
from optuna_mofs.objectives.repeats import RepeatIndex
from optuna_mofs.objectives.tables import feature_layout
from optuna_mofs.selection import MASK, note_features, suggest, suggest_mask

Space = Mapping[str, BaseDistribution] | Callable[[Trial], Mapping[str, Any]]


class FeatureSelectionObjective:
    """Choose features and tune hyperparameters of an estimator in one Optuna study.

    Args:
        estimator: Any scikit-learn compatible estimator or pipeline.
        X: Array, DataFrame (categories and NaN are kept for the estimator) or sparse matrix.
        y: Target: classes for a classifier, numbers for a regressor.
        space: Optuna distributions by parameter name (``"svc__C"`` in a pipeline), or a function
            of the trial that returns parameter values (conditional spaces), or None to select
            features only.
        features: ``"mask"``, ``"filter_ensemble"``, ``"single_filter"``, or an object such as
            :class:`MaskFeatures`; None keeps all features and only tunes.
        measures: Names (see :func:`optuna_mofs.measures.measure_names`), :class:`Measure` objects
            or functions of a :class:`Fold`. By default the error and the fraction of features, or
            their cost when ``costs`` are given.
        cv: Number of folds (shuffled, stratified for classes), a splitter, or an iterable of
            splits. The folds are drawn once, so that trials are comparable.
        scoring: A scikit-learn scorer or its name; by default the estimator's own score.
        filters: Filters that guide the search or rank the features, by name or as functions.
        groups: Group of each row, for splitters that need it.
        sample_weight: Weight of each row, for fitting and scoring.
        costs: Cost of each feature, as a sequence or by name (1 for those not named).
        feature_names: Names of the columns if X has none.
        feature_groups: Columns that are one feature (name of the feature to column names), for
            example the one-hot columns of a category.
        fixed_features: Names of features that are always in.
        mean_size: Expected number of features at the start of a search; by default that of
            decision trees on the data (Binder et al. 2020, section 4.3.1).
        redraw_folds: Draw new folds for each trial (integer ``cv`` only), as the paper's code did.
        random_state: Seed of folds, filters and of every ``random_state`` of the estimator that is
            None, so that a trial can be repeated.
        n_jobs: Folds fitted at once.

    Example:
        >>> from optuna.distributions import FloatDistribution
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> objective = FeatureSelectionObjective(
        ...     GaussianNB(), X, y, space={"var_smoothing": FloatDistribution(1e-9, 1, log=True)}
        ... )
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> study.optimize(objective, n_trials=3)
        >>> study.metric_names
        ['error', 'fraction']
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        space: Space | None = None,
        features: str | Representation | None = "mask",
        measures: Sequence[str | Measure | Callable[[Fold], float]] | None = None,
        cv: Any = 5,
        scoring: Any = None,
        filters: Sequence[Any] = DEFAULT_FILTERS,
        groups: Any = None,
        sample_weight: Any = None,
        costs: Sequence[float] | Mapping[str, float] | None = None,
        feature_names: Sequence[str] | None = None,
        feature_groups: Mapping[str, Sequence[str]] | None = None,
        fixed_features: Sequence[str] = (),
        mean_size: float | None = None,
        redraw_folds: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        classification = is_classifier(estimator)
        self.data = Dataset(
            X,
            y,
            classification=classification,
            feature_names=feature_names,
            sample_weight=sample_weight,
            groups=groups,
        )
        self.layout = feature_layout(
            self.data.column_names,
            groups=feature_groups,
            fixed=fixed_features,
            costs=costs,
            all_fixed=features is None,
        )
        self.space = space
        self.random_state = random_state
        self.estimator = _seeded(estimator, random_state)
        self.features = None if features is None else representation(features)
        self.ranking = Ranking(self.data, self.layout, filters, random_state, mean_size)
        check_space(self.estimator, space, self.features, self.layout, self.ranking.filter_names)
        scorer = check_scoring(self.estimator, scoring)
        if measures is None:
            measures = ("error", "fraction" if costs is None else "cost")
        self.measures = tuple(measure(m, scorer) for m in measures)
        self._check_measures(classification)
        if redraw_folds and not isinstance(cv, int):
            raise ValueError(f"redraw_folds needs an integer cv, but cv is {cv!r}.")
        self.redraw_folds = redraw_folds
        self.evaluator = Evaluator(
            self.data,
            self.layout,
            measures=self.measures,
            scorer=scorer,
            cv=cv,
            shuffle_seed=random_state,
            n_jobs=n_jobs,
        )
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
        self.attach(study)
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
        described = StudyDescription.read(study)
        self._description(described is None).write(study)
        if study.metric_names is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                study.set_metric_names(self.metric_names)
        self._repeats.setdefault(study, RepeatIndex())

    def _description(self, with_ranks: bool) -> StudyDescription:
        # Filters are the slow part: a study that has their ranks is not asked to wait for them.
        table = self.ranking.table if with_ranks or self._ranks_needed else self.layout
        return StudyDescription(
            features=table,
            representation=None if self.features is None else self.features.bind(table),
            space=None if callable(self.space) else self.space,
            measures=tuple(
                MeasureDescription(m.name, m.direction, m.worst_of(self.layout))
                for m in self.measures
            ),
        )

    @property
    def _ranks_needed(self) -> bool:
        return self.features is not None and self.features.ranks is not None

    # ---- a trial ------------------------------------------------------------------------------

    def __call__(self, trial: Trial) -> tuple[float, ...]:
        """Evaluate one trial: suggest, cross-validate, measure."""
        study = trial.study
        with self._lock:
            if study not in self._repeats:
                self.attach(study)
        described = StudyDescription.read(study)
        assert described is not None
        mask = np.zeros(0, dtype=bool)
        if described.representation is not None:
            mask = suggest_mask(trial, described.representation)
        full = self.layout.full_mask(mask)
        params = self._suggest_params(trial)
        if described.representation is not None:
            note_features(trial, self.layout, full)
        if not self.redraw_folds:
            with self._lock:
                same = self._repeats[study].find(study, trial.params)
            if same is not None:
                trial.set_user_attr("repeat_of", same.number)
                if "fold_scores" in same.user_attrs:
                    trial.set_user_attr("fold_scores", same.user_attrs["fold_scores"])
                return tuple(same.values)
        try:
            splits = self._splits(trial.number)
            fold_masks = self._fold_masks(described, trial.params, full, splits)
            values, by_fold = self.evaluator(self._configured(params), full, fold_masks, splits)
        except optuna.TrialPruned:
            raise
        except Exception as error:
            # The trial fails, the study goes on: Optuna turns NaN into a failed trial.
            trial.set_user_attr("failure", f"{type(error).__name__}: {error}"[:1000])
            return tuple(math.nan for _ in self.measures)
        if by_fold:
            trial.set_user_attr("fold_scores", by_fold)
        lost = [m.name for m, v in zip(self.measures, values) if math.isnan(v)]
        if lost:
            trial.set_user_attr("failure", f"NaN in {', '.join(lost)}")
        return tuple(values)

    def _suggest_params(self, trial: Trial) -> dict[str, Any]:
        if self.space is None:
            return {}
        if callable(self.space):
            return dict(self.space(trial))
        return {name: suggest(trial, name, d) for name, d in self.space.items()}

    def _splits(self, number: int) -> list[Split]:
        if not self.redraw_folds:
            return self.evaluator.splits
        return self.evaluator.draw_splits(self.random_state + 1 + number)

    def _fold_masks(
        self,
        described: StudyDescription,
        params: Mapping[str, Any],
        full: Array,
        splits: list[Split],
    ) -> list[Array]:
        chosen = described.representation
        if chosen is None or chosen.ranks != "fold":
            return [full] * len(splits)
        return [
            self.layout.full_mask(chosen.choose(params, ranks=self.ranking.of_rows(train)))
            for train, _ in splits
        ]

    def _configured(self, params: Mapping[str, Any]) -> Any:
        return clone(self.estimator).set_params(**params)

    # ---- from a trial to a model --------------------------------------------------------------

    def params_for(self, trial: FrozenTrial) -> dict[str, Any]:
        """The estimator's parameters in a trial.

        Of a space given as a function, that function is asked again with the trial's values.
        """
        if self.space is None:
            return {}
        if callable(self.space):
            fixed = optuna.trial.FixedTrial(trial.params, number=trial.number)
            return dict(self.space(fixed))  # type: ignore[arg-type]
        return {name: trial.params[name] for name in self.space}

    def mask_for(self, trial: FrozenTrial) -> Array:
        """The mask over all features that a trial chose."""
        if self.features is None:
            return self.layout.full_mask(np.zeros(0, dtype=bool))
        table = self.ranking.table if self._ranks_needed else self.layout
        attr = frozen_attr(trial, MASK)
        mask = self.features.bind(table).choose(trial.params, attr=attr)
        return self.layout.full_mask(mask)

    def features_for(self, trial: FrozenTrial) -> list[str]:
        """Names of the features that a trial chose."""
        return self.layout.names_of(self.mask_for(trial))

    def estimator_for(self, trial: FrozenTrial) -> Pipeline:
        """The unfitted pipeline of a trial: the chosen columns, then the configured estimator."""
        columns = self.layout.columns_of(self.mask_for(trial))
        select = ColumnSelector(columns=columns.tolist())
        if hasattr(self.data.X, "iloc"):
            select.set_output(transform="pandas")
        final = (
            self._configured(self.params_for(trial))
            if len(columns)
            else baseline(self.data.classification)
        )
        return Pipeline([("select", select), ("estimator", final)])

    def refit(self, trial: FrozenTrial) -> Pipeline:
        """The pipeline of a trial fitted on all data; it accepts the full X."""
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
        """The trial's values with those of fitted models measured on new data."""
        columns = self.layout.columns_of(self.mask_for(trial))
        fresh = self.evaluator.on_test_data(
            model.named_steps["estimator"], columns, X_test, y_test
        )
        return [fresh.get(m.name, v) for m, v in zip(self.measures, trial.values)]

    @cached_property
    def table(self) -> FeatureTable:
        """The features with their filter ranks and the size prior."""
        return self.ranking.table

    def _check_measures(self, classification: bool) -> None:
        if not self.measures:
            raise ValueError("measures is empty: name at least one, for example 'error'.")
        names = self.metric_names
        if len(set(names)) != len(names):
            raise ValueError(f"Measures must have different names, but are {names}.")
        wrong = [n for n in names if n in CLASSIFIER_ONLY and not classification]
        if wrong:
            raise ValueError(
                f"Measures {wrong} need a classifier, but the estimator is "
                f"{type(self.estimator).__name__}."
            )


def _seeded(estimator: Any, seed: int) -> Any:
    """A clone whose unset ``random_state`` parameters are set, so that trials repeat exactly."""
    copy = clone(estimator)
    unset = {
        name: seed
        for name, value in copy.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return copy.set_params(**unset)
