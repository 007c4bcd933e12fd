from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs import MOEADSampler
from optuna_mofs.history._history import History
from optuna_mofs.samplers.moead._offspring import DifferentialVariation, draw_children
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import make_study, packed


def two_kinds(trial):
    if trial.suggest_categorical("kind", ["good", "bad"]) == "bad":
        return 5.0 + trial.suggest_float("y", 0, 1), 5.0
    x = trial.suggest_float("x", 0, 1)
    return x, 1 - x


def read_history(objective, trials):
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(objective, n_trials=trials)
    history = History()
    history.update(study)
    return history


def test_children_come_from_the_subproblem_the_front_and_random_draws():
    history = read_history(two_kinds, 30)
    front = np.arange(5)
    children = draw_children(
        np.random.default_rng(0),
        history,
        DifferentialVariation(),
        40,
        base=7,
        neighbors=np.array([7, 8, 9]),
        members=np.arange(10),
        front=front,
    )
    assert len(children) == 40
    assert (children.parents[:20, 0] == 7).all()
    assert set(children.parents[:20, 1:].ravel()) <= {7, 8, 9}
    assert np.isin(children.parents[20:30, 0], front).all()
    assert (children.parents[30:] == -1).all()
    assert not np.isnan(children.rows).any()


def test_masks_are_varied_with_the_rows():
    study = make_study("packed", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(packed, n_trials=6)
    history = History(StudyDescription.read(study))
    history.update(study)
    base, first, second = np.arange(3), np.arange(1, 4), np.arange(2, 5)
    rng = np.random.default_rng(0)
    rows, masks = DifferentialVariation(mask_mutations=())(rng, history, base, first, second)
    assert rows.shape == (3, len(history.space))
    for k in range(3):
        agree = history.mask(first[k]) == history.mask(second[k])
        np.testing.assert_array_equal(masks[k][agree], history.mask(base[k])[agree])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 2.0}, "scale must be a number of at least 0 and at most 1, got 2.0"),
        ({"crossover_prob": -0.1}, "crossover_prob must be a number .* got -0.1"),
        ({"mutation_prob": 1.5}, "mutation_prob must be a number .* got 1.5"),
        ({"eta": 0}, "eta must be a number above 0, got 0"),
        ({"jitter": -1}, "jitter must be a number of at least 0, got -1"),
    ],
)
def test_bad_variations_raise(options, message):
    with pytest.raises(ValueError, match=message):
        DifferentialVariation(**options)


def five_kinds(trial):
    kind = trial.suggest_categorical("kind", ["a", "b", "c", "d", "e"])
    x, n = trial.suggest_float("x", 0, 1), trial.suggest_int("n", 0, 9)
    return x + n, 1 - x + len(kind)


def literal_children(rng, space, base, first, second):
    """Equations 8 to 10 of Rosales-Pérez et al. (2014), gene by gene, with F, CR, pm and eta."""
    y = base.copy()
    crossed = rng.random(y.shape) < 0.7
    for i, j in zip(*np.nonzero(crossed)):
        y[i, j] = allowed(space, j, base[i, j] + 0.5 * (first[i, j] - second[i, j]))
    u, mutated = rng.random(y.shape), rng.random(y.shape) < 0.1
    for i, j in zip(*np.nonzero(mutated)):
        if u[i, j] < 0.5:
            delta = (2 * u[i, j]) ** (1 / 21) - 1
        else:
            delta = 1 - (2 * (1 - u[i, j])) ** (1 / 21)
        width = space.cells[j] - 1 if space.categorical[j] else 1
        y[i, j] = allowed(space, j, y[i, j] + delta * width)
    return y


def allowed(space, j, value):
    """Round a category to the nearest one; reflect a number, of which the paper says nothing."""
    if space.categorical[j]:
        return min(max(round(value), 0), space.cells[j] - 1)
    return 1 - abs(value % 2 - 1)


def test_children_of_the_paper_are_those_of_equations_8_to_10():
    history = read_history(five_kinds, 30)
    variation = MOEADSampler.from_paper().settings.variation
    base, first, second = np.random.default_rng(1).integers(30, size=(3, 400))
    found, masks = variation(np.random.default_rng(2), history, base, first, second)
    rows = history.rows
    expected = literal_children(
        np.random.default_rng(2), history.space, rows[base], rows[first], rows[second]
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert masks is None
    assert (found == rows[base]).all(axis=1).any()  # a gene is not forced to change
