from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.filters import (
    DEFAULT_FILTERS,
    FilterData,
    FilterEnsemble,
    auc,
    filter_names,
    get_filter,
    jmi,
    register_filter,
    resolve_filters,
)
from optuna_mofs.filters import _registry as registry


def own(X, y):
    return X.sum(axis=0)


def test_names_lead_to_functions():
    assert set(DEFAULT_FILTERS) <= set(filter_names())
    assert len(filter_names()) == 17
    assert get_filter("jmi") is jmi
    assert all(get_filter(name).__name__ == name for name in filter_names())


def test_unknown_name_lists_the_known_and_guesses():
    with pytest.raises(ValueError, match=r"'informaton_gain'.*Did you mean 'information_gain'"):
        get_filter("informaton_gain")
    with pytest.raises(ValueError, match=", ".join(map(repr, filter_names()))):
        get_filter("zzz")


def test_functions_and_pairs():
    resolved = resolve_filters(["auc", own, ("twice", own), ("lambda", lambda X, y: X[0])])
    assert [name for name, _ in resolved] == ["auc", "own", "twice", "lambda"]
    assert resolved[0][1] is auc
    assert resolve_filters("auc") == [("auc", auc)]
    assert resolve_filters(own) == [("own", own)]


@pytest.fixture
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_FILTERS", dict(registry._FILTERS))
    monkeypatch.setattr(registry, "_SHARING", list(registry._SHARING))


@pytest.mark.usefixtures("own_registry")
def test_a_registered_filter_shares_the_prepared_data():
    received = []

    @register_filter
    def n_levels(data):
        received.append(data)
        return data.levels

    X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 2.0]], [0, 1, 1]
    for filters in (["auc", "n_levels"], [n_levels], [("levels", n_levels)]):
        ensemble = FilterEnsemble(filters, bins=3).fit(X, y)
        assert ensemble.scores_[-1].tolist() == [2.0, 3.0]
        assert isinstance(received[-1], FilterData)
        assert received[-1].bins == 3
    assert get_filter("n_levels") is n_levels
    assert "n_levels" in filter_names()


@pytest.mark.usefixtures("own_registry")
def test_a_filter_of_raw_data_can_be_registered():
    register_filter(own, shares_data=False)
    X, y = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]), [0, 1, 1]
    assert resolve_filters(["own"]) == [("own", own)]
    assert FilterEnsemble(["own"]).fit(X, y).scores_.tolist() == [[3.0, 6.0]]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ([], "empty"),
        (["auc", "auc"], "got auc more than once"),
        ([own, own], "pair"),
        ([3], "got 3"),
        ([("a", "b")], "pair"),
    ],
)
def test_bad_filters_raise(filters, message):
    with pytest.raises(ValueError, match=message):
        resolve_filters(filters)
