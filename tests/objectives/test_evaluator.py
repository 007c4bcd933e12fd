from __future__ import annotations

import numpy as np
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import TrialState
from sklearn import get_config
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.data._dataset import Dataset, draw_splits
from optuna_mofs.features import FeatureTable
from optuna_mofs.measures import Measure, get_measure
from optuna_mofs.objectives._evaluator import (
    Evaluator,
    baseline,
    fit_options,
    last_step,
)

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
        measures=[get_measure(m, scorer) for m in measures],
        scorer=scorer,
        splits=draw_splits(data, 3, 0),
    )


MASK = np.array([True, True, False, False, True])


def test_values_are_those_of_scikit_learns_cross_validation():
    found = evaluator()
    result = found(TREE, MASK, [MASK] * 3)
    values, by_fold = result.values, result.by_fold
    expected = 1 - cross_val_score(TREE, X[:, MASK], Y, cv=found.splits)
    assert by_fold == {"error": pytest.approx(expected.tolist())}
    assert values == pytest.approx([expected.mean(), 0.6])
    # The given estimator stays unfitted.
    assert not hasattr(TREE, "tree_")


def test_recorded_measures_have_values_per_fold_only():
    found = evaluator()
    found.recorded = (get_measure("training_error", found.scorer),)
    result = found(TREE, MASK, [MASK] * 3)
    assert len(result.values) == 2
    assert list(result.by_fold) == ["error", "training_error"]
    assert np.mean(result.by_fold["training_error"]) < np.mean(result.by_fold["error"])
    assert list(found.with_measures(found.measures)(TREE, MASK, [MASK] * 3).by_fold) == ["error"]


def test_each_fold_may_have_its_own_columns():
    found = evaluator(("error", "instability"))
    masks = [MASK, ~MASK, MASK]
    result = found(TREE, MASK, masks)
    values, by_fold = result.values, result.by_fold
    for (train, test), mask, error in zip(found.splits, masks, by_fold["error"]):
        columns = np.flatnonzero(mask)
        tree = DecisionTreeClassifier(max_depth=2, random_state=0)
        tree.fit(X[train][:, columns], Y[train])
        assert error == pytest.approx(1 - tree.score(X[test][:, columns], Y[test]))
    assert values[1] > 0


def test_folds_can_be_replaced_for_one_call():
    found = evaluator()
    splits = found.splits[:2]
    by_fold = found(TREE, MASK, [MASK] * 2, splits).by_fold
    assert len(by_fold["error"]) == 2
    with pytest.raises(ValueError, match="zip"):
        found(TREE, MASK, [MASK] * 2)


def test_parameters_are_checked_in_the_first_fold_with_columns():
    class Recording(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            checks.append(not get_config()["skip_parameter_validation"])
            return super().fit(X, y)

    checks = []
    none = np.zeros(5, dtype=bool)
    evaluator()(Recording(), MASK, [none, MASK, MASK])
    assert checks == [True, False]
    assert not get_config()["skip_parameter_validation"]
    with pytest.raises(ValueError, match="var_smoothing"):
        evaluator()(GaussianNB(var_smoothing=-1), MASK, [MASK] * 3)


def test_an_empty_set_predicts_the_majority_class():
    none = np.zeros(5, dtype=bool)
    result = evaluator()(TREE, none, [none] * 3)
    values, by_fold = result.values, result.by_fold
    for (train, test), error in zip(evaluator().splits, by_fold["error"]):
        majority = np.bincount(Y[train]).argmax()
        assert error == pytest.approx(np.mean(Y[test] != majority))
    assert values[1] == 0
    assert isinstance(baseline(True), DummyClassifier)
    assert isinstance(baseline(False), DummyRegressor)


def test_nothing_is_fitted_for_measures_of_the_set_alone():
    class Breaks(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None, check_input=True):
            raise AssertionError

    result = evaluator(("fraction", "n_features"))(Breaks(), MASK, [MASK] * 3)
    values, by_fold = result.values, result.by_fold
    assert values == [0.6, 3.0]
    assert by_fold == {}


def test_own_measures_get_the_fold_and_the_whole_evaluation():
    rows = []

    def depth(fold):
        rows.append((fold.X_train.shape, fold.X_test.shape, fold.test_rows))
        assert (Y[fold.test_rows] == fold.y_test).all()
        return fold.estimator.get_depth()

    def width(whole):
        assert whole.X.shape == (90, 3)
        assert whole.estimator is TREE
        return whole.X.shape[1]

    result = evaluator((depth, Measure("width", whole=width)))(TREE, MASK, [MASK] * 3)
    values, by_fold = result.values, result.by_fold
    assert values == [2.0, 3.0]
    assert by_fold == {"depth": [2.0] * 3}
    assert rows[0][:2] == ((60, 3), (30, 3))


def test_weights_are_used_for_fitting_and_scoring():
    weight = np.where(Y == 1, 5.0, 1.0)
    found = evaluator(("error",), weight=weight)
    by_fold = found(TREE, MASK, [MASK] * 3).by_fold
    for (train, test), error in zip(found.splits, by_fold["error"]):
        tree = DecisionTreeClassifier(max_depth=2, random_state=0)
        tree.fit(X[train][:, MASK], Y[train], sample_weight=weight[train])
        score = tree.score(X[test][:, MASK], Y[test], sample_weight=weight[test])
        assert error == pytest.approx(1 - score)


def test_weights_can_be_left_out_of_scores():
    weight = np.linspace(0.1, 3, len(Y))
    found = evaluator(weight=weight)
    weighted = found(TREE, MASK, [MASK] * 3).by_fold["error"]
    found.data.weighted_scoring = False
    plain = found(TREE, MASK, [MASK] * 3).by_fold["error"]
    expected = []
    for train, test in found.splits:
        model = DecisionTreeClassifier(max_depth=2, random_state=0)
        model.fit(X[train][:, MASK], Y[train], weight[train])
        expected.append(1 - model.score(X[test][:, MASK], Y[test]))
    assert plain == pytest.approx(expected)
    assert plain != pytest.approx(weighted)


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


def test_measures_on_new_data():
    found = evaluator(("error", "fraction", "training_error"))
    columns = np.flatnonzero(MASK)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:, columns], Y)
    fresh = found.on_test_data(tree, columns, X[:20][:, columns], Y[:20])
    assert set(fresh) == {"error", "training_error"}
    assert fresh["error"] == pytest.approx(1 - tree.score(X[:20][:, columns], Y[:20]))
    assert fresh["training_error"] == pytest.approx(1 - tree.score(X[:, columns], Y))


def test_numpy_integers_are_numbers_of_jobs():
    found = FeatureSelectionObjective(
        GaussianNB(), X, Y, cv=np.int64(2), n_jobs=np.int64(2), filters=["anova_f"]
    )
    study = found.create_study(sampler=RandomSampler(seed=0))
    study.optimize(found, n_trials=1)
    assert study.trials[0].state == TrialState.COMPLETE


# ---- losses of rows ---------------------------------------------------------------------------


def with_losses(measures=("error", "fraction"), **options):
    found = evaluator(measures, **options)
    found.loss_measure = found.measures[0]
    return found


def test_losses_are_those_of_the_test_folds():
    found = with_losses()
    result = found(TREE, MASK, [MASK] * 3)
    assert result.losses.shape == (90,)
    assert set(result.losses) == {0.0, 1.0}
    for (_, test), error in zip(found.splits, result.by_fold["error"]):
        assert result.losses[test].mean() == pytest.approx(error)
    assert evaluator()(TREE, MASK, [MASK] * 3).losses is None


def test_a_row_of_several_test_folds_has_its_mean_loss_and_one_of_none_nan():
    found = with_losses()
    first = found(TREE, MASK, [MASK] * 3).losses
    train, test = found.splits[0]
    other = found(TREE, MASK, [MASK] * 2, [(train, test), (train[:50], test[:10])]).losses
    alone = found(TREE, MASK, [MASK], [(train[:50], test[:10])]).losses
    assert np.isnan(other[train]).all()
    np.testing.assert_array_equal(other[test[10:]], first[test[10:]])
    np.testing.assert_allclose(other[test[:10]], (first[test[:10]] + alone[test[:10]]) / 2)


def test_losses_do_not_depend_on_the_number_of_jobs():
    one, two = with_losses(), with_losses()
    two.n_jobs = 2
    for found in (one, two):
        found.splits = found.splits[::-1]
    np.testing.assert_array_equal(
        one(TREE, MASK, [MASK] * 3).losses, two(TREE, MASK, [MASK] * 3).losses
    )


def test_losses_of_rows_must_be_one_per_row():
    wrong = Measure("wrong", fold=lambda fold: 0.5, rows=lambda fold: np.zeros(3))
    with pytest.raises(ValueError, match=r"rows of measure 'wrong' .* 30 rows .* \(3,\)"):
        with_losses((wrong,))(TREE, MASK, [MASK] * 3)


def test_losses_on_other_rows():
    found = with_losses()
    train, test = found.splits[0]
    losses = found.losses_on(TREE, MASK, found.data, train, test)
    np.testing.assert_array_equal(losses, found(TREE, MASK, [MASK] * 3).losses[test])
    none = np.zeros(5, dtype=bool)
    majority = np.bincount(Y[train]).argmax()
    np.testing.assert_array_equal(
        found.losses_on(TREE, none, found.data, train, test), Y[test] != majority
    )


def test_row_numbers_of_folds_are_those_of_the_whole_table():
    seen = []
    watch = Measure("watch", fold=lambda fold: seen.append(fold.test_rows) or 0.0)
    found = evaluator((watch,))
    found.data = found.data.take(np.arange(60)[::-1])
    found(TREE, MASK, [MASK], [(np.arange(50), np.arange(50, 60))])
    assert seen[0].tolist() == list(range(10))[::-1]
