from __future__ import annotations

import warnings

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution
from optuna.samplers import RandomSampler
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    pareto_front,
    selected_features,
    warm_start,
)
from optuna_mofs.fronts import WarmStartWarning

SPACE = {"var_smoothing": FloatDistribution(1e-9, 1.0, log=True)}


def table(n=60, p=6, seed=0, prefix="f"):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"{prefix}{j}" for j in range(p)])
    X.iloc[:, :2] += 1.5 * y[:, None]
    return X, y


def make(X, y, *, estimator=None, space=SPACE, representation="mask", **options):
    options = {"cv": 3, "filters": ["anova_f", "auc"], "holdout": None, **options}
    return FeatureSelectionObjective(
        estimator or GaussianNB(), X, y, space=space, representation=representation, **options
    )


def search(objective, n_trials=12, name="last year"):
    study = objective.create_study(sampler=RandomSampler(seed=0), study_name=name)
    study.optimize(objective, n_trials=n_trials)
    return study


@pytest.fixture(scope="module")
def masks():
    return search(make(*table(seed=3)), 40)


@pytest.fixture(scope="module")
def rules():
    return search(make(*table(), representation="filter_ensemble"))


def moved(objective, source, n_trials=10, **options):
    """Return the study, and the trials that were taken from ``source``."""
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WarmStartWarning)
        start = warm_start(study, source, n_trials=n_trials)
    study.optimize(objective, n_trials=len(start.numbers))
    return study, start


def test_the_front_on_other_rows_is_evaluated_first(masks):
    study, start = moved(make(*table(80, seed=1)), masks)
    front = pareto_front(masks, duplicates=False)
    filled = {trial.number for trial in front if trial.user_attrs["n_features"]}
    assert set(start.numbers) == filled
    assert start.numbers[0] == front.pick().number
    assert start.refused == {}
    for trial, number in zip(study.trials, start.numbers):
        before = masks.trials[number]
        assert selected_features(study, trial) == selected_features(masks, before)
        assert trial.params["var_smoothing"] == before.params["var_smoothing"]
        assert trial.user_attrs["warm_start"] == f"last year #{number}"


@pytest.mark.parametrize("count", [1, 2])
def test_the_picks_come_first(masks, count):
    study = make(*table(80, seed=1)).create_study()
    start = warm_start(study, masks, n_trials=count)
    front = pareto_front(masks, duplicates=False)
    picks = [front.pick(), front.best(0), front.knee()]
    expected = list(dict.fromkeys(trial.number for trial in picks))[:count]
    assert list(start.numbers[: len(expected)]) == expected
    assert len(start.numbers) == count


def test_a_second_call_enqueues_nothing_twice(masks):
    objective = make(*table(80, seed=1))
    study = objective.create_study(sampler=RandomSampler(seed=0))
    warm_start(study, masks, n_trials=1)
    study.optimize(objective, n_trials=1)
    warm_start(study, masks, n_trials=1)
    assert len(study.trials) == 1
    warm_start(study, masks, n_trials=2)
    assert len(study.trials) == 2


def test_more_columns_and_another_order_keep_the_sets(masks):
    X, y = table()
    more = pd.concat([X.add_prefix("new "), X[X.columns[::-1]]], axis=1)
    study, start = moved(make(more, y), masks)
    for trial, number in zip(study.trials, start.numbers):
        names = selected_features(masks, masks.trials[number])
        assert set(selected_features(study, trial)) == set(names)


def test_features_that_are_gone_are_named(masks):
    X, y = table()
    study = make(X.drop(columns="f0"), y).create_study()
    with pytest.warns(WarmStartWarning, match="feature 'f0': no feature of this study"):
        start = warm_start(study, masks)
    assert start.refused["feature 'f0'"] == "no feature of this study"
    for number in start.numbers:
        assert selected_features(masks, masks.trials[number]) != ["f0"] or len(start.numbers) > 1


def test_another_learner_takes_the_features_and_the_parameters_that_exist(masks):
    X, y = table()
    space = {
        "n_neighbors": optuna.distributions.IntDistribution(1, 9),
        "p": optuna.distributions.IntDistribution(1, 2),
    }
    study, start = moved(make(X, y, estimator=KNeighborsClassifier(), space=space), masks)
    assert start.refused == {"parameter 'var_smoothing'": "no parameter of this study"}
    assert [selected_features(study, t) for t in study.trials] == [
        selected_features(masks, masks.trials[number]) for number in start.numbers
    ]
    assert all(1 <= trial.params["n_neighbors"] <= 9 for trial in study.trials)


def test_values_outside_of_the_range_are_refused(masks):
    narrow = {"var_smoothing": FloatDistribution(0.999, 1.0)}
    study, start = moved(make(*table(), space=narrow), masks)
    assert "is not in FloatDistribution" in start.refused["parameter 'var_smoothing'"]
    assert all(0.999 <= trial.params["var_smoothing"] <= 1 for trial in study.trials)


def test_sets_beyond_the_limits_are_refused(masks):
    X, y = table()
    study, start = moved(make(X, y, max_features=2), masks)
    refused = [reason for name, reason in start.refused.items() if "trial" in name]
    assert all("but this study allows 0 to 2" in reason for reason in refused)
    assert refused
    assert all(trial.user_attrs["n_features"] <= 2 for trial in study.trials)


def test_rules_keep_their_weights_and_number_of_features(rules):
    X, y = table()
    more = pd.concat([X.add_prefix("new "), X], axis=1)
    study, start = moved(make(more, y, representation="filter_ensemble"), rules)
    assert start.refused == {}
    for trial, number in zip(study.trials, start.numbers):
        before = rules.trials[number]
        for name in ("weight_anova_f", "weight_auc", "var_smoothing"):
            assert trial.params[name] == before.params[name]
        assert trial.user_attrs["n_features"] == before.user_attrs["n_features"]


def test_filters_that_are_gone_are_named(rules):
    study = make(*table(), representation="filter_ensemble", filters=["auc"]).create_study()
    with pytest.warns(WarmStartWarning, match="'weight_anova_f': no parameter of this study"):
        warm_start(study, rules)


def test_masks_become_sizes_in_a_study_of_rules(masks):
    study, start = moved(make(*table(), representation="filter_ensemble"), masks)
    assert "only the number of features is used" in start.refused["features of the sets"]
    for trial, number in zip(study.trials, start.numbers):
        assert trial.user_attrs["n_features"] == masks.trials[number].user_attrs["n_features"]


def test_rules_become_sets_in_a_study_of_masks(rules):
    study, start = moved(make(*table(80, seed=1)), rules)
    assert [selected_features(study, t) for t in study.trials] == [
        selected_features(rules, rules.trials[number]) for number in start.numbers
    ]


def test_exceptions_of_rules_go_by_the_name_of_the_feature():
    X, y = table()
    kind = FilterEnsembleFeatures(exceptions=1, redundancy_penalty=False)
    objective = make(X, y, representation=kind)
    source = objective.create_study(study_name="exceptions", sampler=RandomSampler(seed=0))
    source.enqueue_trial({"exception_1": 3, "fraction": 0.2})
    source.optimize(objective, n_trials=1)
    study, _ = moved(make(X[X.columns[::-1]], y, representation=kind), source)
    assert study.trials[0].params["exception_1"] == 4
    gone, _ = moved(make(X.drop(columns="f2"), y, representation=kind), source)
    assert gone.trials[0].params["exception_1"] == 0


def test_packed_masks_are_moved_too():
    X, y = table(p=30)
    source = search(make(X, y), name="wide")
    study, start = moved(make(X.assign(extra=0.0), y), source)
    assert [selected_features(study, t) for t in study.trials] == [
        selected_features(source, source.trials[number]) for number in start.numbers
    ]


def test_a_plain_study_gives_its_parameters(masks):
    plain = optuna.create_study(study_name="plain", sampler=RandomSampler(seed=0))
    plain.optimize(lambda trial: trial.suggest_float("var_smoothing", 0.1, 0.2), n_trials=2)
    study, _ = moved(make(*table()), plain)
    assert study.trials[0].params["var_smoothing"] == plain.best_params["var_smoothing"]


def test_a_space_that_is_a_function_takes_what_it_suggests(masks):
    def space(trial):
        return {"var_smoothing": trial.suggest_float("var_smoothing", 1e-9, 1.0, log=True)}

    study, start = moved(make(*table(), space=space), masks)
    assert [t.params["var_smoothing"] for t in study.trials] == [
        masks.trials[number].params["var_smoothing"] for number in start.numbers
    ]


def test_nothing_in_common_is_an_error(masks):
    X, y = table(prefix="g")
    study = make(X, y, space=None).create_study()
    with pytest.raises(ValueError, match="No feature or parameter of study 'last year' exists"):
        warm_start(study, masks)
    assert study.trials == []


def test_studies_without_trials_or_features_are_refused(masks):
    empty = optuna.create_study(study_name="empty")
    with pytest.raises(ValueError, match="Study 'empty' has no completed trial"):
        warm_start(make(*table()).create_study(), empty)
    with pytest.raises(ValueError, match=r"has no features yet. Call objective.attach"):
        warm_start(empty, masks)
    with pytest.raises(ValueError, match="n_trials must be an integer of at least 1, got 0"):
        warm_start(empty, masks, n_trials=0)
