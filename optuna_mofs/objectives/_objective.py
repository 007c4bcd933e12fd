"""StudyObjective: describes itself in the study and evaluates trials."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from optuna_mofs._optuna import (
    frozen,
    original_number,
    report_fold_scores,
    storage_of,
    study_signs,
    write_trial_attrs,
)
from optuna_mofs._typing import Array
from optuna_mofs.data._dataset import Split
from optuna_mofs.features._representation import Representation
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.objectives._completed import DuplicateIndex, FrontIndex
from optuna_mofs.objectives._estimator_space import EstimatorSpace
from optuna_mofs.objectives._evaluator import CrossValidation
from optuna_mofs.objectives._fingerprint import comparable_conditions
from optuna_mofs.objectives._problem import SelectionProblem
from optuna_mofs.objectives._racing import (
    FitFolds,
    PeerReader,
    PrunerVerdict,
    Race,
    Stopped,
    Verdict,
    check_racing,
    fold_by_fold,
    rivals_of,
)
from optuna_mofs.objectives._row_rungs import climb, rung_losses, rungs_attr
from optuna_mofs.objectives._settings import ObjectiveSettings
from optuna_mofs.study._baselines import write_baselines
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import feature_attrs, suggest_mask
from optuna_mofs.study._losses import Source, copied_losses, losses_attr, write_loss_rows
from optuna_mofs.study._partial import fold_scores, fold_scores_attr

# A child of Optuna's logger, so that Optuna's verbosity applies here too.
_logger = optuna.logging.get_logger("optuna.mofs")
#: Number of failed trials, without any success, after which the search is stopped.
_MAX_FAILURES = 10


class AllTrialsFailedError(RuntimeError):
    """Raised if the first trials all fail, so that continuing is pointless."""


class StudyObjective(SelectionProblem):
    """The common part of objectives.

    Args:
        estimator_space: What is fitted, and which of its parameters are searched.
        X: Array, DataFrame or sparse matrix.
        y: Target.
        settings: All other arguments.
    """

    def __init__(
        self, estimator_space: EstimatorSpace, X: Any, y: Any, settings: ObjectiveSettings
    ) -> None:
        super().__init__(estimator_space, X, y, settings)
        self.__setstate__({})

    def __getstate__(self) -> dict[str, Any]:
        # Caches of the studies of this process are not copied; a copy attaches again.
        caches = ("_duplicates", "_fronts", "_peers", "_lock")
        return {k: v for k, v in self.__dict__.items() if k not in caches}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._duplicates: WeakKeyDictionary[Study, DuplicateIndex] = WeakKeyDictionary()
        self._fronts: WeakKeyDictionary[Study, FrontIndex] = WeakKeyDictionary()
        self._peers: WeakKeyDictionary[Study, PeerReader] = WeakKeyDictionary()
        self._lock = threading.Lock()

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
        if is_new:
            self._write_baselines(study)
        self._description(self.ranked_table if is_new else self.table, is_new).write(study)
        if study.metric_names is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                study.set_metric_names(self.metric_names)
        self._duplicates[study] = DuplicateIndex(StudyDescription.require(study).representation)
        self._fronts[study] = FrontIndex()
        # Rows of one group, or of different weights, are not independent and equal draws.
        is_plain = self.data.groups is None and self.data.score_weight is None
        self._peers[study] = PeerReader(
            self.measures,
            study_signs(study),
            self.evaluator.splits,
            self._loss_measure if is_plain else None,
        )

    def _write_baselines(self, study: Study) -> None:
        # Written before the description, so that a study with a description has baselines too.
        found = self.baselines
        write_baselines(study, constant=found.constant, all_features=found.all_features)
        if self._loss_measure is None:
            return
        parts: dict[Source, Array] = {"cross_validation": self.search_rows}
        if self.holdout_rows is not None:
            parts["holdout"] = self.holdout_rows
        groups, weights = self.all_data.groups, self.all_data.score_weight
        write_loss_rows(
            study,
            self._loss_measure.name,
            groups={k: None if groups is None else groups[rows] for k, rows in parts.items()},
            weights={k: None if weights is None else weights[rows] for k, rows in parts.items()},
        )

    def _description(self, table: FeatureTable, is_new: bool) -> StudyDescription:
        """Return the description; the worst values of a study that has one are not compared."""
        chosen = self.representation
        constant = self.baselines.constant if is_new else None
        constants = constant or (math.nan,) * len(self.measures)
        return StudyDescription(
            features=table,
            representation=None if chosen is None else chosen.bind(table),
            space=self.estimator_space.distributions,
            measures=tuple(
                MeasureDescription(m.name, m.direction, m.worst_of(table, value), m.label)
                for m, value in zip(self.measures, constants)
            ),
            active_if=self.estimator_space.active_if,
            defaults=self.estimator_space.defaults,
            conditions=comparable_conditions(
                self.all_data,
                self.estimator_space.estimators,
                self.evaluator.scorer,
                self.redraw_folds or self.evaluator.splits,
                self.estimator_space.searched,
                self.holdout_rows,
            ),
        )

    # ---- one trial ----------------------------------------------------------------------------

    def __call__(self, trial: Trial | FrozenTrial) -> tuple[float, ...]:
        """Evaluate one trial: suggest, cross-validate, measure.

        A finished trial, such as ``study.best_trial``, is evaluated again, without changes to its
        study. An error of the estimator is then raised.
        """
        if isinstance(trial, FrozenTrial):
            return self._evaluate_again(trial)
        if not isinstance(trial, Trial):
            raise ValueError(
                f"The objective needs a trial of a study, got {type(trial).__name__}. Enqueue "
                "known parameters with study.enqueue_trial, or fit them with objective.refit."
            )
        study = trial.study
        with self._lock:
            if study not in self._duplicates:
                self.attach(study)
        chosen = StudyDescription.require(study).representation
        mask = np.zeros(0, dtype=bool)
        system: dict[str, Any] = {}
        user: dict[str, Any] = {}
        if chosen is not None:
            mask, system = suggest_mask(trial, chosen)
            user = feature_attrs(self.table, self.table.full_mask(mask))
        params = self.estimator_space.suggest(trial)
        try:
            values = self._evaluate(trial, chosen, mask, params, system, user)
        except Exception:
            write_trial_attrs(study, trial, system=system, user=user)
            raise
        write_trial_attrs(study, trial, system=system, user=user)
        report_fold_scores(study, trial, fold_scores(frozen(trial)).get(self.measures[0].name, ()))
        return values

    def _evaluate(
        self,
        trial: Trial,
        chosen: Representation | None,
        mask: Array,
        params: Mapping[str, Any],
        system: dict[str, Any],
        user: dict[str, Any],
    ) -> tuple[float, ...]:
        """Return the values of a trial, and add what it stores to ``system`` and ``user``."""
        study, full = trial.study, self.table.full_mask(mask)
        if self.redraw_folds is None:
            with self._lock:
                same = self._duplicates[study].find(study, trial, mask)
            if same is not None:
                by_fold = fold_scores(same)
                user |= {"duplicate_of": same.number, **_spread(by_fold)}
                system |= fold_scores_attr(by_fold) | copied_losses(same)
                system |= rungs_attr(rung_losses(same))
                return tuple(same.values)
        try:
            splits = self._splits_of(trial.number)
            fold_masks = [full] * len(splits)
            if chosen is not None and chosen.ranks == "fold":
                fold_masks = self._fold_masks(chosen, trial.params, splits)
            estimator = self.estimator_space.configure(params)
            result = self._cross_validate(trial, estimator, full, fold_masks, splits, system)
        except optuna.TrialPruned:
            raise
        except self._settings.catch as error:
            return self._fail(trial, f"{type(error).__name__}: {error}".removesuffix(": "), user)
        user |= _spread(result.by_fold)
        system |= fold_scores_attr(result.by_fold)
        if isinstance(result, Stopped):
            user |= result.estimate.user_attrs()
            system |= result.estimate.to_attr()
            self._report_stopped(trial, result)
            raise optuna.TrialPruned(result.reason)
        undefined = [m.name for m, v in zip(self.measures, result.values) if math.isnan(v)]
        if undefined:
            return self._fail(trial, f"NaN in {', '.join(undefined)}", user)
        held_out = self._holdout_losses(trial, estimator, full, result.values)
        system |= losses_attr({"cross_validation": result.losses, "holdout": held_out})
        return tuple(result.values)

    def _report_stopped(self, trial: Trial, result: Stopped) -> None:
        """Report the means of the folds so far, by which samplers of Optuna rank pruned trials.

        Optuna rejects them in a study of several values. A pruner already has them.
        """
        if len(self.measures) > 1 or result.estimate.rival is None:
            return
        scores = result.by_fold.get(self.measures[0].name, [])
        for i in range(len(scores)):
            trial.report(float(np.mean(scores[: i + 1])), i)

    def _cross_validate(
        self,
        trial: Trial,
        estimator: Any,
        mask: Array,
        fold_masks: Sequence[Array],
        splits: Sequence[Split],
        system: dict[str, Any],
    ) -> CrossValidation | Stopped:
        """Cross-validate, fold by fold if trials race."""
        rate = check_racing(self._settings.racing)
        if rate is None:
            return self._fits.evaluate(estimator, mask, fold_masks, splits)
        fits, order = self._fits.start(), list(range(len(splits)))
        whole = fits.whole_values(estimator, mask, fold_masks)
        fit = partial(fits.folds, estimator)
        verdict: Verdict
        if isinstance(rate, str):
            verdict = PrunerVerdict(trial, self.evaluator)
        else:
            # Trials begin with different folds, so that none of them decides more than others.
            first = original_number(frozen(trial)) % len(order)
            order = [*order[first:], *order[:first]]
            with self._lock:
                rivals = rivals_of(trial.study, self.measures, self._fronts[trial.study], whole)
                completed = self._fronts[trial.study].completed.copy()
            stopped = self._climb(rate, rivals, completed, whole, fold_masks[0], fit, system)
            if stopped is not None:
                return stopped
            reader = self._peers[trial.study]
            verdict = Race(reader, rivals, completed, whole, self.data.shape[0], rate)
        return fold_by_fold(self.evaluator, fit, whole, fold_masks, splits, order, verdict)

    def _climb(
        self,
        error_rate: float,
        rivals: Sequence[FrozenTrial],
        completed: Sequence[FrozenTrial],
        whole: Sequence[float],
        mask: Array,
        fit: FitFolds,
        system: dict[str, Any],
    ) -> Stopped | None:
        """Race on parts of the rows of a large table."""
        columns = [j for j, m in enumerate(self.measures) if m.fold is not None]
        if not self.rungs or [self.measures[j] for j in columns] != [self._loss_measure]:
            return None
        found, estimate = climb(
            self.rungs,
            lambda rung: fit([mask], [rung])[0],
            rivals,
            completed,
            np.array(whole),
            columns[0],
            error_rate,
        )
        if estimate is None:
            system |= rungs_attr(found)
            return None
        return Stopped(estimate, {}, f"dominated by trial {estimate.rival} on a part of the rows")

    def _evaluate_again(self, trial: FrozenTrial) -> tuple[float, ...]:
        estimator = self.estimator_space.configure(self.params_for(trial))
        masks, splits = self.fold_masks_for(trial), self._splits_of(trial.number)
        return tuple(self._fits.evaluate(estimator, self.mask_for(trial), masks, splits).values)

    def _holdout_losses(
        self, trial: Trial, estimator: Any, mask: Array, values: Sequence[float]
    ) -> Array | None:
        """Return the losses of the held-out rows, or None if the trial is not on the front."""
        if self.holdout_rows is None:
            return None
        with self._lock:
            if self._fronts[trial.study].dominates(trial.study, values):
                return None
        try:
            return self._fits.losses(estimator, mask, self.search_rows, self.holdout_rows)
        except Exception as error:
            _logger.warning(
                f"Trial {trial.number} has no values on held-out rows: "
                f"{type(error).__name__}: {error}"
            )
            return None

    def _fail(self, trial: Trial, reason: str, user: dict[str, Any]) -> tuple[float, ...]:
        """Add the reason and return NaN, which Optuna records as a failed trial."""
        reason = " ".join(reason[:1000].split())
        user["failure_reason"] = reason
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


def _spread(by_fold: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return the standard deviation of the first measure over the folds, a column to sort by."""
    first = next(iter(by_fold.values()), [])
    if len(first) < 2 or not np.isfinite(first).all():
        return {}
    return {"fold_std": round(float(np.std(first, ddof=1)), 6)}
