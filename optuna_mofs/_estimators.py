"""Copies of estimators, the targets that they accept, and the metadata that they request."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object


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
    try:
        return clone(estimator)
    except RuntimeError as error:
        if "Cannot clone" not in str(error):
            raise
        return copy.deepcopy(estimator)


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
