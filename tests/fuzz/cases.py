"""What an entry point may do with odd input, and strategies of odd input."""

from __future__ import annotations

import faulthandler
import functools
import linecache
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState, create_trial
from scipy import sparse

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
    "pandas/core/arrays/arrow/array.py",
    "sklearn/utils/_array_api.py",
)
#: Cases per entry point.
CASES = int(os.environ.get("MOFS_FUZZ_CASES", "12"))

SETTINGS = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),  # shrinking takes longer than all cases together
    suppress_health_check=list(HealthCheck),
)
HANG = 600  # seconds after which a case ends the process, with the stack on stderr

#: What has happened in the current test: cases, results, errors.
tally: Counter[str] = Counter()


class FindingsError(AssertionError):
    """What the cases of a fuzz test have found."""


def fuzz(test: Callable[..., None]) -> Callable[..., None]:
    """Decorate a test: run all cases, and report the first finding of each line of code.

    Hypothesis alone ends a test at its first finding, and the cases after it are not run.
    """
    case = test.hypothesis.inner_test  # type: ignore[attr-defined]
    findings: dict[Any, str] = {}

    @functools.wraps(case)
    def collect(*args: Any, **kwargs: Any) -> None:
        tally["cases"] += 1
        faulthandler.dump_traceback_later(HANG, exit=True, file=sys.__stderr__)
        try:
            case(*args, **kwargs)
        except HypothesisException:
            raise
        except Exception as error:
            cause = error.__cause__ or error
            last = traceback.extract_tb(cause.__traceback__)[-1]
            text = "".join(traceback.format_exception(error))
            findings.setdefault((type(cause), last.filename, last.lineno), text + _inputs(error))
        finally:
            faulthandler.cancel_dump_traceback_later()

    test.hypothesis.inner_test = collect  # type: ignore[attr-defined]
    test = SETTINGS(test)

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        findings.clear()
        test(*args, **kwargs)
        if findings:
            raise FindingsError(f"{len(findings)} findings\n" + "\n".join(findings.values()))

    return run


def _inputs(error: Exception) -> str:
    """Return the variables of the test when it failed."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    found = next(f for f in frames if Path(f.f_code.co_filename).parent == Path(__file__).parent
                 and f.f_code.co_name.startswith("test_"))  # fmt: skip
    return "".join(f"  {key} = {repr(value)[:600]}\n" for key, value in found.f_locals.items())


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
            result = run()
            tally["results"] += 1
            return result
        except Exception as error:
            tally["errors"] += 1
            frame = traceback.extract_tb(error.__traceback__)[-1]
            statement = _statement(frame)
            is_ours = PACKAGE in Path(frame.filename).parents or frame.filename.endswith(CLEAR)
            is_clear = is_ours and "raise" in statement and len(str(error)) >= 20
            is_file = isinstance(error, OSError) and error.filename is not None
            if not (is_clear or is_file or frame.filename.endswith(others)):
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


def few(
    values: Mapping[str, st.SearchStrategy[Any]], most: int = 2
) -> st.SearchStrategy[dict[str, Any]]:
    """Return at most two odd arguments, since a call with more of them fails at the first."""

    @st.composite
    def chosen(draw: st.DrawFn) -> dict[str, Any]:
        keys = draw(st.lists(st.sampled_from(sorted(values)), max_size=most, unique=True))
        return {key: draw(values[key]) for key in keys}

    return chosen() if values else st.just({})


def _column(draw: st.DrawFn, kind: str, n_rows: int) -> list[Any]:
    return draw(st.lists(_cells[kind], min_size=n_rows, max_size=n_rows))


def tables(odd: Sequence[int] = (0, 0, 1, 2, 9)) -> st.SearchStrategy[tuple[Any, Any]]:
    """Return X as a table, an array or a sparse matrix, and a target.

    Most tables are good but for one or two things, because a table that is odd everywhere is
    refused before the search begins.

    Args:
        odd: The numbers of odd things to choose from.
    """
    return _tables(tuple(odd))


@st.composite
def _tables(draw: st.DrawFn, odd: tuple[int, ...]) -> tuple[Any, Any]:
    things = ["column"] * 4 + ["y", "y", "labels", "labels", "rows", "columns", "copy", "length"]
    count = draw(st.sampled_from(odd))
    chosen = draw(st.lists(st.sampled_from(things), min_size=count, max_size=count))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    n_rows = draw(st.sampled_from([1, 2, 3, 8])) if "rows" in chosen else 12
    n_columns = draw(st.sampled_from([1, 14])) if "columns" in chosen else int(rng.integers(2, 5))
    cells: list[Any] = list(rng.standard_normal((n_columns, n_rows)).round(2))
    for _ in range(chosen.count("column")):
        cells[rng.integers(n_columns)] = _column(draw, draw(st.sampled_from(list(_cells))), n_rows)
    if "copy" in chosen:
        cells[0] = cells[-1]
    y: Any = rng.permutation(np.arange(n_rows) % draw(st.sampled_from([2, 2, 3])))
    y = [y, np.array(["no", "yes", "=x"])[y], y == 0, rng.standard_normal(n_rows)][
        draw(st.sampled_from([0, 0, 1, 2, 3]))
    ]
    if "y" in chosen:
        y = _column(draw, draw(st.sampled_from(list(_cells))), n_rows)
    if "length" in chosen:
        y = y[: len(y) - 1]
    form = draw(st.sampled_from(["frame", "frame", "array", "list", "sparse"]))
    names_ = [f"x{j}" for j in range(n_columns)]
    if form == "frame":
        X: Any = pd.DataFrame(dict(enumerate(cells)))
        label = st.lists(names, min_size=n_columns, max_size=n_columns)
        X.columns = draw(label) if "labels" in chosen else names_
        y = pd.Series(y) if draw(st.booleans()) else y
    else:
        is_plain = not {"column", "y"}.intersection(chosen)
        X = np.array(cells, dtype=float if is_plain else object).T
        if form == "sparse" and is_plain:
            X = sparse.csr_array(X)
        elif form == "list":
            X, y = X.tolist(), list(y)
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
