"""Losses of single rows that a trial keeps, and which rows those are.

A trial keeps the loss of every row on the test fold that held it, so that the luck of choosing
the best of many trials can be estimated afterward without another fit. The losses must not cost
more than the rest of a trial: losses with few distinct values, such as 0 and 1, take a few bits,
others half a float, and of many rows only a sample is kept. The sample is the same in all trials.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._optuna import frozen_attr, read_study_attr, write_study_attr
from optuna_mofs._typing import Array

#: Where the rows come from: test folds, or rows that the search never sees.
Source = Literal["cross_validation", "holdout"]
SOURCES: tuple[Source, ...] = ("cross_validation", "holdout")

_KEY = "losses"
#: Bytes of one encoded array: 2 KiB of base64.
_MAX_BYTES = 1536
#: Most rows that any encoding keeps: one bit per row.
MAX_ROWS = 8 * _MAX_BYTES
#: Up to this many distinct losses are stored as a palette, with the bits that it needs per row.
_MAX_PALETTE = 16


def kept_rows(n_rows: int) -> Array:
    """Return the rows whose losses are kept, in the order in which they are stored.

    They are the first ones of one permutation per number of rows, so that the losses of two
    trials belong to the same rows, even if one of them keeps fewer.

    Example:
        >>> len(kept_rows(100)), len(kept_rows(100_000))
        (100, 12288)
    """
    return _permutation(n_rows)[:MAX_ROWS]


@lru_cache(maxsize=8)
def _permutation(n_rows: int) -> Array:
    # The stream of this old generator is the same in all versions of NumPy.
    rows = np.random.RandomState(0).permutation(n_rows)
    rows.flags.writeable = False
    return rows


# ---- encoding -----------------------------------------------------------------------------------


def encode_losses(losses: Array, max_bytes: int | None = _MAX_BYTES) -> list[Any]:
    """Return losses as JSON values: number of losses, palette or scale, and base64.

    Losses that do not fit are left out at the end.

    Example:
        >>> encode_losses(np.array([0, 1, 1, 0, 1]))
        [5, [0.0, 1.0], 'aA==']
        >>> decode_losses(encode_losses(np.array([0.5, np.nan]))).tolist()
        [0.5, nan]
    """
    losses = np.asarray(losses, dtype=np.float64)
    if max_bytes is not None:
        losses = losses[: 8 * max_bytes]
    with np.errstate(over="ignore"):  # a loss that float32 cannot hold is infinite
        single = losses.astype(np.float32)
    palette, codes = np.unique(single, return_inverse=True)
    n_bits = max(1, (len(palette) - 1).bit_length())
    if len(palette) <= _MAX_PALETTE:
        codes = codes[: None if max_bytes is None else 8 * max_bytes // n_bits]
        bits = codes[:, None] >> np.arange(n_bits)[::-1] & 1
        packed = np.packbits(bits.astype(np.uint8)).tobytes()
        return [len(codes), _short(palette), base64.b64encode(packed).decode()]
    losses = losses[: None if max_bytes is None else max_bytes // 2]
    finite = np.abs(losses[np.isfinite(losses)])
    scale = float(finite.max(initial=0.0)) or 1.0
    half = (losses / scale).astype("<f2").tobytes()
    return [len(losses), scale, base64.b64encode(half).decode()]


def decode_losses(data: list[Any]) -> Array:
    """Return the losses that :func:`encode_losses` encoded, as float32."""
    n, key, text = data
    packed = base64.b64decode(text)
    if not isinstance(key, list):
        scaled: Array = np.frombuffer(packed, dtype="<f2").astype(np.float64) * key
        return scaled.astype(np.float32)
    n_bits = max(1, (len(key) - 1).bit_length())
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=n * n_bits)
    codes = bits.reshape(n, n_bits) @ (1 << np.arange(n_bits)[::-1])
    palette: Array = np.array(key, dtype=np.float32)
    return palette[codes] if n else np.zeros(0, dtype=np.float32)


def _short(palette: Array) -> list[float]:
    # The shortest decimals that are read back as the same float32.
    return [float(str(value)) for value in palette]


# ---- trials -------------------------------------------------------------------------------------


def losses_attr(losses: Mapping[Source, Array | None]) -> dict[str, Any]:
    """Return the losses of all rows of each source as a system attribute of a trial."""
    encoded = {
        source: encode_losses(np.asarray(values)[kept_rows(len(values))])
        for source, values in losses.items()
        if values is not None
    }
    return {_KEY: encoded} if encoded else {}


def copied_losses(other: FrozenTrial) -> dict[str, Any]:
    """Return the losses of another trial of the study as a system attribute of a trial."""
    found = frozen_attr(other, _KEY)
    return {_KEY: found} if found else {}


def read_losses(trial: FrozenTrial, source: Source = "cross_validation") -> Array | None:
    """Return the losses of the kept rows of a trial, or None if it has none.

    Entry ``i`` belongs to row ``kept_rows(n)[i]`` of the ``n`` rows of the search, or of the
    held-out rows. It is NaN for a row that is in no test fold. Trials of one study keep the same
    rows; if two lengths differ, the shorter one is the beginning of the longer one.
    """
    found = (frozen_attr(trial, _KEY) or {}).get(source)
    return None if found is None else decode_losses(found)


# ---- the study ----------------------------------------------------------------------------------


def write_loss_rows(
    study: Study,
    measure: str,
    *,
    groups: Mapping[Source, Array | None] | None = None,
    weights: Mapping[Source, Array | None] | None = None,
) -> None:
    """Store once per study what the losses of its trials belong to.

    Args:
        study: The study.
        measure: Name of the measure whose losses are kept.
        groups: Group of each row of a source.
        weights: Sample weight of each row of a source.
    """
    data: dict[str, Any] = {"measure": measure, "groups": {}, "weights": {}}
    for source, values in (groups or {}).items():
        if values is not None:
            codes = np.unique(values, return_inverse=True)[1]
            data["groups"][source] = codes[kept_rows(len(codes))].tolist()
    for source, values in (weights or {}).items():
        if values is not None:
            kept = np.asarray(values)[kept_rows(len(values))]
            data["weights"][source] = encode_losses(kept, max_bytes=None)
    write_study_attr(study, _KEY, data)


def read_loss_measure(study: Study) -> str | None:
    """Return the name of the measure whose losses the trials of a study keep, or None."""
    found = read_study_attr(study, _KEY)
    return None if found is None else str(found["measure"])


def read_row_groups(study: Study, source: Source = "cross_validation") -> Array | None:
    """Return the group code of each kept row, or None if the rows have no groups."""
    found = (read_study_attr(study, _KEY) or {}).get("groups", {}).get(source)
    return None if found is None else np.array(found, dtype=np.intp)


def read_row_weights(study: Study, source: Source = "cross_validation") -> Array | None:
    """Return the sample weight of each kept row, or None if all rows weigh the same."""
    found = (read_study_attr(study, _KEY) or {}).get("weights", {}).get(source)
    return None if found is None else decode_losses(found)
