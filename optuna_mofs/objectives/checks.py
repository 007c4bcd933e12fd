"""Checks of a search space before the first trial."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution

from optuna_mofs.features.representation import MaskFeatures, Representation, weight_parameter
from optuna_mofs.features.table import FeatureTable


def check_space(
    estimator: Any,
    space: Mapping[str, BaseDistribution] | Callable[..., Any] | None,
    features: Representation | None,
    layout: FeatureTable,
    filters: Sequence[str],
) -> None:
    """Refuse a space that is empty, names unknown parameters or names one thing twice."""
    if space is None and (features is None or len(layout.free) == 0):
        raise ValueError(
            "There is nothing to search: no space, and no feature that may be switched. "
            "Give a space, or features to choose from."
        )
    if features is not None and len(layout.free) == 0:
        raise ValueError(
            f"All {len(layout)} features are fixed, so there are none to choose. "
            "Pass features=None to tune only, or fix fewer."
        )
    if features is not None and features.ranks is not None and not filters:
        raise ValueError(
            f"features={features.kind!r} ranks features by filters, but filters is empty."
        )
    if space is None or callable(space):
        return
    if not space:
        raise ValueError("space is empty. Pass space=None to select features only.")
    known = estimator.get_params()
    for name, distribution in space.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"space names {name!r}, which is no parameter of {type(estimator).__name__}.{hint}"
            )
        if not isinstance(distribution, BaseDistribution):
            raise ValueError(
                f"space[{name!r}] must be an Optuna distribution such as "
                f"FloatDistribution(0, 1), but is {distribution!r}."
            )
    _check_names_apart(space, features, layout, filters)


def _check_names_apart(
    space: Mapping[str, Any],
    features: Representation | None,
    layout: FeatureTable,
    filters: Sequence[str],
) -> None:
    if features is None:
        return
    if isinstance(features, MaskFeatures):
        taken = set(features.bind(layout).mask_parameters)
        remedy = "Rename the column, or use features=MaskFeatures(form='packed')."
    else:
        taken = {"fraction", "filter", *map(weight_parameter, filters)}
        remedy = "Rename the parameter's step in the pipeline."
    both = sorted(taken & set(space))
    if both:
        raise ValueError(f"{both[0]!r} names a hyperparameter and a feature suggestion. {remedy}")
