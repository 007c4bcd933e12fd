"""One or several estimators, and which of their parameters are searched."""

from __future__ import annotations

import copy
import inspect
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial
from sklearn.base import is_classifier, is_clusterer, is_outlier_detector

from optuna_mofs._estimators import check_is_estimator, unfitted_copy
from optuna_mofs._optuna import FunctionTrial
from optuna_mofs._validation import did_you_mean
from optuna_mofs.features._representation import Representation
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.objectives._parameter_space import ParameterSpace, Space, parameter_space
from optuna_mofs.study._description import PER_FEATURE
from optuna_mofs.study._feature_sets import suggest

#: The parameter that selects the estimator where there are several.
LEARNER = "learner"
#: The parameter that selects one of several spaces of one estimator.
SUBSPACE = "subspace"


def estimator_space(estimator: Any, space: Space | None, random_state: int = 0) -> EstimatorSpace:
    """Return an estimator with its space; each dict of a list of them is a space of its own.

    Args:
        estimator: Any scikit-learn compatible classifier, regressor or pipeline.
        space: As of :class:`EstimatorSpace`, or a list of dicts.
        random_state: Given to every ``random_state`` that is None.
    """
    if not isinstance(space, Sequence) or isinstance(space, str):
        return EstimatorSpace(estimator, space, random_state)
    if not space or not all(isinstance(part, Mapping) for part in space):
        raise ValueError(f"A space that is a list must hold dicts, at least one, got {space!r}.")
    if len(space) == 1:
        return EstimatorSpace(estimator, space[0], random_state)
    return SubspaceChoice(estimator, space, random_state)


class EstimatorSpace:
    """One estimator, and which of its parameters are searched.

    Args:
        estimator: Any scikit-learn compatible classifier, regressor or pipeline.
        space: Distributions or lists of values by parameter name, or a function of the trial that
            returns parameter values, or None.
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
        self.parameters = ParameterSpace({}, {})
        if isinstance(space, Mapping):
            self.parameters = parameter_space(space)
        self._random_state = random_state
        has_distributions = isinstance(space, Mapping)
        self.distributions: Mapping[str, BaseDistribution] | None = (
            self.parameters.distributions if has_distributions else None
        )
        self.active_if: Mapping[str, tuple[str, Sequence[Any]]] = {}
        self.searched: tuple[frozenset[str], ...] = (frozenset(self.distributions or ()),)

    @property
    def defaults(self) -> dict[str, Any]:
        """The estimator's own values of the searched parameters, by name in the trial.

        Numbers are clipped to the searched range; a kernel width of ``"scale"`` or ``"auto"`` is
        :data:`PER_FEATURE`.
        """
        own = self.estimators[0].get_params()
        found = {
            name: default_value(name, self.parameters.label(name, own.get(name)), distribution)
            for name, distribution in self.parameters.distributions.items()
        }
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
            self.check_names()
            return set(self.space)
        if not callable(self.space):
            raise ValueError(
                "space must be a dict of distributions or lists, a list of such dicts, a function "
                f"of the trial or None, got {self.space!r}."
            )
        # Called once, outside of any study.
        trial = FunctionTrial(_first_value)
        try:
            params = self.suggest(trial)
        except (optuna.TrialPruned, AttributeError):
            # It prunes, or uses trial.study, which this trial lacks: wait for the first trial.
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
            called, own = names or {}, self.parameters
            return {
                name: own.decode(name, suggest(trial, called.get(name, name), distribution))
                for name, distribution in own.distributions.items()
            }
        params = self.space(trial)
        if not isinstance(params, Mapping):
            raise ValueError(
                "A space that is a function of the trial must return a dict of parameter values, "
                f"got {params!r}."
            )
        return dict(params)

    def for_rows(self, n_rows: int) -> Self:
        """Return a copy for training folds of this size: no more neighbors than rows."""
        found = copy.copy(self)
        if self.distributions is not None:
            limited = {n: _at_most(n, d, n_rows) for n, d in self.distributions.items()}
            found.distributions = limited
            found.parameters = self.parameters._replace(distributions=limited)
        return found

    def configure(self, params: Mapping[str, Any]) -> Any:
        """Return an unfitted estimator with these parameters."""
        # Parameters can be estimators, such as the steps of a pipeline.
        own = {
            name: unfitted_copy(value) if hasattr(value, "get_params") else value
            for name, value in params.items()
        }
        configured = unfitted_copy(self.estimators[0]).set_params(**own)
        # The estimator has its seeds already.
        if any(hasattr(value, "get_params") for value in own.values()) or any(
            value is None and name.split("__")[-1] == "random_state" for name, value in own.items()
        ):
            return set_seeds(configured, self._random_state)
        return configured

    def check_names(self) -> None:
        """Raise if the estimator lacks a parameter, or if a study cannot store a choice."""
        if not self.parameters.distributions:
            raise ValueError("space is empty. Pass space=None to select features only.")
        known = self.estimators[0].get_params()
        objects = self.parameters.objects
        for name, distribution in self.parameters.distributions.items():
            # The estimator of a step can be searched as well: 'svc__C' if 'svc' is a choice.
            is_nested = any(name.startswith(f"{part}__") for part in objects)
            if name not in known and not is_nested and not self._is_argument(known, name):
                hint = did_you_mean(name, known)
                kind = type(self.estimators[0]).__name__
                raise ValueError(
                    f"space names {name!r}, which is not a parameter of {kind}.{hint}"
                )
            _check_choices(name, distribution)

    def _is_argument(self, known: Mapping[str, Any], name: str) -> bool:
        """Return whether a parameter is an argument of a class that lists only those that are set.

        CatBoost's estimators do so.
        """
        prefix, _, own = name.rpartition("__")
        owner = known.get(prefix) if prefix else self.estimators[0]
        return owner is not None and own in inspect.signature(type(owner)).parameters


class SubspaceChoice(EstimatorSpace):
    """One estimator and several spaces: a trial chooses one of them, then its parameters.

    A parameter with the same distribution in all dicts that have it keeps its name in the trial;
    otherwise ``C`` of the second dict is suggested as ``subspace1__C``.

    Args:
        estimator: Any scikit-learn compatible classifier, regressor or pipeline.
        spaces: One dict per space, as of :class:`EstimatorSpace`.
        random_state: Given to every ``random_state`` that is None.
    """

    def __init__(
        self, estimator: Any, spaces: Sequence[Mapping[str, Any]], random_state: int = 0
    ) -> None:
        super().__init__(estimator, None, random_state)
        self.space = spaces
        self._members = [EstimatorSpace(estimator, part, random_state) for part in spaces]
        found = [member.parameters.distributions for member in self._members]
        self._choice = CategoricalDistribution(range(len(spaces)))
        self._names: list[dict[str, str]] = [{} for _ in spaces]
        distributions: dict[str, BaseDistribution] = {SUBSPACE: self._choice}
        active_if: dict[str, tuple[str, Sequence[Any]]] = {}
        for name in dict.fromkeys(name for part in found for name in part):
            having = [i for i, part in enumerate(found) if name in part]
            is_same = all(found[i][name] == found[having[0]][name] for i in having)
            for i in having:
                called = name if is_same else f"{SUBSPACE}{i}__{name}"
                self._names[i][name] = called
                distributions[called] = found[i][name]
                active = having if is_same else [i]
                if len(active) < len(spaces):
                    active_if[called] = (SUBSPACE, active)
        self.distributions = distributions
        self.active_if = active_if
        self.searched = (frozenset(name for part in found for name in part),)

    @property
    def defaults(self) -> dict[str, Any]:
        """The estimator's own values of the searched parameters, by name in the trial."""
        return {
            names[name]: value
            for names, member in zip(self._names, self._members)
            for name, value in member.defaults.items()
        }

    def parameter_names(self) -> set[str]:
        """Return the names of the trial's parameters, or raise if a space does not fit."""
        for member in self._members:
            member.check_names()
        return set(self.distributions or ())

    def suggest(self, trial: Any, names: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Suggest a space, then its parameters."""
        i = int(suggest(trial, SUBSPACE, self._choice))
        return self._members[i].suggest(trial, self._names[i])

    def for_rows(self, n_rows: int) -> Self:
        """Return a copy for training folds of this size."""
        found = super().for_rows(n_rows)
        found._members = [member.for_rows(n_rows) for member in self._members]
        return found


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
        """Return a copy for training folds of this size."""
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
    check_is_estimator(estimator)
    unfitted = unfitted_copy(estimator)
    if is_clusterer(unfitted) or is_outlier_detector(unfitted):
        raise ValueError(f"estimator must be a classifier or a regressor, got {estimator!r}.")
    return set_seeds(unfitted, seed)


def set_seeds(estimator: Any, seed: int) -> Any:
    """Set every ``random_state`` that is None to the seed, and return the estimator."""
    unset = {
        name: seed
        for name, value in estimator.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return estimator.set_params(**unset)


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
        if isinstance(pair[1], list | tuple):
            raise ValueError(
                f"Learner {name!r} has a list of spaces. Add one learner for each of them."
            )


def _check_choices(name: str, distribution: BaseDistribution) -> None:
    for choice in getattr(distribution, "choices", ()):
        try:
            json.dumps(choice)
        except TypeError:
            raise ValueError(
                f"space[{name!r}] has the choice {choice!r}, which no study can store. Pass the "
                "choices as a list, or as space a function of the trial that turns strings or "
                "numbers into such objects."
            ) from None
