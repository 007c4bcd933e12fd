"""Functions of arrays and tables: filters, columns, learners, spaces, measures, statistics."""

from __future__ import annotations

import contextlib
import inspect
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import optuna_mofs
from optuna_mofs import FilterEnsemble, features, fronts, spaces, stability, statistics
from optuna_mofs.columns import ColumnSelector, NamedColumns
from optuna_mofs.filters import detect_task, filter_names, get_filter, rank_scores
from optuna_mofs.fronts import hypervolume
from optuna_mofs.learners import (
    EarlyStoppingClassifier,
    KernelKNeighborsClassifier,
    KernelKNeighborsRegressor,
)
from optuna_mofs.measures import get_measure, measure_names
from tests.fuzz.cases import (
    SKLEARN,
    distributions,
    few,
    fuzz,
    json_values,
    names,
    result_or_clear_error,
    tables,
)

SLOW = {"random_forest", "forest_elimination", "estimator_elimination"}
FILTERS = sorted(set(filter_names()) - SLOW)
OPTIONS = few(
    {
        "task": st.sampled_from(["auto", "classification", "regression", "no", None]),
        "bins": st.sampled_from([2, 5, 5, 5, 255, 1, 0, 10**6, 2.5, None]),
        "n_steps": st.sampled_from([None, 1, 3, 0, 10**9]),
        "n_jobs": st.sampled_from([None, 1, 0]),
    }
)


@fuzz
@given(tables(), st.sampled_from([*FILTERS, "random_forest", "no"]), OPTIONS)
def test_filters(table: Any, name: str, options: Any) -> None:
    X, y = table
    found = result_or_clear_error(lambda: get_filter(name)(X, y, random_state=0, **options))
    if not isinstance(found, Exception):
        assert found.shape == (np.shape(X)[1],)
        assert not np.isnan(found).any()


@fuzz
@given(
    tables(),
    few(
        {
            "filters": st.lists(st.sampled_from([*FILTERS, "no", 7, None]), max_size=3)
            | st.just("variance"),
            "groups": st.sampled_from([[[0]], [[0, 0]], [[99]], [], "a", [[]], [[0.5]], [0]]),
            "weights": st.sampled_from([[1.0, 2.0], [], [np.nan], "a", [-1.0, 0.0], 3]),
        }
    ),
)
def test_filter_ensemble(table: Any, options: Any) -> None:
    filters, weights = options.get("filters", ["variance", "auc"]), options.get("weights")

    def run() -> None:
        ensemble = FilterEnsemble(filters, random_state=0)
        ensemble.fit(*table, feature_groups=options.get("groups"))
        assert not np.isnan(ensemble.aggregate(weights)).any()
        ensemble.to_frame(weights)

    result_or_clear_error(run)


@fuzz
@given(st.lists(st.floats(), max_size=6) | json_values | tables())
def test_ranks_and_tasks(values: Any) -> None:
    result_or_clear_error(lambda: rank_scores(values))
    result_or_clear_error(lambda: detect_task(values))


POSITIONS = st.none() | st.lists(st.integers(-1, 3), max_size=3) | st.sampled_from([[0.5], "a", 1])


@fuzz
@given(tables(), st.none() | tables(), st.just([0]) | POSITIONS, st.booleans())
def test_column_selector(table: Any, new: Any, positions: Any, by_name: bool) -> None:
    new = table if new is None else new

    def run() -> None:
        selector = ColumnSelector(positions, by_name=by_name).fit(table[0])
        assert np.shape(selector.transform(table[0]))[0] == np.shape(table[0])[0]
        selector.transform(new[0])

    result_or_clear_error(run, *SKLEARN)


@fuzz
@given(
    tables(),
    st.just([]) | st.lists(names, max_size=3),
    st.just([]) | st.lists(names | st.just("x0"), max_size=2),
    st.booleans(),
)
def test_named_columns(table: Any, wanted: Any, text: Any, as_frame: bool) -> None:
    wanted = list(dict.fromkeys([*wanted[1:], *list(getattr(table[0], "columns", []))[:2]]))
    columns = NamedColumns(wanted, text_columns=text, as_frame=as_frame)
    found = result_or_clear_error(lambda: columns.transform(table[0]))
    if not isinstance(found, Exception):
        assert found.shape == (np.shape(table[0])[0], len(wanted))


LEARNERS = st.sampled_from(
    [
        KernelKNeighborsClassifier(n_neighbors=2),
        KernelKNeighborsRegressor(n_neighbors=2),
        EarlyStoppingClassifier(DecisionTreeClassifier(random_state=0), patience=None),
        KernelKNeighborsClassifier(n_neighbors=-1),
    ]
)


@fuzz
@given(LEARNERS, tables())
def test_learners(learner: Any, table: Any) -> None:
    X, y = table
    found = result_or_clear_error(
        lambda: learner.fit(X, y).predict(X),
        *SKLEARN,
        "multilayer_perceptron.py",
        "narwhals/_utils.py",
    )
    assert isinstance(found, Exception) or len(found) == np.shape(X)[0]


@fuzz
@given(
    st.sampled_from([*spaces.learner_names(), "no", "", None]),
    st.sampled_from(["classification", "classification", "regression", "no", None]),
    st.just({})
    | st.dictionaries(st.sampled_from(["C", "gamma", "x"]), distributions | json_values),
)
def test_spaces(name: Any, task: Any, overrides: Any) -> None:
    result_or_clear_error(lambda: spaces.get_learner(name, task, 0, **overrides))
    result_or_clear_error(lambda: spaces.learner_names(task))


@fuzz
@given(st.sampled_from(measure_names()) | json_values | st.sampled_from([len, StandardScaler()]))
def test_measures(what: Any) -> None:
    result_or_clear_error(lambda: get_measure(what, None))


MATRICES = st.integers(0, 4).flatmap(
    lambda n: st.lists(
        st.lists(st.floats() | st.integers(0, 2), min_size=n, max_size=n), max_size=5
    )
)
NUMBERS = st.floats() | st.sampled_from([0.05, 0, 1, -1, 10**6, "a", None])


@fuzz
@given(MATRICES | json_values, NUMBERS, st.sampled_from([0, 1, -1, 99, 0.5, "a"]), NUMBERS)
def test_statistics(scores: Any, alpha: Any, control: Any, count: Any) -> None:
    result_or_clear_error(lambda: str(statistics.compare_ranks(scores, alpha=alpha)))
    result_or_clear_error(lambda: statistics.compare_ranks(scores).cliques)
    result_or_clear_error(lambda: statistics.friedman(scores))
    result_or_clear_error(lambda: statistics.paired_wilcoxon(scores, control=control))
    row = scores[0] if isinstance(scores, list) and scores else scores
    result_or_clear_error(lambda: statistics.holm(row))
    result_or_clear_error(lambda: statistics.nemenyi(row, count))
    result_or_clear_error(lambda: statistics.bonferroni_dunn(row, count, control=control))
    result_or_clear_error(lambda: statistics.critical_difference(control, count, alpha=alpha))


@fuzz
@given(MATRICES | json_values, st.floats() | st.lists(st.floats(), max_size=4) | json_values)
def test_hypervolume(points: Any, reference: Any) -> None:
    found = result_or_clear_error(lambda: hypervolume(points, reference))
    if not isinstance(found, Exception):
        assert found >= 0


INDICES = st.lists(st.floats() | st.integers(0, 2), max_size=4) | json_values
#: Functions of arrays, with strategies of their arguments.
ARRAY_FUNCTIONS: dict[Any, list[st.SearchStrategy[Any]]] = {
    fronts.attainment_surfaces: [st.lists(MATRICES, max_size=3) | json_values],
    fronts.entered_front_mask: [MATRICES | json_values],
    fronts.hypervolume_over_time: [MATRICES | json_values, INDICES],
    fronts.knee_index: [MATRICES | json_values],
    fronts.lexicographic_index: [MATRICES | json_values],
    fronts.lexicographic_targets: [MATRICES | json_values],
    fronts.nondominated_mask: [MATRICES | json_values],
    fronts.one_standard_error_index: [INDICES, INDICES, INDICES],
    fronts.optimal_rows: [INDICES, INDICES, NUMBERS],
    fronts.pareto_rank: [MATRICES | json_values, st.none() | INDICES],
    fronts.similarities: [MATRICES | json_values],
    stability.nogueira_stability: [MATRICES | json_values],
    features.group_columns: [
        st.lists(names, max_size=3) | json_values,
        st.none() | st.dictionaries(names, st.lists(names, max_size=2)) | json_values,
    ],
    features.get_representation: [
        st.sampled_from(["mask", "filter_ensemble", "single_filter"])
        | st.fixed_dictionaries(
            {"kind": st.just("mask")}, optional={"form": json_values, "x": json_values}
        )
        | json_values
    ],
}


@pytest.mark.parametrize("function", ARRAY_FUNCTIONS)
@fuzz
@given(data=st.data())
def test_array_functions(function: Any, data: st.DataObject) -> None:
    arguments = [data.draw(strategy) for strategy in ARRAY_FUNCTIONS[function]]
    result_or_clear_error(lambda: function(*arguments))


OPENED = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    [
        "a.db",
        "no/such/folder.db",
        "no://x",
        "sqlite://",
        "mysql://me:geheim@",
        "",
        ".",
        "a\0b",
        3,
        "mysql://me:{geheim}@host/db",
        "sqlite:///{geheim}",
    ]
)


JOURNAL_LINES = st.fixed_dictionaries(
    {"op_code": st.integers(-1, 12), "worker_id": st.just("a")},
    optional=dict.fromkeys(
        ("study_id", "study_name", "directions", "trial_id", "state", "values"), json_values
    ),
)


@pytest.mark.parametrize("open_", [optuna_mofs.storage, optuna_mofs.journal])
@fuzz
@given(
    name=OPENED,
    patience=st.just(1.0) | NUMBERS,
    content=st.none()
    | st.binary(max_size=20)
    | st.builds(lambda line: json.dumps(line).encode() + b"\n", json_values | JOURNAL_LINES),
)
def test_files(open_: Any, name: Any, patience: Any, content: Any) -> None:
    """Any name of a file is a file in a folder that is removed, an error otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        is_url = isinstance(name, str) and "://" in name
        path = name if is_url or not isinstance(name, str) else f"{folder}/{name}"
        if content is not None and not is_url:
            with contextlib.suppress(OSError, TypeError, ValueError):
                Path(path).write_bytes(content)
        options = {"patience": patience} if open_ is optuna_mofs.storage else {}
        found = result_or_clear_error(lambda: open_(path, **options))
        assert "geheim" not in str(found)
        if isinstance(path, str) and not isinstance(found, Exception):
            assert is_url or Path(path).exists()


PARENTS = [
    getattr(optuna_mofs, name)
    for name in optuna_mofs.__all__
    if name.endswith(("Sampler", "Callback")) or name in ("Measure", "MaskFeatures")
]


@pytest.mark.parametrize("kind", PARENTS)
@fuzz
@given(data=st.data())
def test_constructors(kind: Any, data: st.DataObject) -> None:
    """Each number of a constructor may be any value of JSON."""
    parameters = inspect.signature(kind).parameters.values()
    needed = {p.name: json_values for p in parameters if p.default is p.empty}
    given_ = data.draw(st.fixed_dictionaries(needed))
    given_ |= data.draw(few({p.name: json_values for p in parameters}))
    try:
        inspect.signature(kind).bind(**given_)
    except TypeError:
        return
    result_or_clear_error(lambda: kind(**given_))
