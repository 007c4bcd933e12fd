"""One or several estimators, and which of their parameters are searched."""

from __future__ import annotations

import copy
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial, Trial
from sklearn.base import is_classifier, is_clusterer, is_outlier_detector

from optuna_mofs._estimators import unfitted_copy
from optuna_mofs._optuna import FunctionTrial
from optuna_mofs._validation import did_you_mean
from optuna_mofs.features._representation import Representation
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.study._description import PER_FEATURE
from optuna_mofs.study._feature_sets import suggest

Space = Mapping[str, BaseDistribution] | Callable[[Trial], Mapping[str, Any]]
#: The parameter that selects the estimator where there are several.
LEARNER = "learner"


class EstimatorSpace:
    """One estimator, and which of its parameters are searched.

    Args:
        estimator: Any scikit-learn compatible classifier, regressor or pipeline.
        space: Distributions by parameter name, or a function of the trial that returns parameter
            values, or None.
        random_state: Given to every ``random_state`` that is None, so that trials can be repeated.

    Attributes:
        estimators: Every estimator, unfitted.
        classification: Whether they are classifiers.
        distributions: Distributions of the trial's parameters that are known in advance, or None.
        active_if: For parameters that are not in every trial: the parameter they depend on, and
            the choices of it for which they are active.
        searched: For each estimator, the names of its parameters that are known to be searched.
    """

    def __init__(self, estimator: Any, space: Space | None, random_state: int = 0) -> None:
        self.space = space
        self.estimators: tuple[Any, ...] = (with_seed(estimator, random_state),)
        self.classification = is_classifier(self.estimators[0])
        self.distributions = None if callable(space) else space
        self.active_if: Mapping[str, tuple[str, Sequence[Any]]] = {}
        self.searched: tuple[frozenset[str], ...] = (frozenset(self.distributions or ()),)

    @property
    def defaults(self) -> dict[str, Any]:
        """The estimator's own values of the searched parameters, by name in the trial.

        A number outside the searched range is that of its nearest end; a kernel width of
        ``"scale"`` or ``"auto"`` is :data:`PER_FEATURE`.
        """
        own = self.estimators[0].get_params()
        found = {n: default_value(n, own.get(n), d) for n, d in (self.distributions or {}).items()}
        return {name: value for name, value in found.items() if value is not None}

    def check(self, representation: Representation | None, table: FeatureTable) -> None:
        """Raise if the space does not fit the estimator, or its names clash with the features."""
        names = self.parameter_names()
        selects = representation is not None and len(table.free) > 0
        if not selects and not self.distributions and not callable(self.space):
            raise ValueError(
                "There is nothing to search: no space, and no feature that can be switched. "
                "Pass a space, or features to choose from."
            )
        if representation is None:
            return
        if not selects:
            raise ValueError(
                f"All {len(table)} features are fixed, so there are none to choose. "
                "Pass representation=None to tune only, or fix fewer."
            )
        both = sorted(set(representation.bind(table).distributions) & names)
        if both:
            raise ValueError(
                f"The name {both[0]!r} is used for a hyperparameter and for a parameter that "
                "selects features. Rename the column or the step of the pipeline, or use "
                "representation=MaskFeatures(form='packed', name=...)."
            )

    def parameter_names(self) -> set[str]:
        """Return the names of the trial's parameters, or raise if the space does not fit."""
        if self.space is None:
            return set()
        if isinstance(self.space, Mapping):
            _check_distributions(self.estimators[0], self.space)
            return set(self.space)
        if not callable(self.space):
            raise ValueError(
                "space must be a dict of Optuna distributions, a function of the trial or None, "
                f"got {self.space!r}."
            )
        # Called once, outside of any study.
        trial = FunctionTrial(_first_value)
        try:
            params = self.suggest(trial)
        except (optuna.TrialPruned, AttributeError):
            # It can prune, or use trial.study, which this trial lacks: the first trial shows it.
            return set(trial.distributions)
        try:
            self.configure(params)
        except ValueError as error:
            raise ValueError(f"space returned parameters that do not fit: {error}") from error
        return set(trial.distributions)

    def suggest(self, trial: Any, names: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Suggest the values of the estimator's parameters.

        Args:
            trial: A trial, or :func:`replay` of one to get its values again.
            names: Names in the trial of parameters that are called differently there.
        """
        if not callable(self.space):
            called = names or {}
            return {p: suggest(trial, called.get(p, p), d) for p, d in (self.space or {}).items()}
        params = self.space(trial)
        if not isinstance(params, Mapping):
            raise ValueError(
                "A space that is a function of the trial must return a dict of parameter values, "
                f"got {params!r}."
            )
        return dict(params)

    def for_rows(self, n_rows: int) -> Self:
        """Return a copy for training folds of so many rows: no more neighbors than rows."""
        found = copy.copy(self)
        if isinstance(self.space, Mapping):
            found.space = {n: _at_most(n, d, n_rows) for n, d in self.space.items()}
            found.distributions = found.space
        return found

    def configure(self, params: Mapping[str, Any]) -> Any:
        """Return an unfitted estimator with these parameters."""
        return unfitted_copy(self.estimators[0]).set_params(**params)


class EstimatorChoice(EstimatorSpace):
    """Several estimators: a trial chooses one, then the parameters of that one.

    The parameter ``C`` of the estimator called ``svm`` is suggested as ``svm__C``. Parameter
    values are those of the estimator, and ``learner``, its name.

    Args:
        learners: (estimator, space) by name; a space as in :class:`EstimatorSpace`.
        random_state: Given to every ``random_state`` that is None.
    """

    def __init__(
        self, learners: Mapping[str, tuple[Any, Space | None]], random_state: int = 0
    ) -> None:
        _check_learners(learners)
        members = {name: EstimatorSpace(*pair, random_state) for name, pair in learners.items()}
        kinds = {n: "classifier" if m.classification else "regressor" for n, m in members.items()}
        if len(set(kinds.values())) > 1:
            raise ValueError(
                f"learners must be all classifiers or all regressors, got {kinds}. Drop some."
            )
        self._members = members
        self._choice = CategoricalDistribution(tuple(members))
        self.space = None
        self.estimators = tuple(member.estimators[0] for member in members.values())
        self.classification = "classifier" in kinds.values()
        self.searched = tuple(member.searched[0] for member in members.values())
        self._names: dict[str, dict[str, str]] = {name: {} for name in members}
        distributions: dict[str, BaseDistribution] = {LEARNER: self._choice}
        active_if: dict[str, tuple[str, Sequence[Any]]] = {}
        for name, member in members.items():
            for param, distribution in (member.distributions or {}).items():
                # A pipeline may have a step with the name of the learner.
                called = param if param.startswith(f"{name}__") else f"{name}__{param}"
                if called in distributions:
                    raise ValueError(
                        f"Two parameters would be suggested as {called!r}. Rename a learner."
                    )
                self._names[name][param] = called
                distributions[called] = distribution
                active_if[called] = (LEARNER, [name])
        self.distributions = distributions
        self.active_if = active_if

    @property
    def defaults(self) -> dict[str, Any]:
        """The values of all estimators, by name in the trial."""
        return {
            self._names[name][param]: value
            for name, member in self._members.items()
            for param, value in member.defaults.items()
        }

    def parameter_names(self) -> set[str]:
        """Return the names of the trial's parameters, or raise if a space does not fit."""
        names = set(self.distributions or ())
        for name, member in self._members.items():
            try:
                own = member.parameter_names()
            except ValueError as error:
                raise ValueError(f"Learner {name!r}: {error}") from error
            if callable(member.space):
                names |= own
        return names

    def suggest(self, trial: Any, names: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Suggest an estimator, then its parameters."""
        name = suggest(trial, LEARNER, self._choice)
        return {LEARNER: name, **self._members[name].suggest(trial, self._names[name])}

    def for_rows(self, n_rows: int) -> Self:
        """Return a copy for training folds of so many rows."""
        found = copy.copy(self)
        found._members = {name: m.for_rows(n_rows) for name, m in self._members.items()}
        found.distributions = {
            n: _at_most(n, d, n_rows) for n, d in (self.distributions or {}).items()
        }
        return found

    def configure(self, params: Mapping[str, Any]) -> Any:
        """Return the unfitted estimator that is named, with its parameters."""
        own = dict(params)
        return self._members[own.pop(LEARNER)].configure(own)


def _at_most(name: str, distribution: BaseDistribution, n_rows: int) -> BaseDistribution:
    """Return the distribution of a number of neighbors up to the number of rows."""
    is_number = name.split("__")[-1] == "n_neighbors"
    if not (is_number and isinstance(distribution, IntDistribution)):
        return distribution
    if distribution.high <= n_rows:
        return distribution
    low, step = min(distribution.low, n_rows), distribution.step
    high = low + (n_rows - low) // step * step
    return IntDistribution(low, high, log=distribution.log, step=step)


def default_value(name: str, value: Any, distribution: BaseDistribution) -> Any:
    """Return an estimator's own value of a parameter as one that a trial can have, or None."""
    if isinstance(distribution, CategoricalDistribution):
        return value if value in distribution.choices else None
    if name.split("__")[-1] == "gamma" and value in ("scale", "auto"):
        return PER_FEATURE
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    low, high = distribution.low, distribution.high  # type: ignore[attr-defined]
    return min(high, max(low, value))


def with_seed(estimator: Any, seed: int) -> Any:
    """Return a clone in which every ``random_state`` that is None is set to the seed."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise ValueError(
            "estimator must have the methods fit and get_params of scikit-learn, "
            f"got {estimator!r}."
        )
    unfitted = unfitted_copy(estimator)
    if is_clusterer(unfitted) or is_outlier_detector(unfitted):
        raise ValueError(f"estimator must be a classifier or a regressor, got {estimator!r}.")
    unset = {
        name: seed
        for name, value in unfitted.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return unfitted.set_params(**unset)


def replay(trial: FrozenTrial) -> Any:
    """Return a trial that suggests the values of another trial again."""

    def value_of(name: str, distribution: BaseDistribution) -> Any:
        if name not in trial.params:
            raise ValueError(
                f"Trial {trial.number} has no parameter {name!r}: it has "
                f"{sorted(trial.params)}. Pass a trial of a study of this objective."
            )
        value = trial.params[name]
        if isinstance(distribution, CategoricalDistribution):
            # By position, because a storage can return another type: a list instead of a tuple.
            return distribution.choices[int(trial.distributions[name].to_internal_repr(value))]
        return value

    return FunctionTrial(value_of, number=trial.number)


def _first_value(name: str, distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[0]
    return distribution.low  # type: ignore[attr-defined]


def _check_learners(learners: Any) -> None:
    if not isinstance(learners, Mapping) or not learners:
        raise ValueError(
            "learners must be a dict such as {'tree': (DecisionTreeClassifier(), space)}, "
            f"got {learners!r}."
        )
    for name, pair in learners.items():
        if not isinstance(name, str) or not name:
            raise ValueError(f"The names of learners must be non-empty strings, got {name!r}.")
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                f"Learner {name!r} must be a pair (estimator, space), got {pair!r}. "
                "optuna_mofs.spaces.get_learner(name) returns one; the space can be None."
            )


def _is_argument(estimator: Any, known: Mapping[str, Any], name: str) -> bool:
    """Return whether a parameter is an argument of a class that lists only those that are set.

    CatBoost's estimators do so.
    """
    prefix, _, own = name.rpartition("__")
    owner = known.get(prefix) if prefix else estimator
    return owner is not None and own in inspect.signature(type(owner)).parameters


def _check_distributions(estimator: Any, space: Mapping[str, BaseDistribution]) -> None:
    if not space:
        raise ValueError("space is empty. Pass space=None to select features only.")
    known = estimator.get_params()
    for name, distribution in space.items():
        if name not in known and not _is_argument(estimator, known, name):
            hint = did_you_mean(name, known)
            raise ValueError(
                f"space names {name!r}, which is no parameter of {type(estimator).__name__}.{hint}"
            )
        if not isinstance(distribution, BaseDistribution):
            raise ValueError(
                f"space[{name!r}] must be an Optuna distribution such as "
                f"FloatDistribution(0, 1), got {distribution!r}."
            )
        for choice in getattr(distribution, "choices", ()):
            try:
                json.dumps(choice)
            except TypeError:
                raise ValueError(
                    f"space[{name!r}] has the choice {choice!r}, which no study can store. Use "
                    "strings or numbers, and as space a function of the trial that turns them "
                    "into such objects."
                ) from None
