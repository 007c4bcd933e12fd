from __future__ import annotations

import math
import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.samplers import RandomSampler
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    check_scoring,
    confusion_matrix,
    get_scorer,
    mean_squared_error,
    recall_score,
    roc_auc_score,
)
from sklearn.metrics import log_loss as scikit_learns_log_loss
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.measures import Fold, disparity, get_measure
from optuna_mofs.measures._prediction import (
    auc_loss,
    brier_loss,
    class_probabilities,
    false_negative_rate,
    false_positive_rate,
    geometric_mean_loss,
    group_disparity,
    log_loss,
    scorer_measure,
    to_score,
)


class Says:
    """A model that says what it was told to."""

    def __init__(self, prediction):
        self.prediction = np.asarray(prediction)

    def predict(self, X):
        return self.prediction


class ClassifierSays(ClassifierMixin, Says):
    """The same, with the score of scikit-learn's classifiers."""


def fold(truth, said, *, train=None, weight=None):
    truth = np.asarray(truth)
    return Fold(
        estimator=Says(said),
        X_train=None,
        y_train=truth if train is None else np.asarray(train),
        X_test=None,
        y_test=truth,
        scorer=None,
        test_weight=weight,
    )


@settings(max_examples=120)
@given(
    st.sampled_from([["no", "yes"], [0, 1], ["a", "b", "c"], [2, 3, 5, 7]]),
    st.integers(1, 40),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_rates_against_the_confusion_matrix(labels, rows, seed, weighted):
    rng = np.random.default_rng(seed)
    truth, said = rng.choice(labels, rows), rng.choice(labels, rows)
    weight = rng.random(rows) + 0.1 if weighted else None
    matrix = confusion_matrix(truth, said, labels=labels, sample_weight=weight).astype(float)
    fnr, fpr = [], []
    for k in range(len(labels)) if len(labels) > 2 else [1]:
        positives, negatives = matrix[k].sum(), matrix.sum() - matrix[k].sum()
        if positives > 0:
            fnr.append((positives - matrix[k, k]) / positives)
        if negatives > 0:
            fpr.append((matrix[:, k].sum() - matrix[k, k]) / negatives)
    # The training fold knows all labels, the test fold perhaps not.
    found = fold(truth, said, train=labels, weight=weight)
    assert false_negative_rate(found) == pytest.approx(np.mean(fnr) if fnr else 0.0)
    assert false_positive_rate(found) == pytest.approx(np.mean(fpr) if fpr else 0.0)


def test_the_larger_label_is_the_positive_one():
    found = fold(["no", "no", "yes", "yes", "yes"], ["yes", "no", "no", "yes", "yes"])
    assert false_negative_rate(found) == pytest.approx(1 / 3)
    assert false_positive_rate(found) == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [([0, 1, 2], int), ([0, 1], bool), (["no", "yes"], str), (["no", "yes"], object)],
)
def test_the_error_is_that_of_scikit_learn(labels, dtype):
    rng = np.random.default_rng(0)
    truth, said = rng.choice(np.array(labels, dtype=dtype), (2, 31))
    for weight in (None, rng.random(31)):
        found = fold(truth, said, weight=weight)
        found.scorer = check_scoring(DecisionTreeClassifier())
        found.estimator = ClassifierSays(said)
        expected = 1 - accuracy_score(truth, said, sample_weight=weight)
        assert get_measure("error", found.scorer).fold(found) == expected


def scored_fold(scoring, model, *, weight=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int) if scoring in ("accuracy", "neg_log_loss") else X[:, 0]
    model = model.fit(X[:40], y[:40])
    return Fold(
        estimator=model,
        X_train=X[:40],
        y_train=y[:40],
        X_test=X[40:],
        y_test=y[40:],
        scorer=get_scorer(scoring),
        test_weight=weight,
    )


@pytest.mark.parametrize("scoring", ["accuracy", "r2"])
def test_error_is_one_minus_a_score(scoring):
    model = (DecisionTreeClassifier if scoring == "accuracy" else DecisionTreeRegressor)(
        max_depth=1
    )
    found = scored_fold(scoring, model)
    error, training = (
        get_measure("error", found.scorer),
        get_measure("training_error", found.scorer),
    )
    X, y = found.X_test, found.y_test
    assert error.fold(found) == pytest.approx(1 - model.score(X, y))
    assert training.fold(found) == pytest.approx(1 - model.score(found.X_train, found.y_train))
    assert error.worst == training.worst == 1.0


def test_error_of_a_loss_is_the_loss_without_a_worst_value():
    model = DecisionTreeRegressor(max_depth=1)
    found = scored_fold("neg_mean_squared_error", model)
    error = get_measure("error", found.scorer)
    expected = mean_squared_error(found.y_test, model.predict(found.X_test))
    assert error.fold(found) == pytest.approx(expected)
    assert error.fold(found) > 0
    assert error.worst is None
    training = get_measure("training_error", found.scorer)
    assert training.fold(found) < error.fold(found)


def test_weights_reach_the_scorer():
    weight = np.zeros(20)
    weight[0] = 1.0
    found = scored_fold("accuracy", DecisionTreeClassifier(max_depth=1), weight=weight)
    right = found.estimator.predict(found.X_test[:1])[0] == found.y_test[0]
    assert get_measure("error", found.scorer).fold(found) == (0.0 if right else 1.0)


def test_predictions_are_made_once():
    class Counts(Says):
        calls = 0

        def predict(self, X):
            Counts.calls += 1
            return self.prediction

    found = fold([0, 1], [0, 1])
    found.estimator = Counts([0, 1])
    false_negative_rate(found)
    false_positive_rate(found)
    assert Counts.calls == 1


@pytest.mark.parametrize(
    "name",
    ["error", "training_error", "fnr", "fpr", "fraction", "n_features", "cost", "instability"],
)
def test_measures_travel_to_other_processes(name):
    assert pickle.loads(pickle.dumps(get_measure(name, get_scorer("accuracy")))).name == name


class SaysOnly:
    """A classifier that has nothing but a prediction."""

    def __init__(self, said: list[int]) -> None:
        self.said = said

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.resize(self.said, len(X))


def fold_of(model, X, y, weight=None) -> Fold:
    return Fold(model.fit(X, y), X, y, X, y, scorer=None, test_weight=weight)


def test_probabilities_of_a_classifier_are_its_own():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=500).fit(X, y)
    np.testing.assert_array_equal(
        class_probabilities(model, X, np.arange(3)), model.predict_proba(X)
    )


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_without_probabilities_the_decision_function_says_who_is_likely(load):
    X, y = load(return_X_y=True)
    model = RidgeClassifier().fit(X, y)
    shares = class_probabilities(model, X, np.unique(y))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(X))
    assert ((shares > 0) & (shares < 1)).all()


def test_a_bare_prediction_gets_all_of_it():
    shares = class_probabilities(SaysOnly([7, 3]), np.zeros((2, 1)), np.array([3, 5, 7]))
    assert shares.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_classes_that_a_model_never_saw_get_nothing():
    model = LogisticRegression().fit([[0.0], [1.0]], ["a", "c"])
    shares = class_probabilities(model, [[0.5]], np.array(["a", "b", "c"]))
    assert shares[0, 1] == 0
    assert shares.sum() == pytest.approx(1)


@settings(max_examples=30)
@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6))
def test_farther_from_the_boundary_is_more_likely(distances):
    classes = np.array([0, 1])
    model = SimpleNamespace(decision_function=np.sort, classes_=classes)
    positive = class_probabilities(model, distances, classes)[:, 1]
    assert (np.diff(positive) >= 0).all()
    assert ((positive > 0.5) == (np.sort(distances) > 0)).all() or min(map(abs, distances)) < 1e-12


def test_two_classes_are_scored_as_by_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.linspace(0.1, 1, len(y))
    model = LogisticRegression(max_iter=20)
    fold = fold_of(model, X[:, :3], y, weight)
    expected = brier_score_loss(y, model.predict_proba(X[:, :3])[:, 1], sample_weight=weight)
    assert brier_loss(fold) == pytest.approx(expected)
    positive = np.clip(model.predict_proba(X[:, :3])[:, 1], 0.01, 0.99)
    expected = scikit_learns_log_loss(y, positive, sample_weight=weight)
    # Probabilities of the true class above 0.99 are not clipped.
    assert log_loss(fold) == pytest.approx(expected, abs=0.005)
    expected = 1 - roc_auc_score(y, positive, sample_weight=weight)
    assert auc_loss(fold) == pytest.approx(expected, abs=1e-3)


def test_the_loss_of_a_confident_error_is_bounded():
    fold = fold_of(LogisticRegression(C=1e6), [[0.0], [1.0]], np.array([0, 1]))
    fold.X_test, fold.y_test = [[50.0]], np.array([0])
    assert log_loss(fold) == pytest.approx(-np.log(0.01))


def test_the_area_is_the_mean_over_classes_and_ignores_a_lone_class():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=20)
    fold = fold_of(model, X[:, :2], y)
    expected = 1 - roc_auc_score(y, model.predict_proba(X[:, :2]), multi_class="ovr")
    assert auc_loss(fold) == pytest.approx(expected)
    assert auc_loss(replace(fold, X_test=X[:5, :2], y_test=y[:5])) == 0.5


def test_losses_accept_classifiers_without_probabilities():
    X, y = load_iris(return_X_y=True)
    objective = FeatureSelectionObjective(SVC(), X, y, measures=["brier_loss", "n_features"], cv=3)
    study = objective.create_study(sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=2)
    assert all(0 < t.values[0] < 1 for t in study.trials)


quick = settings(max_examples=80)
labels = st.lists(st.integers(0, 2), min_size=2, max_size=20)


def with_rows(made, rows):
    made.test_rows = np.asarray(rows)
    return made


@quick
@given(st.data(), labels)
def test_geometric_mean_of_recalls(data, truth):
    said = data.draw(st.lists(st.integers(0, 2), min_size=len(truth), max_size=len(truth)))
    weight = data.draw(st.lists(st.integers(1, 3), min_size=len(truth), max_size=len(truth)))
    weight = np.array(weight, dtype=float)
    classes = sorted(set(truth))
    recalls = recall_score(truth, said, labels=classes, average=None, sample_weight=weight)
    expected = 1 - np.prod(recalls) ** (1 / len(classes))
    found = geometric_mean_loss(fold(truth, np.array(said), weight=weight))
    assert found == pytest.approx(expected)


def test_geometric_mean_of_two_classes_is_the_papers():
    # Sensitivity 3/4, specificity 1/2.
    found = geometric_mean_loss(fold([1, 1, 1, 1, 0, 0], np.array([1, 1, 1, 0, 0, 1])))
    assert found == pytest.approx(1 - math.sqrt(0.75 * 0.5))


@quick
@given(st.data(), st.lists(st.integers(0, 3), min_size=1, max_size=20))
def test_disparity_is_the_range_of_positive_shares(data, groups):
    said = data.draw(st.lists(st.booleans(), min_size=len(groups), max_size=len(groups)))
    shares = [np.mean([s for s, h in zip(said, groups) if h == g]) for g in set(groups)]
    found = group_disparity(np.array(said), np.array(groups))
    assert found == pytest.approx(max(shares) - min(shares))
    # A weight of 2 is the same as the row twice.
    weight = np.array([1.0 + (i % 2) for i in range(len(groups))])
    twice = np.repeat(np.arange(len(groups)), weight.astype(int))
    assert group_disparity(np.array(said), np.array(groups), weight) == pytest.approx(
        group_disparity(np.array(said)[twice], np.array(groups)[twice])
    )


def test_disparity_looks_up_the_rows_of_the_fold():
    made = disparity(["m", "f", "m", "f", "f", "m"])
    # Rows 1, 3 (f) are both said 1; rows 0, 5 (m) are 1 and 0.
    part = with_rows(fold([1, 0, 1, 0], np.array([1, 1, 1, 0])), [1, 3, 0, 5])
    assert made.fold(part) == 0.5
    assert disparity(["m", "f", "m", "f", "f", "m"], positive=0).fold(part) == 0.5
    assert pickle.loads(pickle.dumps(made)).fold(part) == 0.5


def test_disparity_on_unseen_data_is_unknown():
    assert math.isnan(disparity([0, 1]).fold(fold([0, 1], np.array([0, 1]))))


@pytest.mark.parametrize(
    ("sensitive", "message"),
    [([[1, 2]], "shape"), ([], "shape"), (["a", "a"], "at least two groups, got only 'a'")],
)
def test_bad_groups_raise(sensitive, message):
    with pytest.raises(ValueError, match=message):
        disparity(sensitive)


def test_too_few_groups_and_unclear_positives_raise():
    with pytest.raises(ValueError, match="got 2 entries for at least 4 rows"):
        disparity([0, 1]).fold(with_rows(fold([0, 1], np.array([0, 1])), [0, 3]))
    with pytest.raises(ValueError, match=r"3 classes.*positive=2"):
        disparity([0, 1, 1]).fold(with_rows(fold([0, 1, 2], np.array([0, 1, 2])), [0, 1, 2]))


def test_in_an_objective():
    rng = np.random.default_rng(0)
    X, sex = rng.normal(size=(80, 4)), rng.integers(2, size=80)
    y = (X[:, 0] + 2 * sex > 1).astype(int)
    X[:, 1] = sex
    objective = FeatureSelectionObjective(
        DecisionTreeClassifier(max_depth=3, random_state=0),
        X,
        y,
        measures=["geometric_mean_loss", disparity(sex)],
        cv=2,
    )
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.enqueue_trial({"x0": True, "x1": False, "x2": False, "x3": False})
    study.enqueue_trial({"x0": True, "x1": True, "x2": False, "x3": False})
    study.optimize(objective, n_trials=2)
    without, with_sex = (t.values for t in study.trials)
    assert with_sex[0] < without[0]
    assert with_sex[1] > without[1] + 0.2


def test_only_for_classifiers():
    from sklearn.tree import DecisionTreeRegressor

    assert get_measure("geometric_mean_loss").worst == 1.0
    with pytest.raises(ValueError, match="geometric_mean_loss"):
        FeatureSelectionObjective(
            DecisionTreeRegressor(), np.eye(6), np.arange(6.0), measures=["geometric_mean_loss"]
        )


# ---- scorers other than the objective's ---------------------------------------------------------


@pytest.mark.parametrize("name", ["roc_auc", "neg_log_loss", "accuracy"])
def test_errors_by_another_scorer(name):
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:300, :3], y[:300])
    tested = Fold(
        estimator=model,
        X_train=X[:300, :3],
        y_train=y[:300],
        X_test=X[300:, :3],
        y_test=y[300:],
        scorer=get_scorer("f1"),
    )
    scorer = get_scorer(name)
    measure = scorer_measure("other", scorer)
    assert (measure.name, measure.direction) == ("other", "minimize")
    score = scorer(model, tested.X_test, tested.y_test)
    assert to_score(scorer, measure.fold(tested)) == pytest.approx(score)
    assert np.mean(measure.rows(tested)) == pytest.approx(measure.fold(tested))
    training = scorer_measure("train", scorer, train=True)
    expected = scorer(model, tested.X_train, tested.y_train)
    assert to_score(scorer, training.fold(tested)) == pytest.approx(expected)
    assert pickle.loads(pickle.dumps(measure)).name == "other"
