"""Arrays as short texts, for attributes of studies and trials."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from optuna_mofs._typing import Array


def pack_array(values: Array) -> str:
    """Return the compressed bytes of an array as ASCII text.

    Example:
        >>> unpack_array(pack_array(np.array([3, 1, 2], dtype="<u4")), "<u4").tolist()
        [3, 1, 2]
    """
    return base64.b64encode(zlib.compress(values.tobytes(), 6)).decode("ascii")


def unpack_array(text: str, dtype: Any) -> Array:
    """Return the flat array that :func:`pack_array` packed."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=dtype)
