"""Feature sets as trial parameters: a mask, a filter ensemble, or one filter.

Binder et al. (2020), sections 4.2.1, 4.2.2 and 4.3, and Figure 1.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import Any, ClassVar, Literal, Self

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice, check_int, did_you_mean
from optuna_mofs.features._codec import (
    FORMS,
    MaskCodec,
    UnknownMaskError,
    mask_id,
    pack_attribute,
)
from optuna_mofs.features._mask_sampling import cost_adjusted, weights_from_raw
from optuna_mofs.features._redundancy import best_first, select_non_redundant
from optuna_mofs.features._table import FeatureTable

Ranks = Literal["fold", "all"]
Scale = Literal["log", "linear"]
#: Raw weights are cubed on the scale "log": uniform ones are nearly always a mixture of all
#: filters, cubed ones often leave nearly all of the weight to one or two.
_WEIGHT_POWER = 3
#: Prefix of the parameters of exceptions.
_EXCEPTION = "exception_"
#: Exceptions are numbers up to this many times the number of features, beyond which there is none:
#: of twenty random numbers one is an exception.
_NO_EXCEPTION = 20
#: Each of them is a parameter of every trial.
_MAX_EXCEPTIONS = 1000
#: Parameter of filter representations that sets the number of features.
FRACTION = "fraction"
#: Number of features that is rounded to none, at the lower end of the scale "log".
_NO_FEATURES = 0.4
#: Parameter of filter ensembles, and the option that enables it.
_PENALTY = "redundancy_penalty"
#: Parameter of filter representations, and the option that enables it.
_TILT = "cost_tilt"
#: A score of 0 or 1 would stay where it is, whatever the cost of the feature.
_MIN_ODDS = 1e-3
#: Median redundancy from which ``redundancy_penalty="auto"`` means True.
_MIN_REDUNDANCY = 0.5


class Representation(ABC):
    """Converts parameters into masks over the free features of a table.

    A user creates a representation without data; the objective binds it to a table.
    """

    #: Its name, which users pass and studies store.
    kind: ClassVar[str]
    #: Names of the parameters that encode a mask, which a sampler may set as a whole.
    mask_parameters: tuple[str, ...] = ()
    #: Whether filter ranks determine the mask: those of each training fold, or of all data.
    ranks: Ranks | None = None
    #: Whether masks depend on the similarity of features.
    needs_similar: bool = False
    #: Whether the parameters alone, without ranks or an attribute, determine the mask.
    is_plain: bool = False
    table: FeatureTable

    def resolve(self, median_redundancy: Callable[[], float]) -> Self:
        """Return a copy in which every option that depends on the data has its value.

        Args:
            median_redundancy: Function that returns the median, over features, of the largest
                squared correlation with another feature; called only if needed.
        """
        return copy.copy(self)

    def bind(self, table: FeatureTable) -> Self:
        """Return a copy that is bound to the features."""
        bound = copy.copy(self)
        bound.table = table
        return bound

    @property
    @abstractmethod
    def distributions(self) -> dict[str, BaseDistribution]:
        """The distributions of the parameters by name."""

    @abstractmethod
    def choose(
        self,
        params: Mapping[str, Any],
        *,
        table: FeatureTable | None = None,
        attr: list[Any] | None = None,
        others: Iterable[list[Any]] = (),
    ) -> Array:
        """Return the mask over the free features that a trial's parameters encode.

        Args:
            params: The trial's parameters.
            table: Features with the ranks of some of the rows; by default those of all rows.
            attr: The trial's mask attribute, if any.
            others: Mask attributes of other trials.
        """

    @abstractmethod
    def attribute(self, params: Mapping[str, Any], mask: Array) -> list[Any] | None:
        """Return the trial attribute that holds the mask; None if the parameters determine it."""

    def to_json(self) -> dict[str, Any]:
        """Return kind and options as JSON values."""
        return {"kind": self.kind}


class MaskFeatures(Representation):
    """One bit per feature: the wrapper approach.

    Args:
        form: ``"bits"`` (one boolean parameter per feature), ``"packed"`` (one integer and one
            attribute), or ``"auto"``: bits for up to 12 free features.
        name: Name of the integer parameter.
    """

    kind = "mask"
    codec: MaskCodec

    def __init__(self, *, form: str = "auto", name: str = "mask") -> None:
        self.form = check_choice("form", form, FORMS)
        self.name = name

    def bind(self, table: FeatureTable) -> Self:
        """Return a copy that is bound to the features."""
        bound = super().bind(table)
        bound.codec = MaskCodec(table, form=self.form, name=self.name)
        bound.mask_parameters = bound.codec.parameters
        bound.is_plain = bound.codec.form == "bits"
        return bound

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The distributions of the parameters by name."""
        return self.codec.distributions

    def choose(
        self,
        params: Mapping[str, Any],
        *,
        table: FeatureTable | None = None,
        attr: list[Any] | None = None,
        others: Iterable[list[Any]] = (),
    ) -> Array:
        """Return the mask over the free features, which does not depend on ranks."""
        mask = self.codec.decode(params, attr, others)
        if mask is not None:
            return mask
        if self.is_plain or self.name not in params:
            raise ValueError(f"The trial lacks parameters of its mask: it has {sorted(params)}.")
        raise UnknownMaskError(
            f"{self.name}={params[self.name]} identifies no feature set of this study: no trial "
            "has it, and in another study the same integer can identify another set. Enqueue the "
            "features by name: enqueue_features(study, names, params)."
        )

    def attribute(self, params: Mapping[str, Any], mask: Array) -> list[Any] | None:
        """Return the trial attribute that holds the mask (None in the bits form)."""
        return self.codec.attribute(params, mask)

    def to_json(self) -> dict[str, Any]:
        """Return kind and options as JSON values, with the form ``"auto"`` resolved."""
        return {"kind": self.kind, "form": self.codec.form, "name": self.name}


class FilterFeatures(Representation):
    """The common part of both filter representations: a fraction, and which ranks to use."""

    def __init__(
        self, *, ranks: Ranks = "fold", scale: Scale = "log", cost_tilt: bool = True
    ) -> None:
        check_choice("ranks", ranks, ("fold", "all"))
        check_choice("scale", scale, ("log", "linear"))
        self.ranks: Ranks = ranks
        self.scale: Scale = scale
        self.cost_tilt = cost_tilt
        # Whether features have different costs, which a parameter can take into account.
        self._tilts = False

    @classmethod
    def from_paper(cls) -> Self:
        """Return the representation of Binder et al. (2020): a fraction, and ranks of all data."""
        return cls(ranks="all", scale="linear", cost_tilt=False)

    @property
    def _tilt(self) -> dict[str, BaseDistribution]:
        return {_TILT: FloatDistribution(0.0, 1.0)} if self._tilts else {}

    @property
    def fraction(self) -> FloatDistribution:
        """The distribution of the fraction of the free features, within their limits."""
        p, (low, high) = max(1, len(self.table.free)), self.table.size_limits
        # Half a feature more: numbers on the scale "log" are rounded to the nearest one.
        if self.scale == "linear":
            return FloatDistribution(max(0, low - 1) / p, high / p if high else 1 / p)
        return FloatDistribution(
            max(_NO_FEATURES, low - 0.5) / p, min(1.0, (high + 0.5) / p), log=True
        )

    def sizes(self, params: Mapping[str, Any]) -> Array:
        """Return the number of free features, one per trial for arrays."""
        exact = len(self.table.free) * np.asarray(params[FRACTION])
        # The paper rounds up.
        rounded = np.rint(exact) if self.scale == "log" else np.ceil(exact - 1e-9)
        return np.asarray(np.clip(rounded, *self.table.size_limits), dtype=np.int64)

    def bind(self, table: FeatureTable) -> Self:
        """Return a copy that is bound to the features, which must have filters."""
        if not table.filters:
            raise ValueError(
                f"The {self.kind!r} representation ranks features by filters, but there are none. "
                "Pass at least one."
            )
        bound, costs = super().bind(table), table.free_costs
        bound._tilts = self.cost_tilt and costs is not None and bool(np.ptp(costs) > 0)
        return bound

    def attribute(self, params: Mapping[str, Any], mask: Array) -> list[Any] | None:
        """Return the trial attribute that holds the mask by the ranks of all data."""
        return pack_attribute(mask_id(mask), mask)

    def choose(
        self,
        params: Mapping[str, Any],
        *,
        table: FeatureTable | None = None,
        attr: list[Any] | None = None,
        others: Iterable[list[Any]] = (),
    ) -> Array:
        """Return the best free features by score, ties by position, after exceptions."""
        table = self.table if table is None else table
        if table.free_ranks is None:
            raise ValueError(
                f"The filters {self.table.filters} have not ranked the features yet. "
                "Bind a table with ranks."
            )
        score = self.tilted_scores(params, table.free_ranks, self.table.free_costs)
        count = min(int(self.sizes(params)), len(score))
        penalty = float(self.penalties(params))
        mask = np.zeros(len(score), dtype=bool)
        if penalty == 0 or table.similar is None:
            mask[best_first(score, count)] = True
        else:
            full_score = np.full(len(table), np.nan)
            full_score[table.free] = score
            chosen = select_non_redundant(
                full_score, count, penalty=penalty, similar=table.similar, fixed=table.fixed
            )
            mask[np.searchsorted(table.free, chosen)] = True
        for name in self.exception_parameters:
            exception = int(params[name])
            if 0 < abs(exception) <= len(mask):
                mask[abs(exception) - 1] = exception > 0
                score[abs(exception) - 1] = np.inf if exception > 0 else -np.inf
        return table.limited(mask, score)

    @abstractmethod
    def scores(self, params: Mapping[str, Any], ranks: Array) -> Array:
        """Return the score of each feature, higher is better; one row per trial for arrays.

        Args:
            params: Values by name, or arrays with one value per trial.
            ranks: Filters × features.
        """

    def tilted_scores(self, params: Mapping[str, Any], ranks: Array, costs: Array | None) -> Array:
        """Return :meth:`scores`, with the odds of each divided by a power of its relative cost.

        ``costs`` are those of the features of ``ranks``.
        """
        scores = self.scores(params, ranks)
        if self._tilts:
            power = np.asarray(params[_TILT])[..., None]
            scores = cost_adjusted(np.clip(scores, _MIN_ODDS, 1 - _MIN_ODDS), costs, power)
        # Rounded, so that the last bit of a sum does not decide between copies of a feature.
        return np.round(scores, 12)

    @property
    def exception_parameters(self) -> tuple[str, ...]:
        """Names of the parameters of features that are added or left out against the rule."""
        return ()

    def penalties(self, params: Mapping[str, Any]) -> Array:
        """Return the share of its score that a copy of a selected feature loses, per trial."""
        return np.zeros(np.shape(self.sizes(params)))

    def to_json(self) -> dict[str, Any]:
        """Return kind and options as JSON values."""
        found: dict[str, Any] = {"kind": self.kind, "ranks": self.ranks, "scale": self.scale}
        return {**found, _TILT: True} if self._tilts else found


class FilterEnsembleFeatures(FilterFeatures):
    """A rule: a fraction and the weights of the filters (section 4.2.2).

    The parameter of a weight is a raw value ``u`` in [0, 1]. The weights are ``-log(1 - u^3)``,
    normalized, so that often one or two filters have nearly all of the weight. On the scale
    ``"linear"`` they are ``-log(1 - u)``, which is uniform on the simplex.

    The best features by weighted ranks can be near copies of each other, especially in spectra and
    images. With ``redundancy_penalty`` there is one more parameter of that name, ``u`` in [0, 1]:
    a copy of a selected feature loses the share ``u^3`` of its score, nothing at 0 and all at 1.
    The cube gives small penalties more room: of 500 features, losing a tenth of the score moves a
    feature behind 50 others. Redundancy is the squared correlation of features; it does not
    depend on the target.

    Args:
        ranks: ``"fold"``: compute ranks and correlations on each training fold, so that nothing
            leaks from the test fold; ``"all"``: once on all data, as in the paper.
        scale: ``"log"``: the fraction is on a logarithmic scale, on which small sets have as much
            room as large ones; ``"linear"``: as in the paper.
        redundancy_penalty: Whether there is that parameter. With ``"auto"``, an objective adds it
            if the median feature shares half of its variance with another one. False is the
            paper's representation.
        exceptions: Number of features that can be put in or left out against the rule, in all
            folds alike. There is one parameter for each, ``exception_1`` and so on: ``j`` puts in
            the j-th free feature, ``-j`` leaves it out, counted from 1; 0 and numbers beyond the
            number of features are no exception.
        cost_tilt: Whether, if features have different costs, there is a parameter of that name,
            the power of its relative cost by which the odds of a feature's score are divided:
            with 0 costs do not enter, with 1 a feature of twice the mean cost has half the odds.
    """

    kind = "filter_ensemble"

    def __init__(
        self,
        *,
        ranks: Ranks = "fold",
        scale: Scale = "log",
        redundancy_penalty: bool | Literal["auto"] = "auto",
        exceptions: int = 0,
        cost_tilt: bool = True,
    ) -> None:
        super().__init__(ranks=ranks, scale=scale, cost_tilt=cost_tilt)
        self.exceptions = check_int("exceptions", exceptions, 0, _MAX_EXCEPTIONS)
        if redundancy_penalty not in (True, False, "auto"):
            raise ValueError(
                f"redundancy_penalty must be True, False or 'auto', got {redundancy_penalty!r}."
            )
        self.redundancy_penalty = redundancy_penalty
        self.needs_similar = redundancy_penalty is True

    @classmethod
    def from_paper(cls) -> Self:
        """Return the representation of Binder et al. (2020), section 4.2.2."""
        return cls(ranks="all", scale="linear", redundancy_penalty=False, cost_tilt=False)

    def resolve(self, median_redundancy: Callable[[], float]) -> Self:
        """Return a copy whose ``redundancy_penalty`` is True or False."""
        resolved = super().resolve(median_redundancy)
        if self.redundancy_penalty == "auto":
            resolved.needs_similar = median_redundancy() >= _MIN_REDUNDANCY
            resolved.redundancy_penalty = resolved.needs_similar
        return resolved

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The distributions of the parameters by name."""
        names = [weight_parameter(name) for name in self.table.filters]
        largest = _NO_EXCEPTION * len(self.table.free)
        return {
            FRACTION: self.fraction,
            **{name: FloatDistribution(0.0, 1.0) for name in names},
            **({_PENALTY: FloatDistribution(0.0, 1.0)} if self.needs_similar else {}),
            **self._tilt,
            **dict.fromkeys(self.exception_parameters, IntDistribution(-largest, largest)),
        }

    @property
    def exception_parameters(self) -> tuple[str, ...]:
        """Names of the parameters of exceptions."""
        return tuple(f"{_EXCEPTION}{i + 1}" for i in range(self.exceptions))

    def scores(self, params: Mapping[str, Any], ranks: Array) -> Array:
        """Return the weighted mean of the ranks."""
        raw = np.stack([params[weight_parameter(name)] for name in self.table.filters], axis=-1)
        if self.scale == "log":
            raw = raw**_WEIGHT_POWER
        return weights_from_raw(raw) @ ranks

    def penalties(self, params: Mapping[str, Any]) -> Array:
        """Return the cube of the parameter."""
        return (
            np.asarray(params[_PENALTY]) ** 3 if self.needs_similar else super().penalties(params)
        )

    def to_json(self) -> dict[str, Any]:
        """Return kind and options as JSON values."""
        found = {**super().to_json(), _PENALTY: self.needs_similar}
        return {**found, "exceptions": self.exceptions} if self.exceptions else found


class SingleFilterFeatures(FilterFeatures):
    """The name of a filter and a fraction (section 4.2.1).

    Args:
        ranks: As for :class:`FilterEnsembleFeatures`.
        scale: As for :class:`FilterEnsembleFeatures`.
        cost_tilt: As for :class:`FilterEnsembleFeatures`.
    """

    kind = "single_filter"

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The distributions of the parameters by name."""
        return {
            FRACTION: self.fraction,
            "filter": CategoricalDistribution(self.table.filters),
            **self._tilt,
        }

    def scores(self, params: Mapping[str, Any], ranks: Array) -> Array:
        """Return the ranks of the named filter."""
        names = np.asarray(params["filter"])
        rows = [self.table.filters.index(name) for name in names.ravel().tolist()]
        return ranks[np.array(rows, dtype=np.int64).reshape(names.shape)]


_KINDS: dict[str, type[Representation]] = {
    cls.kind: cls for cls in (MaskFeatures, FilterEnsembleFeatures, SingleFilterFeatures)
}


def get_representation(what: str | Representation | Mapping[str, Any]) -> Representation:
    """Return a representation by its name, from JSON, or the user's own object as it is.

    Example:
        >>> get_representation("filter_ensemble").kind
        'filter_ensemble'
    """
    if isinstance(what, Representation):
        return what
    options: dict[str, Any] = dict(what) if isinstance(what, Mapping) else {"kind": what}
    kind = options.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        classes = ", ".join(f"{cls.__name__}()" for cls in _KINDS.values())
        raise ValueError(
            f"representation must be one of {sorted(_KINDS)}, an object such as {classes}, "
            f"or None to select all features, got {what!r}."
        )
    if isinstance(what, Mapping) and issubclass(_KINDS[kind], FilterFeatures):
        options.setdefault(_TILT, False)  # it is stored only where there is the parameter
    known = signature(_KINDS[kind]).parameters
    wrong = next((name for name in options if name not in known), None)
    if wrong is not None:
        raise ValueError(
            f"Representation {kind!r} has no option {wrong!r}, it has {list(known)}."
            f"{did_you_mean(wrong, known)}"
        )
    return _KINDS[kind](**options)


def weight_parameter(filter_name: str) -> str:
    """Return the name of the parameter of a filter's raw weight."""
    return f"weight_{filter_name}"
