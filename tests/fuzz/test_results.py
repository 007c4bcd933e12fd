"""What is made of a study: picks, models, other searches, figures, notes, stopping rules."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np
import optuna
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import optuna_mofs
from optuna_mofs import (
    FeatureSelectionObjective,
    LexicographicPreference,
    ModelTypeObjective,
    generalization,
    hypervolume_history,
    nested_cross_validate,
    noise_floor,
    pareto_front,
    resampled_fronts,
    visualization,
    warm_start,
)
from optuna_mofs.dashboard import save_note, study_note
from tests.fuzz.cases import (
    SKLEARN,
    few,
    fuzz,
    json_values,
    names,
    result_or_clear_error,
    studies,
    tables,
)

NUMBERS = st.one_of(
    st.sampled_from([None, 0, 1, 2, -1, 0.5, 10**12, "2", "5%", True, [], np.nan]), st.floats()
)
METRICS = st.sampled_from([None, 0, 1, -1, 9, "value_0", "error", "features", "no", "", 0.5, []])


def _space(count: int) -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, count))
    return X, (X[:, 0] > 0).astype(int)


@functools.cache
def _objective(representation: str = "mask") -> FeatureSelectionObjective:
    X, y = _space(4)
    return FeatureSelectionObjective(
        DecisionTreeClassifier(max_depth=2, random_state=0), X, y,
        representation=representation, filters=["variance"], cv=2,
        space={"min_samples_leaf": [1, 2]},
    )  # fmt: skip


@functools.cache
def _searched(representation: str = "mask", sampler: str = "random") -> optuna.Study:
    kinds = {"random": optuna.samplers.RandomSampler, "moead": optuna_mofs.MOEADSampler}
    study = _objective(representation).create_study(sampler=kinds[sampler](seed=0))
    study.optimize(_objective(representation), n_trials=5)
    return study


OURS = st.builds(
    _searched,
    st.sampled_from(["mask", "filter_ensemble", "single_filter"]),
    st.sampled_from(["random", "moead"]),
)
STUDIES = st.sampled_from([OURS, OURS, studies(system=False)]).flatmap(lambda kind: kind)


def _arguments(function: Any, values: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return strategies of some keyword arguments of a function."""
    known = set(inspect.signature(function).parameters)
    assert set(values) <= known or "limits" in known, (function, values)
    return few(values)


PICKS: dict[str, dict[str, Any]] = {
    "best": {"metric": METRICS, "max_features": NUMBERS, "value_0": NUMBERS, "error": NUMBERS},
    "one_standard_error": {"metric": METRICS, "sparsity": METRICS},
    "lexicographic": {
        "tolerances": st.dictionaries(names, NUMBERS, max_size=2) | json_values,
        "goals": st.dictionaries(names, NUMBERS, max_size=2) | json_values,
        "priorities": st.none() | st.lists(METRICS, max_size=2) | json_values,
    },
    "hypervolume": {"reference": json_values | st.lists(st.floats(), max_size=3)},
    "honest": {
        "n_bootstraps": st.sampled_from([10, 1, 0, 2.5]),
        "confidence": NUMBERS,
        "seed": NUMBERS,
    },
}


@pytest.mark.parametrize("name", sorted(PICKS))
@fuzz
@given(study=STUDIES, data=st.data())
def test_picks(study: optuna.Study, name: str, data: st.DataObject) -> None:
    front = pareto_front(study)
    pick = getattr(front, name)
    options = data.draw(_arguments(pick, PICKS[name]))
    found = result_or_clear_error(lambda: pick(**options))
    if name in ("best", "lexicographic") and not isinstance(found, Exception):
        assert found in list(front)


@fuzz
@given(STUDIES, json_values | st.lists(METRICS, max_size=3), st.booleans(), st.data())
def test_fronts(study: optuna.Study, targets: Any, duplicates: bool, data: st.DataObject) -> None:
    result_or_clear_error(
        lambda: pareto_front(study, targets=targets, duplicates=duplicates).to_frame()
    )
    reference = data.draw(PICKS["hypervolume"]["reference"])
    result_or_clear_error(lambda: hypervolume_history(study, reference=reference))
    tolerance, metric, extra = data.draw(st.tuples(NUMBERS, METRICS, NUMBERS))
    result_or_clear_error(
        lambda: optuna_mofs.optima(
            study, tolerance, metric=metric, max_extra_features=extra
        ).to_frame()
    )


FIGURES: dict[str, dict[str, Any]] = {
    "plot_all": {},
    "plot_attainment": {"targets": st.lists(METRICS, max_size=3), "levels": json_values},
    "plot_feature_frequency": {"max_features": NUMBERS, "max_bins": NUMBERS},
    "plot_feature_order": {"max_features": NUMBERS},
    "plot_filter_weights": {"window": NUMBERS},
    "plot_front": {
        "targets": st.lists(METRICS, max_size=3),
        "pick": st.booleans(),
        "max_dominated": NUMBERS,
    },
    "plot_hypervolume": {"reference": json_values, "spread": json_values},
    "plot_operators": {},
    "plot_stability": {},
}


@pytest.mark.parametrize("name", sorted(FIGURES))
@fuzz
@given(study=STUDIES, data=st.data())
def test_figures(study: optuna.Study, name: str, data: st.DataObject) -> None:
    plot = getattr(visualization, name)
    options = data.draw(_arguments(plot, FIGURES[name]))
    found = result_or_clear_error(lambda: plot(study, **options))
    figures = found.values() if isinstance(found, dict) else [found]
    for figure in figures if isinstance(figures, Iterable) else []:
        assert isinstance(figure, go.Figure | Exception)


@fuzz
@given(
    st.lists(STUDIES, max_size=2) | st.lists(OURS, min_size=2, max_size=3) | json_values,
    st.just({}) | st.dictionaries(names, json_values | st.lists(OURS), max_size=2),
)
def test_figures_of_several_studies(several: Any, by_name: Any) -> None:
    for plot in (
        visualization.plot_attainment,
        visualization.plot_hypervolume,
        visualization.plot_critical_difference,
    ):
        result_or_clear_error(lambda plot=plot: plot(several))
        result_or_clear_error(lambda plot=plot: plot({**by_name, "a": several}))


@fuzz
@given(STUDIES)
def test_notes(study: optuna.Study) -> None:
    result_or_clear_error(lambda: study_note(study))
    result_or_clear_error(lambda: save_note(study))


CALLBACKS: list[tuple[Any, dict[str, Any]]] = [
    (optuna_mofs.StagnationCallback, {"monitor": st.sampled_from(["hypervolume", "pick", "no"]),
                                      "min_gain": NUMBERS, "horizon": NUMBERS, "risk": NUMBERS}),
    (optuna_mofs.TimeoutCallback, {"timeout": NUMBERS, "quantile": NUMBERS}),
    (optuna_mofs.NoNewOptimaCallback, {"patience": NUMBERS, "tolerance": NUMBERS,
                                       "metric": METRICS}),
]  # fmt: skip


@pytest.mark.parametrize("kind", CALLBACKS)
@fuzz
@given(study=STUDIES, data=st.data())
def test_callbacks(study: optuna.Study, kind: Any, data: st.DataObject) -> None:
    create, values = kind
    options = data.draw(_arguments(create, values))

    def run() -> None:
        callback = create(**{"timeout": 1.0, **options} if "timeout" in values else options)
        for trial in study.get_trials(deepcopy=False)[-1:]:
            callback(study, trial)

    study.stop = lambda: None  # type: ignore[method-assign]  # no study is running here
    result_or_clear_error(run)


ORDER = st.lists(st.sampled_from(["error", "fraction", "value_0", "no"]), max_size=3, unique=True)
NAMED = st.sampled_from(["error", "fraction", "value_0", "no", "", 0, 9])
PREFERENCE = few(
    {
        "priorities": ORDER | json_values,
        "tolerances": st.dictionaries(NAMED, NUMBERS, max_size=2) | json_values,
        "goals": st.dictionaries(st.sampled_from(["error", "value_0"]), NUMBERS) | json_values,
    }
)


@fuzz
@given(STUDIES, PREFERENCE, st.sampled_from([3, 1]) | NUMBERS)
def test_preferences(study: optuna.Study, options: Any, patience: Any) -> None:
    def run() -> None:
        preference = LexicographicPreference(**options)
        preference.targets(study)
        visualization.plot_lexicographic_targets(study, preference)
        visualization.plot_front(study, preference=preference)
        callback = optuna_mofs.LexicographicStoppingCallback(preference, patience=patience)
        assert callback.should_stop(study) in (True, False)

    result_or_clear_error(run)


@fuzz
@given(STUDIES, STUDIES, NUMBERS)
def test_warm_start(study: optuna.Study, source: optuna.Study, n_trials: Any) -> None:
    def run() -> None:
        target = _objective().create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        before = len(target.trials)
        found = warm_start(target, source, n_trials=n_trials)
        assert len(target.trials) - before == len(found.numbers) <= n_trials
        target.optimize(_objective(), n_trials=len(found.numbers))

    result_or_clear_error(run)
    result_or_clear_error(lambda: warm_start(study, source, n_trials=2))


@fuzz
@given(
    STUDIES | OURS,
    tables(),
    st.sampled_from(["weighted", "mean", "best", "no", None]),
    st.none() | METRICS,
)
def test_models(study: optuna.Study, table: Any, strategy: Any, by: Any) -> None:
    objective = _objective()
    result_or_clear_error(
        lambda: optuna_mofs.front_model(study, objective, strategy=strategy, by=by)
    )
    result_or_clear_error(lambda: generalization(study, objective, *table), *SKLEARN)
    result_or_clear_error(lambda: generalization(_searched(), objective, *table), *SKLEARN)


SEARCHES: list[tuple[Any, dict[str, Any]]] = [
    (nested_cross_validate, {"n_trials": NUMBERS, "cv": NUMBERS, "reference": json_values,
                             "random_state": st.just(1) | NUMBERS,
                             "n_jobs": st.sampled_from([None, 1, 0])}),
    (resampled_fronts, {"n_trials": NUMBERS, "n_resamples": st.sampled_from([1, 2, 0, -1, 0.5]),
                        "method": st.sampled_from(["subsample", "bootstrap", "no"]),
                        "fraction": st.sampled_from([0.5, 0.9]) | NUMBERS,
                        "random_state": st.just(1) | NUMBERS}),
]  # fmt: skip


def _few(options: dict[str, Any]) -> dict[str, Any]:
    """Leave out numbers that would only take long."""
    is_many = {key for key, value in options.items() if value is not None and value == 10**12}
    kept = {key: value for key, value in options.items() if key not in is_many}
    return {"n_trials": 2, "show_progress_bar": False, **kept}


@pytest.mark.parametrize("kind", SEARCHES)
@fuzz
@given(data=st.data())
def test_repeated_searches(kind: Any, data: st.DataObject) -> None:
    search, values = kind
    options = _few(data.draw(_arguments(search, values)))
    sampler = optuna.samplers.RandomSampler(seed=0)
    result_or_clear_error(lambda: search(_objective(), sampler=sampler, **options))


@fuzz
@given(
    STUDIES | OURS, st.sampled_from([None, 1, 2, 0, -1, 0.5]), st.sampled_from([0, 1]) | NUMBERS
)
def test_noise_floor(study: optuna.Study, n_trials: Any, seed: Any) -> None:
    result_or_clear_error(
        lambda: noise_floor(study, _objective(), n_trials=n_trials, random_state=seed)
    )


LEARNERS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]) | names,
    st.sampled_from(
        [
            (GaussianNB(), None),
            (DecisionTreeClassifier(random_state=0), {"max_depth": (1, 3)}),
            (DecisionTreeRegressor(random_state=0), {"ccp_alpha": [0.0, 0.1]}),
            (GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}),
            (None, {}),
            GaussianNB(),
            (GaussianNB(), {"no": [1]}),
            ("svm", None, 3),
        ]
    ),
    min_size=1,
    max_size=3,
)
LEARNERS = st.sampled_from([*[LEARNERS] * 5, st.sampled_from([None, [], {}, "svm", 3])]).flatmap(
    lambda kind: kind
)


@fuzz
@given(LEARNERS, tables(), st.sampled_from([None, "mask", "single_filter", "no"]))
def test_model_type_objective(learners: Any, table: Any, representation: Any) -> None:
    def run() -> None:
        objective = ModelTypeObjective(
            learners, *table, representation=representation, filters=["variance"], cv=2
        )
        study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(objective, n_trials=2)
        for trial in pareto_front(study):
            objective.refit(trial)

    result_or_clear_error(run)
