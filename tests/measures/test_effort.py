from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs.measures import Fold, measure, prediction_time
from optuna_mofs.measures.effort import learned_numbers

X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)


def fold(model):
    return Fold(model.fit(X, y), X, y, X, y, scorer=None)


def test_learned_numbers():
    assert learned_numbers(LogisticRegression().fit(X, y)) == 4
    network = MLPClassifier((5,), max_iter=500, tol=0.1).fit(X, y)
    assert learned_numbers(network) == (3 * 5 + 5) + (5 + 1)
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert learned_numbers(tree) == tree.tree_.node_count
    forest = RandomForestClassifier(4).fit(X, y)
    assert learned_numbers(forest) == sum(t.tree_.node_count for t in forest.estimators_)
    machine = SVC().fit(X, y)
    assert learned_numbers(machine) == len(machine.support_) * (3 + 1)
    assert learned_numbers(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)) == 4
    assert learned_numbers(DummyClassifier().fit(X, y)) == 1
    assert learned_numbers(GaussianNB().fit(X, y)) is None
    assert learned_numbers(KNeighborsClassifier().fit(X, y)) is None


def test_parameter_count_says_when_it_cannot_count():
    assert measure("parameter_count").fold(fold(LogisticRegression())) == 4
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.*'model_size'"):
        measure("parameter_count").fold(fold(KNeighborsClassifier()))


def test_model_size_grows_with_the_model():
    small, large = (fold(RandomForestClassifier(n, random_state=0)) for n in (2, 40))
    size = measure("model_size").fold
    assert size(large) > 5 * size(small)
    assert size(small) == len(pickle.dumps(small.estimator, protocol=5)) / 1000


class Sleeper:
    def __init__(self):
        self.naps = iter([0.02, 0.001, 0.02])

    def predict(self, X):
        import time

        time.sleep(next(self.naps))


def test_prediction_time_is_the_quickest_by_row():
    made = Fold(Sleeper(), X, y, X, y, scorer=None)
    # One nap of a millisecond over 60 rows, in microseconds.
    assert 1000 / 60 <= prediction_time(repeats=3).fold(made) < 15_000 / 60
    assert pickle.loads(pickle.dumps(prediction_time())).name == "prediction_time"


@pytest.mark.parametrize("repeats", [0, 1.5])
def test_bad_repeats_are_refused(repeats):
    with pytest.raises(ValueError, match=f"repeats.*{repeats}"):
        prediction_time(repeats=repeats)
