from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs.features._table import FeatureTable
from optuna_mofs.measures import Evaluation
from optuna_mofs.measures import _vc_dimension as module
from optuna_mofs.measures._vc_dimension import (
    SIZES,
    deviation_bound,
    fitted_dimension,
    vc_dimension,
    vc_dimension_measure,
)

LINEAR = LogisticRegression(C=1e3)


def quick(estimator, d=5, **options):
    return vc_dimension(estimator, d, **{"sizes": SIZES, "repeats": 3, **options})


@settings(max_examples=40)
@given(h=st.floats(1.0, 150.0))
def test_the_dimension_behind_exact_deviations_is_found(h):
    sizes = np.array(SIZES)
    assert fitted_dimension(sizes, deviation_bound(sizes / h)) == pytest.approx(h, rel=0.01)


def test_the_bound_is_one_up_to_a_half_and_falls_from_there():
    assert deviation_bound([0.1, 0.5]) == pytest.approx([1.0, 1.0], abs=1e-3)
    assert (np.diff(deviation_bound(np.linspace(0.5, 50, 100))) < 0).all()


@pytest.mark.parametrize("d", [2, 5, 10])
def test_linear_classifiers_have_one_dimension_more_than_columns(d):
    assert vc_dimension(LINEAR, d) == pytest.approx(d + 1, rel=0.15)


def test_a_support_vector_machine_grows_with_gamma():
    found = [quick(SVC(gamma=g)) for g in (0.001, 0.03, 0.3, 10.0)]
    assert (np.diff(found) > 0).all()
    assert found[-1] == pytest.approx(320, rel=0.01)  # it memorizes everything


def test_a_tree_grows_with_depth():
    found = [quick(DecisionTreeClassifier(max_depth=d, random_state=0)) for d in (1, 3, 6, None)]
    assert (np.diff(found) > 0).all()


def test_balanced_labels_give_nothing_to_one_that_says_the_same_of_all():
    assert quick(DummyClassifier(), balanced=True) == pytest.approx(0.1, abs=0.01)
    assert quick(DummyClassifier()) > 0.2


def test_it_is_seeded_and_does_not_change_the_estimator():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    assert quick(tree) == quick(tree)
    assert quick(tree) != quick(tree, random_state=1)
    assert not hasattr(tree, "tree_")


@pytest.mark.parametrize("many", [KNeighborsClassifier(7), RidgeClassifier(1e-6)])
def test_learners_that_fit_many_targets_at_once_agree_with_one_at_a_time(many):
    piped = make_pipeline(StandardScaler(), many)
    ((Z, labels),) = module._experiments(piped, 5, None, (20,), 6, 0)
    assert labels.shape == (40, 6)
    alone = [module._deviation(piped, Z, labels[:, [k]]) for k in range(6)]
    assert module._deviation(piped, Z, labels) == pytest.approx(np.mean(alone))
    trees = module._experiments(DecisionTreeClassifier(), 5, None, (20,), 6, 0)
    assert [labels.shape for _, labels in trees] == [(40, 1)] * 6


def test_more_neighbors_than_rows_are_all_of_them():
    scaled = make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=50))
    few = vc_dimension(scaled, 3, sizes=(10, 40), repeats=2, balanced=True)
    assert few < vc_dimension(KNeighborsClassifier(n_neighbors=1), 3, sizes=(10, 40), repeats=2)


def test_rows_may_be_given():
    few = np.array([[0.0], [1.0]])  # two places: no more than two labels to learn
    assert quick(DecisionTreeClassifier(), 1, X=few) < 5 < quick(DecisionTreeClassifier(), 1)


def evaluation(estimator, p=5, chosen=3):
    table = FeatureTable(tuple(f"f{j}" for j in range(p)))
    mask = np.arange(p) < chosen
    return Evaluation(
        table,
        mask,
        [mask],
        estimator,
        lambda columns: np.zeros((4, len(columns))),
        np.array([0, 1, 0, 1]),
    )


def test_the_measure_counts_the_selected_columns_and_measures_a_configuration_once(monkeypatch):
    measure = vc_dimension_measure(repeats=1)
    calls = []
    monkeypatch.setattr(
        module, "vc_dimension", lambda e, d, **_: calls.append(d) or float(len(calls))
    )
    one = measure.whole(evaluation(SVC(C=123.0)))
    assert measure.whole(evaluation(SVC(C=123.0))) == one
    assert measure.whole(evaluation(SVC(C=124.0))) != one
    assert measure.whole(evaluation(SVC(C=123.0), chosen=2)) != one
    assert calls == [3, 3, 2]
    assert measure.whole(evaluation(SVC(), chosen=0)) == pytest.approx(0.1)
    rounded = vc_dimension_measure(repeats=1, per_octave=1).whole
    assert rounded(evaluation(SVC(C=120.0))) == rounded(evaluation(SVC(C=130.0)))


def test_it_can_be_pickled_and_has_a_worst_value():
    measure = pickle.loads(pickle.dumps(vc_dimension_measure(sizes=(5, 50))))
    assert (measure.name, measure.worst, measure.direction) == ("vc_dimension", 100.0, "minimize")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((LinearRegression(), 3), {}, "classifier, got LinearRegression"),
        ((LINEAR, 0), {}, "n_features.*0"),
        ((LINEAR, 3), {"sizes": (10,)}, "sizes"),
        ((LINEAR, 3), {"repeats": 0}, "repeats.*0"),
    ],
)
def test_bad_arguments_raise(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        vc_dimension(*arguments, **{"sizes": (5, 10), **options})


def test_the_measure_may_have_the_labels_of_the_paper():
    X = np.random.default_rng(0).standard_normal((20, 2))
    linear = LogisticRegression(C=1e3)
    table = FeatureTable(("a", "b"))
    evaluation = Evaluation(table, np.ones(2, dtype=bool), [], linear, X, np.arange(20))
    options = {"sizes": (3, 4, 6, 9, 15), "repeats": 20}
    found = [vc_dimension_measure(balanced=b, **options).whole(evaluation) for b in (True, False)]
    assert found[0] < found[1]
    assert found[1] == pytest.approx(3, abs=0.8)  # two weights and an intercept
