"""Multi-label and multi-output targets, from the ranks of features to the honest front."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from scipy import sparse
from sklearn.datasets import make_multilabel_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from optuna_mofs import FeatureSelectionObjective, FeatureSelectionSearchCV
from optuna_mofs.honesty import noise_floor


@pytest.fixture(scope="module")
def labels():
    return make_multilabel_classification(120, 14, n_classes=3, random_state=0)


@pytest.fixture(scope="module")
def numbers():
    return make_regression(90, 14, n_informative=3, n_targets=2, noise=3, random_state=0)


def fit(estimator, X, y, **options):
    settings = {"n_trials": 8, "cv": 3, "filters": ["anova_f"], "random_state": 0, **options}
    return FeatureSelectionSearchCV(estimator, **settings).fit(X, y)


CLASSIFIERS = [
    (KNeighborsClassifier(), None),
    (MultiOutputClassifier(LogisticRegression()), None),
    (ClassifierChain(LogisticRegression()), "f1_micro"),
    (make_pipeline(StandardScaler(), RidgeClassifier()), "jaccard_weighted"),
    (RidgeClassifier(), "f1_macro"),
    (RandomForestClassifier(5, random_state=0), "roc_auc"),
]


@pytest.mark.parametrize(("estimator", "scoring"), CLASSIFIERS)
@pytest.mark.filterwarnings("ignore:F-score is ill-defined", "ignore:Jaccard is ill-defined")
def test_multi_label(labels, estimator, scoring):
    X, y = labels
    search = fit(estimator, X, y, scoring=scoring)
    assert {trial.state.name for trial in search.trials_} == {"COMPLETE"}
    assert search.predict(X).shape == y.shape
    assert search.score(X, y) > search.cv_results_["mean_test_score"].min()
    assert search.honest_score_.low < search.honest_score_.value < search.honest_score_.high


@pytest.mark.parametrize(
    ("estimator", "scoring"),
    [
        (Ridge(), None),
        (MultiOutputRegressor(SVR()), "neg_root_mean_squared_error"),
        (GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=2), "neg_mean_absolute_error"),
    ],
)
def test_multi_output_regression(numbers, estimator, scoring):
    X, y = numbers
    search = fit(estimator, X, pd.DataFrame(y), scoring=scoring, filters=["pearson"])
    assert search.predict(X).shape == y.shape
    assert np.isfinite(search.honest_score_.value)
    assert cross_val_predict(search.set_params(n_trials=3), X, y, cv=2).shape == y.shape


def test_the_search_finds_the_features_of_all_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 16))
    y = X[:, [3, 11]] + 0.1 * rng.normal(size=(200, 2))
    search = fit(Ridge(), X, y, filters=["pearson"])
    assert {3, 11} <= set(search.get_support(indices=True))
    assert search.objective_.ranked_table.ranks[0].argsort()[-2:].tolist() in ([3, 11], [11, 3])


def test_labels_can_be_sparse(labels):
    X, y = labels
    dense, found = (fit(KNeighborsClassifier(), X, target) for target in (y, sparse.csr_array(y)))
    assert found.pareto_front_.equals(dense.pareto_front_)


def test_outputs_with_more_classes(numbers):
    X, y = numbers
    y = np.digitize(y, [-40, 40])
    search = fit(MultiOutputClassifier(LogisticRegression()), X, y)
    assert search.predict(X).shape == y.shape
    assert np.isfinite(search.honest_score_.value)
    own = fit(KNeighborsClassifier(), X, y, scoring=lambda m, X, y: (m.predict(X) == y).mean())
    assert own.score(X, y) > 0.5
    with pytest.raises(ValueError, match=r"accuracy_score does not accept .*Pass scoring"):
        fit(KNeighborsClassifier(), X, y)


def test_estimators_of_one_target_are_refused(numbers, labels):
    with pytest.raises(ValueError, match=r"SVR accepts one target.*MultiOutputRegressor\(SVR"):
        fit(SVR(), *numbers)
    with pytest.raises(ValueError, match=r"y has 3 columns, .*MultiOutputClassifier\(Logistic"):
        fit(make_pipeline(StandardScaler(), LogisticRegression()), *labels)


def test_measures_of_one_target_are_refused(labels):
    with pytest.raises(ValueError, match=r"\['auc_loss'\] need one target"):
        fit(KNeighborsClassifier(), *labels, measures=["error", "auc_loss"])


def test_folds_have_the_shares_of_the_labels(labels):
    X, y = labels
    objective = FeatureSelectionObjective(KNeighborsClassifier(), X, y, cv=3, holdout=0.25)
    shares = [
        y[objective.search_rows][test].mean(axis=0) for _, test in objective.evaluator.splits
    ]
    np.testing.assert_allclose(shares, [y.mean(axis=0)] * 3, atol=0.06)
    np.testing.assert_allclose(y[objective.holdout_rows].mean(axis=0), y.mean(axis=0), atol=0.06)


def test_groups_stay_together(labels):
    X, y = labels
    groups = np.arange(120) // 4
    objective = FeatureSelectionObjective(
        KNeighborsClassifier(), X, y, cv=3, holdout=0.25, groups=groups
    )
    held_out = set(groups[objective.holdout_rows])
    assert not held_out & set(groups[objective.search_rows])


def test_a_constant_label_does_not_disturb(labels):
    X, y = labels
    y = np.column_stack([y, np.zeros(120, dtype=int)])
    assert fit(KNeighborsClassifier(), X, y).predict(X).shape == (120, 4)


def test_permuted_targets_keep_their_rows(numbers):
    search = fit(Ridge(), *numbers, filters=["pearson"])
    floor = noise_floor(search.study_, search.objective_)
    assert min(floor.values) > 0.8 > search.front_.best().values[0]


@pytest.mark.parametrize(
    "scoring", ["accuracy", "f1_macro", "f1_micro", "f1_weighted", "jaccard_macro", "roc_auc"]
)
def test_the_mean_of_rows_is_the_score_of_labels(labels, scoring):
    X, y = labels
    objective = FeatureSelectionObjective(
        RandomForestClassifier(10, random_state=0),
        X,
        y,
        cv=3,
        scoring=scoring,
        filters=["anova_f"],
    )
    check_rows(objective)


@pytest.mark.parametrize(
    "scoring", ["r2", "neg_mean_squared_error", "neg_root_mean_squared_error"]
)
def test_the_mean_of_rows_is_the_score_of_outputs(numbers, scoring):
    objective = FeatureSelectionObjective(
        Ridge(), *numbers, cv=3, scoring=scoring, filters=["pearson"]
    )
    check_rows(objective)


def check_rows(objective):
    """Check that the losses of rows have the errors of the folds as their means."""
    every = np.ones(len(objective.table), dtype=bool)
    found = objective.evaluator(objective.estimator, every, [every] * 3)
    for (_, test), error in zip(objective.evaluator.splits, found.by_fold["error"]):
        assert found.losses[test].mean() == pytest.approx(error)


def test_a_column_of_predictions_is_a_vector():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = CatBoostClassifier(iterations=2, depth=2, verbose=0, allow_writing_files=False)
    assert model.fit(X, y).predict(X).shape == (60, 1)
    for scoring in (None, "accuracy"):
        search = fit(model, X, y, n_trials=3, scoring=scoring, cv=2)
        assert {trial.state.name for trial in search.trials_} == {"COMPLETE"}
