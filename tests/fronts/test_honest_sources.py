"""Bootstrap of the choice, held-out rows and the default pick."""

from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.features import FilterEnsembleFeatures
from optuna_mofs.fronts import pareto_front
from optuna_mofs.fronts._honest import SelectionBootstrap, interval, unit_losses
from optuna_mofs.study._losses import kept_rows
from tests.fronts.honest_studies import (
    ERRORS,
    N_ROWS,
    SIZES,
    random_losses,
    study_with_losses,
    typical_losses,
)


@pytest.fixture
def losses() -> np.ndarray:
    return typical_losses()


def test_the_curve_is_the_bootstrap_of_the_best_with_at_most_k(losses) -> None:
    front = pareto_front(study_with_losses(losses, SIZES))
    honest = front.honest(n_bootstraps=50, seed=3)
    # The study keeps rows in an order of its own.
    units = unit_losses(losses[:, kept_rows(N_ROWS)])
    bootstrap = SelectionBootstrap(units, SIZES, n_bootstraps=50, seed=3)
    expected = bootstrap.estimate(bootstrap.best_at_most())
    # Measured on half as many new rows, which adds twice the variance of the mean of all rows.
    errors = np.sqrt(3) * expected.standard_errors
    low, high = interval(expected.values, errors, round(N_ROWS / 3), bound=1.0)
    curve = honest.curve
    assert honest.source == "bootstrap"
    assert curve["n_features"].tolist() == sorted(set(SIZES))
    means = losses.mean(axis=1)
    np.testing.assert_allclose(
        curve["raw"], [means[np.array(SIZES) <= k].min() for k in curve["n_features"]]
    )
    np.testing.assert_allclose(curve["honest"], expected.values, atol=1e-6)
    np.testing.assert_allclose(curve["honest_low"], low, atol=1e-6)
    np.testing.assert_allclose(curve["honest_high"], high, atol=1e-6)
    assert (curve["honest"] - curve["raw"]).iloc[-1] > 0.01
    # A trial won against all with fewer features than the next trial of the front.
    for trial, member in zip(front, honest.members):
        same = curve[np.isclose(curve["raw"], trial.values[0])]
        assert member.value == pytest.approx(same["honest"].iloc[-1])
    assert honest.picks["best"].value == pytest.approx(curve["honest"].iloc[-1])


def test_rules_are_repeated_for_their_picks(losses) -> None:
    honest = pareto_front(study_with_losses(losses, SIZES)).honest(n_bootstraps=50)
    units = unit_losses(losses[:, kept_rows(N_ROWS)])
    bootstrap = SelectionBootstrap(units, SIZES, n_bootstraps=50, seed=0)
    knee = bootstrap.knee(np.array(SIZES)[:, None], constant=0.5 - 1e-9)
    sparse = bootstrap.one_standard_error(0.02 * 0.5)
    front = pareto_front(study_with_losses(losses, SIZES))
    for name, chosen in (("knee", knee), ("one_standard_error", sparse)):
        optimism = bootstrap.estimate(chosen[None]).optimism[0]
        trial = getattr(front, name)()
        assert honest.picks[name].value == pytest.approx(trial.values[0] + optimism, abs=1e-6)
    assert set(honest.picks) == {"pick", "best", "knee", "one_standard_error"}


def test_masks_have_the_values_of_held_out_rows(losses) -> None:
    held = random_losses([0.5, 0.45, 0.4, 0.4, 0.3, 0.3, 0.3, 0.2, 0.3, 0.25], seed=5, n_rows=40)
    study = study_with_losses(losses, SIZES, holdout=list(held), masks=True)
    front = pareto_front(study)
    honest = front.honest()
    assert honest.source == "holdout"
    for trial, member in zip(front, honest.members):
        mean = held[trial.number].mean()
        deviation = held[trial.number].std(ddof=1)
        # The variance of the mean of 40 held-out rows, and that of half as many rows as searched.
        variance = deviation**2 * (1 / 40 + 2 / N_ROWS)
        n_rows = round(1 / (1 / 40 + 2 / N_ROWS))
        low, high = interval(mean, np.sqrt(variance), n_rows, bound=1.0)
        assert [member.value, member.low, member.high] == pytest.approx([mean, low, high])
    for name in ("best", "knee", "one_standard_error", "pick"):
        assert honest.picks[name].value == pytest.approx(
            held[getattr(front, name)().number].mean()
        )
    assert honest.curve["honest"].iloc[-1] == pytest.approx(held[front.best().number].mean())


@pytest.mark.parametrize(("ranks", "source"), [("fold", "bootstrap"), ("all", "holdout")])
def test_the_bootstrap_requires_selection_inside_the_folds(losses, ranks, source) -> None:
    features = FilterEnsembleFeatures(ranks=ranks)
    study = study_with_losses(losses, SIZES, holdout=list(losses), representation=features)
    assert pareto_front(study).honest().source == source


def test_held_out_rows_do_not_choose(losses) -> None:
    held = [1.0 - losses[:, :40], losses[:, :40]]
    fronts = [
        pareto_front(study_with_losses(losses, SIZES, holdout=list(part), masks=True))
        for part in held
    ]
    assert fronts[0].honest().source == "holdout"
    for pick in ("pick", "best", "knee", "one_standard_error"):
        assert getattr(fronts[0], pick)().number == getattr(fronts[1], pick)().number


def test_the_pick_has_the_value_of_its_trial(losses) -> None:
    front = pareto_front(study_with_losses(losses, SIZES))
    honest = front.honest()
    member = dict(zip(honest.numbers, honest.members))[front.pick().number]
    assert honest.picks["pick"] == member


def test_masks_without_held_out_rows_have_none(losses) -> None:
    assert pareto_front(study_with_losses(losses, SIZES, masks=True)).honest().source is None


def test_a_trial_without_held_out_losses_is_unknown(losses) -> None:
    front = pareto_front(study_with_losses(losses, SIZES, masks=True))
    best = front.best().number
    held = [None if i == best else loss[:40] for i, loss in enumerate(losses)]
    honest = pareto_front(study_with_losses(losses, SIZES, holdout=held, masks=True)).honest()
    assert np.isnan(honest.members[0].value)
    assert not np.isnan(honest.members[1].value)


def test_no_error_at_all_has_an_upper_limit() -> None:
    perfect = np.zeros((2, N_ROWS))
    for masks in (False, True):
        study = study_with_losses(perfect, [2, 5], holdout=list(perfect), masks=masks)
        member = pareto_front(study).honest().members[0]
        assert member.value == member.low == 0.0
        assert 0.09 < member.high < 0.18


def test_the_default_pick_is_the_sparsest_within_one_standard_error() -> None:
    numbers = []
    for seed in range(8):
        losses = random_losses(ERRORS, seed=seed, n_rows=60)
        front = pareto_front(study_with_losses(losses, SIZES))
        errors = losses.mean(axis=1)
        halves = [half.mean() for half in np.array_split(losses[front.best().number], 2)]
        spread = max(np.std(halves, ddof=1) / np.sqrt(2), 0.01)
        members = [t.number for t in front if t.values[1] > 0 and t.values[0] < 0.5]
        allowed = [i for i in members if errors[i] <= errors[members].min() + spread + 1e-9]
        pick = front.pick().number
        assert pick == min(allowed, key=lambda i: SIZES[i]) == front.one_standard_error().number
        numbers.append((pick, front.best().number))
    assert len({pick for pick, _ in numbers}) > 1
    assert any(pick != best for pick, best in numbers)


def test_a_trial_that_is_the_best_of_its_learner_only_is_not_picked() -> None:
    for seed in range(4):
        study = study_with_losses(random_losses(ERRORS, seed=seed), SIZES, learners=True)
        front, of_each = pareto_front(study), pareto_front(study, by="learner")
        assert len(of_each) > len(front)
        assert of_each.pick() == front.pick()


def test_a_constant_model_is_picked_only_if_nothing_is_better() -> None:
    rows = np.arange(100)
    constant, better = (rows < 6).astype(float), (rows < 5).astype(float)
    # Trial 1 has a feature, but predicts the same as the constant model.
    losses = [constant, constant, better]
    front = pareto_front(study_with_losses(losses, [0, 1, 8], constant=0.06))
    for pick in (front.pick(), front.knee(), front.one_standard_error()):
        assert pick.number == 2
    # The same without the empty set, and with another last bit.
    front = pareto_front(study_with_losses(losses[1:], [1, 8], constant=0.06 + 1e-17))
    for pick in (front.pick(), front.knee(), front.one_standard_error()):
        assert pick.number == 1
    front = pareto_front(study_with_losses(losses[:2], [0, 1], constant=0.06))
    assert front.pick().number == 0


def test_the_last_bit_does_not_make_a_model_better_than_the_constant() -> None:
    rows = np.arange(100)
    losses = [(rows < 30).astype(float), (rows < 29).astype(float)]
    constant = 0.1 + 0.2
    assert constant > 0.3
    front = pareto_front(study_with_losses(losses, [1, 8], constant=constant))
    for pick in (front.pick(), front.knee(), front.one_standard_error()):
        assert pick.number == 1


def test_the_empty_set_is_not_picked_without_a_constant_model_either() -> None:
    rows = np.arange(100)
    losses = [(rows < 31).astype(float), (rows < 30).astype(float)]
    front = pareto_front(study_with_losses(losses, [0, 3], constant=None))
    assert front.pick().number == 1
    assert pareto_front(study_with_losses(losses[::-1], [0, 3], constant=None)).pick().number == 0
