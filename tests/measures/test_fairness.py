from __future__ import annotations

import math
import pickle

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import recall_score
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.measures import disparity, measure
from optuna_mofs.measures.fairness import geometric_mean_loss, group_disparity

from .test_model import fold

quick = settings(deadline=None, max_examples=80)
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
    [([[1, 2]], "shape"), ([], "shape"), (["a", "a"], "only one group, 'a'")],
)
def test_bad_groups_are_refused(sensitive, message):
    with pytest.raises(ValueError, match=message):
        disparity(sensitive)


def test_too_few_groups_and_unclear_positives_are_refused():
    with pytest.raises(ValueError, match="2 entries, but X has a row 3"):
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

    assert measure("geometric_mean_loss").worst == 1.0
    with pytest.raises(ValueError, match="geometric_mean_loss"):
        FeatureSelectionObjective(
            DecisionTreeRegressor(), np.eye(6), np.arange(6.0), measures=["geometric_mean_loss"]
        )
