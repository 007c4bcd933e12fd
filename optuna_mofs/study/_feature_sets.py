"""Feature sets of a study: suggest one in an objective function, read those that trials chose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
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

from optuna_mofs._optuna import frozen_attr, read_trial_attr, trials_of, write_trial_attr
from optuna_mofs._typing import Array
from optuna_mofs.features._codec import unpack_attribute
from optuna_mofs.features._representation import MaskFeatures, Representation
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.study._description import StudyDescription

#: Key of the trial attribute that holds the packed mask.
MASK = "mask"
#: Longest text of the ``features`` user attribute: what fits a dashboard cell.
_SHOWN = 400


def suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """Suggest a value of any distribution by its public call."""
    if isinstance(distribution, FloatDistribution):
        return trial.suggest_float(
            name,
            distribution.low,
            distribution.high,
            step=distribution.step,
            log=distribution.log,
        )
    if isinstance(distribution, IntDistribution):
        return trial.suggest_int(
            name,
            distribution.low,
            distribution.high,
            step=distribution.step,
            log=distribution.log,
        )
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    raise ValueError(f"Parameter {name!r} has an unknown distribution: {distribution!r}.")


def suggest_mask(trial: Trial, representation: Representation) -> Array:
    """Suggest a feature set and remember it on the trial.

    Returns:
        The mask over the free features (for filter representations: of all data).
    """
    params = {n: suggest(trial, n, d) for n, d in representation.distributions.items()}
    study = trial.study
    attr = read_trial_attr(study, trial, MASK)
    mask = representation.choose(params, attr=attr, others=_masks_of_others(study))
    meant = representation.attribute(params, mask)
    # The sampler that chose the mask wrote the attribute; here are those that know no masks.
    if meant is not None and (attr is None or attr[0] != meant[0]):
        write_trial_attr(study, trial, MASK, meant)
    return mask


def suggest_features(
    trial: Trial,
    features: FeatureTable | Sequence[str] | int,
    *,
    form: str = "auto",
) -> Array:
    """Suggest a feature set in your own objective function.

    What it means is written into the study before the first suggestion, so that every sampler of
    this package knows it from the first trial on.

    Args:
        trial: The running trial.
        features: A :class:`FeatureTable` (with filter ranks, costs, groups, fixed features: make
            it once, see :func:`optuna_mofs.feature_table`), or names, or a number of features.
        form: ``"bits"``, ``"packed"`` or ``"auto"``, see :class:`MaskFeatures`.

    Returns:
        A boolean array over all features of the table, fixed ones always in.

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
    table = _as_table(features)
    new = StudyDescription(table, MaskFeatures(form=form).bind(table))
    if StudyDescription.read(study) is None:
        new.write(study)
    # From the storage, even just after writing: all trials and workers go by the same.
    described = StudyDescription.read(study)
    assert described is not None
    differences = described.feature_differences(new)
    if differences:
        raise ValueError(
            f"Study {study.study_name!r} has other features: {'; '.join(differences)}. "
            "Suggest the features that it was made with, or use a new study_name."
        )
    assert described.representation is not None
    full = table.full_mask(suggest_mask(trial, described.representation))
    note_features(trial, table, full)
    return full


def _as_table(features: FeatureTable | Sequence[str] | int) -> FeatureTable:
    if isinstance(features, FeatureTable):
        return features
    if isinstance(features, int | np.integer) and not isinstance(features, bool):
        return FeatureTable(tuple(f"x{j}" for j in range(features)))
    # A set has no order that a study could rely on.
    if isinstance(features, str | Set) or not isinstance(features, Iterable):
        raise ValueError(
            f"features must be a FeatureTable, a list of names or a number, but is {features!r}."
        )
    return FeatureTable(tuple(features))


def note_features(trial: Trial, table: FeatureTable, full_mask: Array) -> None:
    """Write the selected features where optuna-dashboard shows them."""
    trial.set_user_attr("n_features", int(np.count_nonzero(full_mask)))
    trial.set_user_attr("features", shorten(table.names_of(full_mask)))


def shorten(names: Sequence[str], limit: int = _SHOWN) -> str:
    """Names in one text of bounded length.

    Example:
        >>> shorten(["age", "city", "pay"], limit=12)
        'age, city and 1 more'
    """
    text = ", ".join(names)
    if len(text) <= limit:
        return text
    shown = 0
    length = 0
    while shown < len(names) and length + len(names[shown]) + 2 <= limit:
        length += len(names[shown]) + 2
        shown += 1
    rest = f"{len(names) - shown} more"
    return f"{', '.join(names[:shown])} and {rest}" if shown else rest


def selected_mask(study: Study, trial: FrozenTrial) -> Array | None:
    """The mask over all features that a trial chose, or None where it is not known.

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
    """The mask over the free features that a trial chose, or None where it lacks suggestions.

    Args:
        representation: Bound to the features.
        trial: Any trial.
        others: Mask attributes of other trials of its study.
    """
    attr = frozen_attr(trial, MASK)
    if attr is not None and not representation.mask_parameters:
        # Computed of filter ranks at the time: what was evaluated, whatever filters say today.
        return unpack_attribute(attr, len(representation.table.free))
    if not all(name in trial.params for name in representation.distributions):
        return None
    return representation.choose(trial.params, attr=attr, others=others)


def selected_features(study: Study, trial: FrozenTrial) -> list[str] | None:
    """Names of the features that a trial chose, or None where they are not known."""
    mask = selected_mask(study, trial)
    if mask is None:
        return None
    described = StudyDescription.read(study)
    assert described is not None
    assert described.features is not None
    return described.features.names_of(mask)


def _masks_of_others(study: Study) -> Iterable[list[Any]]:
    # A generator: only an integer without an attribute of its own looks at other trials.
    for other in trials_of(study):
        attr = frozen_attr(other, MASK)
        if attr is not None:
            yield attr
