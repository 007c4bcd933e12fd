"""Losses of single rows that a trial keeps, and which rows those are.

A trial keeps the loss of every row in its test fold, so that the selection bias of choosing the
best of many trials can be estimated afterward without another fit. The losses should take about a
tenth of the storage of a trial: losses with few distinct values, such as 0 and 1, take one or two
bits, others eight. With many rows a sample is kept, the same in all trials, with the mean of all
rows.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._optuna import PREFIX, frozen_attr, read_study_attr, write_study_attr
from optuna_mofs._typing import Array
from optuna_mofs._validation import expect_type, reading

#: Where the rows come from: test folds, or rows that the search never sees.
Source = Literal["cross_validation", "holdout"]

_KEY = "losses"
#: Bytes of one encoded array, 128 characters of base64.
_MAX_BYTES = 96
#: Most rows that any encoding keeps: one bit per row.
MAX_ROWS = 8 * _MAX_BYTES
#: Up to this many distinct losses are exact, with one or two bits per row.
_MAX_PALETTE = 4
#: Largest code of other losses; the next one stands for NaN.
_MAX_CODE = 254


class RowLosses(NamedTuple):
    """Losses that a trial keeps.

    Attributes:
        values: Losses of the kept rows; entry ``i`` belongs to row ``kept_rows(n)[i]``. NaN for a
            row that is in no test fold.
        n_rows: Number of all rows with a loss.
        mean: Mean loss of all rows.
    """

    values: Array
    n_rows: int
    mean: float


def kept_rows(n_rows: int) -> Array:
    """Return the rows whose losses are kept, in the order in which they are stored.

    They are the first ones of one permutation per number of rows, so that the losses of two
    trials belong to the same rows, even if one of them keeps fewer.

    Example:
        >>> len(kept_rows(100)), len(kept_rows(100_000))
        (100, 768)
    """
    return _permutation(n_rows)[:MAX_ROWS]


@lru_cache(maxsize=8)
def _permutation(n_rows: int) -> Array:
    # The stream of this old generator is the same in all versions of NumPy.
    rows = np.random.RandomState(0).permutation(n_rows)
    rows.flags.writeable = False
    return rows


# ---- encoding -----------------------------------------------------------------------------------


def encode_losses(losses: Array) -> list[Any]:
    """Return the losses of all rows as JSON values.

    They are the number of kept losses, the bits per loss, the distinct losses or the lowest and
    the highest one, and base64. If these are not exact or some rows are left out, the number and
    the mean of all rows follow.

    Example:
        >>> encode_losses(np.array([0, 1, 1, 0, 1]))
        [5, 1, [0.0, 1.0], 'qA==']
        >>> decode_losses(encode_losses(np.array([0, 1, 1, 0, 1]))).values.tolist()
        [1.0, 0.0, 1.0, 0.0, 1.0]
    """
    with np.errstate(over="ignore"):  # a loss that float32 cannot hold is infinite
        every = np.asarray(losses, dtype=np.float32)
    kept = every[kept_rows(len(every))]
    palette, codes = np.unique(kept, return_inverse=True)
    if len(palette) <= _MAX_PALETTE:
        n_bits, levels = 1 if len(palette) <= 2 else 2, palette
    else:
        n_bits = 8
        codes, levels = _quantized(kept[:_MAX_BYTES])
    codes = codes[: 8 * _MAX_BYTES // n_bits]
    bits = codes[:, None] >> np.arange(n_bits)[::-1] & 1
    text = base64.b64encode(np.packbits(bits.astype(np.uint8)).tobytes()).decode()
    encoded = [len(codes), n_bits, _short(levels), text]
    if len(codes) < len(every) or n_bits == 8:
        encoded += [*_count_and_mean(every)]
    return encoded


def decode_losses(data: list[Any]) -> RowLosses:
    """Return the losses that :func:`encode_losses` encoded."""
    n, n_bits, key, text = expect_type("losses", data, list)[:4]
    if n_bits not in (1, 2, 8) or not 0 <= expect_type("count", n, int) * n_bits <= MAX_ROWS:
        raise ValueError(f"expected up to {MAX_ROWS} bits, got {n!r} losses of {n_bits!r} bits")
    packed = np.frombuffer(base64.b64decode(text), dtype=np.uint8)
    bits = np.unpackbits(packed, count=n * n_bits).reshape(n, n_bits)
    codes = bits @ (1 << np.arange(n_bits)[::-1])
    levels: Array = np.array(key, dtype=np.float32)
    if n_bits == 8:
        # Steps are finer near the lowest loss, where most losses are.
        roots = np.append(np.arange(_MAX_CODE + 1) / _MAX_CODE, np.nan).astype(np.float32)
        levels = levels[0] + (levels[1] - levels[0]) * roots**2
    values = levels[codes] if n else np.zeros(0, dtype=np.float32)
    count, mean = data[4:] or _count_and_mean(values)
    return RowLosses(values, count, mean)


def _quantized(losses: Array) -> tuple[Array, Array]:
    """Return the codes of losses and the lowest and the highest loss."""
    finite = losses[np.isfinite(losses)]
    ends = np.array([finite.min(), finite.max()]) if len(finite) else np.zeros(2)
    span = np.float64(ends[1]) - ends[0] or 1.0
    with np.errstate(invalid="ignore"):
        roots = np.sqrt(np.clip((losses - np.float64(ends[0])) / span, 0.0, 1.0))
    codes = np.where(np.isfinite(losses), np.round(_MAX_CODE * roots), _MAX_CODE + 1)
    return codes.astype(np.intp), ends.astype(np.float32)


def _count_and_mean(losses: Array) -> tuple[int, float]:
    finite = losses[np.isfinite(losses)].astype(np.float64)
    return len(finite), float(f"{finite.mean():.7g}") if len(finite) else np.nan


def _short(values: Array) -> list[float]:
    # The shortest decimals that are read back as the same float32.
    return [float(str(value)) for value in np.asarray(values, dtype=np.float32)]


# ---- trials -------------------------------------------------------------------------------------


def losses_attr(losses: Mapping[Source, Array | None]) -> dict[str, Any]:
    """Return the losses of all rows of each source as a system attribute of a trial."""
    encoded = {
        source: encode_losses(np.asarray(values))
        for source, values in losses.items()
        if values is not None
    }
    return {_KEY: encoded} if encoded else {}


def copied_losses(other: FrozenTrial) -> dict[str, Any]:
    """Return the losses of another trial of the study as a system attribute of a trial."""
    found = frozen_attr(other, _KEY)
    return {_KEY: found} if found else {}


def read_losses(trial: FrozenTrial, source: Source = "cross_validation") -> RowLosses | None:
    """Return the losses of a trial, or None if it has none.

    Trials of one study keep the same rows; if one keeps fewer than another, they are the first
    ones of the other.
    """
    with reading(PREFIX + _KEY, f"trial {trial.number}"):
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
            data["weights"][source] = _short(np.asarray(values)[kept_rows(len(values))])
    write_study_attr(study, _KEY, data)


def read_loss_measure(study: Study) -> str | None:
    """Return the name of the measure whose losses the trials of a study keep, or None."""
    with reading(PREFIX + _KEY, f"study {study.study_name!r}"):
        found = read_study_attr(study, _KEY)
        return None if found is None else str(found["measure"])


def read_row_groups(study: Study, source: Source = "cross_validation") -> Array | None:
    """Return the group code of each kept row, or None if the rows have no groups."""
    with reading(PREFIX + _KEY, f"study {study.study_name!r}"):
        found = (read_study_attr(study, _KEY) or {}).get("groups", {}).get(source)
        return None if found is None else np.array(found, dtype=np.intp)


def read_row_weights(study: Study, source: Source = "cross_validation") -> Array | None:
    """Return the sample weight of each kept row, or None if all rows weigh the same."""
    with reading(PREFIX + _KEY, f"study {study.study_name!r}"):
        found = (read_study_attr(study, _KEY) or {}).get("weights", {}).get(source)
        return None if found is None else np.array(found, dtype=np.float32)
