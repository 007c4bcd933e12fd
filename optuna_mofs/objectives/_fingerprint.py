"""Under which conditions values were measured: only equal ones can be compared."""

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

from optuna_mofs.data._dataset import Dataset, Split


def conditions_of(
    data: Dataset,
    estimators: Sequence[Any],
    scorer: Callable[..., float],
    splits: Sequence[Split] | int,
    searched: Sequence[Collection[str]] | None = None,
) -> dict[str, str]:
    """What must be the same when a study is reopened, as short texts.

    Args:
        data: The data.
        estimators: The learners.
        scorer: The scorer.
        splits: The folds, or their number if they are drawn anew for each trial.
        searched: Parameters of each learner that trials set, whatever they are now.
    """
    given = searched or [()] * len(estimators)
    fixed = [_fixed(each, names) for each, names in zip(estimators, given)]
    weight = b"" if data.sample_weight is None else data.sample_weight.tobytes()
    if isinstance(splits, int):
        folds = f"{splits} drawn anew for each trial"
    else:
        members = (rows.tobytes() for pair in splits for rows in pair)
        folds = f"{len(splits)} folds {_digest(*members)}"
    return {
        "rows": f"{data.shape[0]} rows",
        "table": f"X {_table_digest(data.X)}",
        "target": f"y {_digest(repr(data.y.tolist()).encode())}",
        "weights": "none" if not weight else f"weights {_digest(weight)}",
        "estimator": ", ".join(map(_kind, estimators)),
        "parameters": "; ".join(filter(None, fixed)) or "the estimator's own defaults",
        "scoring": _scorer_name(scorer),
        "folds": folds,
    }


def _digest(*parts: bytes) -> str:
    made = hashlib.blake2b(digest_size=4)
    for part in parts:
        made.update(part)
    return made.hexdigest()


def _table_digest(X: Any) -> str:
    if sparse.issparse(X):
        return _digest(X.indptr.tobytes(), X.indices.tobytes(), X.data.tobytes())
    if isinstance(X, pd.DataFrame):
        numbers = X.select_dtypes("number")
        words = [X[name] for name in X.columns.difference(numbers.columns, sort=False)]
        try:
            others = [pd.util.hash_pandas_object(word, index=False) for word in words]
        except TypeError:  # entries that cannot be hashed: lists, arrays
            return "not known"
        return _digest(_bytes(numbers.to_numpy()), *(_bytes(other.to_numpy()) for other in others))
    return _digest(_bytes(X))


def _bytes(array: Any) -> bytes:
    # An array of objects holds addresses, which differ from process to process.
    return repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()


def _kind(estimator: Any) -> str:
    if isinstance(estimator, Pipeline):
        return " + ".join(_kind(step) for _, step in estimator.steps)
    return type(estimator).__name__


#: Parameters that say how a model is computed, not which; and seeds.
_NO_MATTER = frozenset(
    {"random_state", "n_jobs", "nthread", "num_threads", "verbose", "verbosity"}
)

#: Lists that take more characters are shortened.
_SAID = 200


def _fixed(estimator: Any, searched: Collection[str]) -> str:
    """Parameters that are not those of the class, as a text; without those that trials set."""
    found = []
    every = estimator.get_params(deep=True)
    defaults: dict[str, Mapping[str, Any]] = {}
    for name, value in sorted(every.items()):
        prefix, _, own = name.rpartition("__")
        owner = every.get(prefix, estimator)
        # The members of a pipeline, of a column transformer and so on are in a list beside them.
        member = isinstance(owner, _BaseComposition) and hasattr(value, "get_params")
        steps = isinstance(owner, Pipeline) and own == "steps"
        if member or steps or name in searched or own in _NO_MATTER:
            continue
        if prefix not in defaults:
            defaults[prefix] = _defaults(type(owner))
        if _spoken(value) != _spoken(defaults[prefix].get(own)):
            found.append(f"{name}={_spoken(value)}")
    return ", ".join(found)


def _defaults(kind: Any) -> Mapping[str, Any]:
    try:
        made: Mapping[str, Any] = kind().get_params(deep=False)
    except (TypeError, ValueError):  # it cannot be made of nothing
        parameters = inspect.signature(kind.__init__).parameters
        return {name: parameter.default for name, parameter in parameters.items()}
    return made


def _spoken(value: Any) -> str:
    """A value as a text that is the same in each process."""
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, list | tuple):
        said = f"[{', '.join(map(_spoken, value))}]"
        return said if len(said) <= _SAID else f"{len(value)} values {_digest(said.encode())}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_spoken(k)}: {_spoken(v)}' for k, v in value.items())}}}"
    if isinstance(value, np.ndarray):
        return f"array {_digest(_bytes(value))}"
    # Of estimators the kind: their own parameters come beside it. Others may print an address.
    return getattr(value, "__name__", type(value).__name__)


def _scorer_name(scorer: Any) -> str:
    function = getattr(scorer, "_score_func", None)
    if function is not None:
        options = getattr(scorer, "_kwargs", None) or {}
        sign = "-" if getattr(scorer, "_sign", 1) < 0 else ""
        asks = getattr(scorer, "_response_method", "predict")
        of = "" if asks in ("predict", "default") else f" of {_spoken(asks)}"
        return f"{sign}{getattr(function, '__name__', function)}{of} {options or ''}".strip()
    if type(scorer).__name__ == "_PassthroughScorer":
        return "the estimator's own"
    return getattr(scorer, "__name__", type(scorer).__name__)
