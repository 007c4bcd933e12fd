from __future__ import annotations

import pytest

from optuna_mofs.filters import DEFAULT_FILTERS, FILTERS, auc, filter_names, get_filter, jmi
from optuna_mofs.filters._registry import resolve_filters


def own(X, y):
    return X.sum(axis=0)


def test_names_lead_to_functions():
    assert set(DEFAULT_FILTERS) <= set(filter_names())
    assert len(filter_names()) == 13
    assert get_filter("jmi") is jmi
    assert all(FILTERS[name].__name__ == name for name in filter_names())


def test_unknown_name_lists_the_known_and_guesses():
    with pytest.raises(ValueError, match=r"'informaton_gain'.*Did you mean 'information_gain'"):
        get_filter("informaton_gain")
    with pytest.raises(ValueError, match=", ".join(FILTERS)):
        get_filter("zzz")


def test_functions_and_pairs():
    resolved = resolve_filters(["auc", own, ("twice", own), ("lambda", lambda X, y: X[0])])
    assert [name for name, _ in resolved] == ["auc", "own", "twice", "lambda"]
    assert resolved[0][1] is auc
    assert resolve_filters("auc") == [("auc", auc)]
    assert resolve_filters(own) == [("own", own)]


def test_own_filter_may_join_the_registry():
    FILTERS["own"] = own
    try:
        assert resolve_filters(["own"]) == [("own", own)]
        assert "own" in filter_names()
    finally:
        del FILTERS["own"]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ([], "empty"),
        (["auc", "auc"], "used twice: auc"),
        ([own, own], "pair"),
        ([3], "got 3"),
        ([("a", "b")], "pair"),
    ],
)
def test_bad_filters_are_refused(filters, message):
    with pytest.raises(ValueError, match=message):
        resolve_filters(filters)
