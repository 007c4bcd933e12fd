"""FeatureSelectionSearchCV: the search of features and hyperparameters behind ``fit(X, y)``."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Literal, Self

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import MaxTrialsCallback, Study
from optuna.trial import FrozenTrial, TrialState
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from optuna_mofs._database import hide_url
from optuna_mofs._estimators import check_is_estimator
from optuna_mofs._storage import open_url
from optuna_mofs._validation import check_int
from optuna_mofs.callbacks import TimeoutCallback
from optuna_mofs.columns import validate_table
from optuna_mofs.features._representation import Representation
from optuna_mofs.fronts import pareto_front, warm_start
from optuna_mofs.fronts._hints import leak_hint
from optuna_mofs.model_selection._choice import Refit, choose
from optuna_mofs.model_selection._chosen_model import ChosenModel
from optuna_mofs.model_selection._metadata import objective_arguments
from optuna_mofs.model_selection._results import (
    ScoredMeasures,
    column_mask,
    cv_results,
    reported_trials,
)
from optuna_mofs.model_selection._scorers import named_scorers
from optuna_mofs.objectives import AllTrialsFailedError, FeatureSelectionObjective
from optuna_mofs.objectives._parameter_space import Space
from optuna_mofs.objectives._settings import Filters, Holdout, Measures, as_sequence
from optuna_mofs.samplers import default_sampler
from optuna_mofs.stability import ResampledFronts, resampled_fronts

_FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
#: Largest number of trials that are taken from another study.
_MAX_WARM = 10
#: Least verbosity of Optuna's logger by ``verbose``; errors of trials are counted at the end.
_VERBOSITY = {0: optuna.logging.ERROR, 1: optuna.logging.WARNING}


class FeatureSelectionSearchCV(ChosenModel):
    """Select features and tune hyperparameters of an estimator: a search as scikit-learn's.

    ``fit`` runs an Optuna study with a :class:`FeatureSelectionObjective`, computes the front of
    error and number of features, chooses one trial and fits its model on all rows. The result is
    the model (``predict``), a feature selector (``transform``), and the front with the error to
    expect on new rows.

    Args:
        estimator: Any scikit-learn compatible classifier, regressor or pipeline.
        param_distributions: Optuna or SciPy distributions or lists of values by parameter name, a
            list of such dicts, a function of an Optuna trial that returns parameter values, or
            None to select features only; see :class:`FeatureSelectionObjective`.
        n_trials: Number of trials of the study in total: a study that has some is continued.
        timeout: Seconds for all trials: none is started that would hardly end in time, by the
            length of the last ones.
        trial_timeout: Seconds that the fits of one trial may take; at the limit the trial fails.
        scoring: A scorer or its name; several of them as a list, a dict or a function that returns
            a dict are optimized together, as the measures ``error_<name>``. Default: the
            estimator's own score.
        cv: Number of folds (shuffled, stratified for classes, groups kept together), a splitter or
            splits. Default: 5.
        refit: Which trial becomes the model:

            - True: :meth:`Front.pick`, the fewest features within one standard error of the best.
            - ``"best"``, ``"knee"``, ``"one_standard_error"``: these methods of :class:`Front`.
            - Name of a scorer or of a measure: the best trial by it.
            - A :class:`LexicographicPreference`.
            - A function of ``cv_results_`` that returns a row, as in scikit-learn.
            - False: no model is fitted; the attributes describe the default pick.
        min_features: Smallest number of features of a trial.
        max_features: Largest number of features of a trial.
        representation: How a feature set is searched, see :class:`FeatureSelectionObjective`.
        measures: What is optimized; ``"error"`` stands for the error of every scorer. Default: the
            error and the fraction of features, or their cost if ``feature_costs`` are given.
        filters: Filters that rank the features.
        feature_groups: Columns that form one feature.
        fixed_features: Names of features that are always selected.
        feature_costs: Cost of each feature.
        racing: Stop trials between folds that can hardly join the front, see
            :class:`FeatureSelectionObjective`.
        holdout: Rows that the search does not see, which tell what to expect on new rows: a
            fraction, a number of rows, row numbers, or False for none. None: only where
            cross-validated values cannot tell it (``"auto"`` of
            :class:`FeatureSelectionObjective`). The final model uses all rows.
        sampler: Optuna sampler, copied. Default:
            :func:`~optuna_mofs.samplers.default_sampler`.
        storage: Storage of the study, for example ``"sqlite:///search.db"``. Default: in memory,
            as nested cross-validation needs it: other rows need another study.
        study_name: Name of the study; in a storage, one that exists is continued.
        study: Study to use instead of ``sampler``, ``storage`` and ``study_name``.
        warm_start_from: Study whose front is evaluated first, as far as its features and
            parameters exist here; for example ``search.study_`` of other rows or another
            learner. See :func:`optuna_mofs.warm_start`.
        callbacks: Optuna callbacks, called after each trial, such as
            :class:`StagnationCallback`.
        error_score: Score of trials whose estimator raises an error. NaN leaves them out of
            ``cv_results_``; ``"raise"`` stops with the error.
        return_train_score: Whether ``cv_results_`` has training scores.
        stability: Number of resamples of the rows on which the search is repeated, for
            ``stability_``; each takes as long as the search, about. See :meth:`resample`.
        n_jobs: Number of folds fitted in parallel.
        random_state: Seed of folds, filters, sampler and of every ``random_state`` of the
            estimator that is None. None draws one, except for a study that is stored or given,
            where it is 0 so that the study can be continued.
        verbose: 1 shows a progress bar, 2 also a line per trial.

    Attributes:
        study_: The Optuna study.
        objective_: The objective: ``objective_.refit(trial)`` fits any other trial.
        front_: The non-dominated trials, a :class:`Front`.
        pareto_front_: The front as a table, with honest values.
        trials_: All trials.
        cv_results_: Dict of columns, one row per trial: as of a scikit-learn search, and
            ``n_features``, ``support``, ``on_front``, ``number`` and one column per measure.
        best_trial_: The chosen trial.
        best_index_: Its row in ``cv_results_``.
        best_params_: Its hyperparameters.
        best_score_: Its cross-validated score.
        honest_score_: The score to expect on new rows with its interval (``value``, ``low`` and
            ``high``); NaN if it is unknown.
        best_estimator_: Its pipeline, fitted on all rows. Of DataFrames it needs only the
            selected columns.
        support_: Mask over the columns that it uses.
        n_features_: Number of these columns.
        n_features_in_: Number of columns in ``fit``.
        feature_names_in_: Names of the columns in ``fit``, if they are strings.
        classes_: Classes of a classifier.
        scorer_: The scorer, or a dict of several.
        multimetric_: Whether there are several.
        n_splits_: Number of folds.
        refit_time_: Seconds that fitting the model took.
        stability_: Fronts of the same search on resamples of the rows, a
            :class:`ResampledFronts`: how often each feature is selected, and the stability of the
            chosen sets. Only with ``stability``, or after :meth:`resample`.

    Example:
        >>> from scipy.stats import loguniform
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> search = FeatureSelectionSearchCV(
        ...     make_pipeline(StandardScaler(), LogisticRegression()),
        ...     {"logisticregression__C": loguniform(0.01, 100)},
        ...     n_trials=20,
        ...     random_state=0,
        ... ).fit(X, y)
        >>> search.transform(X).shape == (178, search.n_features_)
        True
        >>> bool(search.honest_score_.low < search.best_score_)
        True
        >>> search.select(refit="best").n_features_ >= search.select(refit=True).n_features_
        True
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Space | None = None,
        *,
        n_trials: int | None = 100,
        timeout: float | None = None,
        trial_timeout: float | None = None,
        scoring: Any = None,
        cv: Any = None,
        refit: Refit = True,
        min_features: int = 0,
        max_features: int | None = None,
        representation: str | Representation | None = "auto",
        measures: Measures | None = None,
        filters: Filters = "default",
        feature_groups: Mapping[str, Sequence[str]] | None = None,
        fixed_features: Sequence[str] = (),
        feature_costs: Sequence[float] | Mapping[str, float] | None = None,
        racing: bool | float | Literal["pruner"] = False,
        holdout: Holdout | bool = None,
        sampler: BaseSampler | None = None,
        storage: str | BaseStorage | None = None,
        study_name: str | None = None,
        study: Study | None = None,
        warm_start_from: Study | None = None,
        callbacks: Sequence[Callable[[Study, FrozenTrial], None]] | None = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        stability: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_trials = n_trials
        self.timeout = timeout
        self.trial_timeout = trial_timeout
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.min_features = min_features
        self.max_features = max_features
        self.representation = representation
        self.measures = measures
        self.filters = filters
        self.feature_groups = feature_groups
        self.fixed_features = fixed_features
        self.feature_costs = feature_costs
        self.racing = racing
        self.holdout = holdout
        self.sampler = sampler
        self.storage = hide_url(storage)
        self.study_name = study_name
        self.study = study
        self.warm_start_from = warm_start_from
        self.callbacks = callbacks
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.stability = stability
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fit ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> Self:
        """Search, choose a trial and fit its model.

        Args:
            X: Array, sparse matrix or table of any library.
            y: Target: classes for a classifier, numbers for a regressor; several columns if the
                estimator accepts them.
            groups: Group of each row, never split over training and test fold.
            **params: ``sample_weight``, also under the name of a pipeline's last step, or with
                metadata routing what the estimator, the scorer and the splitter request.
        """
        self._check()
        table = self._check_table(X)
        scorer, several = named_scorers(
            self.estimator, self.scoring, table, y, classification=is_classifier(self.estimator)
        )
        self._scored = ScoredMeasures(several or {"score": scorer}, train=self.return_train_score)
        seed = self._seed()
        with self._logging():
            metadata = objective_arguments(self, table, y, groups, params, self._scored.scorers)
            self.objective_ = self._objective(table, y, seed, metadata)
            self._check_refit()
            self.study_ = self._open_study(seed)
            self._start_warm()
            self._optimize()
        self.scorer_ = scorer
        self.multimetric_ = several is not None
        self.n_splits_ = len(self.objective_.evaluator.splits)
        self.trials_ = self.study_.get_trials(deepcopy=False)
        self._check_trials()
        self.front_ = pareto_front(self.study_, duplicates=False)
        self.pareto_front_ = self.front_.to_frame()
        leak = leak_hint(self.front_)
        if leak is not None:
            warnings.warn(f"{leak[1]}: X.drop(columns={leak[0]!r}).", UserWarning, stacklevel=2)
        self.cv_results_ = cv_results(
            self.objective_,
            reported_trials(self.trials_, self.error_score),
            self._scored,
            front=self.front_,
            error_score=self.error_score if not isinstance(self.error_score, str) else np.nan,
            train=self.return_train_score,
        )
        self.__dict__.pop("stability_", None)
        self.select(self.refit)
        not_clear = self.front_.honest().warning
        if not_clear is not None:
            warnings.warn(not_clear, UserWarning, stacklevel=2)
        if self.stability:
            self.resample(self.stability)
        return self

    def resample(self, n_resamples: int = 20, **options: Any) -> ResampledFronts:
        """Repeat the search on resamples of the rows, and store the result as ``stability_``.

        It is also stored in the study, for figures and reports. With a storage, a call that was
        stopped is continued.

        Args:
            n_resamples: Number of resamples.
            options: Passed to :func:`optuna_mofs.resampled_fronts`: ``n_trials`` (default: as many
                as of the study), ``method``, ``fraction``, ``n_jobs``, ``random_state``, ...
        """
        check_is_fitted(self, "study_")
        defaults = {
            "sampler": self.sampler if self.study is None else self.study.sampler,
            "n_trials": len([trial for trial in self.trials_ if trial.state.is_finished()]),
            "storage": self.storage,
            "study_name": None if self.storage is None else self.study_name,
            "show_progress_bar": self.verbose > 0,
        }
        with self._logging():
            self.stability_ = resampled_fronts(
                self.objective_, n_resamples=n_resamples, **{**defaults, **options}
            )
        self.stability_.write(self.study_)
        return self.stability_

    def select(self, refit: Refit = True) -> Self:
        """Choose another trial and fit its model, without searching again.

        Args:
            refit: As of the class, or a trial: ``search.front_.best(max_features=5)``.
        """
        check_is_fitted(self, "study_")
        trials = reported_trials(self.trials_, self.error_score)
        choice = choose(
            refit, self.front_, trials=trials, results=self.cv_results_, scored=self._scored
        )
        index = [trial.number for trial in trials].index(choice.trial.number)
        self.best_trial_ = choice.trial
        self.best_index_ = index
        self.best_params_ = self.cv_results_["params"][index]
        self.best_score_ = float(self.cv_results_[f"mean_test_{choice.scorer}"][index])
        self.honest_score_ = choice.honest
        self._scorer_name = choice.scorer
        self.support_ = column_mask(self.objective_, self.objective_.mask_for(choice.trial))
        self.n_features_ = int(np.count_nonzero(self.support_))
        self.__dict__.pop("best_estimator_", None)
        self.__dict__.pop("refit_time_", None)
        if refit is not False:
            start = time.perf_counter()
            self.best_estimator_ = self.objective_.refit(choice.trial)
            self.refit_time_ = time.perf_counter() - start
        return self

    def _check(self) -> None:
        check_is_estimator(self.estimator)
        if self.n_trials is not None:
            check_int("n_trials", self.n_trials, 1)
        elif self.timeout is None:
            raise ValueError("n_trials and timeout are both None. Pass one of them.")
        given = {"sampler": self.sampler, "storage": self.storage, "study_name": self.study_name}
        doubled = [name for name, value in given.items() if value is not None]
        if self.study is not None and doubled:
            raise ValueError(
                f"study has its own {doubled[0]}. Pass either study or {' and '.join(doubled)}."
            )
        check_int("stability", self.stability, 0)
        if self.study_name is None and self.storage is not None:
            raise ValueError(
                "storage needs a study_name, by which the study is found again. "
                "Pass study_name='...'."
            )

    def _check_table(self, X: Any) -> Any:
        """Return X, an array if it has no columns with names; keep their number and names."""
        checked = validate_table(self, X)
        if hasattr(X, "columns"):
            return X
        if getattr(checked, "dtype", np.dtype(float)).kind == "O":
            wrong = {type(v).__name__ for v in checked.flat if not isinstance(v, Hashable)}
            if wrong:
                raise TypeError(
                    f"X has entries of type {sorted(wrong)[0]}, but each argument must be a "
                    "string or a number."
                )
        return checked

    def _seed(self) -> int:
        is_kept = self.study is not None or self.storage is not None
        if self.random_state is None and is_kept:
            return 0
        if isinstance(self.random_state, int | np.integer):
            return check_int("random_state", self.random_state, 0)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @contextlib.contextmanager
    def _logging(self) -> Iterator[None]:
        """Restrict Optuna's messages to those that ``verbose`` asks for."""
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(max(before, _VERBOSITY.get(int(self.verbose), before)))
        try:
            yield
        finally:
            optuna.logging.set_verbosity(before)

    def _objective(
        self, X: Any, y: Any, seed: int, metadata: Mapping[str, Any]
    ) -> FeatureSelectionObjective:
        measures = self.measures
        if measures is None:
            measures = ("error", "fraction" if self.feature_costs is None else "cost")
        measures = self._scored.expand(as_sequence(measures))
        holdout: Any = self.holdout
        if holdout is None or holdout is False:
            holdout = "auto" if holdout is None else None
        return FeatureSelectionObjective(
            self.estimator,
            X,
            y,
            space=self.param_distributions,
            representation=self.representation,
            measures=measures,
            recorded_measures=self._scored.recorded(measures),
            scoring=next(iter(self._scored.scorers.values())),
            filters=self.filters,
            feature_costs=self.feature_costs,
            feature_groups=self.feature_groups,
            fixed_features=self.fixed_features,
            min_features=self.min_features,
            max_features=self.max_features,
            trial_timeout=self.trial_timeout,
            racing=self.racing,
            holdout=holdout,
            catch=() if isinstance(self.error_score, str) else (Exception,),
            random_state=seed,
            n_jobs=self.n_jobs,
            **{"cv": 5 if self.cv is None else self.cv, **metadata},
        )

    def _open_study(self, seed: int) -> Study:
        if self.study is not None:
            self.objective_.attach(self.study)
            return self.study
        return self.objective_.create_study(
            sampler=default_sampler(seed) if self.sampler is None else deepcopy(self.sampler),
            storage=open_url(self.storage),
            study_name=self.study_name,
            load_if_exists=self.storage is not None,
        )

    def _start_warm(self) -> None:
        left = self._n_left()
        if self.warm_start_from is not None and left != 0:
            count = _MAX_WARM if left is None else min(left, _MAX_WARM)
            warm_start(self.study_, self.warm_start_from, n_trials=count)

    def _n_left(self) -> int | None:
        """Return how many trials are left to run, None if there is no limit."""
        if self.n_trials is None:
            return None
        done = self.study_.get_trials(deepcopy=False, states=_FINISHED)
        return max(0, self.n_trials - len(done))

    def _optimize(self) -> None:
        callbacks, left = list(self.callbacks or ()), self._n_left()
        if self.n_trials is not None:
            # Other processes can work on the same study.
            callbacks.append(MaxTrialsCallback(self.n_trials, states=_FINISHED))
        if self.timeout is not None:
            callbacks.append(TimeoutCallback(self.timeout))
        if left is None or left > 0:
            self.study_.optimize(
                self.objective_,
                n_trials=left,
                timeout=self.timeout,
                callbacks=callbacks,
                show_progress_bar=self.verbose > 0,
            )

    def _check_trials(self) -> None:
        """Warn about failed trials; raise if no model could be fitted."""
        reasons = [
            trial.user_attrs["failure_reason"]
            for trial in self.trials_
            if "failure_reason" in trial.user_attrs
        ]
        complete = [trial for trial in self.trials_ if trial.state == TrialState.COMPLETE]
        if reasons and all(trial.user_attrs.get("n_features") == 0 for trial in complete):
            raise AllTrialsFailedError(
                f"All {len(reasons)} trials with at least one feature failed. The last error was: "
                f"{reasons[-1]}. Fix the data, estimator, parameters or scoring that it names, or "
                "pass error_score='raise' to see where it is raised."
            )
        if not complete:
            raise ValueError("No trial was completed. Pass more n_trials or a longer timeout.")
        if reasons:
            warnings.warn(
                f"{len(reasons)} of {len(self.trials_)} trials failed. The last error was: "
                f"{reasons[-1]}. The reasons are in the trials' user attribute 'failure_reason'.",
                FitFailedWarning,
                stacklevel=3,
            )
