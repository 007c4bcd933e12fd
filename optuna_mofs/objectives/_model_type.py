"""Choose the learner itself, its hyperparameters, and optionally features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from optuna.trial import FrozenTrial

from optuna_mofs._validation import check_int
from optuna_mofs.features._representation import Representation
from optuna_mofs.measures import get_measure
from optuna_mofs.objectives._estimator_space import LEARNER, EstimatorChoice
from optuna_mofs.objectives._objective import StudyObjective
from optuna_mofs.objectives._parameter_space import Space
from optuna_mofs.objectives._settings import (
    Filters,
    Holdout,
    Measures,
    ObjectiveSettings,
    as_sequence,
)


class ModelTypeObjective(StudyObjective):
    """Choose a learner and tune its hyperparameters in one Optuna study.

    Rosales-Pérez et al. (2014), *Multi-objective model type selection*: the learner is a
    categorical parameter, ``learner``, and only the hyperparameters of the chosen learner are
    suggested, as ``<learner>__<parameter>``. The study's description lists them, so that samplers
    can use the condition from the first trial on.

    Args:
        learners: (estimator, space) by name, for example ``{"svm": spaces.get_learner("svm")}``. A
            space holds distributions or lists of values by parameter name, as in
            :class:`FeatureSelectionObjective`, or is a function of the trial that returns
            parameter values, or None.
        X: Array, DataFrame or sparse matrix.
        y: Target: classes for classifiers, numbers for regressors.
        representation: How features are selected as well, as in
            :class:`FeatureSelectionObjective`; None keeps all.
        measures: As in :class:`FeatureSelectionObjective`. By default those of the paper, training
            error and VC dimension; for regressors the error and the model size.
        cv: Folds, as in :class:`FeatureSelectionObjective`. By default five, or one fit to all
            rows if no measure uses test rows (as in the paper).
        scoring: A scikit-learn scorer or its name; by default the learners' own score.
        filters: Filters that guide the selection of features.
        groups: Group of each row, never split over training and test fold.
        sample_weight: Weight of each row, for fitting and scoring.
        weighted_scoring: Whether the weights apply to scores too.
        feature_costs: Cost of each feature.
        feature_names: Names of the columns if X has none.
        feature_groups: Columns that form one feature.
        fixed_features: Names of features that are always selected.
        expected_n_features: Expected number of features at the start of a search.
        min_features: Minimum number of features of a set.
        max_features: Maximum number of features of a set; None for no limit.
        trial_timeout: Seconds that the fits of one trial may take, as in
            :class:`FeatureSelectionObjective`.
        racing: Whether trials that are unlikely to join the front are stopped between folds.
        holdout: Rows that the search does not see, as in :class:`FeatureSelectionObjective`.
        store_losses: Whether trials keep the loss of each row.
        recorded_measures: Further measures that are stored with each trial, but not optimized.
        catch: Errors of a learner that make a trial fail; others stop the study.
        random_state: Seed of folds, filters and of every ``random_state`` that is None.
        n_jobs: Number of folds fitted in parallel.

    Example:
        >>> import optuna
        >>> from sklearn.datasets import load_wine
        >>> from optuna_mofs import MOEADSampler, spaces
        >>> names = ["decision_tree", "svm", "knn"]
        >>> objective = ModelTypeObjective(
        ...     {name: spaces.get_learner(name) for name in names},
        ...     *load_wine(return_X_y=True),
        ...     measures=["error", "model_size"],
        ... )
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = objective.create_study(sampler=MOEADSampler(seed=0))
        >>> study.optimize(objective, n_trials=3)
        >>> sorted(study.trials[0].params)[0] in ("decision_tree__ccp_alpha", "learner", "knn__p")
        True
    """

    def __init__(
        self,
        learners: Mapping[str, tuple[Any, Space | None]],
        X: Any,
        y: Any,
        *,
        representation: str | Representation | None = None,
        measures: Measures | None = None,
        cv: Any = None,
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
        racing: bool | float | Literal["pruner"] = False,
        holdout: Holdout = "auto",
        store_losses: bool = True,
        recorded_measures: Measures = (),
        catch: tuple[type[Exception], ...] = (Exception,),
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        random_state = check_int("random_state", random_state, 0)
        choice = EstimatorChoice(learners, random_state)
        if measures is None:
            measures = (
                ("training_error", "vc_dimension")
                if choice.classification
                else ("error", "model_size")
            )
        if cv is None:
            used = [get_measure(m) for m in as_sequence(measures)]
            rows = np.arange(np.shape(X)[0])
            needs_test_rows = any(m.fold and m.name != "training_error" for m in used)
            cv = 5 if needs_test_rows else [(rows, rows)]
        super().__init__(choice, X, y, ObjectiveSettings.collect(locals()))

    def learner_for(self, trial: FrozenTrial) -> str:
        """Return the name of the learner that a trial chose."""
        return str(self.params_for(trial)[LEARNER])
