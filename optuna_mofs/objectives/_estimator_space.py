"""One or several estimators and the parameters that are searched."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FixedTrial, FrozenTrial, Trial
from sklearn.base import clone, is_classifier, is_clusterer, is_outlier_detector

from optuna_mofs._validation import did_you_mean
from optuna_mofs.features._representation import Representation
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.study._feature_sets import suggest

Space = Mapping[str, BaseDistribution] | Callable[[Trial], Mapping[str, Any]]
#: The suggestion that says which learner is fitted.
LEARNER = "learner"


class Learners(Protocol):
    """What objectives ask of the learners they search.

    Attributes:
        estimators: Every learner, unfitted.
        classification: Whether they are classifiers.
        distributions: Of the suggestions that are known in advance, by name.
        active_if: For suggestions that are not always made: the suggestion that decides, and the
            choices of it with which they are made.
        searched: Names of the parameters of each learner that are known to be searched.
    """

    estimators: tuple[Any, ...]
    searched: tuple[frozenset[str], ...]
    classification: bool
    distributions: Mapping[str, BaseDistribution] | None
    active_if: Mapping[str, tuple[str, Sequence[Any]]]

    def check(self, features: Representation | None, table: FeatureTable) -> None:
        """Refuse what cannot be searched, given how features are suggested."""

    def suggest(self, trial: Trial) -> dict[str, Any]:
        """Suggest parameter values."""

    def params_of(self, trial: FrozenTrial) -> dict[str, Any]:
        """The same of a finished trial."""

    def configured(self, params: Mapping[str, Any]) -> Any:
        """The unfitted estimator that these values stand for."""


class OneLearner:
    """One estimator and its space; the suggestions have the names of its parameters.

    Args:
        estimator: Any scikit-learn compatible estimator or pipeline.
        space: Distributions by parameter name, or a function of the trial, or None.
        random_state: Given to every ``random_state`` that is None.
    """

    def __init__(self, estimator: Any, space: Space | None, random_state: int) -> None:
        self.estimator = seeded(estimator, random_state)
        self.space = space
        self.estimators = (self.estimator,)
        self.classification = is_classifier(self.estimator)
        self.distributions = None if callable(space) else space
        self.searched: tuple[frozenset[str], ...] = (frozenset(self.distributions or ()),)
        self.active_if: Mapping[str, tuple[str, Sequence[Any]]] = {}

    def check(self, features: Representation | None, table: FeatureTable) -> None:
        """Refuse a space that does not fit the estimator."""
        check_space(self.estimator, self.space, features, table)

    def suggest(self, trial: Trial) -> dict[str, Any]:
        """Suggest parameter values."""
        if self.space is None:
            return {}
        if callable(self.space):
            return checked_params(self.space(trial))
        return {name: suggest(trial, name, d) for name, d in self.space.items()}

    def params_of(self, trial: FrozenTrial) -> dict[str, Any]:
        """Parameter values of a trial; a space given as a function is asked again."""
        if self.space is None:
            return {}
        if callable(self.space):
            return checked_params(self.space(ReplayTrial(trial)))  # type: ignore[arg-type]
        return {name: _replayed(trial, name, d) for name, d in self.space.items()}

    def configured(self, params: Mapping[str, Any]) -> Any:
        """A clone with these parameters."""
        return clone(self.estimator).set_params(**params)


class SeveralLearners:
    """Several estimators: a trial first chooses one, then the parameters of that one.

    The parameter ``C`` of the learner ``svm`` is suggested as ``svm__C``. Parameter values are
    those of the estimator, and ``learner``, its name.

    Args:
        learners: (estimator, space) by name; the space as for :class:`OneLearner`.
        random_state: Given to every ``random_state`` that is None.
    """

    def __init__(
        self, learners: Mapping[str, tuple[Any, Space | None]], random_state: int
    ) -> None:
        self._learners = {
            name: OneLearner(*_pair(name, given), random_state)
            for name, given in _named(learners).items()
        }
        self.estimators = tuple(each.estimator for each in self._learners.values())
        self.searched = tuple(each.searched[0] for each in self._learners.values())
        kinds = {name: each.classification for name, each in self._learners.items()}
        if len(set(kinds.values())) > 1:
            words = {n: "classifier" if c else "regressor" for n, c in kinds.items()}
            raise ValueError(f"Learners must be of one kind, but are {words}. Drop some.")
        self.classification = all(kinds.values())
        self._which = CategoricalDistribution(tuple(self._learners))
        known: dict[str, BaseDistribution] = {LEARNER: self._which}
        active: dict[str, tuple[str, Sequence[Any]]] = {}
        self._own_names: dict[str, dict[str, str]] = {}
        for name, each in self._learners.items():
            own = {param: suggestion_name(name, param) for param in each.distributions or {}}
            twice = sorted(known.keys() & set(own.values()))
            if twice:
                raise ValueError(
                    f"Two parameters would be suggested as {twice[0]!r}. Rename a learner."
                )
            self._own_names[name] = own
            for param, called in own.items():
                known[called] = (each.distributions or {})[param]
                active[called] = (LEARNER, [name])
        self.distributions: Mapping[str, BaseDistribution] | None = known
        self.active_if: Mapping[str, tuple[str, Sequence[Any]]] = active

    def check(self, features: Representation | None, table: FeatureTable) -> None:
        """Refuse a space that does not fit its estimator."""
        for name, each in self._learners.items():
            if each.space is not None:
                try:
                    each.check(None, table)
                except ValueError as error:
                    raise ValueError(f"Learner {name!r}: {error}") from error
        check_names(set(self.distributions or ()), features, table)

    def suggest(self, trial: Trial) -> dict[str, Any]:
        """Suggest a learner, then its parameters."""
        name = suggest(trial, LEARNER, self._which)
        each, own = self._learners[name], self._own_names[name]
        if callable(each.space):
            return {LEARNER: name, **each.suggest(trial)}
        found = {p: suggest(trial, own[p], d) for p, d in (each.space or {}).items()}
        return {LEARNER: name, **found}

    def params_of(self, trial: FrozenTrial) -> dict[str, Any]:
        """The learner of a trial and its parameters."""
        name = _replayed(trial, LEARNER, self._which)
        each, own = self._learners[name], self._own_names[name]
        if callable(each.space):
            return {LEARNER: name, **each.params_of(trial)}
        found = {p: _replayed(trial, own[p], d) for p, d in (each.space or {}).items()}
        return {LEARNER: name, **found}

    def configured(self, params: Mapping[str, Any]) -> Any:
        """A clone of the learner that is named, with its parameters."""
        rest = dict(params)
        return self._learners[rest.pop(LEARNER)].configured(rest)


def suggestion_name(learner: str, param: str) -> str:
    """How a learner's parameter is suggested.

    Example:
        >>> suggestion_name("tree", "max_depth"), suggestion_name("svm", "svm__C")
        ('tree__max_depth', 'svm__C')
    """
    return param if param.startswith(f"{learner}__") else f"{learner}__{param}"


def seeded(estimator: Any, seed: int) -> Any:
    """A clone whose unset ``random_state`` parameters are set, so that trials repeat exactly."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise ValueError(
            f"estimator must have fit and get_params as scikit-learn's have, but is {estimator!r}."
        )
    copy = clone(estimator)
    if is_clusterer(copy) or is_outlier_detector(copy):
        raise ValueError(
            f"estimator must learn a target: a classifier or a regressor, but is {estimator!r}."
        )
    unset = {
        name: seed
        for name, value in copy.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return copy.set_params(**unset)


def checked_seed(random_state: Any) -> int:
    """A seed as a plain integer."""
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise ValueError(
            f"random_state must be an integer of at least 0, but is {random_state!r}."
        )
    return int(random_state)


def _replayed(trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
    if name not in trial.params:
        raise ValueError(
            f"Trial {trial.number} has no parameter {name!r}: it has "
            f"{sorted(trial.params)}. Pass a trial of a study of this objective."
        )
    return replayed(trial, name, distribution)


def _named(learners: Any) -> Mapping[str, Any]:
    if not isinstance(learners, Mapping) or not learners:
        raise ValueError(
            "learners must be a dict such as {'tree': (DecisionTreeClassifier(), space)}, "
            f"but is {learners!r}."
        )
    odd = [name for name in learners if not isinstance(name, str) or not name]
    if odd:
        raise ValueError(f"Learners need texts as names, but one is {odd[0]!r}.")
    return learners


def _pair(name: str, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, tuple) or len(given) != 2:
        raise ValueError(
            f"Learner {name!r} must be a pair (estimator, space), but is {given!r}. "
            "optuna_mofs.spaces.get_learner(name) gives one; the space may be None."
        )
    return given


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
            "Pass representation=None to tune only, or fix fewer."
        )
    both = sorted(set(features.bind(table).distributions) & names)
    if both:
        raise ValueError(
            f"{both[0]!r} names a hyperparameter and a suggestion of features. Rename the column "
            "or the step of the pipeline, or use "
            "representation=MaskFeatures(form='packed', name=...)."
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


class ReplayTrial(FixedTrial):
    """Suggests again what a finished trial was suggested.

    Unlike its base it knows choices by their position, since a storage may give them back as
    another type (tuples as lists).
    """

    def __init__(self, trial: FrozenTrial) -> None:
        super().__init__(trial.params, number=trial.number)
        self._known = trial

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        if name not in self._known.params:
            raise ValueError(
                f"Trial {self._known.number} has no parameter {name!r}: it has "
                f"{sorted(self._known.params)}. Was it made by another space?"
            )
        return replayed(self._known, name, distribution)


class ProbeTrial(FixedTrial):
    """Suggests the first value of every parameter, to try a space before any trial."""

    def __init__(self) -> None:
        super().__init__({})

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        if isinstance(distribution, CategoricalDistribution):
            value = distribution.choices[0]
        else:
            value = distribution.low  # type: ignore[attr-defined]
        self._suggested_params[name] = value
        self._distributions[name] = distribution
        return value


def replayed(trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
    """A parameter of a finished trial as a distribution of today gives it."""
    value = trial.params[name]
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(trial.distributions[name].to_internal_repr(value))]
    return value
