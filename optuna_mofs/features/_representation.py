"""How a feature set becomes trial suggestions: a mask, a filter ensemble, or one filter.

Binder et al. (2020), sections 4.2.1, 4.2.2 and 4.3, and Figure 1.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution

from optuna_mofs._typing import Array
from optuna_mofs.features._codec import MaskCodec, check_form, mask_id, pack_attribute
from optuna_mofs.features._redundancy import best_first, select_non_redundant
from optuna_mofs.features._table import FeatureTable

Ranks = Literal["fold", "all"]
#: Suggestion of filter ensembles, and the option that asks for it.
_PENALTY = "redundancy_penalty"
#: Share of variance from which features are said to be alike.
_ALIKE = 0.5


class Representation(ABC):
    """Turns suggestions into masks over the free features of a table.

    A representation is made by the user without data and bound to a table by the objective.
    """

    #: Name under which users ask for it and studies remember it.
    kind: ClassVar[str]
    #: Names of the suggestions that form a mask which a sampler may set as a whole.
    mask_parameters: tuple[str, ...] = ()
    #: Whether masks are computed of filter ranks, and of which: of each training fold, or once.
    ranks: Ranks | None = None
    #: Whether masks depend on which features say nearly the same.
    needs_similar: bool = False
    #: Whether the suggestions alone, without ranks or an attribute, say which features are chosen.
    is_plain: bool = False
    table: FeatureTable

    def resolve(self, median_redundancy: Callable[[], float]) -> Self:
        """A copy in which everything that depends on the data is decided.

        Args:
            typical_share: What the middle one of the features has in common with the one most like
                it (a squared correlation), computed if asked for.
        """
        return copy.copy(self)

    def bind(self, table: FeatureTable) -> Self:
        """A copy with the features attached."""
        bound = copy.copy(self)
        bound.table = table
        return bound

    @property
    @abstractmethod
    def distributions(self) -> dict[str, BaseDistribution]:
        """The suggestions by name."""

    @abstractmethod
    def choose(
        self,
        params: Mapping[str, Any],
        *,
        seen: FeatureTable | None = None,
        attr: list[Any] | None = None,
        others: Iterable[list[Any]] = (),
    ) -> Array:
        """The mask over the free features that a trial's parameters stand for.

        Args:
            params: The trial's parameters.
            seen: The features as some of the rows show them; by default as all rows do.
            attr: The trial's mask attribute, if any.
            others: Mask attributes of other trials.
        """

    @abstractmethod
    def attribute(self, params: Mapping[str, Any], mask: Array) -> list[Any] | None:
        """The trial attribute that remembers the mask, or None where parameters say it all."""

    def to_json(self) -> dict[str, Any]:
        """Kind and options as JSON values."""
        return {"kind": self.kind}


class MaskFeatures(Representation):
    """One bit a feature: the wrapper approach.

    Args:
        form: ``"bits"`` (a boolean suggestion a feature), ``"packed"`` (one integer and one
            attribute), or ``"auto"``: bits up to 32 free features.
        name: Name of the integer suggestion.
    """

    kind = "mask"
    codec: MaskCodec

    def __init__(self, *, form: str = "auto", name: str = "mask") -> None:
        check_form(form)
        self.form = form
        self.name = name

    def bind(self, table: FeatureTable) -> Self:
        """A copy with the features attached."""
        bound = super().bind(table)
        bound.codec = MaskCodec(table, form=self.form, name=self.name)
        bound.mask_parameters = bound.codec.parameters
        bound.is_plain = bound.codec.form == "bits"
        return bound

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The suggestions by name."""
        return self.codec.distributions

    def choose(
        self,
        params: Mapping[str, Any],
        *,
        seen: FeatureTable | None = None,
        attr: list[Any] | None = None,
        others: Iterable[list[Any]] = (),
    ) -> Array:
        """The mask over the free features; what filters say only guides the search."""
        mask = self.codec.decode(params, attr, others)
        if mask is None:
            raise ValueError(f"The trial lacks suggestions of its mask: it has {sorted(params)}.")
        return mask

    def attribute(self, params: Mapping[str, Any], mask: Array) -> list[Any] | None:
        """The trial attribute that remembers the mask."""
        return self.codec.attribute(params, mask)

    def to_json(self) -> dict[str, Any]:
        """Kind and options as JSON values, the form as it came out for these features."""
        return {"kind": self.kind, "form": self.codec.form, "name": self.name}


class FilterFeatures(Representation):
    """What both filter representations share: a fraction, and ranks by fold or once."""

    def __init__(self, *, ranks: Ranks = "fold") -> None:
        if ranks not in ("fold", "all"):
            raise ValueError(f"ranks must be 'fold' or 'all', but is {ranks!r}.")
        self.ranks: Ranks = ranks

    def bind(self, table: FeatureTable) -> Self:
        """A copy with the features attached, of which filters must be known."""
        if not table.filters:
            raise ValueError(
                f"The {self.kind!r} representation ranks features by filters, but there are none. "
                "Name at least one."
            )
        return super().bind(table)

    def attribute(self, params: Mapping[str, Any], mask: Array) -> list[Any] | None:
        """The trial attribute that remembers the mask (of all data)."""
        return pack_attribute(mask_id(mask), mask)

    def choose(
        self,
        params: Mapping[str, Any],
        *,
        seen: FeatureTable | None = None,
        attr: list[Any] | None = None,
        others: Iterable[list[Any]] = (),
    ) -> Array:
        """The top ⌈p · fraction⌉ of the p free features by score, ties by position."""
        table = self.table if seen is None else seen
        if table.free_ranks is None:
            raise ValueError(f"The filters {self.table.filters} have not ranked the features yet.")
        # Rounded, so that the last bit of a sum does not decide between copies of a feature.
        score = np.round(self.scores(params, table.free_ranks), 12)
        count = int(np.ceil(len(score) * params["fraction"] - 1e-9))
        mask = np.zeros(len(score), dtype=bool)
        mask[self._best(table, score, count, float(self.penalties(params)))] = True
        return mask

    @staticmethod
    def _best(table: FeatureTable, score: Array, count: int, penalty: float) -> Array:
        """Positions of the chosen among the free features."""
        if penalty == 0 or table.similar is None:
            return best_first(score, count)
        everywhere = np.full(len(table), np.nan)
        everywhere[table.free] = score
        chosen = select_non_redundant(
            everywhere, count, penalty=penalty, similar=table.similar, fixed=table.fixed
        )
        return np.searchsorted(table.free, chosen)

    @abstractmethod
    def scores(self, params: Mapping[str, Any], ranks: Array) -> Array:
        """Score of each feature, the highest best; a row for each of many parameter values.

        Args:
            params: Values by name, or arrays of as many values each.
            ranks: Filters × features.
        """

    def penalties(self, params: Mapping[str, Any]) -> Array:
        """What a copy of a chosen feature loses of its score; one for each of many values."""
        return np.zeros(np.shape(params["fraction"]))

    def to_json(self) -> dict[str, Any]:
        """Kind and options as JSON values."""
        return {"kind": self.kind, "ranks": self.ranks}


class FilterEnsembleFeatures(FilterFeatures):
    """A fraction and the weights of the filters (section 4.2.2).

    Each weight is a raw suggestion ``u`` in [0, 1]; ``-log(1 - u)``, normalized, so that uniform
    suggestions are uniform on the simplex.

    The best features by weighted ranks can be near copies of each other, above all in spectra and
    images. With a ``redundancy_penalty`` there is one more suggestion of that name, ``u`` in
    [0, 1]: a copy of a feature that is already chosen loses ``u^3`` of its score, nothing at 0 and
    all at 1. Of 500 features a tenth of the score puts it behind 50 others, so that small losses
    need room. What features have in common is their squared correlation; the target is not asked.

    Args:
        ranks: ``"fold"``: filters and correlations see only each training fold, so that nothing
            leaks from the test fold; ``"all"``: once on all data, as the paper did.
        redundancy_penalty: Whether there is that suggestion. ``"auto"``: an objective decides; it
            is there if the middle one of the features has half of its variance in common with
            another. False is the paper.
    """

    kind = "filter_ensemble"

    def __init__(
        self, *, ranks: Ranks = "fold", redundancy_penalty: bool | Literal["auto"] = "auto"
    ) -> None:
        super().__init__(ranks=ranks)
        if redundancy_penalty not in (True, False, "auto"):
            raise ValueError(
                f"redundancy_penalty must be True, False or 'auto', but is {redundancy_penalty!r}."
            )
        self.redundancy_penalty = redundancy_penalty
        self.needs_similar = redundancy_penalty is True

    def resolve(self, median_redundancy: Callable[[], float]) -> Self:
        """A copy that knows whether there is a penalty."""
        resolve = super().resolve(median_redundancy)
        if self.redundancy_penalty == "auto":
            resolve.redundancy_penalty = resolve.needs_similar = median_redundancy() >= _ALIKE
        return resolve

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The suggestions by name."""
        names = [weight_parameter(name) for name in self.table.filters]
        return {
            "fraction": FloatDistribution(0.0, 1.0),
            **{name: FloatDistribution(0.0, 1.0) for name in names},
            **({_PENALTY: FloatDistribution(0.0, 1.0)} if self.needs_similar else {}),
        }

    def scores(self, params: Mapping[str, Any], ranks: Array) -> Array:
        """Ranks, weighted."""
        raw = [params[weight_parameter(name)] for name in self.table.filters]
        score: Array = weights_from_raw(np.stack(raw, axis=-1)) @ ranks
        return score

    def penalties(self, params: Mapping[str, Any]) -> Array:
        """The cube of the suggestion."""
        if not self.needs_similar:
            return super().penalties(params)
        return np.asarray(params[_PENALTY]) ** 3

    def to_json(self) -> dict[str, Any]:
        """Kind and options as JSON values."""
        return {**super().to_json(), _PENALTY: self.needs_similar}


class SingleFilterFeatures(FilterFeatures):
    """The name of a filter and a fraction (section 4.2.1).

    Args:
        ranks: As for :class:`FilterEnsembleFeatures`.
    """

    kind = "single_filter"

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The suggestions by name."""
        return {
            "fraction": FloatDistribution(0.0, 1.0),
            "filter": CategoricalDistribution(self.table.filters),
        }

    def scores(self, params: Mapping[str, Any], ranks: Array) -> Array:
        """Ranks by the filter that is named."""
        names = np.asarray(params["filter"])
        places = [self.table.filters.index(name) for name in names.ravel().tolist()]
        found: Array = ranks[np.array(places, dtype=np.int64).reshape(names.shape)]
        return found


_KINDS: dict[str, type[Representation]] = {
    cls.kind: cls for cls in (MaskFeatures, FilterEnsembleFeatures, SingleFilterFeatures)
}


def get_representation(what: str | Representation | Mapping[str, Any]) -> Representation:
    """A representation by its name, from JSON, or the user's own object as it is.

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
            f"or None to keep all, but is {what!r}."
        )
    return _KINDS[kind](**options)


def weight_parameter(filter_name: str) -> str:
    """Name of the suggestion that holds a filter's raw weight."""
    return f"weight_{filter_name}"


def weights_from_raw(raw: Array) -> Array:
    """Weights on the simplex from raw suggestions in [0, 1], along the last axis.

    Example:
        >>> weights_from_raw(np.array([0.5, 0.5])).tolist()
        [0.5, 0.5]
    """
    pull = -np.log1p(-np.minimum(raw, 1 - 1e-12))
    total = pull.sum(axis=-1, keepdims=True)
    # No pull at all: even weights (none, if there are no filters).
    weights: Array = np.where(
        total == 0, 1 / max(1, raw.shape[-1]), pull / np.where(total == 0, 1.0, total)
    )
    return weights


def raw_from_weights(weights: Array) -> Array:
    """Return raw weights that stand for these weights: the inverse of :func:`weights_from_raw`.

    Example:
        >>> weights_from_raw(raw_from_weights(np.array([0.2, 0.8]))).round(6).tolist()
        [0.2, 0.8]
    """
    raw: Array = -np.expm1(-weights * len(weights))
    return raw
