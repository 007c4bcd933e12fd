"""Arguments of ``fit`` with one value per row: weights for fitting and scoring, groups."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import process_routing

from optuna_mofs.data._dataset import is_fold_count
from optuna_mofs.objectives._evaluator import last_step
from optuna_mofs.objectives._settings import accepts_weights

_WEIGHT = "sample_weight"
#: Arguments of an objective that are returned.
_ARGUMENTS = (_WEIGHT, "groups", "weighted_scoring", "cv")


def objective_arguments(
    search: Any, X: Any, y: Any, groups: Any, params: Mapping[str, Any], scorers: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of an objective that come from those of a search's ``fit``.

    Without metadata routing, weights go to the estimator, and to the scorers if all of them
    accept weights. With it, they go where they are requested.

    Args:
        search: The search.
        X: The table.
        y: Target.
        groups: Group of each row, or None.
        params: Further arguments of ``fit``.
        scorers: By name.

    Raises:
        TypeError: If an argument is unknown.
    """
    given = {name: value for name, value in params.items() if value is not None}
    if groups is not None and (search.cv is None or is_fold_count(search.cv)):
        # The objective keeps groups together in folds that it draws itself.
        return {**objective_arguments(search, X, y, None, params, scorers), "groups": groups}
    if groups is not None:
        given["groups"] = groups
    if not get_config()["enable_metadata_routing"]:
        return _without_routing(search, given, scorers)
    routed = process_routing(search, "fit", **given)
    fit, score, split = routed.estimator.fit, routed.scorer.score, routed.splitter.split
    _check_names({**fit, **score}, {_WEIGHT, "groups"})
    # The objective passes them on to the parts that request them.
    found = {**split, **fit, **score, "weighted_scoring": _WEIGHT in score}
    if set(split) - {"groups"}:
        splitter = check_cv(search.cv, y)
        found["cv"] = list(splitter.split(X, y, **split))
    return {name: value for name, value in found.items() if name in _ARGUMENTS}


def _without_routing(
    search: Any, given: Mapping[str, Any], scorers: Mapping[str, Any]
) -> dict[str, Any]:
    known = dict.fromkeys((last_step(search.estimator)[1] + _WEIGHT, _WEIGHT), _WEIGHT)
    known["groups"] = "groups"
    _check_names(given, set(known))
    found = {known[name]: value for name, value in given.items()}
    refusing = [name for name, scorer in scorers.items() if not accepts_weights(scorer)]
    if _WEIGHT in found and refusing:
        warnings.warn(
            f"scoring {refusing[0]!r} does not accept sample_weight: scores are not weighted.",
            stacklevel=5,
        )
        found["weighted_scoring"] = False
    return found


def _check_names(given: Mapping[str, Any], known: set[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(
            f"fit does not accept {unknown[0]!r}: only sample_weight and groups are split into "
            "folds. Pass other arguments to the constructor of the estimator."
        )
