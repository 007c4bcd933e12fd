from __future__ import annotations

import functools

import pytest

from optuna_mofs.measures import Measure, get_measure, measure_names


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
        "prediction_time",
    }
    for name in measure_names():
        assert get_measure(name).name == name
        assert get_measure(name).direction == "minimize"


@pytest.mark.parametrize(
    ("alias", "name"),
    [("false_negative_rate", "fnr"), ("false_positive_rate", "fpr")],
)
def test_long_names(alias, name):
    assert get_measure(alias).name == name


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
        (lambda: get_measure("eror"), "Unknown measure 'eror'. Did you mean 'error'"),
        (lambda: get_measure(3), "not 3"),
        (lambda: Measure("a"), "exactly one of fold= and whole="),
        (lambda: Measure("a", fold=1), "'a' needs a function, but has 1"),
        (lambda: Measure("a", fold=len, whole=len), "exactly one"),
        (lambda: Measure("a", fold=len, direction="down"), "'down'"),
        (lambda: Measure("", fold=len), "needs a name"),
    ],
)
def test_bad_measures_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
