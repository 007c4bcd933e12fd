from __future__ import annotations

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs.parameters import ParameterSpace
from optuna_mofs.samplers.operators.activity import Activity

SPACE = ParameterSpace(
    {
        "C": FloatDistribution(0, 1),
        "degree": IntDistribution(1, 5),
        "kernel": CategoricalDistribution(["linear", "poly"]),
        "learner": CategoricalDistribution(["svm", "forest", "tree"]),
        "trees": IntDistribution(1, 500),
    }
)


def rows(*params: dict[str, object]) -> np.ndarray:
    return np.array([SPACE.encode(p) for p in params])


SEEN = rows(
    {"learner": "svm", "kernel": "linear", "C": 0.1},
    {"learner": "svm", "kernel": "poly", "C": 0.2, "degree": 3},
    {"learner": "forest", "trees": 100},
    {"learner": "svm", "kernel": "poly", "C": 0.9, "degree": 1},
)
FULL = {"C": 0.5, "degree": 2, "kernel": "poly", "trees": 9}


def names(row: np.ndarray) -> set[str]:
    return set(SPACE.decode(row))


def test_nested_conditions() -> None:
    activity = Activity(SPACE, SEEN)
    found = activity.apply(
        rows(
            {**FULL, "learner": "svm"},
            {**FULL, "learner": "svm", "kernel": "linear"},
            {**FULL, "learner": "forest"},
        )
    )
    assert activity.conditional
    assert names(found[0]) == {"learner", "kernel", "C", "degree"}
    assert names(found[1]) == {"learner", "kernel", "C"}
    assert names(found[2]) == {"learner", "trees"}


def test_a_value_never_seen_switches_nothing_off() -> None:
    found = Activity(SPACE, SEEN).apply(rows({**FULL, "learner": "tree"}))
    assert names(found[0]) == {*FULL, "learner"}


def test_an_integer_can_switch() -> None:
    space = ParameterSpace({"layers": IntDistribution(1, 3), "second": FloatDistribution(0, 1)})
    seen = np.array(
        [space.encode({"layers": n, "second": 0.5} if n > 1 else {"layers": 1}) for n in (1, 2, 3)]
    )
    found = Activity(space, seen).apply(
        np.array([space.encode({"layers": n, "second": 0.1}) for n in (1, 2, 3)])
    )
    assert np.isnan(found[:, 1]).tolist() == [True, False, False]


def test_no_condition_no_change_and_inputs_stay() -> None:
    given = rows({**FULL, "learner": "svm"})
    assert not Activity(SPACE, given).conditional
    before = given.copy()
    Activity(SPACE, SEEN).apply(given)
    np.testing.assert_array_equal(given, before)
    np.testing.assert_array_equal(Activity(SPACE, given).apply(given), given)


def test_what_is_described_need_not_be_learned() -> None:
    described = {
        "degree": ("kernel", ["poly"]),
        "kernel": ("learner", ["svm"]),
        "C": ("learner", ["svm"]),
        "trees": ("learner", ["forest", "tree"]),
        "unknown": ("learner", ["svm"]),
    }
    activity = Activity(SPACE, np.empty((0, 5)), described)
    found = activity.apply(rows(*({**FULL, "learner": name} for name in ("svm", "tree"))))
    assert names(found[0]) == {"learner", "kernel", "C", "degree"}
    assert names(found[1]) == {"learner", "trees"}
    # Trials add nothing to it, and all else is still learned.
    assert Activity(SPACE, SEEN, described).signature == activity.signature
    partly = Activity(SPACE, SEEN, {"trees": ("learner", ["tree"])})
    assert names(partly.apply(rows({**FULL, "learner": "forest"}))[0]) == {"learner"}


def test_a_switch_that_is_no_parameter_is_passed_over() -> None:
    assert not Activity(SPACE, np.empty((0, 5)), {"C": ("gone", ["svm"])}).conditional
