"""Functions of arrays and tables: filters, columns, learners, spaces, measures, statistics."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import optuna_mofs
from optuna_mofs import FilterEnsemble, spaces, statistics
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
    fuzz,
    json_values,
    names,
    result_or_clear_error,
    tables,
)

SLOW = {"random_forest", "forest_elimination", "estimator_elimination"}
FILTERS = sorted(set(filter_names()) - SLOW)
OPTIONS = st.fixed_dictionaries(
    {"random_state": st.just(0)},
    optional={
        "task": st.sampled_from(["auto", "classification", "regression", "no", None]),
        "bins": st.sampled_from([2, 5, 5, 5, 255, 1, 0, 10**6, 2.5, None]),
        "n_steps": st.sampled_from([None, 1, 3, 0, 10**9]),
        "n_jobs": st.sampled_from([None, 1, 0]),
    },
)


@fuzz
@given(tables(), st.sampled_from([*FILTERS, "random_forest", "no"]), OPTIONS)
def test_filters(table: Any, name: str, options: Any) -> None:
    X, y = table
    found = result_or_clear_error(lambda: get_filter(name)(X, y, **options))
    if not isinstance(found, Exception):
        assert found.shape == (np.shape(X)[1],)
        assert not np.isnan(found).any()


@fuzz
@given(
    tables(),
    st.lists(st.sampled_from([*FILTERS, "no", 7, None]), max_size=3) | st.just("variance"),
    st.sampled_from([None, None, [1.0, 2.0], [], [np.nan], "a", [-1.0, 0.0], 3]),
    st.sampled_from([None, None, [[0]], [[0, 0]], [[99]], [], "a", [[]], [[0.5]], [0]]),
)
def test_filter_ensemble(table: Any, filters: Any, weights: Any, groups: Any) -> None:
    def run() -> None:
        ensemble = FilterEnsemble(filters, random_state=0).fit(*table, feature_groups=groups)
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
@given(tables(), tables(), POSITIONS, st.booleans())
def test_column_selector(table: Any, new: Any, positions: Any, by_name: bool) -> None:
    def run() -> None:
        selector = ColumnSelector(positions, by_name=by_name).fit(table[0])
        assert np.shape(selector.transform(table[0]))[0] == np.shape(table[0])[0]
        selector.transform(new[0])

    result_or_clear_error(run, *SKLEARN)


@fuzz
@given(tables(), st.lists(names, max_size=3), st.lists(names, max_size=2), st.booleans())
def test_named_columns(table: Any, wanted: Any, text: Any, as_frame: bool) -> None:
    wanted = list(dict.fromkeys([*wanted, *list(getattr(table[0], "columns", []))[:2]]))
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
    assert isinstance(found, Exception) or len(found) == len(X)


@fuzz
@given(
    st.sampled_from([*spaces.learner_names()[:3], "no", "", None]),
    st.sampled_from(["classification", "regression", "no", None]),
    st.dictionaries(st.sampled_from(["C", "gamma", "x"]), distributions | json_values, max_size=2),
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


PARENTS = [
    getattr(optuna_mofs, name)
    for name in optuna_mofs.__all__
    if name.endswith(("Sampler", "Callback")) or name in ("Measure", "MaskFeatures")
]


@fuzz
@given(st.sampled_from(PARENTS), st.data())
def test_constructors(kind: Any, data: st.DataObject) -> None:
    """Each number of a constructor may be any value of JSON."""
    given_ = data.draw(
        st.dictionaries(
            st.sampled_from(sorted(set(inspect.signature(kind).parameters))), json_values
        )
    )
    try:
        inspect.signature(kind).bind(**given_)
    except TypeError:
        return
    result_or_clear_error(lambda: kind(**given_))
