"""Under which conditions values were measured: only equal ones can be compared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
from scipy import sparse
from sklearn.pipeline import Pipeline

from optuna_mofs.objectives.dataset import Dataset
from optuna_mofs.objectives.splits import Split


def conditions_of(
    data: Dataset,
    estimators: Sequence[Any],
    scorer: Callable[..., float],
    splits: Sequence[Split] | int,
) -> dict[str, str]:
    """What must be the same when a study is reopened, as short texts.

    Args:
        data: The data.
        estimators: The learners; their kinds count, not their parameters.
        scorer: The scorer.
        splits: The folds, or their number if they are drawn anew for each trial.
    """
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


def _scorer_name(scorer: Any) -> str:
    function = getattr(scorer, "_score_func", None)
    if function is not None:
        options = getattr(scorer, "_kwargs", None) or {}
        return f"{getattr(function, '__name__', function)} {options or ''}".strip()
    if type(scorer).__name__ == "_PassthroughScorer":
        return "the estimator's own"
    return getattr(scorer, "__name__", type(scorer).__name__)
