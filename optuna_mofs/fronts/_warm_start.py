"""Start a study with the results of another one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._optuna import distribution_contains, trials_of
from optuna_mofs._validation import check_int
from optuna_mofs.features._representation import (
    FRACTION,
    FilterFeatures,
    MaskFeatures,
    weight_parameter,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.fronts._front import Front, pareto_front
from optuna_mofs.study._completed_trials import feature_count
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import selected_features
from optuna_mofs.study._queue import enqueue

#: User attribute of a trial that was taken from another study.
WARM_START = "warm_start"
#: Number of reasons that a warning lists.
_MAX_REASONS = 12


class WarmStartWarning(UserWarning):
    """Some features or parameters of the other study do not exist in this one."""


@dataclass(frozen=True)
class WarmStart:
    """Result of :func:`warm_start`.

    Attributes:
        numbers: Numbers of the trials of the other study that were enqueued, in this order.
        refused: What was left out and why, by name: features, parameters, trials.
    """

    numbers: tuple[int, ...]
    refused: Mapping[str, str]


def warm_start(study: Study, source: Study, *, n_trials: int = 10) -> WarmStart:
    """Enqueue the front of another study: those of its features and parameters that exist here.

    The other study can have other rows, other columns, another learner or another representation
    of feature sets. Each of its trials is evaluated again. What does not exist in this study is
    left out, with a warning that names it; the sampler suggests the rest.

    - Features are matched by name. A study of masks gets the set. A study of rules, which select
      features in each training fold, gets the rule (weights of filters by their names) with the
      same number of features, or only the number if the other study has masks.
    - Hyperparameters are matched by name, if the value is within the range of this study.

    A second call enqueues nothing twice, so that a script can be run again.

    Args:
        study: A study to which an objective has been attached (``objective.create_study`` does).
        source: The other study, of this package or any Optuna study.
        n_trials: Number of trials: the default pick, the best and the knee first, then the rest of
            the front, evenly spaced.

    Raises:
        ValueError: If the other study has no completed trial, or nothing of it exists here.

    Example:
        >>> import optuna
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from optuna_mofs import FeatureSelectionObjective
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> options = {"representation": "mask", "filters": ["anova_f"]}
        >>> last_year = FeatureSelectionObjective(GaussianNB(), X[::2], y[::2], **options)
        >>> source = last_year.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> source.optimize(last_year, n_trials=10)
        >>> this_year = FeatureSelectionObjective(GaussianNB(), X, y, **options)
        >>> study = this_year.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> start = warm_start(study, source, n_trials=2)
        >>> study.optimize(this_year, n_trials=2)
        >>> from optuna_mofs import selected_features
        >>> [selected_features(study, trial) for trial in study.trials] == [
        ...     selected_features(source, source.trials[number]) for number in start.numbers
        ... ]
        True
    """
    n_trials = check_int("n_trials", n_trials, 1)
    front = pareto_front(source, duplicates=False)
    if not len(front):
        raise ValueError(
            f"Study {source.study_name!r} has no completed trial to start from. Run it first, or "
            "pass another one."
        )
    if StudyDescription.read(study) is None:
        raise ValueError(
            f"Study {study.study_name!r} has no features yet. Call objective.attach(study) first, "
            "or create it with objective.create_study()."
        )
    transfer = _Transfer(study, source)
    known = {str(trial.user_attrs.get(WARM_START)) for trial in trials_of(study)}
    numbers: list[int] = []
    taken: set[str] = set()
    for trial in _in_order(front):
        if len(numbers) == n_trials:
            break
        label = f"{source.study_name} #{trial.number}"
        moved = transfer.of(trial)
        if moved is None or moved.key in taken:
            continue
        taken.add(moved.key)
        numbers.append(trial.number)
        if label not in known:
            enqueue(study, moved.params, features=moved.features, user_attrs={WARM_START: label})
    reasons = [f"{name}: {reason}" for name, reason in transfer.refused.items()]
    if not numbers:
        raise ValueError(
            f"No feature or parameter of study {source.study_name!r} exists in study "
            f"{study.study_name!r}. "
            f"{_listed(reasons)} Start without it."
        )
    if reasons:
        warnings.warn(
            f"{len(numbers)} trials of study {source.study_name!r} are evaluated first. Left out: "
            f"{_listed(reasons)}",
            WarmStartWarning,
            stacklevel=2,
        )
    return WarmStart(tuple(numbers), dict(transfer.refused))


def _listed(reasons: list[str]) -> str:
    rest = len(reasons) - _MAX_REASONS
    return "; ".join(reasons[:_MAX_REASONS]) + (f"; and {rest} more." if rest > 0 else ".")


def _in_order(front: Front) -> Iterator[FrozenTrial]:
    """Return the picks, then the other members, of which the first are spread over the front."""
    seen = set()
    # Halves, quarters, ...: any number of the first members is about evenly spaced.
    spread = sorted(range(len(front)), key=lambda i: _bit_reversed(i, len(front)))
    for trial in (front.pick(), front.best(0), front.knee(), *(front[i] for i in spread)):
        # The constant model needs no trial.
        if trial.number not in seen and feature_count(front.study, trial) != 0:
            seen.add(trial.number)
            yield trial


def _bit_reversed(i: int, n: int) -> int:
    width = max(1, (n - 1).bit_length())
    return int(f"{i:0{width}b}"[::-1], 2)


@dataclass(frozen=True)
class _Moved:
    """Parameters, and names of features for a mask, in the terms of another study."""

    params: dict[str, Any]
    features: tuple[str, ...] | None

    @property
    def key(self) -> str:
        return repr((sorted(self.params.items()), self.features))


@dataclass
class _Transfer:
    """Moves trials of one study to another, and collects what does not exist there."""

    study: Study
    source: Study
    refused: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.new = StudyDescription.require(self.study)
        self.old = StudyDescription.read(self.source) or StudyDescription()

    def of(self, trial: FrozenTrial) -> _Moved | None:
        """Return a trial in the terms of the new study, or None if nothing of it exists there."""
        params = self._hyperparameters(trial)
        # If the space is a function, it is not known which parameters exist.
        exists = bool(params) and (bool(self.new.space) or self.old.features is None)
        features = None
        chosen = self.new.representation
        if chosen is not None and self.old.features is not None:
            if isinstance(chosen, MaskFeatures):
                features = self._mask(trial)
            elif isinstance(chosen, FilterFeatures):
                rule = self._rule(trial, chosen)
                params, exists = params | rule, exists or bool(rule)
        return _Moved(params, features) if exists or features is not None else None

    def _hyperparameters(self, trial: FrozenTrial) -> dict[str, Any]:
        encodes_features = {*self.old.mask_parameters, *self.old.rule_parameters}
        given = {k: v for k, v in trial.params.items() if k not in encodes_features}
        space = self.new.space
        if not space:
            return given  # the space is a function, so nothing is known about it
        return {name: value for name, value in given.items() if self._exists(name, value, space)}

    def _exists(self, name: str, value: Any, space: Mapping[str, BaseDistribution]) -> bool:
        if name not in space:
            self.refused[f"parameter {name!r}"] = "no parameter of this study"
            return False
        if not distribution_contains(space[name], value):
            self.refused[f"parameter {name!r}"] = f"{value!r} is not in {space[name]}"
            return False
        return True

    def _names(self, trial: FrozenTrial) -> list[str] | None:
        """Return the features of a trial that exist here; None if they are unknown."""
        names, table = selected_features(self.source, trial), self.new.features
        if names is None or table is None:
            return None
        for name in names:
            if name not in table.position:
                self.refused[f"feature {name!r}"] = "no feature of this study"
        return [name for name in names if name in table.position]

    def _mask(self, trial: FrozenTrial) -> tuple[str, ...] | None:
        names, table = self._names(trial), self.new.features
        if names is None or table is None:
            return None
        before = selected_features(self.source, trial) or []
        if before and not names:
            self.refused[f"features of trial {trial.number}"] = "none of them exists"
            return None
        mask = table.mask_of(names)
        if not table.allows(mask):
            low, high = (limit + len(table.fixed) for limit in table.size_limits)
            size = int(np.count_nonzero(mask)) + len(table.fixed)
            self.refused[f"features of trial {trial.number}"] = (
                f"{size} features, but this study allows {low} to {high}"
            )
            return None
        return tuple(names)

    def _rule(self, trial: FrozenTrial, chosen: FilterFeatures) -> dict[str, Any]:
        names, table = self._names(trial), self.new.features
        if names is None or table is None:
            return {}
        kind = None if self.old.representation is None else self.old.representation.kind
        params: dict[str, Any] = {}
        distributions = chosen.distributions
        if kind == chosen.kind:
            exceptions = set(getattr(self.old.representation, "exception_parameters", ()))
            for name in self.old.rule_parameters:
                if name == FRACTION or name not in trial.params:
                    continue
                if name in exceptions:
                    moved = self._exception(int(trial.params[name]), table)
                    params |= {name: moved} if name in distributions else {}
                elif self._exists(name, trial.params[name], distributions):
                    params[name] = trial.params[name]
            weights = [weight_parameter(name) for name in table.filters]
            if chosen.kind == "filter_ensemble" and not any(name in params for name in weights):
                return {}
        else:
            self.refused["features of the sets"] = (
                f"this study selects features by rules ({chosen.kind!r}), so that only the number "
                "of features is used"
            )
        size = len(selected_features(self.source, trial) or ())
        return params | {FRACTION: self._fraction(size, chosen.fraction, table)}

    def _exception(self, value: int, table: FeatureTable) -> int:
        """Return an exception of a rule as one of the new features, 0 if it does not exist."""
        old = self.old.features
        if old is None or not 0 < abs(value) <= len(old.free):
            return 0
        position = table.position.get(old.names[old.free[abs(value) - 1]])
        found = np.flatnonzero(table.free == (-1 if position is None else position))
        return int(np.sign(value)) * (int(found[0]) + 1) if len(found) else 0

    def _fraction(self, size: int, distribution: FloatDistribution, table: FeatureTable) -> float:
        """Return the fraction that stands for a number of features."""
        share = (size - len(table.fixed)) / max(1, len(table.free))
        return float(np.clip(share, distribution.low, distribution.high))
