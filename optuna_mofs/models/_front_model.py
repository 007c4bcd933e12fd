"""Estimators that predict with the models of a front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from joblib import Parallel, delayed
from optuna.study import Study
from optuna.trial import FrozenTrial
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_X_y, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from optuna_mofs._estimators import unfitted_copy
from optuna_mofs._tables import to_pandas
from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice, check_float, check_n_jobs
from optuna_mofs.columns import ColumnSelector, validate_table
from optuna_mofs.fronts import pareto_front
from optuna_mofs.measures._prediction import class_probabilities
from optuna_mofs.models._weighting import (
    MIN_DISTANCE,
    diverse_subset,
    focused_weights,
    ideal_distances,
    inverse_distance_weights,
)
from optuna_mofs.objectives._evaluator import fit_options
from optuna_mofs.objectives._objective import StudyObjective

Strategy = Literal["knee", "weighted", "diverse", "focused"]


class _FrontModel(BaseEstimator):  # type: ignore[misc]
    """The common part of the classifier and the regressor."""

    #: Class of the default members.
    _tree: type[Any]

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]] | None = None,
        losses: Any = None,
        strategy: Strategy = "weighted",
        n_jobs: int | None = None,
        min_distance: float = MIN_DISTANCE,
    ) -> None:
        self.estimators = estimators
        self.losses = losses
        self.strategy = strategy
        self.n_jobs = n_jobs
        self.min_distance = min_distance

    def _fit_members(self, X: Any, y: Array, sample_weight: Any) -> None:
        members, losses = self._members()
        distances = ideal_distances(losses)
        check_float("min_distance", self.min_distance, 0)
        self.weights_ = (
            focused_weights(losses)
            if self.strategy == "focused"
            else inverse_distance_weights(losses, self.min_distance)
        )
        chosen = list(range(len(members)))
        if self.strategy == "knee":
            chosen = [int(np.argmin(distances))]
        jobs = (delayed(_fit_member)(members[i][1], X, y, sample_weight) for i in chosen)
        fitted = Parallel(n_jobs=check_n_jobs(self.n_jobs))(jobs)
        if self.strategy == "diverse":
            correct = self._correct(np.array([model.predict(X) for model in fitted]), y)
            chosen = diverse_subset(correct, distances)
            fitted = [fitted[i] for i in chosen]
        self.names_ = [members[i][0] for i in chosen]
        self.estimators_ = fitted
        self.weights_ = self.weights_[chosen] / self.weights_[chosen].sum()

    def _members(self) -> tuple[list[tuple[str, Any]], Array]:
        check_choice("strategy", self.strategy, get_args(Strategy))
        members = self._default_members() if self.estimators is None else list(self.estimators)
        if not members:
            raise ValueError("estimators is empty. Pass at least one pair (name, estimator).")
        if self.losses is None:
            return members, np.zeros((len(members), 1))
        losses = np.asarray(self.losses, dtype=float)
        if losses.ndim != 2 or len(losses) != len(members) or not np.isfinite(losses).all():
            raise ValueError(
                f"losses must hold one row of finite numbers for each of the {len(members)} "
                f"estimators, got shape {losses.shape}."
            )
        return members, losses

    def _default_members(self) -> list[tuple[str, Any]]:
        return [(f"depth {d}", self._tree(max_depth=d, random_state=0)) for d in (4, 2, 1)]

    def _correct(self, predictions: Array, y: Array) -> Array:
        raise NotImplementedError

    def get_support(self, indices: bool = False) -> Array:
        """Return the columns that any member uses, as a mask or as positions."""
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        for model in self.estimators_:
            first = model.steps[0][1] if hasattr(model, "steps") else None
            mask |= first.get_support() if isinstance(first, ColumnSelector) else True
        return np.flatnonzero(mask) if indices else mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(m[1]).input_tags for m in self.estimators or self._default_members()]
        tags.input_tags.allow_nan = all(t.allow_nan for t in inner)
        tags.input_tags.sparse = all(t.sparse for t in inner)
        return tags


class FrontClassifier(ClassifierMixin, _FrontModel):  # type: ignore[misc]
    """A classifier that combines the models of a front.

    Rosales-Pérez et al. (2014), *Multi-objective model type selection*, section 3.4, with three
    strategies: ``"knee"`` (S1) is the single model closest to the ideal point, ``"weighted"`` (S2)
    all of them, weighted by the inverse of that distance, ``"diverse"`` (S3) those that differ
    most in the rows they predict correctly. ``"focused"`` is not in the paper: all of them,
    weighted by the first loss alone, where a loss lower by a tenth doubles the weight.
    :func:`front_model` creates one from a study.

    Args:
        estimators: Pairs of a name and an unfitted classifier; by default three small trees.
        losses: One row of minimized values per estimator; by default all have equal weight.
        strategy: ``"knee"``, ``"weighted"``, ``"diverse"`` or ``"focused"``.
        voting: ``"soft"`` averages probabilities, ``"hard"`` predicted classes (equation 16). For
            a member without ``predict_proba``, probabilities come from its decision function.
        n_jobs: Number of members fitted in parallel.
        min_distance: Distances from the ideal point below this count as this; 0 is the paper's
            equation 17, in which a member close to the ideal point takes nearly all the weight.

    Attributes:
        estimators_: Fitted members.
        weights_: Weight of each member; they sum to 1.
        names_: Name of each member.
        classes_: Classes.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> FrontClassifier().fit(X, y).predict_proba(X[:1]).argmax()
        np.int64(0)
    """

    _tree = DecisionTreeClassifier

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]] | None = None,
        losses: Any = None,
        strategy: Strategy = "weighted",
        voting: Literal["soft", "hard"] = "soft",
        n_jobs: int | None = None,
        min_distance: float = MIN_DISTANCE,
    ) -> None:
        super().__init__(estimators, losses, strategy, n_jobs, min_distance)
        self.voting = voting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FrontClassifier:
        """Fit the members.

        Args:
            X: Rows with all columns.
            y: Classes.
            sample_weight: Weight of each row.
        """
        check_choice("voting", self.voting, ("soft", "hard"))
        X, y = _check_data_and_target(self, X, y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        self._fit_members(X, y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the weighted mean of the members' probabilities (or votes)."""
        check_is_fitted(self)
        X = validate_table(self, X, reset=False)
        total = np.zeros((X.shape[0], len(self.classes_)))
        for model, weight in zip(self.estimators_, self.weights_):
            if self.voting == "soft":
                total += weight * class_probabilities(model, X, self.classes_)
            else:
                total += weight * (np.ravel(model.predict(X))[:, None] == self.classes_)
        return total

    def predict(self, X: Any) -> Array:
        """Return the class with the largest weighted vote."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _correct(self, predictions: Array, y: Array) -> Array:
        return predictions == y


class FrontRegressor(RegressorMixin, _FrontModel):  # type: ignore[misc]
    """A regressor that combines the models of a front; see :class:`FrontClassifier`.

    The prediction is the weighted mean. For the strategy ``"diverse"``, a member is correct in a
    row if its absolute residual is at most the median residual of all members.

    Args:
        estimators: Pairs of a name and an unfitted regressor; by default three small trees.
        losses: One row of minimized values per estimator; by default all have equal weight.
        strategy: ``"knee"``, ``"weighted"``, ``"diverse"`` or ``"focused"``.
        n_jobs: Number of members fitted in parallel.
        min_distance: As for :class:`FrontClassifier`.
    """

    _tree = DecisionTreeRegressor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FrontRegressor:
        """Fit the members.

        Args:
            X: Rows with all columns.
            y: Numbers.
            sample_weight: Weight of each row.
        """
        X, y = _check_data_and_target(self, X, y, y_numeric=True)
        self._fit_members(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> Array:
        """Return the weighted mean of the members' predictions."""
        check_is_fitted(self)
        X = validate_table(self, X, reset=False)
        return self.weights_ @ np.array([model.predict(X) for model in self.estimators_])

    def _correct(self, predictions: Array, y: Array) -> Array:
        residuals = np.abs(predictions - y)
        return residuals <= np.median(residuals)


def _check_data_and_target(
    model: _FrontModel, X: Any, y: Any, **options: Any
) -> tuple[Any, Array]:
    X = to_pandas(X)
    if not hasattr(X, "iloc"):
        return validate_table(model, X, y=y, **options)
    validate_table(model, X)
    # A DataFrame is not converted, so its target is checked together with a column of zeros.
    _, target = check_X_y(np.zeros((X.shape[0], 1)), y, **options)
    return X, target


def _fit_member(estimator: Any, X: Any, y: Array, sample_weight: Any) -> Any:
    model = unfitted_copy(estimator)
    return model.fit(X, y, **fit_options(model, sample_weight))


def front_model(
    source: Study | Sequence[FrozenTrial],
    objective: StudyObjective,
    *,
    strategy: Strategy = "weighted",
    voting: Literal["soft", "hard"] = "soft",
    by: str | None = None,
    fit: bool = True,
    n_jobs: int | None = None,
    min_distance: float = MIN_DISTANCE,
) -> FrontClassifier | FrontRegressor:
    """Return one model that combines the front of a study.

    Every member is the pipeline of a trial: its features, then its estimator. The paper's S2 is
    ``voting="hard", min_distance=0``.

    Args:
        source: A study, of which the front is used, or a front, or any trials.
        objective: The study's objective.
        strategy: ``"knee"`` (S1), ``"weighted"`` (S2), ``"diverse"`` (S3) or ``"focused"`` (ours),
            see :class:`FrontClassifier`. Which of them predicts well depends on the measures: S2
            if all of them are losses of cross-validation, ``"focused"`` if one is not.
        voting: See :class:`FrontClassifier`.
        by: Name of a parameter, ``"learner"`` for example: members are the fronts of each of its
            values, as in :func:`pareto_front`. Only for a study.
        fit: Whether to fit it on the objective's data.
        n_jobs: Number of members fitted in parallel.
        min_distance: See :class:`FrontClassifier`.

    Example:
        >>> import optuna
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from optuna_mofs import FeatureSelectionObjective, MOEADSampler
        >>> X, y = load_wine(return_X_y=True)
        >>> objective = FeatureSelectionObjective(GaussianNB(), X, y, filters=["anova_f"])
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = objective.create_study(sampler=MOEADSampler(seed=0))
        >>> study.optimize(objective, n_trials=30)
        >>> bool(front_model(study, objective).score(X, y) > 0.9)
        True
    """
    if isinstance(source, Study):
        trials = list(pareto_front(source, duplicates=False, by=by))
    elif by is None:
        trials = list(source)
    else:
        raise ValueError(f"by={by!r} needs a study, got a front or trials.")
    if not trials:
        raise ValueError("There are no trials to combine. Run the study first.")
    without_values = [trial.number for trial in trials if trial.values is None]
    if without_values:
        raise ValueError(f"Trials {without_values} have no values. Pass completed trials.")
    signs = np.array([1.0 if d == "minimize" else -1.0 for d in objective.directions])
    others = [trial.number for trial in trials if len(trial.values) != len(signs)]
    if others:
        raise ValueError(
            f"Trials {others} do not have {len(signs)} values, which the objective returns. "
            "Pass the objective of this study."
        )
    losses = signs * np.array([trial.values for trial in trials])
    members = [(f"trial {trial.number}", objective.estimator_for(trial)) for trial in trials]
    data = objective.all_data
    model = (
        FrontClassifier(members, losses, strategy, voting, n_jobs, min_distance)
        if data.classification
        else FrontRegressor(members, losses, strategy, n_jobs, min_distance)
    )
    return model.fit(data.X, data.y, sample_weight=data.sample_weight) if fit else model
