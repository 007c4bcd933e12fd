"""Copies of estimators, the targets that they accept, and the metadata that they request."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object

#: Values that copies can share.
_PLAIN = str | int | float | None


def check_is_estimator(estimator: Any) -> None:
    """Raise if an object is not an estimator, or is the class of one."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"estimator must be an instance, got the class {name}. Pass {name}().")
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise ValueError(
            "estimator must have the methods fit and get_params of scikit-learn, "
            f"got {estimator!r}."
        )


def unfitted_copy(estimator: Any) -> Any:
    """Return a clone of an estimator, even if it copies its arguments.

    CatBoost copies lists such as ``cat_features``, which scikit-learn's ``clone`` refuses.

    Example:
        >>> from sklearn.naive_bayes import GaussianNB
        >>> unfitted_copy(GaussianNB(var_smoothing=0.1))
        GaussianNB(var_smoothing=0.1)
    """
    params = own_params(estimator)
    if params is not None:
        # Without the checks of scikit-learn, which take longer than some fits.
        if all(isinstance(value, _PLAIN) for value in params.values()):
            return type(estimator)(**params)
        if type(estimator) is Pipeline and isinstance(estimator.steps, list):
            parts = [
                (name, part if isinstance(part, _PLAIN) else unfitted_copy(part))
                for name, part in estimator.steps
            ]
            if isinstance(estimator.memory, _PLAIN):
                return Pipeline(**{**params, "steps": parts})
    try:
        return clone(estimator)
    except RuntimeError as error:
        if "Cannot clone" not in str(error):
            raise
        return copy.deepcopy(estimator)


def own_params(estimator: Any) -> dict[str, Any] | None:
    """Return the parameters of an estimator, without those of its parts, or None.

    It is ``get_params(deep=False)`` without inspecting the class again. None means that a clone
    has more than these parameters, or that the estimator returns them by code of its own.

    Example:
        >>> from sklearn.dummy import DummyRegressor
        >>> own_params(DummyRegressor())
        {'constant': None, 'quantile': None, 'strategy': 'mean'}
    """
    kind, found = type(estimator), getattr(estimator, "__dict__", {})
    is_usual = getattr(kind, "__sklearn_clone__", None) is BaseEstimator.__sklearn_clone__
    if not is_usual or kind.get_params not in _USUAL_GET_PARAMS or not _CLONED.isdisjoint(found):
        return None
    names = _param_names(kind)  # type: ignore[arg-type]
    return {name: found[name] for name in names} if all(n in found for n in names) else None


#: What clones have beside the parameters.
_CLONED = frozenset({"_sklearn_output_config", "_metadata_request"})
#: Methods that return what the constructor stored.
_USUAL_GET_PARAMS = (BaseEstimator.get_params, Pipeline.get_params)


@cache
def _param_names(kind: Hashable) -> tuple[str, ...]:
    return tuple(kind._get_param_names())  # type: ignore[attr-defined]


def last_step(estimator: Any) -> Any:
    """Return the last step of a (nested) pipeline, or the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def accepts_outputs(estimator: Any, *, labels: bool = False) -> bool:
    """Return whether an estimator accepts a target of several columns.

    Args:
        estimator: Any scikit-learn compatible estimator.
        labels: Whether all columns have only zeros and ones (multi-label classification).

    Example:
        >>> from sklearn.linear_model import Ridge
        >>> from sklearn.svm import SVR
        >>> accepts_outputs(Ridge()), accepts_outputs(SVR())
        (True, False)
    """
    tags = get_tags(estimator)
    if tags.target_tags.multi_output:
        return True
    if labels and tags.classifier_tags is not None and tags.classifier_tags.multi_label:
        return True
    # Searches and other meta-estimators do not pass on these tags.
    inner = getattr(last_step(estimator), "estimator", None)
    return hasattr(inner, "fit") and accepts_outputs(inner, labels=labels)


def routing_is_enabled() -> bool:
    """Return whether scikit-learn routes metadata by requests."""
    return bool(get_config()["enable_metadata_routing"])


def requested(owner: Any, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that a method of an estimator or scorer requests, without None.

    Example:
        >>> import sklearn
        >>> from sklearn.linear_model import Ridge
        >>> with sklearn.config_context(enable_metadata_routing=True):
        ...     model = Ridge().set_fit_request(sample_weight=True)
        ...     requested(model, "fit", {"sample_weight": [1, 2], "groups": [0, 1]})
        {'sample_weight': [1, 2]}
    """
    wanted = get_routing_for_object(owner).consumes(method, list(given))
    return {name: given[name] for name in given if name in wanted and given[name] is not None}


def check_requests(owner: Any, method: str, given: Mapping[str, Any]) -> None:
    """Raise scikit-learn's error if the request for some metadata is not set."""
    mapping = MethodMapping().add(caller="fit", callee=method)
    router = MetadataRouter(owner="objective").add(part=owner, method_mapping=mapping)
    router.route_params(caller="fit", params=dict(given))
    routing = get_routing_for_object(owner)
    if isinstance(routing, MetadataRouter):
        # The parts of a pipeline, which are asked in its own fit only.
        routing.route_params(caller=method, params=dict(given))
