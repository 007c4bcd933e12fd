from __future__ import annotations

import functools

import pytest

from optuna_mofs.measures import Measure, get_measure, measure_names, register_measure
from optuna_mofs.measures import _registry as registry


def test_every_name_gives_a_measure_of_that_name():
    assert set(measure_names()) == {
        "error",
        "brier_loss",
        "log_loss",
        "auc_loss",
        "training_error",
        "fnr",
        "fpr",
        "fraction",
        "n_features",
        "cost",
        "instability",
        "geometric_mean_loss",
        "model_size",
        "parameter_count",
        "vc_dimension",
        "flops",
        "fit_time",
        "prediction_time",
    }
    for name in measure_names():
        assert get_measure(name).name == name
        assert get_measure(name).direction == "minimize"


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("false_negative_rate", "fnr"),
        ("false_positive_rate", "fpr"),
        ("predict_time", "prediction_time"),
    ],
)
def test_long_names(alias, name):
    assert get_measure(alias).name == name


def test_one_entry_adds_a_measure(monkeypatch):
    monkeypatch.setattr(registry, "_MEASURES", dict(registry._MEASURES))
    own = Measure("depth", fold=lambda fold: 3.0)
    register_measure(own)
    assert get_measure("depth") is own
    assert "depth" in measure_names()
    register_measure(lambda scorer: Measure("scored", fold=lambda fold: 1.0, worst=scorer))
    assert get_measure("scored", 2.0).worst == 2.0


def test_measures_that_need_a_classifier():
    found = {name for name in measure_names() if get_measure(name).classification_only}
    expected = {"auc_loss", "brier_loss", "fnr", "fpr", "geometric_mean_loss", "log_loss"}
    assert found == expected | {"vc_dimension"}


def test_own_measures_and_functions():
    own = Measure("depth", fold=lambda fold: 3.0, direction="maximize", worst=0.0)
    assert get_measure(own) is own

    def depth(fold):
        return 2.0

    assert get_measure(depth).name == "depth"
    assert get_measure(depth).fold is depth
    assert get_measure(functools.partial(depth)).name == "measure"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: get_measure("eror"), "got 'eror'. Did you mean 'error'"),
        (lambda: get_measure(3), "got 3"),
        (lambda: Measure("a"), "exactly one of fold= and whole="),
        (lambda: Measure("a", fold=1), "'a' needs a function, got 1"),
        (lambda: Measure("a", fold=len, whole=len), "exactly one"),
        (lambda: Measure("a", fold=len, direction="down"), "'down'"),
        (lambda: Measure("", fold=len), "non-empty string"),
    ],
)
def test_bad_measures_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()
