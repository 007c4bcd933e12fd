"""Masks as trial suggestions, and back.

Two forms, one class:

- *bits*: one boolean suggestion a feature, named after it. Any Optuna sampler can search it, and
  parameter importances are feature importances. Meant for few features.
- *packed*: one integer suggestion that identifies the mask, and one attribute of the trial that
  holds it. The cost of a trial does not depend on the number of features. An integer that no
  sampler explained is the seed from which a mask is drawn.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import mask_from_seed
from optuna_mofs.features._table import FeatureTable

Form = Literal["bits", "packed"]
#: Up to this many free features a mask is stored as booleans unless the user says otherwise.
MAX_BITS = 32
#: Integers are exact to 53 bits in every storage; a uniform draw is unbiased up to 52.
LARGEST_ID = 2**52 - 1


def pack(mask: Array) -> bytes:
    """The mask as bytes, eight features each: equal masks, equal bytes."""
    return np.packbits(mask).tobytes()


def unpack(packed: bytes | Array, p: int) -> Array:
    """The inverse of :func:`pack`."""
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=p).view(bool)


def mask_id(mask: Array) -> int:
    """The integer of at most 52 bits that identifies a mask."""
    digest = hashlib.blake2b(pack(mask), digest_size=8).digest()
    return int.from_bytes(digest, "little") & LARGEST_ID


def check_form(form: str) -> None:
    """Refuse a form that is none."""
    if form not in ("auto", "bits", "packed"):
        raise ValueError(f"form must be 'auto', 'bits' or 'packed', but is {form!r}.")


class MaskCodec:
    """Owns masks ↔ suggestions, both ways.

    Args:
        table: The features.
        form: ``"bits"``, ``"packed"``, or ``"auto"``: bits up to 32 free features.
        name: Name of the integer suggestion of the packed form.

    Example:
        >>> codec = MaskCodec(FeatureTable(names=("age", "pay")))
        >>> codec.encode(np.array([False, True]))
        ({'age': False, 'pay': True}, None)
    """

    def __init__(
        self,
        table: FeatureTable,
        *,
        form: str = "auto",
        name: str = "mask",
    ) -> None:
        check_form(form)
        self.table = table
        self.name = name
        small = len(table.free) <= MAX_BITS
        self.form: Form = "bits" if form == "bits" or (form == "auto" and small) else "packed"
        self._bit_names = [table.names[j] for j in table.free] if self.form == "bits" else []
        self._distributions: dict[str, BaseDistribution] = (
            dict.fromkeys(self._bit_names, CategoricalDistribution((False, True)))
            if self.form == "bits"
            else {name: IntDistribution(0, LARGEST_ID)}
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the suggestions that form the mask."""
        return tuple(self._bit_names) if self.form == "bits" else (self.name,)

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The suggestions' distributions by name (do not change them)."""
        return dict(self._distributions)

    def encode(self, mask: Array) -> tuple[dict[str, Any], list[Any] | None]:
        """Suggestions that stand for a mask, and the attribute that must go with them.

        Args:
            mask: Over the free features.

        Returns:
            Parameter values by name, and the trial attribute (None in the bits form).
        """
        mask = np.asarray(mask, dtype=bool)
        if mask.shape != self.table.free.shape:
            raise ValueError(
                f"mask must hold one bit for each of the {len(self.table.free)} free features, "
                f"but has shape {mask.shape}."
            )
        if self.form == "bits":
            return dict(zip(self._bit_names, mask.tolist())), None
        identity = mask_id(mask)
        return {self.name: identity}, pack_attribute(identity, mask)

    def decode(
        self,
        params: Mapping[str, Any],
        attr: list[Any] | None = None,
        others: Iterable[list[Any]] = (),
    ) -> Array | None:
        """The mask that a trial's parameters stand for, or None if they are not complete.

        Args:
            params: The trial's parameters.
            attr: The trial's own mask attribute, if it has one.
            others: Mask attributes of other trials: equal integers mean equal masks, so an
                integer without an attribute of its own takes the mask of the trial it repeats.
        """
        p = len(self.table.free)
        if self.form == "bits":
            try:
                return np.array([params[name] for name in self._bit_names], dtype=bool)
            except KeyError:
                return None
        identity = params.get(self.name)
        if identity is None:
            return None
        # An attribute speaks for the integer it was written for, not for one the user fixed later.
        if attr is not None and attr[0] == identity:
            return unpack_attribute(attr, p)
        for other in others:
            if other[0] == identity:
                return unpack_attribute(other, p)
        return mask_from_seed(self.table, int(identity))

    def attribute(self, params: Mapping[str, Any], mask: Array) -> list[Any] | None:
        """The attribute that says what a trial's parameters mean (None in the bits form)."""
        return None if self.form == "bits" else pack_attribute(params[self.name], mask)


def pack_attribute(identity: int, mask: Array) -> list[Any]:
    """The trial attribute of a mask: the integer it speaks for, and the packed mask as text."""
    return [int(identity), base64.b64encode(zlib.compress(pack(mask), 6)).decode("ascii")]


def unpack_attribute(attr: list[Any], p: int) -> Array:
    """The mask in an attribute made by :func:`pack_attribute`."""
    return unpack(zlib.decompress(base64.b64decode(attr[1])), p)
