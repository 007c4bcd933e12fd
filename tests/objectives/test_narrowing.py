"""Estimators that name columns, narrowed to the selected ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from optuna_mofs.objectives._narrowing import Columns, NothingLeftError, Present, narrow

LABELS = ("age", "city", "job", "pay")


def columns(*kept: int, labels: tuple[str, ...] = LABELS) -> Columns:
    return Columns.of_table(labels, 4, kept)


def narrowed(given, *kept, remainder="drop"):
    """Return the columns of the only transformer, None if it is left out."""
    encoder = ColumnTransformer([("encode", OneHotEncoder(), given)], remainder=remainder)
    found = narrow(encoder, columns(*kept)).transformers
    return found[0][2] if found else None


@pytest.mark.parametrize(
    ("given", "kept", "expected"),
    [
        (["city", "job"], (0, 2), ["job"]),
        (["city", "job"], (1, 2), ["city", "job"]),
        ("city", (1,), "city"),
        ([1, 2], (0, 2), [1]),
        ([-2, -1], (1, 3), [1]),
        (2, (0, 2), 1),
        ([False, True, True, False], (0, 2), [False, True]),
        (slice(1, 3), (0, 2, 3), [1]),
        (slice("city", "pay"), (0, 2, 3), ["job", "pay"]),
        (np.array([0, 3]), (3,), [0]),
        (pd.Index(["age", "pay"]), (3,), ["pay"]),
    ],
)
def test_columns_of_a_transformer(given, kept, expected):
    assert narrowed(given, *kept) == expected


@pytest.mark.parametrize("given", [["city", "job"], "city", [1], 2, [False, True, True, False]])
def test_a_transformer_without_columns_is_left_out(given):
    assert narrowed(given, 0, 3, remainder="passthrough") is None
    with pytest.raises(NothingLeftError):
        narrowed(given, 0, 3)


def test_selectors_choose_among_the_selected_columns():
    frame = pd.DataFrame({"age": [1.0, 2.0], "job": ["a", "b"]})
    kind = make_column_selector(dtype_include="number")
    assert narrowed(kind, 0, 2)(frame) == ["age"]
    by_name = narrowed(lambda X: ["city", "job"], 0, 2)
    assert isinstance(by_name, Present)
    assert by_name(frame) == ["job"]
    assert Present(lambda X: "city")(frame) == []
    assert Present(lambda X: [0])(frame) == [0]


def test_the_given_estimator_is_not_changed():
    encoder = make_column_transformer((OneHotEncoder(), ["city", "job"]))
    model = make_pipeline(encoder, HistGradientBoostingClassifier(categorical_features=["city"]))
    narrow(model, columns(0, 2))
    assert encoder.transformers[0][2] == ["city", "job"]
    assert model[-1].categorical_features == ["city"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["city", "job"], ["job"]),
        ([1, 2], [1]),
        ([False, True, True, False], [False, True]),
        (["city"], None),
        ("from_dtype", "from_dtype"),
        (None, None),
    ],
)
def test_categorical_features(given, expected):
    model = HistGradientBoostingClassifier(categorical_features=given)
    assert narrow(model, columns(0, 2)).categorical_features == expected


def test_constraints_with_one_entry_per_column():
    model = HistGradientBoostingClassifier(monotonic_cst=[1, 0, -1, 0])
    assert narrow(model, columns(0, 2)).monotonic_cst == [1, -1]
    model = HistGradientBoostingClassifier(monotonic_cst={"age": 1, "pay": -1})
    assert narrow(model, columns(0, 2)).monotonic_cst == {"age": 1}


class Booster(BaseEstimator):
    """Has the parameters of several libraries for columns."""

    def __init__(self, **options):
        self.options = options

    def get_params(self, deep=True):
        return dict(self.options)

    def set_params(self, **params):
        self.options |= params
        return self


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"categorical_feature": [1, 2]}, [1]),  # LightGBM
        ({"categorical_feature": [1]}, None),
        ({"embedding_features": ["job"]}, ["job"]),  # CatBoost
        ({"monotone_constraints": (1, 0, -1, 0)}, (1, -1)),  # XGBoost
        ({"monotone_constraints": {"age": 1, "pay": -1}}, {"age": 1}),
        ({"monotone_constraints": {0: 1, 2: -1, 3: 1}}, {0: 1, 1: -1}),  # CatBoost
        ({"feature_weights": [0.1, 0.2, 0.3, 0.4]}, [0.1, 0.3]),
        ({"interaction_constraints": [["age", "city"], ["city", "pay"]]}, [["age"]]),
        ({"interaction_constraints": [[0, 2], [1, 3]]}, [[0, 1]]),
        ({"interaction_cst": [{0, 1}, {2, 3}]}, [{0}, {1}]),
        ({"interaction_cst": "no_interactions"}, "no_interactions"),
    ],
)
def test_parameters_of_other_libraries(given, expected):
    found = narrow(Booster(**given), columns(0, 2)).options
    assert found == dict.fromkeys(given, expected)


def test_parts_of_estimators_of_any_kind():
    def inner():
        return make_pipeline(
            make_column_transformer((OneHotEncoder(), ["city", "job"])), LogisticRegression()
        )

    def found(pipeline):
        return pipeline[0].transformers[0][2]

    calibrated = narrow(CalibratedClassifierCV(inner()), columns(0, 2))
    assert found(calibrated.estimator) == ["job"]
    stacked = narrow(StackingClassifier([("a", inner()), ("b", inner())]), columns(0, 2))
    assert [found(part) for _, part in stacked.estimators] == [["job"], ["job"]]
    union = FeatureUnion([("words", inner()[0]), ("scaled", StandardScaler())])
    assert narrow(union, columns(0, 2)).transformer_list[0][1].transformers[0][2] == ["job"]
    nested = make_column_transformer((make_pipeline(inner()[0], StandardScaler()), list(LABELS)))
    inside = narrow(nested, columns(0, 2)).transformers[0]
    assert inside[2] == ["age", "job"]
    assert inside[1][0].transformers[0][2] == ["job"]


def test_positions_after_steps_that_keep_or_move_columns():
    encode = make_column_transformer((OrdinalEncoder(), ["city", "job"]), remainder="passthrough")
    boosting = HistGradientBoostingClassifier(categorical_features=[0, 1])
    model = narrow(make_pipeline(encode, boosting), columns(0, 2))
    assert model[-1].categorical_features == [0]  # the encoded columns come first
    boosting = HistGradientBoostingClassifier(categorical_features=[1, 2])
    model = narrow(make_pipeline(StandardScaler(), "passthrough", boosting), columns(0, 2))
    assert model[-1].categorical_features == [1]
    # Where the columns come from is unknown after one-hot encoding.
    encode = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    model = narrow(make_pipeline(encode, boosting), columns(0, 2))
    assert model[-1].categorical_features == [1, 2]


def test_names_of_the_output_of_another_step():
    model = HistGradientBoostingClassifier(categorical_features=["encode__city", "encode__job"])
    assert narrow(model, columns(2)).categorical_features == ["encode__job"]


def test_names_that_the_table_does_not_have_are_kept():
    model = HistGradientBoostingClassifier(categorical_features=["other"])
    assert narrow(model, columns(2)).categorical_features == ["other"]


def test_a_frozen_transformer_needs_all_of_its_columns():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((9, 4)), columns=list(LABELS))
    frozen = FrozenEstimator(StandardScaler().fit(X[["age", "pay"]]))
    encoder = ColumnTransformer([("scale", frozen, ["age", "pay"])], remainder="passthrough")
    assert narrow(encoder, columns(0, 3)).transformers[0][1] is frozen
    assert narrow(encoder, columns(1)).transformers == []
    with pytest.raises(ValueError, match="frozen StandardScaler needs all of its columns"):
        narrow(encoder, columns(0, 1))
    with pytest.raises(ValueError, match=r"feature_groups=\{...\}, or pass it unfrozen"):
        narrow(make_pipeline(FrozenEstimator(StandardScaler().fit(X))), columns(0, 1))


def test_columns_that_are_dropped_anyway():
    encoder = make_column_transformer(("drop", ["age"]), (StandardScaler(), ["pay"]))
    with pytest.raises(NothingLeftError):
        narrow(encoder, columns(0, 1))
    assert [part[2] for part in narrow(encoder, columns(0, 3)).transformers] == [["age"], ["pay"]]
    others = make_column_transformer(("drop", ["age", "city"]), remainder="passthrough")
    with pytest.raises(NothingLeftError):
        narrow(others, columns(0, 1))
    boosting = HistGradientBoostingClassifier(categorical_features=[0])
    model = narrow(make_pipeline(others, boosting), columns(0, 2))
    assert model[-1].categorical_features == [0]  # job, without age and city


def test_a_selector_that_finds_nothing_leaves_nothing():
    words = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_exclude="number"))
    )
    table = pd.DataFrame({"age": [1.0, 2.0], "pay": [2.0, 1.0]})
    with pytest.raises(NothingLeftError):
        narrow(words, Columns.of_table(LABELS, 4, [0, 3], table))
    table = pd.DataFrame({"age": [1.0, 2.0], "job": ["a", "b"]})
    assert len(narrow(words, Columns.of_table(LABELS, 4, [0, 2], table)).transformers) == 1
    # After another step, what the selector finds is unknown.
    model = make_pipeline(StandardScaler(), words)
    assert len(narrow(model, columns(0, 3))[1].transformers) == 1


def test_parts_of_a_union_without_columns_are_dropped():
    words = make_column_transformer((OneHotEncoder(), ["city", "job"]))
    numbers = make_column_transformer((StandardScaler(), ["age", "pay"]))
    union = FeatureUnion([("words", words), ("numbers", numbers)])
    assert narrow(union, columns(0)).transformer_list[0] == ("words", "drop")
    assert narrow(union, columns(1)).transformer_list[1] == ("numbers", "drop")
    alone = FeatureUnion([("words", words)])
    with pytest.raises(NothingLeftError):
        narrow(alone, columns(0))
    outer = make_column_transformer((words, ["city", "age"]), (StandardScaler(), ["pay"]))
    parts = narrow(outer, columns(0, 3)).transformers
    assert [part[1] == "drop" for part in parts] == [True, False]
    with pytest.raises(NothingLeftError):
        narrow(outer, columns(0))


def test_arrays_have_positions_only():
    model = HistGradientBoostingClassifier(categorical_features=[0, 3])
    assert narrow(model, columns(0, 1, labels=())).categorical_features == [0]
    assert narrow(Pipeline([("model", model)]), columns(3))[-1].categorical_features == [0]
