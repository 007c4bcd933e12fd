"""The arguments that all objectives share, and their checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from sklearn.base import ClassifierMixin, is_classifier
from sklearn.metrics import accuracy_score, check_scoring, get_scorer_names
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.multiclass import type_of_target

from optuna_mofs._estimators import accepts_outputs, check_requests, routing_is_enabled
from optuna_mofs._typing import Array
from optuna_mofs._validation import (
    check_choice,
    check_float,
    check_int,
    check_n_jobs,
    did_you_mean,
)
from optuna_mofs.data._dataset import Dataset, is_fold_count
from optuna_mofs.features._representation import (
    FilterEnsembleFeatures,
    MaskFeatures,
    Representation,
    get_representation,
)
from optuna_mofs.filters import DEFAULT_FILTERS, RULE_FILTERS
from optuna_mofs.measures import Fold, Measure, get_measure
from optuna_mofs.objectives._evaluator import last_step
from optuna_mofs.objectives._racing import check_racing

#: One or more measures, as users specify them.
Measures = Sequence[str | Measure | Callable[[Fold], float]]
#: Filters by name or as functions, or the default of the representation.
Filters = Sequence[Any] | Literal["default"]
#: ``score`` methods that return scikit-learn's accuracy.
_ACCURACIES = (ClassifierMixin.score, KNeighborsClassifier.score)
#: Up to this many features, a search among masks sees most of the sets that rules could miss.
_MAX_MASKED = 10
#: Fraction, number or row numbers of the held-out rows, None for none, or the default.
Holdout = float | int | Sequence[int] | Array | None | Literal["auto"]


@dataclass(frozen=True, eq=False)
class ObjectiveSettings:
    """The arguments that all objectives share.

    :class:`~optuna_mofs.FeatureSelectionObjective` documents them. The checks here need no data;
    those of the rows are in :class:`~optuna_mofs.data._dataset.Dataset`, those of the features in
    :class:`~optuna_mofs.features.FeatureTable`.
    """

    representation: str | Representation | None = "auto"
    measures: Measures | None = None
    cv: Any = 5
    scoring: Any = None
    filters: Filters = "default"
    groups: Any = None
    sample_weight: Any = None
    weighted_scoring: bool = True
    feature_costs: Sequence[float] | Mapping[str, float] | None = None
    feature_names: Sequence[str] | None = None
    feature_groups: Mapping[str, Sequence[str]] | None = None
    fixed_features: Sequence[str] = ()
    expected_n_features: float | None = None
    min_features: int = 0
    max_features: int | None = None
    trial_timeout: float | None = None
    redraw_folds: bool = False
    racing: bool | float | Literal["pruner"] = False
    holdout: Holdout = "auto"
    store_losses: bool = True
    recorded_measures: Measures = ()
    catch: tuple[type[Exception], ...] = (Exception,)
    random_state: int = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_int("random_state", self.random_state, 0)
        object.__setattr__(self, "random_state", int(self.random_state))
        object.__setattr__(self, "n_jobs", check_n_jobs(self.n_jobs))
        if self.trial_timeout is not None:
            check_float("trial_timeout", self.trial_timeout, 0, low_is_open=True)
        if isinstance(self.holdout, str):
            check_choice("holdout", self.holdout, ("auto",))
        if isinstance(self.scoring, list | tuple | set | dict):
            raise ValueError(f"scoring must be one scorer or its name, got {self.scoring!r}.")
        if self.redraw_folds and not is_fold_count(self.cv):
            raise ValueError(f"redraw_folds needs cv to be a number of folds, got {self.cv!r}.")
        if check_racing(self.racing) is not None and self.redraw_folds:
            raise ValueError(
                "racing compares trials on the same folds, but redraw_folds=True draws others for "
                "each trial. Pass racing=False or redraw_folds=False."
            )

    @classmethod
    def collect(cls, arguments: Mapping[str, Any]) -> Self:
        """Return the settings among arguments by name, for example ``locals()``."""
        return cls(**{f.name: arguments[f.name] for f in fields(cls) if f.name in arguments})

    def get_representation(self, n_features: int) -> Representation | None:
        """Return the representation; ``"auto"`` is decided by the number of features.

        The measurements behind it are in ``docs/benchmarks/honesty.md``.
        """
        if self.representation is None:
            return None
        if self.representation != "auto":
            return get_representation(self.representation)
        has_filters = len(self.filters) > 0
        is_rule = has_filters and n_features > _MAX_MASKED
        return FilterEnsembleFeatures() if is_rule else MaskFeatures()

    def get_filters(self, representation: Representation | None) -> Sequence[Any]:
        """Return the filters; ``"default"`` depends on the representation."""
        if self.filters != "default":
            return self.filters
        is_rule = representation is not None and representation.ranks == "fold"
        return RULE_FILTERS if is_rule else DEFAULT_FILTERS

    def get_scorer(self, estimators: Sequence[Any]) -> Callable[..., float]:
        """Return the scorer, or raise if it or an estimator does not accept sample weights."""
        if isinstance(self.scoring, str) and self.scoring not in get_scorer_names():
            hint = did_you_mean(self.scoring, get_scorer_names())
            raise ValueError(
                f"scoring must be a scorer or its name, got {self.scoring!r}.{hint} All names: "
                "sklearn.metrics.get_scorer_names()."
            )
        scorer: Callable[..., float] = check_scoring(estimators[0], self.scoring)
        if self.sample_weight is not None:
            for estimator in estimators:
                check_weights(estimator, scorer if self.weighted_scoring else None)
        return scorer

    def get_measures(
        self, scorer: Callable[..., float], estimators: Sequence[Any], data: Dataset
    ) -> tuple[Measure, ...]:
        """Return the measures, or raise if they are ambiguous or do not suit the target."""
        estimator, classification = estimators[0], data.classification
        given = self.measures
        if given is None:
            given = ("error", "fraction" if self.feature_costs is None else "cost")
        measures = tuple(get_measure(m, scorer) for m in as_sequence(given))
        names = [m.name for m in measures]
        if not names:
            raise ValueError("measures is empty: name at least one, for example 'error'.")
        if len(set(names)) != len(names):
            raise ValueError(
                f"measures must have different names, got {names}. "
                "Name your own functions: Measure('depth', fold=...)."
            )
        wrong = [m.name for m in measures if m.classification_only and not classification]
        if wrong:
            raise ValueError(
                f"The measures {wrong} need a classifier, got {type(estimator).__name__}."
            )
        if data.y.ndim == 2:
            check_outputs(estimators, measures, scorer, data.y)
        return measures


def as_sequence(measures: Measures | str | Measure | Callable[[Fold], float]) -> Measures:
    """Return measures as a sequence; a single one can be given alone."""
    is_single = isinstance(measures, str | Measure) or callable(measures)
    return (measures,) if is_single else measures  # type: ignore[return-value]


def check_outputs(
    estimators: Sequence[Any], measures: Sequence[Measure], scorer: Any, y: Array
) -> None:
    """Raise if a target of several columns does not suit an estimator, a scorer or a measure."""
    kind = type_of_target(y)
    for estimator in estimators:
        if not accepts_outputs(estimator, labels=kind == "multilabel-indicator"):
            name = type(last_step(estimator)[0]).__name__
            wrapper = "Classifier" if is_classifier(estimator) else "Regressor"
            raise ValueError(
                f"y has {y.shape[1]} columns, but {name} accepts one target. Use one target at a "
                f"time, or MultiOutput{wrapper}({name}(...))."
            )
    metric = getattr(scorer, "_score_func", None)
    own_score = getattr(type(last_step(estimators[0])[0]), "score", None)
    if hasattr(scorer, "_estimator") and own_score in _ACCURACIES:
        metric = accuracy_score
    if metric is not None and kind == "multiclass-multioutput":
        try:
            metric(y, y)
        except ValueError as error:
            raise ValueError(
                f"{metric.__name__} does not accept y with several columns of classes ({error}). "
                "Pass scoring=function(estimator, X, y), or columns of zeros and ones."
            ) from None
    wrong = [m.name for m in measures if m.classification_only]
    if wrong:
        raise ValueError(
            f"The measures {wrong} need one target, but y has {y.shape[1]} columns. Use 'error' "
            "with a scoring for several targets, or a measure of your own."
        )


def check_weights(estimator: Any, scorer: Any) -> None:
    """Raise if the estimator or the scorer, unless it is None, does not accept sample weights."""
    if routing_is_enabled():
        given = {"sample_weight": [1.0]}
        check_requests(estimator, "fit", given)
        if hasattr(scorer, "get_metadata_routing"):
            check_requests(scorer, "score", given)
        return
    final = last_step(estimator)[0]
    if hasattr(final, "fit") and not _has_weight_argument(final.fit):
        raise ValueError(
            f"sample_weight is given, but {type(final).__name__}.fit does not accept it. "
            "Leave it out, or use an estimator that does."
        )
    if scorer is not None and not accepts_weights(scorer):
        score = getattr(scorer, "_score_func", scorer)
        raise ValueError(
            f"sample_weight is given, but scoring {getattr(score, '__name__', score)!r} does not "
            "accept it. Leave it out, add an argument sample_weight=None to the scorer, or pass "
            "weighted_scoring=False."
        )


def accepts_weights(scorer: Any) -> bool:
    """Return whether a scorer accepts sample weights."""
    return _has_weight_argument(getattr(scorer, "_score_func", scorer))


def _has_weight_argument(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # compiled, without a signature: the first trial shows it
        return True
    return "sample_weight" in parameters or any(
        p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()
    )
