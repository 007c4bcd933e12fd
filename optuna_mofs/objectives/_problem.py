"""What an objective searches, and the models of its trials, without a study."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from optuna.trial import FrozenTrial
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import Pipeline

from optuna_mofs._optuna import frozen_attr
from optuna_mofs._typing import Array
from optuna_mofs.columns import ColumnSelector
from optuna_mofs.data._dataset import (
    Dataset,
    Split,
    check_row_numbers,
    draw_holdout,
    draw_splits,
    is_fold_count,
    restrict_splits,
)
from optuna_mofs.data._target import check_like, check_repeats, check_target
from optuna_mofs.features._ranking import Ranking
from optuna_mofs.features._representation import Representation
from optuna_mofs.features._table import FeatureTable, feature_layout
from optuna_mofs.measures import Fold, get_measure
from optuna_mofs.objectives._column_check import check_columns
from optuna_mofs.objectives._estimator_space import EstimatorSpace, replay
from optuna_mofs.objectives._evaluator import (
    Evaluator,
    baseline,
    fit_fold,
    fit_options,
    model_of_columns,
)
from optuna_mofs.objectives._fits import Fits
from optuna_mofs.objectives._racing import check_racing
from optuna_mofs.objectives._row_rungs import row_rungs
from optuna_mofs.objectives._settings import ObjectiveSettings
from optuna_mofs.study._baselines import Baselines
from optuna_mofs.study._feature_sets import MASK, trial_mask

#: Fraction of the rows that ``holdout="auto"`` holds out.
_HOLDOUT = 0.2
#: The estimator with all features is not evaluated on more cells than these.
_MAX_BASELINE_CELLS = 20_000_000


class SelectionProblem:
    """What objectives search: estimators, features, and the rows that they are fitted on.

    Args:
        estimator_space: What is fitted, and which of its parameters are searched.
        X: Array, DataFrame or sparse matrix.
        y: Target.
        settings: All other arguments.

    Attributes:
        all_data: All rows.
        holdout_rows: Rows of ``all_data`` that the search does not see, or None.
        search_rows: The other rows of ``all_data``.
        data: The rows of the search.
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
        all_data = Dataset(
            X,
            y,
            classification=estimator_space.classification,
            feature_names=settings.feature_names,
            sample_weight=settings.sample_weight,
            groups=settings.groups,
        )
        if all_data.classification:
            check_repeats(all_data.y)
        all_data.weighted_scoring = settings.weighted_scoring
        chosen = settings.get_representation(all_data.shape[1])
        self._scorer = settings.get_scorer(estimator_space.estimators)
        self.measures = settings.get_measures(self._scorer, estimator_space.estimators, all_data)
        by_row = isinstance(settings.cv, PredefinedSplit) or not hasattr(settings.cv, "split")
        #: Draws the folds of other rows, or None if the folds were given row by row.
        self._splitter = None if by_row else settings.cv
        if not is_fold_count(settings.cv):
            # Drawn once: a generator can be read only once, and a splitter can be random.
            settings = replace(settings, cv=draw_splits(all_data, settings.cv, self.random_state))
        self._settings = settings
        if "instability" in self.metric_names and (chosen is None or chosen.ranks != "fold"):
            warnings.warn(
                "The measure 'instability' compares the features of training folds, but "
                f"representation={settings.representation!r} of these {all_data.shape[1]} columns "
                "selects the same ones in each fold, so that it is always 0. Use "
                "representation='filter_ensemble', or resampled_fronts(objective).",
                stacklevel=5,
            )
        with_rows = [m for m in self.measures if m.rows is not None and settings.store_losses]
        self._loss_measure = with_rows[0] if with_rows else None
        self._use(all_data, chosen, self._draw_holdout(all_data, chosen))
        check_columns(estimator_space.estimators, all_data)

    def _draw_holdout(self, data: Dataset, chosen: Representation | None) -> Array | None:
        holdout, seed = self._settings.holdout, self.random_state
        if holdout is None:
            return None
        if not isinstance(holdout, str):
            if self._loss_measure is None:
                raise ValueError(
                    f"holdout={holdout!r} needs losses of rows, but store_losses is False or none "
                    f"of the measures {self.metric_names} has them. Pass holdout=None, or a "
                    "scoring such as 'roc_auc' or 'neg_mean_squared_error'."
                )
            return draw_holdout(data, holdout, seed)
        is_needed = chosen is not None and chosen.ranks != "fold"
        cv = self._settings.cv
        # Rows in order of time: a random sample of them would leak the future.
        is_ordered = not is_fold_count(cv) and all(a.max() < b.min() for a, b in cv)
        if not is_needed or self._loss_measure is None or is_ordered:
            return None
        try:
            return draw_holdout(data, _HOLDOUT, seed)
        except ValueError:  # too few rows
            return None

    def _use(
        self, all_data: Dataset, representation: Representation | None, holdout_rows: Array | None
    ) -> None:
        """Prepare the search on some rows."""
        settings, n = self._settings, all_data.shape[0]
        self.all_data = all_data
        self.holdout_rows = holdout_rows
        self.search_rows = np.arange(n)
        self.data = all_data
        if holdout_rows is not None:
            self.search_rows = np.delete(self.search_rows, holdout_rows)
            self.data = all_data.take(self.search_rows)
        layout = feature_layout(
            all_data.column_names,
            groups=settings.feature_groups,
            fixed=settings.fixed_features,
            costs=settings.feature_costs,
            min_features=settings.min_features,
            max_features=settings.max_features,
            all_fixed=representation is None,
        )
        self.ranking = Ranking(
            self.data,
            layout,
            settings.get_filters(representation),
            settings.random_state,
            settings.expected_n_features,
            settings.n_jobs,
        )
        self.representation = representation
        if representation is not None:
            self.representation = representation.resolve(self.ranking.median_redundancy)
            self.ranking.similar = self.representation.needs_similar
        self.table = self.ranking.unranked
        self.estimator_space.check(self.representation, self.table)
        if is_fold_count(settings.cv):
            splits = draw_splits(self.data, settings.cv, settings.random_state)
        elif holdout_rows is None:
            splits = settings.cv
        elif self._splitter is not None:
            # Folds of all rows, such as those of TimeSeriesSplit, could hold only held-out rows.
            splits = draw_splits(self.data, self._splitter, settings.random_state)
        else:
            splits = restrict_splits(settings.cv, self.search_rows, n)
        self.evaluator = Evaluator(
            self.data,
            self.table,
            measures=self.measures,
            scorer=self._scorer,
            splits=splits,
            loss_measure=self._loss_measure,
            recorded=[get_measure(m, self._scorer) for m in settings.recorded_measures],
            n_jobs=settings.n_jobs,
        )
        self._check_racing(len(splits))
        racing = check_racing(settings.racing)
        #: Parts of the rows on which trials of a large table race first.
        self.rungs = (
            row_rungs(splits, self.data.shape[0], settings.random_state)
            if isinstance(racing, float)
            else []
        )
        n_train = min(len(train) for train, _ in splits)
        self.estimator_space = self.estimator_space.for_rows(n_train)
        self._fits = Fits(self.evaluator, all_data, settings.trial_timeout)

    def _check_racing(self, n_folds: int) -> None:
        racing = check_racing(self._settings.racing)
        if racing is None:
            return
        if n_folds < 2:
            raise ValueError(
                f"racing stops trials between folds, but cv has {n_folds}. Pass cv=5, or "
                "racing=False."
            )
        if all(m.fold is None for m in self.measures):
            raise ValueError(
                f"racing needs a measure of fitted models, but {self.metric_names} need no fit. "
                "Pass racing=False."
            )
        if racing == "pruner" and len(self.measures) > 1:
            raise ValueError(
                "racing='pruner' asks the pruner of the study, which works for one value, but "
                f"this objective has {self.metric_names}. Pass racing=True."
            )

    def on_rows(self, rows: Any, *, y: Any = None, repeated: bool = False) -> Self:
        """Return the same objective on some rows, without held-out rows.

        Folds that were given row by row keep those of their rows that are left; those of a number
        or of a splitter are drawn again.

        Args:
            rows: Row numbers of :attr:`all_data`, or a boolean mask.
            y: Another target for these rows, in their order.
            repeated: Whether a row can occur several times, as in a bootstrap sample. Its copies
                then are a group, so that no fold has them on both sides.
        """
        rows = check_row_numbers("rows", rows, self.all_data.shape[0], repeated=repeated)
        part = copy.copy(self)
        part.__dict__.pop("baselines", None)
        data, cv = self.all_data.take(rows, y), self._settings.cv
        if repeated:
            if not is_fold_count(cv):
                raise ValueError(
                    "A bootstrap sample needs folds that keep the copies of a row together, which "
                    "only a number of folds ensures. Pass cv=5 to the objective, or use "
                    "subsamples."
                )
            data.groups = rows if data.groups is None else data.groups
        if self._splitter is not None:
            cv = draw_splits(data, self._splitter, self.random_state)
        elif not is_fold_count(cv):
            cv = restrict_splits(cv, rows, self.all_data.shape[0])
        part._settings = replace(self._settings, holdout=None, cv=cv)
        part._use(data, self.representation, None)
        return part

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

    @cached_property
    def baselines(self) -> Baselines:
        """The constant model, and the given estimator with all features; evaluated once.

        The latter is None if the estimator fails, if trials choose one of several estimators, or
        if the table has more than 20 million cells.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # trials show the estimator's warnings
            return Baselines(self._constant_values(), self._all_features_values())

    def _constant_values(self) -> tuple[float, ...]:
        none = np.zeros(len(self.table), dtype=bool)
        masks = [none] * len(self.evaluator.splits)
        constant = baseline(self.data.classification)
        values = []
        for measure in self.measures:
            # One at a time, because a user's measure may fail for a constant model.
            try:
                alone = self.evaluator.with_measures([measure])
                values += alone(constant, none, masks).values
            except Exception:
                values.append(math.nan)
        return tuple(values)

    def _all_features_values(self) -> tuple[float, ...] | None:
        # On large data, it would take longer than many trials with few features.
        if len(self.estimator_space.estimators) > 1 or self.data.n_entries > _MAX_BASELINE_CELLS:
            return None
        every = np.ones(len(self.table), dtype=bool)
        masks = [every] * len(self.evaluator.splits)
        try:
            values = self._fits.evaluate(self.estimator_space.estimators[0], every, masks).values
        except Exception:
            return None
        return None if np.isnan(values).any() else tuple(values)

    def _splits_of(self, number: int) -> list[Split]:
        """Return the folds of a trial."""
        if self.redraw_folds is None:
            return self.evaluator.splits
        return draw_splits(self.data, self.redraw_folds, self.random_state + 1 + number)

    def _fold_masks(
        self, representation: Representation, params: Mapping[str, Any], splits: Sequence[Split]
    ) -> list[Array]:
        """Return the masks over all features by the filters' ranks on each training fold."""
        tables = self.ranking.of_folds([train for train, _ in splits])
        return [self.table.full_mask(representation.choose(params, table=t)) for t in tables]

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

    def features_for(self, trial: FrozenTrial) -> list[Any]:
        """Return the names of the features that a trial selected.

        Columns are named as in the table, which can be by integers.
        """
        labels = dict(zip(self.all_data.column_names, self.all_data.labels))
        return [labels.get(name, name) for name in self.table.names_of(self.mask_for(trial))]

    def fold_masks_for(self, trial: FrozenTrial) -> list[Array]:
        """Return the mask over all features that a trial selected in each fold.

        They differ only if filters rank the features in each training fold.
        """
        splits, chosen = self._splits_of(trial.number), self.representation
        if chosen is None or chosen.ranks != "fold":
            return [self.mask_for(trial)] * len(splits)
        bound = chosen.bind(self.table)
        return self._fold_masks(bound, trial.params, splits)

    def tested_folds(self, trial: FrozenTrial) -> list[Fold]:
        """Fit the models of a trial on each training fold, and return them with their test rows.

        If rows are held out, there is one fold: the rows of the search, tested on the others.
        """
        estimator = self.estimator_space.configure(self.params_for(trial))
        data, masks, splits = self.data, self.fold_masks_for(trial), self._splits_of(trial.number)
        if self.holdout_rows is not None:
            data, masks = self.all_data, [self.mask_for(trial)]
            splits = [(self.search_rows, self.holdout_rows)]
        return [
            fit_fold(
                estimator, data.narrowed(self.table.columns_of(mask)), split, self.evaluator.scorer
            )
            for mask, split in zip(masks, splits)
        ]

    def estimator_for(self, trial: FrozenTrial) -> Pipeline:
        """Return the unfitted pipeline of a trial: column selection, then the estimator."""
        columns = self.table.columns_of(self.mask_for(trial))
        is_frame = hasattr(self.all_data.X, "iloc")
        select = ColumnSelector(columns=columns.tolist(), by_name=is_frame)
        if is_frame:
            select.set_output(transform="pandas")
        estimator = self.estimator_space.configure(self.params_for(trial))
        final = model_of_columns(estimator, self.data.narrowed(columns))
        return Pipeline([("select", select), ("estimator", final)])

    def refit(self, trial: FrozenTrial) -> Pipeline:
        """Return the pipeline of a trial fitted on all rows, including held-out ones.

        It expects tables with all columns, or DataFrames with at least the selected ones.
        """
        model = self.estimator_for(trial)
        data = self.all_data
        return model.fit(data.X, data.y, **fit_options(model, data.sample_weight, data.groups))

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
        X_test = model[:-1].transform(X_test)
        target = check_target(y_test, X_test.shape[0], several=True)
        if self.data.classification:
            check_like(target, self.data.y)
        measured = self.evaluator.on_test_data(
            model.named_steps["estimator"],
            self.table.columns_of(self.mask_for(trial)),
            X_test,
            target,
            train=self.all_data,
        )
        # The time of the fit is unknown.
        known = {name: value for name, value in measured.items() if not math.isnan(value)}
        return [known.get(m.name, v) for m, v in zip(self.measures, trial.values)]
