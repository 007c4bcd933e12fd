"""Checks before the first trial: the space, the measures, the weights."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from sklearn.base import clone

from optuna_mofs._validation import did_you_mean
from optuna_mofs.features._representation import Representation
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.measures import Measure
from optuna_mofs.measures._registry import CLASSIFIER_ONLY
from optuna_mofs.objectives.evaluator import last_step
from optuna_mofs.objectives.replay import ProbeTrial


def check_space(
    estimator: Any,
    space: Mapping[str, BaseDistribution] | Callable[..., Any] | None,
    features: Representation | None,
    table: FeatureTable,
) -> None:
    """Refuse a space that is empty, names unknown parameters or names one thing twice.

    Args:
        estimator: What the parameters are of.
        space: Distributions by name, or a function of the trial.
        features: How features are suggested; None to keep all.
        table: The features, with the names of the filters.
    """
    names = _space_names(estimator, space)
    if space is None and (features is None or len(table.free) == 0):
        raise ValueError(
            "There is nothing to search: no space, and no feature that may be switched. "
            "Give a space, or features to choose from."
        )
    check_names(names, features, table)


def check_names(names: set[str], features: Representation | None, table: FeatureTable) -> None:
    """Refuse hyperparameters that are named as suggestions of features.

    Args:
        names: Of the hyperparameters' suggestions.
        features: How features are suggested; None to keep all.
        table: The features.
    """
    if features is None:
        return
    if len(table.free) == 0:
        raise ValueError(
            f"All {len(table)} features are fixed, so there are none to choose. "
            "Pass features=None to tune only, or fix fewer."
        )
    both = sorted(set(features.bind(table).distributions) & names)
    if both:
        raise ValueError(
            f"{both[0]!r} names a hyperparameter and a suggestion of features. Rename the column "
            "or the step of the pipeline, or use features=MaskFeatures(form='packed', name=...)."
        )


def _space_names(
    estimator: Any, space: Mapping[str, BaseDistribution] | Callable[..., Any] | None
) -> set[str]:
    if space is None:
        return set()
    if callable(space):
        return _probe(estimator, space)
    if isinstance(space, Mapping):
        _check_distributions(estimator, space)
        return set(space)
    raise ValueError(
        "space must be a dict of Optuna distributions, a function of the trial or None, "
        f"but is {space!r}."
    )


def _check_distributions(estimator: Any, space: Mapping[str, BaseDistribution]) -> None:
    if not space:
        raise ValueError("space is empty. Pass space=None to select features only.")
    known = estimator.get_params()
    for name, distribution in space.items():
        if name not in known:
            hint = did_you_mean(name, known)
            raise ValueError(
                f"space names {name!r}, which is no parameter of {type(estimator).__name__}.{hint}"
            )
        if not isinstance(distribution, BaseDistribution):
            raise ValueError(
                f"space[{name!r}] must be an Optuna distribution such as "
                f"FloatDistribution(0, 1), but is {distribution!r}."
            )
        for choice in getattr(distribution, "choices", ()):
            _check_choice(name, choice)


def _check_choice(name: str, choice: Any) -> None:
    try:
        json.dumps(choice)
    except TypeError:
        raise ValueError(
            f"space[{name!r}] has the choice {choice!r}, which no study can store. Give texts or "
            "numbers, and a function of the trial as space that turns them into such objects."
        ) from None


def _probe(estimator: Any, space: Callable[..., Any]) -> set[str]:
    """Ask the function once, outside of any study; the names of what it suggests."""
    trial = ProbeTrial()
    try:
        params = checked_params(space(trial))
    except (optuna.TrialPruned, AttributeError):
        # It may prune, or look at trial.study, which a probe has not: the first trial will tell.
        return set(trial.distributions)
    try:
        clone(estimator).set_params(**params)
    except ValueError as error:
        raise ValueError(f"space gave parameters that do not fit: {error}") from error
    return set(trial.distributions)


def checked_params(params: Any) -> dict[str, Any]:
    """What a space given as a function returned, which must be parameters by name."""
    if not isinstance(params, Mapping):
        raise ValueError(
            "A space that is a function of the trial must return a dict of parameter values, "
            f"but returned {params!r}."
        )
    return dict(params)


def check_measures(measures: Sequence[Measure], estimator: Any, classification: bool) -> None:
    """Refuse measures that are none, share a name or do not fit the task."""
    names = [m.name for m in measures]
    if not names:
        raise ValueError("measures is empty: name at least one, for example 'error'.")
    if len(set(names)) != len(names):
        raise ValueError(
            f"Measures must have different names, but are {names}. "
            "Name functions of your own: Measure('depth', fold=...)."
        )
    wrong = [n for n in names if n in CLASSIFIER_ONLY and not classification]
    if wrong:
        raise ValueError(
            f"Measures {wrong} need a classifier, but the estimator is {type(estimator).__name__}."
        )


def check_weights(estimator: Any, scorer: Any) -> None:
    """Refuse sample weights that the estimator or the scorer would not take."""
    final = last_step(estimator)[0]
    if hasattr(final, "fit") and not _takes_weights(final.fit):
        raise ValueError(
            f"sample_weight is given, but {type(final).__name__}.fit does not take it. "
            "Leave it out, or use an estimator that does."
        )
    score = getattr(scorer, "_score_func", scorer)
    if not _takes_weights(score):
        raise ValueError(
            f"sample_weight is given, but scoring {getattr(score, '__name__', score)!r} does not "
            "take it. Leave it out, or add an argument sample_weight=None to the scorer."
        )


def _takes_weights(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # compiled, without a signature: the first trial will tell
        return True
    return "sample_weight" in parameters or any(
        p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()
    )
