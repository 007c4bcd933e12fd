"""Studies of strangers: foreign trials, altered attributes, odd feature sets."""

from __future__ import annotations

import copy
import json
from typing import Any

import optuna
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

import optuna_mofs
from optuna_mofs import (
    FeatureTable,
    LexicographicPreference,
    enqueue_features,
    feature_table,
    pareto_front,
    retry_interrupted,
    selected_features,
    suggest_features,
    visualization,
)
from optuna_mofs.testing.problems import PROBLEMS
from tests.fuzz.cases import (
    few,
    fuzz,
    json_values,
    names,
    result_or_clear_error,
    studies,
    tables,
    trials,
)

SAMPLERS = {
    "nsga2": optuna_mofs.FilterEnsembleNSGA2Sampler.from_paper,
    "parego": lambda: optuna_mofs.ParEGOSampler(n_startup_trials=4),
    "lexiflow": optuna_mofs.LexiFlowSampler,
    "moead": optuna_mofs.MOEADSampler,
    "ghga": optuna_mofs.GHGASampler,
}


#: The figures that need nothing but a study.
PLOTS = sorted(
    {n for n in visualization.__all__ if n.startswith("plot_")}
    - {"plot_all", "plot_lexicographic_targets"}
)


def _read_everything(study: optuna.Study) -> None:
    front = pareto_front(study)
    front.to_frame()
    front.hypervolume()
    front.honest().to_frame()
    for trial in front:
        selected_features(study, trial)
    if len(front):
        assert front.pick() in list(front)
        front.knee()
        front.best()
        front.lexicographic()


@fuzz
@given(studies(system=True))
def test_pareto_front(study: optuna.Study) -> None:
    result_or_clear_error(lambda: _read_everything(study))


@fuzz
@given(studies(), st.sampled_from(PLOTS))
def test_visualization(study: optuna.Study, name: str) -> None:
    plot = getattr(visualization, name)
    found = result_or_clear_error(lambda: plot(study))
    assert isinstance(found, go.Figure | Exception)


@fuzz
@given(studies(system=True), st.sampled_from(sorted(SAMPLERS)), st.sampled_from(["bits", "mixed"]))
def test_samplers_with_foreign_trials(study: optuna.Study, name: str, problem: str) -> None:
    n_values = len(study.directions)
    study.sampler = SAMPLERS[name]()
    study.sampler.seed = 0  # type: ignore[attr-defined]

    def run() -> None:
        for _ in range(2):
            trial = study.ask()
            found = PROBLEMS[problem](trial)
            study.tell(trial, [found[i % 2] for i in range(n_values)])

    result_or_clear_error(run)


def _good_study() -> optuna.Study:
    study = optuna.create_study(
        directions=["minimize"] * 2,
        study_name="good",
        sampler=optuna_mofs.MOEADSampler(seed=0, population_size=4),
    )
    study.optimize(PROBLEMS["packed"], n_trials=6)
    return study


GOOD: list[optuna.Study] = []


@st.composite
def _altered(draw: st.DrawFn, value: Any) -> Any:
    """Return a JSON value with one part replaced, removed or cut."""
    text = json.dumps(value)
    how = draw(st.sampled_from(["replace", "part", "part", "part", "cut"]))
    if how == "replace":
        return draw(json_values)
    changed = json.loads(text)
    if not isinstance(changed, dict | list) or not changed:
        return draw(json_values)
    holder: Any = changed
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = draw(st.sampled_from(keys))
        if not isinstance(holder[key], dict | list) or not holder[key] or draw(st.booleans()):
            break
        holder = holder[key]
    if how == "cut" and isinstance(holder[key], str):
        holder[key] = holder[key][: draw(st.integers(0, 8))]
    elif how == "cut":
        del holder[key]
    else:
        holder[key] = draw(json_values)
    return changed


@fuzz
@given(st.data())
def test_altered_attributes(data: st.DataObject) -> None:
    """Every attribute of this package, altered: of the study, or of one of its trials."""
    if not GOOD:
        GOOD.append(_good_study())
    storage = copy.deepcopy(GOOD[0]._storage)
    study = optuna.load_study(
        study_name="good",
        storage=storage,
        sampler=optuna_mofs.MOEADSampler(seed=0, population_size=4),
    )
    trial = data.draw(st.none() | st.sampled_from(study.get_trials(deepcopy=False)))
    attrs = (
        storage.get_study_system_attrs(study._study_id) if trial is None else trial.system_attrs
    )
    keys = sorted(key for key in attrs if key.startswith("mofs:"))
    key = data.draw(st.sampled_from(keys))
    attrs[key] = data.draw(_altered(attrs[key]))  # the dictionary of the storage in memory
    if trial is None:
        storage._studies[study._study_id].system_attrs[key] = attrs[key]
    result_or_clear_error(lambda: _read_everything(study))
    result_or_clear_error(lambda: study.optimize(PROBLEMS["packed"], n_trials=1))


FEATURES = st.one_of(
    st.integers(3, 20),
    st.integers(-2, 20),
    st.lists(names, max_size=4),
    st.sampled_from(["abc", None, 2.5, {"a", "b"}, 10**9, ["a", "a"], [1, "1"]]),
)


@fuzz
@given(
    FEATURES,
    few(
        {
            "min_features": st.sampled_from([0, 1, 5, -1, 0.5]),
            "max_features": st.sampled_from([0, 1, 3, -1, "2"]),
            "form": st.sampled_from(["bits", "packed", "no"]),
        }
    ),
    st.lists(
        st.lists(st.sampled_from(["x0", "x1", "x2"]), max_size=3)
        | st.lists(names, max_size=3)
        | st.sampled_from(["x1", None]),
        max_size=2,
    ),
)
def test_suggest_and_enqueue_features(features: Any, options: Any, enqueued: list[Any]) -> None:
    low, high = options.get("min_features", 0), options.get("max_features")
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        chosen = suggest_features(trial, features, **options)
        assert low <= chosen.sum() <= (len(chosen) if high is None else high)
        return float(chosen.sum())

    def run() -> None:
        study.optimize(objective, n_trials=1)
        for wanted in enqueued:
            enqueue_features(study, wanted)
            study.optimize(objective, n_trials=1)
            assert set(selected_features(study, study.trials[-1]) or []) == set(wanted)

    result_or_clear_error(run)


@fuzz
@given(studies(), st.floats(allow_nan=True), st.none() | st.lists(st.integers(-1, 9)))
def test_retry_interrupted(study: optuna.Study, older: float, numbers: Any) -> None:
    before = len(study.trials)
    found = result_or_clear_error(
        lambda: retry_interrupted(study, older_than=older, numbers=numbers)
    )
    if not isinstance(found, Exception):
        assert len(study.trials) == before + len(found)
        again = retry_interrupted(study, older_than=older, numbers=numbers)
        assert again == ([] if numbers is None else found)  # failed ones can be named again
        assert len(study.trials) == before + len(found)


@fuzz
@given(
    studies(),
    st.none() | st.lists(names | st.sampled_from(["value_0", "value_1"]), max_size=3),
    st.none() | st.dictionaries(st.sampled_from(["value_0", "no"]), json_values, max_size=2),
    st.none() | st.dictionaries(st.sampled_from(["value_0", "no"]), json_values, max_size=2),
)
def test_lexicographic_preference(study: optuna.Study, order: Any, tol: Any, goals: Any) -> None:
    def run() -> None:
        LexicographicPreference(order, tol, goals)
        front = pareto_front(study)
        if len(front):
            front.lexicographic(priorities=order, tolerances=tol, goals=goals)

    result_or_clear_error(run)


@fuzz
@given(
    tables(),
    few(
        {
            "filters": st.sampled_from([["auc", "anova_f"], ["jmi"], ["no"], [], "default"]),
            "feature_groups": st.sampled_from([{"a": ["x0"]}, {"a": []}, {"x0": ["x1"]}]),
            "feature_costs": st.sampled_from([[1.0], {"x0": 2.0}, {"x0": "a"}]),
            "fixed_features": st.sampled_from([["x0"], "x0", ["no"], [0]]),
            "min_features": st.sampled_from([1, 10**9, -1, "1"]),
            "max_features": st.sampled_from([1, 0, 10**9, -1, "1"]),
            "expected_n_features": json_values,
        }
    ),
)
def test_feature_table(table: Any, options: Any) -> None:
    options = {"filters": ["variance"], **options}
    found = result_or_clear_error(lambda: feature_table(*table, **options))
    assert isinstance(found, FeatureTable | Exception)


@fuzz
@given(trials(2, system=True))
def test_selected_features_of_a_foreign_trial(trial: Any) -> None:
    if not GOOD:
        GOOD.append(_good_study())
    result_or_clear_error(lambda: selected_features(GOOD[0], trial))


@pytest.fixture(scope="module", autouse=True)
def _no_study_is_left() -> Any:
    yield
    GOOD.clear()
