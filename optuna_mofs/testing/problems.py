"""Small deterministic objectives for tests of samplers, by name."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from optuna.study import Study, create_study
from optuna.trial import Trial

from optuna_mofs.features._table import FeatureTable
from optuna_mofs.study._feature_sets import suggest_features

Objective = Callable[[Trial], tuple[float, ...]]


def mixed(trial: Trial) -> tuple[float, ...]:
    """Suggest floats, integers, log scales, steps and a category; two values."""
    x = trial.suggest_float("x", -3, 3)
    rate = trial.suggest_float("rate", 1e-4, 1, log=True)
    part = trial.suggest_float("part", 0, 1, step=0.1)
    count = trial.suggest_int("count", 1, 64, log=True)
    even = trial.suggest_int("even", 0, 20, step=2)
    kind = trial.suggest_categorical("kind", ["a", "b", None, 3])
    worse = 0.3 * ["a", "b", None, 3].index(kind)  # type: ignore[arg-type]
    error = (x - 1) ** 2 + abs(math.log10(rate) + 2) + (part - 0.3) ** 2 + worse
    return error, x**2 + math.log(count) + abs(even - 6) / 10


def conditional(trial: Trial) -> tuple[float, ...]:
    """Suggest the parameters of one of two branches."""
    if trial.suggest_categorical("branch", ["line", "curve"]) == "line":
        slope = trial.suggest_float("slope", 0, 1)
        return slope, 1 - slope
    power = trial.suggest_int("power", 1, 9)
    width = trial.suggest_float("width", 0.1, 10, log=True)
    return 0.5 / power, abs(math.log10(width))


def branches(trial: Trial) -> tuple[float, ...]:
    """Suggest the parameter of one of six branches, and one whose range and step change."""
    kind = trial.suggest_categorical("kind", ["f", "e", "d", "c", "b", "a"])
    position = "abcdef".index(kind)
    steps = trial.suggest_int("steps", 0, 6 * (position + 1), step=2 if position % 2 else 3)
    own = trial.suggest_float(f"own_{kind}", 0, 1)
    return position / 6 + own, steps / 36 + 1 - own


def _selection(trial: Trial, p: int, form: str) -> tuple[float, ...]:
    mask = suggest_features(trial, _table(p), form=form)
    C = trial.suggest_float("C", 0.01, 100, log=True)
    useful = np.zeros(p, dtype=bool)
    useful[: max(2, p // 10)] = True
    missed = np.count_nonzero(useful & ~mask) / np.count_nonzero(useful)
    noise = np.count_nonzero(mask & ~useful) / p
    return float(missed + noise + abs(math.log10(C)) / 10), float(mask.mean())


def _table(p: int) -> FeatureTable:
    rank = np.arange(p)[::-1] / max(1, p - 1)
    ranks = np.array([rank, (rank + 0.5) % 1.0])
    half_steps = np.rint(ranks * 2 * (p - 1)) / (2 * (p - 1))
    return FeatureTable(
        names=tuple(f"f{j}" for j in range(p)),
        filters=("good", "poor"),
        ranks=half_steps,
        expected_n_features=3.0,
        fixed=(p - 1,),
    )


def bits(trial: Trial) -> tuple[float, ...]:
    """Suggest 12 features as booleans, with filter ranks, one of them fixed."""
    return _selection(trial, 12, "bits")


def packed(trial: Trial) -> tuple[float, ...]:
    """Suggest 60 features as one integer, with filter ranks, one of them fixed."""
    return _selection(trial, 60, "packed")


def single(trial: Trial) -> tuple[float, ...]:
    """Return one value."""
    return (mixed(trial)[0],)


def three(trial: Trial) -> tuple[float, ...]:
    """Return three values."""
    first, second = mixed(trial)
    return first, second, abs(trial.params["x"])


def rough(trial: Trial) -> tuple[float, ...]:
    """Return infinite and worsening values, with constraints and a range that grows."""
    x = trial.suggest_float("x", -1, 1 + (trial.number + 2) // 20)
    y = trial.suggest_float("y", 0, 1)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    trial.set_constraint("x is small", math.inf if x > 0.9 + y else x - 0.3 - y)
    late = trial.number if trial.number % 11 == 0 else 0
    error = math.inf if trial.number % 7 == 3 else (x - 0.4) ** 2 + y + late
    return error, (1 - y) ** 2 + abs(x) + (kind == "a")


PROBLEMS: dict[str, Objective] = {
    problem.__name__: problem
    for problem in (mixed, conditional, branches, bits, packed, single, three, rough)
}

#: Number of values of the problems that do not have two.
N_VALUES = {"single": 1, "three": 3}


def make_study(problem: str, *, maximize: bool = False, **options: object) -> Study:
    """Create a study with as many directions as the problem has values."""
    direction = "maximize" if maximize else "minimize"
    n_values = N_VALUES.get(problem, 2)
    return create_study(directions=[direction] * n_values, **options)  # type: ignore
