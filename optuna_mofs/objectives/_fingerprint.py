"""Fingerprint of the conditions under which values were measured."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _BaseComposition

from optuna_mofs._typing import Array
from optuna_mofs.data._dataset import Dataset, Split

#: Seeds, and parameters that do not affect the fitted model.
_IGNORED = frozenset({"random_state", "n_jobs", "nthread", "num_threads", "verbose", "verbosity"})
#: Longer lists are replaced by a digest.
_MAX_CHARACTERS = 200


def comparable_conditions(
    data: Dataset,
    estimators: Sequence[Any],
    scorer: Callable[..., float],
    splits: Sequence[Split] | int,
    searched: Sequence[Collection[str]] | None = None,
    holdout_rows: Array | None = None,
) -> dict[str, str]:
    """Return the conditions that must be equal for values to be comparable, as short strings.

    ``data`` has all rows, including held-out ones. Parameters of an estimator that trials set
    (``searched``) are ignored. ``splits`` is the number of folds if they are drawn again for each
    trial.
    """
    ignored = searched or [()] * len(estimators)
    fixed = [_format_fixed_params(e, names) for e, names in zip(estimators, ignored)]
    weight = b"" if data.sample_weight is None else data.sample_weight.tobytes()
    scope = "" if data.weighted_scoring else ", not in scores"
    if isinstance(splits, int):
        folds = f"{splits} drawn again for each trial"
    else:
        members = (rows.tobytes() for pair in splits for rows in pair)
        folds = f"{len(splits)} folds {_digest(*members)}"
    return {
        "rows": f"{data.shape[0]} rows",
        "table": f"X {_table_digest(data.X)}",
        "target": f"y {_digest(repr(data.y.tolist()).encode())}",
        "weights": "none" if not weight else f"weights {_digest(weight)}{scope}",
        "estimator": ", ".join(map(_class_name, estimators)),
        "parameters": "; ".join(filter(None, fixed)) or "the estimator's own defaults",
        "scoring": _scorer_name(scorer),
        "folds": folds,
        "holdout": (
            "none"
            if holdout_rows is None
            else f"{len(holdout_rows)} rows {_digest(holdout_rows.astype('<i8').tobytes())}"
        ),
    }


def _digest(*parts: bytes | memoryview) -> str:
    found = hashlib.blake2b(digest_size=4)
    for part in parts:
        found.update(part)
    return found.hexdigest()


def _table_digest(X: Any) -> str:
    if sparse.issparse(X):
        return _digest(X.indptr.tobytes(), X.indices.tobytes(), X.data.tobytes())
    if isinstance(X, pd.DataFrame):
        numbers = X.select_dtypes("number")
        strings = [X[name] for name in X.columns.difference(numbers.columns, sort=False)]
        try:
            others = [pd.util.hash_pandas_object(column, index=False) for column in strings]
        except TypeError:  # entries that cannot be hashed: lists, arrays
            return "unknown"
        return _digest(_bytes(numbers.to_numpy()), *(_bytes(other.to_numpy()) for other in others))
    return _digest(_bytes(X))


def _bytes(array: Any) -> bytes | memoryview:
    # An array of objects holds addresses, which differ from process to process.
    if array.dtype.kind == "O":
        return repr(array.tolist()).encode()
    if array.flags.c_contiguous and array.size:
        return memoryview(array.reshape(-1).view(np.uint8))  # without a copy
    return bytes(array.tobytes())


def _class_name(estimator: Any) -> str:
    if isinstance(estimator, Pipeline):
        return " + ".join(_class_name(step) for _, step in estimator.steps)
    return type(estimator).__name__


def _format_fixed_params(estimator: Any, searched: Collection[str]) -> str:
    """Return the parameters that differ from their defaults, without those that trials set."""
    found = []
    every = estimator.get_params(deep=True)
    defaults: dict[str, Mapping[str, Any]] = {}
    for name, value in sorted(every.items()):
        prefix, _, own = name.rpartition("__")
        owner = every.get(prefix, estimator)
        # The members of a pipeline, a column transformer etc. are also in its list of steps.
        member = isinstance(owner, _BaseComposition) and hasattr(value, "get_params")
        steps = isinstance(owner, Pipeline) and own == "steps"
        if member or steps or name in searched or own in _IGNORED:
            continue
        if prefix not in defaults:
            defaults[prefix] = _defaults(type(owner))
        if _format(value) != _format(defaults[prefix].get(own)):
            found.append(f"{name}={_format(value)}")
    return ", ".join(found)


def _defaults(kind: Any) -> Mapping[str, Any]:
    try:
        defaults: Mapping[str, Any] = kind().get_params(deep=False)
    except (TypeError, ValueError):  # it has required arguments
        parameters = inspect.signature(kind.__init__).parameters
        return {name: parameter.default for name, parameter in parameters.items()}
    return defaults


def _format(value: Any) -> str:
    """Return a value as a string that is the same in every process."""
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, list | tuple):
        text = f"[{', '.join(map(_format, value))}]"
        is_long = len(text) > _MAX_CHARACTERS
        return f"{len(value)} values {_digest(text.encode())}" if is_long else text
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_format(k)}: {_format(v)}' for k, v in value.items())}}}"
    if isinstance(value, np.ndarray):
        return f"array {_digest(_bytes(value))}"
    # The parameters of an estimator are listed anyway, and a repr can hold an address.
    return getattr(value, "__name__", type(value).__name__)


def _scorer_name(scorer: Any) -> str:
    function = getattr(scorer, "_score_func", None)
    if function is not None:
        options = getattr(scorer, "_kwargs", None) or {}
        sign = "-" if getattr(scorer, "_sign", 1) < 0 else ""
        method = getattr(scorer, "_response_method", "predict")
        of = "" if method in ("predict", "default") else f" of {_format(method)}"
        return f"{sign}{getattr(function, '__name__', function)}{of} {options or ''}".strip()
    if type(scorer).__name__ == "_PassthroughScorer":
        return "the estimator's own"
    return getattr(scorer, "__name__", type(scorer).__name__)
