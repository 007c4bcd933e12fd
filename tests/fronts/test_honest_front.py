"""Honest values of a front."""

from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs.features import FilterEnsembleFeatures
from optuna_mofs.fronts import HonestEstimate, pareto_front
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


def test_a_study_without_losses_has_no_honest_values() -> None:
    study = optuna.create_study(directions=["minimize"] * 2)
    assert pareto_front(study).honest().members == []
    study.add_trial(optuna.trial.create_trial(values=[0.3, 2.0]))
    front = pareto_front(study)
    honest = front.honest()
    assert honest.source is None
    assert honest.warning is None
    assert np.isnan(honest.members[0].value)
    assert len(honest.curve) == 0
    assert "honest" not in front.to_frame()


def test_columns_follow_the_metrics(losses) -> None:
    front = pareto_front(study_with_losses(losses, SIZES))
    frame, honest = front.to_frame(), front.honest()
    columns = ["error", "n_features", "honest", "honest_low", "honest_high"]
    assert list(frame.columns) == columns
    assert frame["honest"].tolist() == [member.value for member in honest.members]
    assert (frame["honest_low"] <= frame["honest"]).all()
    assert (frame["honest"] <= frame["honest_high"]).all()
    table = honest.to_frame()
    assert table.index.equals(frame.index)
    assert table["raw"].tolist() == frame["error"].tolist()
    assert table["honest_high"].tolist() == frame["honest_high"].tolist()


def test_values_are_computed_once_per_arguments(losses) -> None:
    front = pareto_front(study_with_losses(losses, SIZES))
    assert front.honest() is front.honest(seed=0)
    assert front.honest(seed=1) is not front.honest()
    other = front.honest(confidence=0.5)
    for wide, narrow in zip(front.honest().members, other.members):
        assert wide.value == narrow.value
        assert wide.low < narrow.low
        assert narrow.high < wide.high
    for arguments in ({"n_bootstraps": 0}, {"confidence": 1.0}, {"seed": -1}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            front.honest(**arguments)


def test_a_slice_has_the_values_of_its_trials(losses) -> None:
    front = pareto_front(study_with_losses(losses, SIZES))
    assert front[1:3].honest().members == front.honest().members[1:3]


def test_a_maximized_metric_mirrors_a_minimized_one(losses) -> None:
    offset = losses * 0.5 - 0.25  # negative losses too: a symmetric interval
    front = pareto_front(study_with_losses(offset, SIZES, constant=0.0))
    mirrored = pareto_front(study_with_losses(offset, SIZES, constant=0.0, maximize=True))
    assert mirrored.pick().number == front.pick().number
    for a, b in zip(front.honest().members, mirrored.honest().members):
        np.testing.assert_allclose([a.value, a.low, a.high], [-b.value, -b.high, -b.low])
    bad = pareto_front(study_with_losses(offset, SIZES, constant=-0.2, maximize=True))
    assert "is not clearly above that of the constant model, 0.2." in str(bad.honest().warning)


def test_estimates_as_text() -> None:
    assert str(HonestEstimate(0.49, 0.38, 0.6)) == "0.49 (0.38 to 0.6)"


# ---- sources ------------------------------------------------------------------------------------


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
