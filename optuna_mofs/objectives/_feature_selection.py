"""Select features and tune the hyperparameters of one estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from optuna_mofs.features._representation import Representation
from optuna_mofs.objectives._estimator_space import estimator_space
from optuna_mofs.objectives._objective import StudyObjective
from optuna_mofs.objectives._parameter_space import Space
from optuna_mofs.objectives._settings import Filters, Holdout, Measures, ObjectiveSettings


class FeatureSelectionObjective(StudyObjective):
    """Select features and tune hyperparameters of an estimator in one Optuna study.

    Args:
        estimator: Any scikit-learn compatible estimator or pipeline.
        X: Array, DataFrame (categories and NaN are kept for the estimator) or sparse matrix.
        y: Target: classes for a classifier, numbers for a regressor; several columns
            if the estimator accepts them.
        space: By parameter name (``"svc__C"`` in a pipeline) an Optuna distribution, a frozen
            SciPy distribution, of which the range is searched, or a list of values; or a list of
            such dicts, of which a trial chooses one; or a function of the trial that returns
            parameter values (conditional spaces; it is called once before any trial); or None to
            select features only.
        representation: ``"auto"``, ``"filter_ensemble"``, ``"mask"``, ``"single_filter"``, or an
            object such as :class:`FilterEnsembleFeatures`; None keeps all features and tunes only.
            ``"auto"`` is the filter ensemble, a rule that is repeated in every training fold; with
            up to 10 columns, or without filters, it is the mask.
        measures: Names (see :func:`optuna_mofs.measures.measure_names`), :class:`Measure` objects
            or functions of a :class:`Fold`. By default the error and the fraction of features, or
            their cost when ``feature_costs`` are given.
        cv: Number of folds (shuffled, stratified for classes, ``groups`` kept together), a
            splitter, or an iterable of splits. The folds are drawn once, so that trials are
            comparable.
        scoring: A scikit-learn scorer or its name; by default the estimator's own score.
        filters: Filters that guide the search or rank the features, by name or as functions.
            ``"default"``: for rules :data:`~optuna_mofs.filters.RULE_FILTERS`, for masks
            :data:`~optuna_mofs.filters.DEFAULT_FILTERS`.
        groups: Group of each row, never split over training and test fold.
        sample_weight: Weight of each row, for fitting and scoring.
        weighted_scoring: Whether the weights apply to scores too.
        feature_costs: Cost of each feature, as a sequence or by name (1 for those not named).
        feature_names: Names of the columns if X has none.
        feature_groups: Columns that form one feature (name of the feature to column names), for
            example the one-hot columns of a category.
        fixed_features: Names of features that are always selected.
        expected_n_features: Expected number of features at the start of a search; by default
            that of decision trees on the data (Binder et al. 2020, section 4.3.1).
        min_features: Minimum number of features of a set. Groups count as one feature, and fixed
            features are included.
        max_features: Maximum number of features of a set, counted in the same way; None for no
            limit. Every sampler and every representation keeps both limits in every trial and
            every fold; see :doc:`/how_to/limits`.
        trial_timeout: Seconds that the fits of one trial may take, or None. With a limit, models
            are fitted in a separate process, which is ended at the limit: the trial fails and the
            study continues.
        redraw_folds: Draw new folds for each trial (integer ``cv`` only), as the paper's code did.
        racing: Whether trials that are unlikely to join the front are stopped between folds: True,
            or the error rate of each test, up to 0.5 (True is 0.2); see :doc:`/how_to/racing`.
            ``"pruner"`` asks the pruner of the study, which Optuna supports for one value only.
        holdout: Rows that the search does not see, which show what to expect of its models on new
            rows: a fraction or a number of rows (stratified by class; whole groups), row numbers,
            or None. ``"auto"``: a fifth if the features are selected with all rows of the search
            (a mask, or filter ranks of all rows), so that cross-validated values are too good;
            none if the features are selected inside each training fold, or if there are few rows.
            :meth:`refit` uses all rows.
        store_losses: Keep the loss of each row (of many rows, a sample) on every trial, for
            estimates that correct the luck of choosing the best trial.
        recorded_measures: Further measures whose values per fold are stored with each trial
            (:func:`optuna_mofs.fold_scores`) but not optimized, for example ``"training_error"``.
        catch: Errors of the estimator that make a trial fail; others stop the study.
        random_state: Seed of folds, filters and of every ``random_state`` of the estimator that is
            None, so that a trial can be repeated.
        n_jobs: Number of folds fitted in parallel, and threads of the filters that can use
            several.

    If the estimator raises an error of ``catch``, the trial fails with the error in its user
    attribute ``failure_reason``, and the study continues. A configuration that an earlier trial
    completed is not evaluated again: the trial takes its values and has its number in the user
    attribute ``duplicate_of``.

    Attributes:
        estimator: The estimator, with its random states set.
        space: As given.
        data: The rows of the search.
        all_data: All rows.
        table: The features, without ranks.
        ranked_table: The features with their filter ranks and the size prior.
        representation: How a feature set is suggested.
        measures: One per value.

    Example:
        >>> from optuna.distributions import FloatDistribution
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> objective = FeatureSelectionObjective(
        ...     GaussianNB(), X, y, space={"var_smoothing": FloatDistribution(1e-9, 1, log=True)}
        ... )
        >>> import optuna
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
        representation: str | Representation | None = "auto",
        measures: Measures | None = None,
        cv: Any = 5,
        scoring: Any = None,
        filters: Filters = "default",
        groups: Any = None,
        sample_weight: Any = None,
        weighted_scoring: bool = True,
        feature_costs: Sequence[float] | Mapping[str, float] | None = None,
        feature_names: Sequence[str] | None = None,
        feature_groups: Mapping[str, Sequence[str]] | None = None,
        fixed_features: Sequence[str] = (),
        expected_n_features: float | None = None,
        min_features: int = 0,
        max_features: int | None = None,
        trial_timeout: float | None = None,
        redraw_folds: bool = False,
        racing: bool | float | Literal["pruner"] = False,
        holdout: Holdout = "auto",
        store_losses: bool = True,
        recorded_measures: Measures = (),
        catch: tuple[type[Exception], ...] = (Exception,),
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        settings = ObjectiveSettings.collect(locals())
        searched = estimator_space(estimator, space, settings.random_state)
        self.estimator = searched.estimators[0]
        self.space = space
        super().__init__(searched, X, y, settings)
