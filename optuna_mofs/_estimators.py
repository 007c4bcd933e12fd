"""Copies of estimators, and the metadata that they request."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object


def unfitted_copy(estimator: Any) -> Any:
    """Return a clone of an estimator, also if it copies its arguments.

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
    """Raise scikit-learn's error if it was not said whether metadata is requested."""
    mapping = MethodMapping().add(caller="fit", callee=method)
    router = MetadataRouter(owner="objective").add(part=owner, method_mapping=mapping)
    router.route_params(caller="fit", params=dict(given))
