"""Masks as trial parameters, and back.

There are two forms:

- *bits*: one boolean parameter per feature, named after the feature. Any Optuna sampler can search
  it, and parameter importances are feature importances. Meant for few features.
- *packed*: one integer parameter that identifies the mask, and one trial attribute that holds it.
  The cost of a trial does not depend on the number of features. An integer that a sampler without
  masks (random search, TPE) draws is the seed of a random mask, which is then stored like any
  other. An integer therefore identifies a mask only within its study: an enqueued integer that no
  trial of the study has is an error.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice, expect_type
from optuna_mofs.features._mask_sampling import mask_from_seed

if TYPE_CHECKING:
    from optuna_mofs.features._table import FeatureTable

Form = Literal["bits", "packed"]
FORMS = ("auto", "bits", "packed")
#: Largest number of free features for which the form "auto" means bits: a database stores each
#: parameter in a transaction of its own.
MAX_BITS = 12
#: Integers are exact up to 53 bits in every storage; uniform draws are unbiased up to 52.
LARGEST_ID = 2**52 - 1
#: More numbers are never packed; these are the ranks of a hundred filters on a million features.
_MAX_CELLS = 100_000_000


def count_selected(masks: Array) -> Array:
    """Return the number of features of each mask, four times as fast as a sum of booleans.

    Example:
        >>> count_selected(np.array([[True, False, True], [False, False, False]])).tolist()
        [2, 0]
    """
    return np.bitwise_count(np.packbits(masks, axis=1)).sum(axis=1, dtype=np.int64)


def pack_array(values: Array) -> str:
    """Return the compressed bytes of an array as ASCII text.

    Example:
        >>> unpack_array(pack_array(np.array([3, 1, 2], dtype="<u4")), "<u4", 3).tolist()
        [3, 1, 2]
    """
    return base64.b64encode(zlib.compress(values.tobytes(), 6)).decode("ascii")


def unpack_array(text: str, dtype: Any, count: int) -> Array:
    """Return the flat array of ``count`` numbers that :func:`pack_array` packed.

    A text that holds more or fewer is rejected before it is unpacked in full, because a few bytes
    can unpack to gigabytes.
    """
    if not 0 <= count <= _MAX_CELLS:
        raise ValueError(f"expected at most {_MAX_CELLS} packed numbers, got {count}")
    size = count * np.dtype(dtype).itemsize
    unpacker = zlib.decompressobj()
    found = unpacker.decompress(base64.b64decode(text, validate=True), size + 1)
    if len(found) != size or not unpacker.eof:
        raise ValueError(
            f"expected {size} packed bytes, got {'more' if len(found) > size else len(found)}"
        )
    return np.frombuffer(found, dtype=dtype)


def pack(mask: Array) -> bytes:
    """Return the mask as bytes of eight features each; equal masks have equal bytes."""
    return np.packbits(mask).tobytes()


def unpack(packed: bytes | Array, p: int) -> Array:
    """Return the mask of ``p`` features that :func:`pack` packed."""
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=p).view(bool)


def mask_id(mask: Array) -> int:
    """Return the integer of at most 52 bits that identifies a mask."""
    digest = hashlib.blake2b(pack(mask), digest_size=8).digest()
    return int.from_bytes(digest, "little") & LARGEST_ID


class UnknownMaskError(ValueError):
    """Raised for the integer of a packed mask that no trial of the study has."""


class MaskCodec:
    """Converts masks to parameters and back.

    Args:
        table: The features.
        form: ``"bits"``, ``"packed"``, or ``"auto"``: bits for up to 12 free features.
        name: Name of the integer parameter of the packed form.

    Example:
        >>> from optuna_mofs import FeatureTable
        >>> codec = MaskCodec(FeatureTable(names=("age", "pay")))
        >>> codec.encode(np.array([False, True]))
        ({'age': False, 'pay': True}, None)
    """

    def __init__(self, table: FeatureTable, *, form: str = "auto", name: str = "mask") -> None:
        check_choice("form", form, FORMS)
        self.table = table
        self.name = name
        few = len(table.free) <= MAX_BITS
        self.form: Form = "bits" if form == "bits" or (form == "auto" and few) else "packed"
        #: Distributions of the parameters that encode the mask, by name (do not change them).
        self.distributions: dict[str, BaseDistribution] = {name: IntDistribution(0, LARGEST_ID)}
        if self.form == "bits":
            bit = CategoricalDistribution((False, True))
            self.distributions = dict.fromkeys((table.names[j] for j in table.free), bit)
        #: Names of these parameters.
        self.parameters = tuple(self.distributions)

    def encode(self, mask: Array) -> tuple[dict[str, Any], list[Any] | None]:
        """Return the parameters of a mask, and the trial attribute to store with them.

        Args:
            mask: Mask over the free features. Beyond the limits of the table, it is replaced by
                :meth:`FeatureTable.limited`.

        Returns:
            Parameter values by name, and the trial attribute (None in the bits form).
        """
        mask = np.asarray(mask, dtype=bool)
        if mask.shape != self.table.free.shape:
            raise ValueError(
                f"mask must have one entry for each of the {len(self.table.free)} free features, "
                f"got shape {mask.shape}."
            )
        mask = self.table.limited(mask)
        if self.form == "bits":
            return dict(zip(self.parameters, mask.tolist())), None
        identity = mask_id(mask)
        return {self.name: identity}, pack_attribute(identity, mask)

    def decode(
        self,
        params: Mapping[str, Any],
        attr: list[Any] | None = None,
        others: Iterable[list[Any]] = (),
    ) -> Array | None:
        """Return the mask that a trial's parameters encode, or None if it is unknown.

        Args:
            params: The trial's parameters.
            attr: The trial's own mask attribute, if it has one.
            others: Mask attributes of other trials: equal integers mean equal masks, so an
                integer without an attribute of its own has the mask of the trial it repeats.
        """
        if self.form == "bits":
            try:
                bits = np.array([params[name] for name in self.parameters], dtype=bool)
            except KeyError:
                return None
            # A sampler without masks draws bits one by one and knows no limits.
            return self.table.limited(bits)
        identity = params.get(self.name)
        if identity is None:
            return None
        # An attribute is valid for the integer it was written with, not for one set later.
        for known in chain([] if attr is None else [attr], others):
            if len(expect_type("mask", known, list)) != 2:
                raise ValueError(f"expected an integer and a text, got {repr(known)[:80]}")
            if known[0] == identity:
                return unpack_attribute(known, len(self.table.free))
        return None

    def from_seed(self, params: Mapping[str, Any]) -> Array:
        """Return the mask of an integer that a sampler without masks has drawn."""
        return mask_from_seed(self.table, int(params[self.name]))

    def attribute(self, params: Mapping[str, Any], mask: Array) -> list[Any] | None:
        """Return the trial attribute that holds the mask (None in the bits form)."""
        return None if self.form == "bits" else pack_attribute(params[self.name], mask)


def pack_attribute(identity: int, mask: Array) -> list[Any]:
    """Return the trial attribute of a mask: its integer, and the packed mask as text."""
    return [int(identity), pack_array(np.packbits(mask))]


def unpack_attribute(attr: list[Any], p: int) -> Array:
    """Return the mask of ``p`` features in an attribute of :func:`pack_attribute`."""
    _, text = expect_type("mask", attr, list)
    return unpack(unpack_array(expect_type("mask", text, str), np.uint8, (p + 7) // 8), p)
