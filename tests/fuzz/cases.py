"""What an entry point may do with odd input, and strategies of odd input."""

from __future__ import annotations

import linecache
import os
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState, create_trial

import optuna_mofs

PACKAGE = Path(optuna_mofs.__file__).parent
#: Checks of arguments by other packages, whose messages name value and remedy.
CLEAR = ("optuna/distributions.py", "sklearn/utils/_param_validation.py", "_split.py")
#: Checks of tables and targets in scikit-learn, which its own estimators raise too.
SKLEARN = (
    "sklearn/utils/validation.py",
    "sklearn/utils/multiclass.py",
    "sklearn/base.py",
    "pandas/core/dtypes/astype.py",
    "pandas/core/generic.py",
)
#: Cases per entry point.
CASES = int(os.environ.get("MOFS_FUZZ_CASES", "12"))

#: Decorator of every fuzz test.
fuzz = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),  # shrinking takes longer than all cases together
    suppress_health_check=list(HealthCheck),
)


class DeepError(AssertionError):
    """Odd input has led to an error that nobody raised on purpose."""


def result_or_clear_error(run: Callable[[], Any], *others: str) -> Any:
    """Return the result of a function, or the error that this package has raised on purpose.

    The error is a line ``raise`` of this package (not of a library that it calls), and says more
    than a few words.

    Args:
        run: The function.
        others: Ends of paths of other modules whose errors are clear.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return run()
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            statement = _statement(frame)
            is_ours = PACKAGE in Path(frame.filename).parents or frame.filename.endswith(CLEAR)
            is_clear = is_ours and "raise" in statement and len(str(error)) >= 20
            if not (is_clear or frame.filename.endswith(others)):
                raise DeepError(f"{type(error).__name__}: {error}") from error
            return error


def _statement(frame: traceback.FrameSummary) -> str:
    lines = range(frame.lineno or 0, (frame.end_lineno or frame.lineno or 0) + 1)
    return "".join(linecache.getline(frame.filename, line) for line in lines)


# ---- tables -------------------------------------------------------------------------------------

names = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ["mask", "fraction", "error", "n_features", "x", "", "=1+1", "mofs:mask", "weight_auc", "C"]
)
_cells = {
    "float": st.floats(-1e3, 1e3),
    "any float": st.floats(),
    "small integer": st.integers(0, 3),
    "huge integer": st.integers(-(10**30), 10**30),
    "text": st.text(max_size=3),
    "bool": st.booleans(),
    "NaN": st.just(np.nan),
    "constant": st.just(1.0),
    "mixed": st.one_of(st.none(), st.integers(0, 3), st.text(max_size=2), st.floats()),
}


@st.composite
def columns(draw: st.DrawFn, n_rows: int, kinds: st.SearchStrategy[str]) -> list[Any]:
    """Return the cells of a column."""
    cell = _cells[draw(kinds)]
    return draw(st.lists(cell, min_size=n_rows, max_size=n_rows))


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, Any]:
    """Return X as a table, an array or a sparse matrix, and a target, mostly usable ones."""
    n_rows = draw(st.sampled_from([1, 2, 3, 8, 12, 12, 12]))
    n_columns = draw(st.sampled_from([1, 2, 3, 3, 14]))
    is_odd = draw(st.booleans())
    kinds = st.sampled_from(list(_cells)) if is_odd else st.sampled_from(["float", "constant"])
    cells = [draw(columns(n_rows, kinds)) for _ in range(n_columns)]
    y_kinds = st.sampled_from(["small integer"] * 6 + list(_cells))
    y: Any = draw(columns(n_rows, y_kinds))
    form = draw(st.sampled_from(["frame", "frame", "array", "list"]))
    if form == "frame":
        labels = draw(st.lists(names, min_size=n_columns, max_size=n_columns))
        X: Any = pd.DataFrame(dict(enumerate(cells)))
        X.columns = labels
    else:
        X = np.array(cells, dtype=None if form == "list" else object).T
        if form == "list":
            X = X.tolist()
    if draw(st.booleans()):
        y = np.array(y, dtype=object) if draw(st.booleans()) else pd.Series(y)
    return X, y


# ---- spaces and studies -------------------------------------------------------------------------

distributions: st.SearchStrategy[BaseDistribution] = st.one_of(
    st.builds(FloatDistribution, st.floats(-2, 0), st.floats(0, 2)),
    st.builds(lambda high: FloatDistribution(1e-9, high, log=True), st.floats(1e-8, 1e300)),
    st.builds(IntDistribution, st.integers(-3, 0), st.integers(0, 10**15)),
    st.builds(
        CategoricalDistribution,
        st.lists(st.sampled_from([None, True, 0, "a", "", 2.5]), min_size=1, max_size=3),
    ),
)
values = st.floats(allow_nan=False) | st.sampled_from([0.0, 1.0, 1e308, -1e308, 5e-324])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
#: Attributes that this package or its dashboard figures read.
user_keys = st.sampled_from(
    ["n_features", "features", "fold_scores", "fold_std", "failure_reason", "operator",
     "duplicate_of", "other"]
)  # fmt: skip
system_keys = st.sampled_from(
    ["mofs:mask", "mofs:proposal", "mofs:losses", "fixed_params", "failed_trial", "other"]
)


@st.composite
def trials(draw: st.DrawFn, n_values: int, system: bool = False) -> FrozenTrial:
    """Return a trial that something else has put into a study."""
    state = draw(st.sampled_from([TrialState.COMPLETE] * 4 + list(TrialState)))
    space = draw(st.dictionaries(names.filter(bool), distributions, max_size=3))
    chosen = {name: _value(draw, distribution) for name, distribution in space.items()}
    is_complete = state == TrialState.COMPLETE
    attrs = draw(st.dictionaries(system_keys, json_values, max_size=2)) if system else {}
    for name in ("fixed_params", "failed_trial"):  # Optuna's own: those of another meaning
        attrs.pop(name, None)
    return create_trial(
        state=state,
        params=chosen,
        distributions=space,
        values=[draw(values) for _ in range(n_values)] if is_complete else None,
        user_attrs=draw(st.dictionaries(user_keys, json_values, max_size=3)),
        system_attrs=attrs,
    )


def _value(draw: st.DrawFn, distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return draw(st.sampled_from(distribution.choices))
    if isinstance(distribution, IntDistribution):
        return draw(st.integers(distribution.low, distribution.high))
    assert isinstance(distribution, FloatDistribution)
    return draw(st.floats(distribution.low, distribution.high))


@st.composite
def studies(draw: st.DrawFn, system: bool = False) -> optuna.Study:
    """Return a study that this package has not made."""
    n_values = draw(st.integers(1, 3))
    directions = [draw(st.sampled_from(["minimize", "maximize"])) for _ in range(n_values)]
    study = optuna.create_study(
        directions=directions,
        study_name=draw(names.filter(bool)),
        sampler=optuna.samplers.RandomSampler(seed=0),
    )
    for trial in draw(st.lists(trials(n_values, system), max_size=6)):
        study.add_trial(trial)
    return study
