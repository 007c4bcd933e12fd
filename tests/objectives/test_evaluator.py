from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs.data._dataset import Dataset, draw_splits
from optuna_mofs.features import FeatureTable
from optuna_mofs.measures import Measure, measure
from optuna_mofs.objectives.evaluator import Evaluator, baseline, fit_options, last_step

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 5))
Y = (X[:, 1] + 0.5 * RNG.normal(size=90) > 0).astype(int)
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


def evaluator(measures=("error", "fraction"), *, weight=None):
    data = Dataset(X, Y, classification=True, sample_weight=weight)
    scorer = check_scoring(TREE)
    return Evaluator(
        data,
        FeatureTable(tuple("abcde")),
        measures=[measure(m, scorer) for m in measures],
        scorer=scorer,
        splits=draw_splits(data, 3, 0),
    )


MASK = np.array([True, True, False, False, True])


def test_values_are_those_of_scikit_learns_cross_validation():
    found = evaluator()
    values, by_fold = found(TREE, MASK, [MASK] * 3)
    expected = 1 - cross_val_score(TREE, X[:, MASK], Y, cv=found.splits)
    assert by_fold == {"error": pytest.approx(expected.tolist())}
    assert values == pytest.approx([expected.mean(), 0.6])
    # The estimator that was handed over stays unfitted.
    assert not hasattr(TREE, "tree_")


def test_each_fold_may_have_its_own_columns():
    found = evaluator(("error", "instability"))
    masks = [MASK, ~MASK, MASK]
    values, by_fold = found(TREE, MASK, masks)
    for (train, test), mask, error in zip(found.splits, masks, by_fold["error"]):
        columns = np.flatnonzero(mask)
        tree = DecisionTreeClassifier(max_depth=2, random_state=0)
        tree.fit(X[train][:, columns], Y[train])
        assert error == pytest.approx(1 - tree.score(X[test][:, columns], Y[test]))
    assert values[1] > 0


def test_other_folds_for_once():
    found = evaluator()
    splits = found.splits[:2]
    _, by_fold = found(TREE, MASK, [MASK] * 2, splits)
    assert len(by_fold["error"]) == 2
    with pytest.raises(ValueError, match="zip"):
        found(TREE, MASK, [MASK] * 2)


def test_an_empty_set_is_the_majority_class():
    none = np.zeros(5, dtype=bool)
    values, by_fold = evaluator()(TREE, none, [none] * 3)
    for (train, test), error in zip(evaluator().splits, by_fold["error"]):
        majority = np.bincount(Y[train]).argmax()
        assert error == pytest.approx(np.mean(Y[test] != majority))
    assert values[1] == 0
    assert isinstance(baseline(True), DummyClassifier)
    assert isinstance(baseline(False), DummyRegressor)


def test_nothing_is_fitted_for_measures_of_the_set_alone():
    class Breaks(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError

    values, by_fold = evaluator(("fraction", "count"))(Breaks(), MASK, [MASK] * 3)
    assert values == [0.6, 3.0]
    assert by_fold == {}


def test_own_measures_see_the_fold_and_the_whole():
    rows = []

    def depth(fold):
        rows.append((fold.X_train.shape, fold.X_test.shape, fold.test_rows))
        assert (Y[fold.test_rows] == fold.y_test).all()
        return fold.estimator.get_depth()

    def width(whole):
        assert whole.X.shape == (90, 3)
        assert whole.estimator is TREE
        return whole.X.shape[1]

    values, by_fold = evaluator((depth, Measure("width", whole=width)))(TREE, MASK, [MASK] * 3)
    assert values == [2.0, 3.0]
    assert by_fold == {"depth": [2.0] * 3}
    assert rows[0][:2] == ((60, 3), (30, 3))


def test_weights_are_used_for_fitting_and_scoring():
    weight = np.where(Y == 1, 5.0, 1.0)
    found = evaluator(("error",), weight=weight)
    _, by_fold = found(TREE, MASK, [MASK] * 3)
    for (train, test), error in zip(found.splits, by_fold["error"]):
        tree = DecisionTreeClassifier(max_depth=2, random_state=0)
        tree.fit(X[train][:, MASK], Y[train], sample_weight=weight[train])
        score = tree.score(X[test][:, MASK], Y[test], sample_weight=weight[test])
        assert error == pytest.approx(1 - score)


def test_the_prefix_of_weights_follows_the_last_step():
    weight = np.ones(3)
    ridge = Ridge()
    inner = make_pipeline(StandardScaler(), ridge)
    cases = [
        (ridge, "sample_weight"),
        (inner, "ridge__sample_weight"),
        (make_pipeline(StandardScaler(), inner), "pipeline__ridge__sample_weight"),
        (TransformedTargetRegressor(inner), "ridge__sample_weight"),
    ]
    for estimator, name in cases:
        assert fit_options(estimator, None) == {}
        assert list(fit_options(estimator, weight)) == [name]
        assert last_step(estimator)[0] is ridge
        estimator.fit(X[:3], [1.0, 2.0, 3.0], **fit_options(estimator, weight))
    assert list(fit_options(inner, weight, "estimator__")) == ["estimator__ridge__sample_weight"]


def test_new_data():
    found = evaluator(("error", "fraction", "training_error"))
    columns = np.flatnonzero(MASK)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:, columns], Y)
    fresh = found.on_test_data(tree, columns, X[:20][:, columns], Y[:20])
    assert set(fresh) == {"error", "training_error"}
    assert fresh["error"] == pytest.approx(1 - tree.score(X[:20][:, columns], Y[:20]))
    assert fresh["training_error"] == pytest.approx(1 - tree.score(X[:, columns], Y))
