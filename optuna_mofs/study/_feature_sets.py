"""Feature sets of a study: suggest one in an objective function, read those of trials."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from optuna_mofs._optuna import (
    PREFIX,
    distribution_contains,
    enqueued_params,
    frozen,
    frozen_attr,
    is_retry,
    names_fixed_by_sampler,
    trials_of,
    write_trial_attrs,
)
from optuna_mofs._typing import Array
from optuna_mofs._validation import check_int, reading
from optuna_mofs.features._codec import UnknownMaskError, unpack_attribute
from optuna_mofs.features._representation import FRACTION, MaskFeatures, Representation
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.study._description import StudyDescription

#: Key of the trial attribute that holds the packed mask.
MASK = "mask"
#: Longest string of names, a line or two.
_MAX_CHARACTERS = 150
#: Longest one in the ``features`` user attribute: a few lines in a cell of the dashboard's table.
_MAX_CELL = 40
#: More features than this are taken for a mistake.
_MAX_FEATURES = 10_000_000


def suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """Suggest a value of any distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    if isinstance(distribution, FloatDistribution | IntDistribution):
        is_float = isinstance(distribution, FloatDistribution)
        call: Any = trial.suggest_float if is_float else trial.suggest_int
        low, high = distribution.low, distribution.high
        return call(name, low, high, step=distribution.step, log=distribution.log)
    raise ValueError(f"Parameter {name!r} has an unknown distribution: {distribution!r}.")


def suggest_mask(trial: Trial, representation: Representation) -> tuple[Array, dict[str, Any]]:
    """Suggest a feature set.

    In the packed form, an integer that a sampler without masks draws in this trial is the seed of
    a random mask. A fixed integer (enqueued, of a waiting trial, or of a ``PartialFixedSampler``)
    must be that of another trial of this study, or a random mask would silently be evaluated.

    Returns:
        The mask over the free features (for filter representations: of all data), and the system
        attributes that the caller writes on the trial, with others of its own.
    """
    study, before = trial.study, trial.distributions
    for name, distribution in representation.distributions.items():
        if before.get(name, distribution) != distribution:
            raise ValueError(
                f"The parameter {name!r} selects features, but the trial has suggested it with "
                f"{before[name]}. Rename that parameter or the feature."
            )
    params = {n: suggest(trial, n, d) for n, d in representation.distributions.items()}
    stored = frozen(trial)
    attr = frozen_attr(stored, MASK)
    _check_fixed(representation, enqueued_params(stored), params)
    try:
        mask = representation.choose(params, attr=attr, others=_masks_of_others(study))
    except UnknownMaskError:
        # An interrupted trial may have drawn its integer without having stored the mask.
        fixed = {*enqueued_params(stored), *(() if is_retry(stored) else before)}
        fixed |= names_fixed_by_sampler(study)
        if fixed & params.keys() or not isinstance(representation, MaskFeatures):
            raise
        mask = representation.codec.from_seed(params)
    new_attr = representation.attribute(params, mask)
    # Samplers with masks have written the attribute; here it is returned for all others.
    is_written = new_attr is None or (attr is not None and attr[0] == new_attr[0])
    return mask, {} if is_written else {MASK: new_attr}


def check_enqueued(table: FeatureTable, mask: Array) -> None:
    """Raise if a mask over the free features that a user enqueued is beyond the limits."""
    if not table.allows(mask):
        low, high = (limit + len(table.fixed) for limit in table.size_limits)
        raise ValueError(
            f"The enqueued set has {np.count_nonzero(mask) + len(table.fixed)} features, but this "
            f"study allows {low} to {high}. Enqueue a set within these limits, or use another "
            "study with other min_features and max_features."
        )


def _check_fixed(
    representation: Representation, enqueued: Mapping[str, Any], params: Mapping[str, Any]
) -> None:
    """Raise if enqueued parameters mean a set beyond the limits, which would be replaced."""
    table = representation.table
    if table.size_limits == (0, len(table.free)):
        return
    if representation.is_plain and enqueued.keys() >= params.keys():
        bits = np.array([params[name] for name in representation.mask_parameters], dtype=bool)
        check_enqueued(table, bits)
    fraction = representation.distributions.get(FRACTION)
    given = enqueued.get(FRACTION)
    if given is not None and fraction and not distribution_contains(fraction, given):
        raise ValueError(
            f"The enqueued {FRACTION} {given} is not in {fraction}, the range that min_features "
            "and max_features of this study allow."
        )


def suggest_features(
    trial: Trial,
    features: FeatureTable | Sequence[str] | int,
    *,
    min_features: int = 0,
    max_features: int | None = None,
    form: str = "auto",
) -> Array:
    """Suggest a feature set in your own objective function.

    The meaning of its parameters is written into the study before the first suggestion, so that
    every sampler of this package can use it from the first trial on.

    Args:
        trial: The running trial.
        features: A :class:`FeatureTable` (with filter ranks, costs, groups, fixed features;
            create it once with :func:`optuna_mofs.feature_table`), or names, or a number of
            features.
        min_features: Minimum number of features, unless ``features`` is a table, which has its
            own.
        max_features: Maximum number of features, likewise.
        form: ``"bits"``, ``"packed"`` or ``"auto"``, see :class:`MaskFeatures`.

    Returns:
        A boolean array over all features of the table; fixed ones are always selected.

    Example:
        >>> import optuna
        >>> def objective(trial):
        ...     chosen = suggest_features(trial, ["age", "city", "pay"])
        ...     return abs(int(chosen.sum()) - 2)
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        >>> study.optimize(objective, n_trials=10)
        >>> selected_features(study, study.best_trial)
        ['age', 'city']
    """
    study = trial.study
    table = _as_table(features, min_features, max_features)
    new = StudyDescription(table, MaskFeatures(form=form).bind(table))
    if StudyDescription.read(study) is None:
        new.write(study)
    # Read it back even just after writing: all trials and workers must use the same.
    described = StudyDescription.require(study)
    differences = described.feature_differences(new)
    if differences:
        raise ValueError(
            f"Study {study.study_name!r} has other features: {'; '.join(differences)}. "
            "Suggest the features that it was created with, or use another study name."
        )
    assert described.representation is not None
    mask, system = suggest_mask(trial, described.representation)
    full = table.full_mask(mask)
    write_trial_attrs(study, trial, system=system, user=feature_attrs(table, full))
    return full


def _as_table(
    features: FeatureTable | Sequence[str] | int, min_features: int, max_features: int | None
) -> FeatureTable:
    limits: dict[str, Any] = {"min_features": min_features, "max_features": max_features}
    if isinstance(features, FeatureTable):
        if min_features or max_features is not None:
            raise ValueError(
                f"features is a FeatureTable, which has its own limits, but {limits} is given. "
                "Create the table with them: feature_table(..., max_features=...)."
            )
        return features
    if isinstance(features, int | np.integer) and not isinstance(features, bool):
        n_features = check_int("features", features, 1, _MAX_FEATURES)
        return FeatureTable(tuple(f"x{j}" for j in range(n_features)), **limits)
    # A set has no order that a study could rely on.
    if isinstance(features, str | Set) or not isinstance(features, Iterable):
        raise ValueError(
            f"features must be a FeatureTable, a list of names or a number, got {features!r}."
        )
    return FeatureTable(tuple(features), **limits)


def feature_attrs(table: FeatureTable, full_mask: Array) -> dict[str, Any]:
    """Return number and names of the selected features as user attributes of a trial."""
    names = shorten(table.names_of(full_mask), _MAX_CELL)
    return {"n_features": int(np.count_nonzero(full_mask)), "features": names}


def shorten(names: Sequence[str], limit: int = _MAX_CHARACTERS) -> str:
    """Return names as one string of bounded length.

    Example:
        >>> shorten(["age", "city", "pay"], limit=12)
        'age, city and 1 more'
    """
    text = ", ".join(names)
    if len(text) <= limit:
        return text
    lengths = itertools.accumulate(len(name) + 2 for name in names)
    n_shown = sum(1 for _ in itertools.takewhile(limit.__ge__, lengths))
    rest = f"{len(names) - n_shown} more"
    return f"{', '.join(names[:n_shown])} and {rest}" if n_shown else rest


def selected_mask(study: Study, trial: FrozenTrial) -> Array | None:
    """Return the mask over all features that a trial selected, or None if it is unknown.

    Args:
        study: The trial's study.
        trial: Any trial of it.
    """
    described = StudyDescription.read(study)
    if described is None or described.features is None or described.representation is None:
        return None
    mask = trial_mask(described.representation, trial, others=_masks_of_others(study))
    return None if mask is None else described.features.full_mask(mask)


def trial_mask(
    representation: Representation, trial: FrozenTrial, others: Iterable[list[Any]] = ()
) -> Array | None:
    """Return the mask over the free features that a trial selected, or None if it is unknown.

    ``others`` are the mask attributes of other trials of its study.
    """
    attr = frozen_attr(trial, MASK)
    if attr is not None and not representation.mask_parameters:
        # The set that was evaluated: the filter ranks may have changed since.
        with reading(PREFIX + MASK, f"trial {trial.number}"):
            return unpack_attribute(attr, len(representation.table.free))
    if not all(name in trial.params for name in representation.distributions):
        return None
    with reading(PREFIX + MASK, f"trial {trial.number}"):
        try:
            return representation.choose(trial.params, attr=attr, others=others)
        except UnknownMaskError:
            return None


def selected_features(study: Study, trial: FrozenTrial) -> list[str] | None:
    """Return the names of the features that a trial selected, or None if they are unknown."""
    mask = selected_mask(study, trial)
    table = None if mask is None else StudyDescription.require(study).features
    return None if mask is None or table is None else table.names_of(mask)


def _masks_of_others(study: Study) -> Iterable[list[Any]]:
    # A generator: other trials are read only for an integer without an attribute of its own.
    for other in trials_of(study):
        attr = frozen_attr(other, MASK)
        if attr is not None:
            yield attr
