"""The same front, and models for the same tables, whatever the library of the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from optuna.distributions import IntDistribution
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    front_model,
    pareto_front,
)

NAMES = ["age in years", "größe", "收入", "x", "b [kg]", 'a"quote']
RNG = np.random.default_rng(0)
VALUES = RNG.standard_normal((90, 6))
Y = (VALUES[:, 1] + 0.3 * RNG.standard_normal(90) > 0).astype(int)
FRAME = pd.DataFrame(VALUES, columns=NAMES)
MAKERS = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.from_pandas(FRAME),
    "arrow": lambda: pa.Table.from_pandas(FRAME),
    "numpy": lambda: VALUES,
    "sparse": lambda: sparse.csr_array(VALUES),
    "integers": lambda: pd.DataFrame(VALUES),
}


def search(X, y=Y, **options):
    objective = FeatureSelectionObjective(
        DecisionTreeClassifier(),
        X,
        y,
        space={"max_depth": IntDistribution(1, 4)},
        cv=3,
        filters=["anova_f"],
        expected_n_features=2,
        **options,
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=12)
    return objective, study


@pytest.fixture(scope="module")
def reference():
    return search(FRAME)[1]


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("representation", ["mask", "filter_ensemble"])
def test_the_same_front_from_every_library(kind, representation):
    X = MAKERS[kind]()
    _, expected = search(FRAME, representation=representation)
    objective, study = search(X, representation=representation)
    assert [t.values for t in study.trials] == [t.values for t in expected.trials]
    best = pareto_front(study).pick()
    model = objective.refit(best)
    known = {"numpy": [f"x{j}" for j in range(6)], "integers": list(range(6))}
    known["sparse"] = known["numpy"]
    names = objective.features_for(best)
    assert names
    assert set(names) <= set(known.get(kind, NAMES))
    predicted = model.predict(X)
    assert predicted.shape == (90,)
    if kind in ("pandas", "polars", "integers"):
        # The README's line: only the columns of the model.
        assert (model.predict(X[names].head()) == predicted[:5]).all()
    if kind == "arrow":
        assert (model.predict(X.select(names)) == predicted).all()


def test_a_model_takes_the_tables_of_other_libraries():
    objective, study = search(MAKERS["polars"]())
    model = objective.refit(pareto_front(study).pick())
    expected = model.predict(FRAME)
    for kind in ("polars", "arrow"):
        assert (model.predict(MAKERS[kind]()) == expected).all()
    ensemble = front_model(study, objective)
    assert (ensemble.predict(MAKERS["arrow"]()) == ensemble.predict(FRAME)).all()


@pytest.mark.parametrize("make", [pl.Series, pa.array, pd.Series, list])
def test_targets_of_every_library(make, reference):
    words = np.array(["no", "yes"])[Y]
    _, study = search(FRAME, make(words.tolist()))
    assert [t.values for t in study.trials] == [t.values for t in reference.trials]


def test_integer_names_in_arguments():
    X = pd.DataFrame(VALUES, columns=[10, 20, 30, 40, 50, 60])
    objective, study = search(
        X, fixed_features=[20], feature_costs={30: 2.0}, feature_groups={"pair": [40, 50]}
    )
    assert all(20 in objective.features_for(trial) for trial in study.trials)
    assert objective.table.costs.tolist() == [1, 1, 2, 1, 1]
    chosen = {name for trial in study.trials for name in objective.features_for(trial)}
    assert "pair" in chosen
