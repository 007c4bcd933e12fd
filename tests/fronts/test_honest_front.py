"""Honest values of studies whose trials have losses of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
import pytest

from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.features import (
    FeatureTable,
    FilterEnsembleFeatures,
    MaskFeatures,
    Representation,
)
from optuna_mofs.fronts import HonestEstimate, _honest_front, pareto_front
from optuna_mofs.fronts._honest import SelectionBootstrap, interval, unit_losses
from optuna_mofs.study import MeasureDescription, StudyDescription
from optuna_mofs.study._baselines import NoiseFloor, write_baselines
from optuna_mofs.study._losses import kept_rows, losses_attr, write_loss_rows

N_ROWS = 80


def study_with_losses(
    losses: Sequence[np.ndarray | None],
    sizes: Sequence[int],
    *,
    holdout: Sequence[np.ndarray | None] | None = None,
    masks: bool = False,
    representation: Representation | None = None,
    constant: float | None = 0.5,
    maximize: bool = False,
    label: str = "1 - accuracy",
    learners: bool = False,
    **rows: Any,
) -> optuna.Study:
    """Create a study whose trials have these losses on test folds; their means are the errors."""
    sign = -1.0 if maximize else 1.0
    directions = ["maximize" if maximize else "minimize", "minimize"]
    study = optuna.create_study(
        directions=directions, sampler=optuna.samplers.RandomSampler(seed=0)
    )
    names = tuple(f"x{j}" for j in range(50))
    table = FeatureTable(names=names, filters=("anova_f",), ranks=np.ones((1, 50)))
    representation = MaskFeatures() if masks else representation
    StudyDescription(
        features=None if representation is None else table,
        representation=None if representation is None else representation.bind(table),
        measures=(
            MeasureDescription(
                "error", directions[0], None if constant is None else constant * sign, label
            ),
            MeasureDescription("n_features", worst=50.0),
        ),
    ).write(study)
    write_loss_rows(study, "error", **rows)
    if constant is not None:
        write_baselines(study, constant=(constant * sign, 0.0))
    for i, (loss, size) in enumerate(zip(losses, sizes)):
        trial = study.ask()
        if learners:
            trial.suggest_categorical("learner", ["a", "b"])
        own = np.full(10, 0.5) if loss is None else loss * sign
        trial.set_user_attr("n_features", int(size))
        halves = [float(np.nanmean(half)) for half in np.array_split(own, 2)]
        trial.set_user_attr("fold_scores", {"error": halves})
        parts: dict[str, Any] = {} if loss is None else {"cross_validation": own}
        if holdout is not None:
            parts["holdout"] = None if holdout[i] is None else holdout[i] * sign
        write_trial_attrs(study, trial, system=losses_attr(parts))
        study.tell(trial, [float(np.nanmean(own)), float(size)])
    return study


def random_losses(errors: Sequence[float], seed: int = 0, n_rows: int = N_ROWS) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random((len(errors), n_rows)) < np.asarray(errors)[:, None]).astype(float)


ERRORS = [0.5, 0.42, 0.3, 0.28, 0.2, 0.16, 0.17, 0.15, 0.18, 0.14]
SIZES = [0, 1, 2, 2, 3, 5, 8, 9, 20, 30]


@pytest.fixture
def losses() -> np.ndarray:
    found = random_losses(ERRORS)
    found[0] = np.arange(N_ROWS) % 2  # the constant model
    return found


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


def test_trials_and_rows_without_losses_are_left_out(losses) -> None:
    plain = pareto_front(study_with_losses(losses, SIZES)).honest()
    some: list[np.ndarray | None] = [*losses, None]
    lost = pareto_front(study_with_losses(some, [*SIZES, 4])).honest()
    assert lost.curve["honest"].tolist()[-1] == plain.curve["honest"].tolist()[-1]
    padded = np.hstack([losses, np.full((len(losses), 1), np.nan)])
    found = pareto_front(study_with_losses(padded, SIZES)).honest()
    assert not np.isnan([member.value for member in found.members]).any()


def test_rows_of_a_group_are_drawn_together(losses) -> None:
    twice = np.repeat(losses, 3, axis=1)
    groups = np.repeat(np.arange(N_ROWS), 3)
    single = pareto_front(study_with_losses(losses, SIZES)).honest().picks["best"]
    alone = pareto_front(study_with_losses(twice, SIZES)).honest().picks["best"]
    grouped = pareto_front(
        study_with_losses(twice, SIZES, groups={"cross_validation": groups})
    ).honest()
    together = grouped.picks["best"]
    assert alone.high - alone.low < 0.7 * (single.high - single.low)
    assert together.high - together.low == pytest.approx(single.high - single.low, rel=0.1)


def test_weights_of_rows_count(losses) -> None:
    weights = np.where(np.arange(N_ROWS) < N_ROWS // 2, 1.0, 0.0)
    half = losses[:, : N_ROWS // 2]
    study = study_with_losses(losses, SIZES, weights={"cross_validation": weights})
    honest = pareto_front(study).honest(n_bootstraps=2000)
    expected = pareto_front(study_with_losses(half, SIZES)).honest(n_bootstraps=2000)
    shift, other = ((h.curve["honest"] - h.curve["raw"]).iloc[3] for h in (honest, expected))
    assert shift == pytest.approx(other, abs=0.03)


def test_many_trials_are_thinned_without_a_change(losses, monkeypatch) -> None:
    rng = np.random.default_rng(1)
    many = np.vstack([losses, random_losses(rng.uniform(0.6, 0.9, 40), seed=2)])
    sizes = [*SIZES, *rng.integers(1, 40, 40)]
    study = study_with_losses(many, sizes)
    full = pareto_front(study).honest()
    read: list[int] = []
    original = _honest_front.read_losses
    monkeypatch.setattr(_honest_front, "_MAX_ENTRIES", 20 * N_ROWS)
    monkeypatch.setattr(
        _honest_front, "read_losses", lambda t, s: read.append(t.number) or original(t, s)
    )
    thinned = pareto_front(study).honest()
    assert len(read) < 40
    assert thinned.picks["best"] == full.picks["best"]
    np.testing.assert_allclose(thinned.curve["honest"], full.curve["honest"], atol=1e-6)


# ---- holdout ------------------------------------------------------------------------------------


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
    held = 1.0 - losses[:, :40]
    front = pareto_front(study_with_losses(losses, SIZES, holdout=list(held), masks=True))
    assert front.pick() == front.one_standard_error()
    assert front.honest().pick_index is None


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


# ---- picks --------------------------------------------------------------------------------------


def test_the_default_pick_is_the_sparsest_within_one_standard_error_of_the_honest_best() -> None:
    n_sparser = 0
    for seed in range(8):
        losses = random_losses(ERRORS, seed=seed, n_rows=60)
        front = pareto_front(study_with_losses(losses, SIZES))
        honest = front.honest()
        filled = [(t, m.value) for t, m in zip(front, honest.members) if t.values[1] > 0]
        best, lowest = min(filled, key=lambda pair: pair[1])
        # The standard error of the losses of that trial.
        spread = np.sqrt(best.values[0] * (1 - best.values[0]) / 59)
        allowed = [trial for trial, value in filled if value <= lowest + spread]
        pick = front.pick()
        assert pick == min(allowed, key=lambda trial: trial.values[1])
        assert pick == front[honest.pick_index]
        assert honest.picks["pick"] == honest.members[honest.pick_index]
        n_sparser += pick.values[1] < front.best().values[1]
    assert n_sparser >= 3


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


def test_an_honest_value_that_is_no_better_than_the_constant_is_not_picked() -> None:
    n_close = 0
    for seed in range(10):
        losses = random_losses([*[0.5] * 10, 0.38], seed=seed)
        front = pareto_front(study_with_losses(losses, [*[1] * 10, 5]))
        members = front.honest().members
        if len(front) == 2 and members[0].value < 0.5 <= members[1].value:
            n_close += members[1].value < members[0].value + 0.05
            assert front.pick() == front[0]
    assert n_close >= 1


def test_infeasible_trials_of_a_front_have_values(losses) -> None:
    study = study_with_losses(losses, SIZES)
    other = study_with_losses([], [])
    for trial in study.get_trials():
        copied = optuna.trial.create_trial(
            values=trial.values,
            user_attrs=trial.user_attrs,
            system_attrs=trial.system_attrs,
            constraints={"limit": 1.0},
        )
        other.add_trial(copied)
    assert pareto_front(other).honest().members == []
    front = pareto_front(other, include_infeasible=True)
    assert len(front.honest().members) > 3
    assert not np.isnan([member.value for member in front.honest().members]).any()


def test_honest_values_belong_to_the_measure_with_losses(losses) -> None:
    study = study_with_losses(losses, SIZES)
    front = pareto_front(study, targets=["error", "n_features"])
    one = pareto_front(study, targets=["error"])
    assert one.honest().source == "bootstrap"
    assert one.pick() == front.best()
    only_sizes = pareto_front(study, targets=["n_features"])
    assert only_sizes.honest().source is None


# ---- warnings -----------------------------------------------------------------------------------


def test_noise_is_not_clearly_better_than_chance() -> None:
    sizes = np.random.default_rng(0).integers(1, 40, 60).tolist()
    fronts = [
        pareto_front(study_with_losses(random_losses([0.5] * 60, seed=seed), sizes))
        for seed in range(10)
    ]
    assert max(front.values[0, 0] for front in fronts) < 0.43
    for name in ("pick", "best", "knee", "one_standard_error"):
        values = [front.honest().picks[name].value for front in fronts]
        assert np.mean(values) == pytest.approx(0.5, abs=0.03)
    warnings = [front.honest().warning for front in fronts]
    assert sum(warning is not None for warning in warnings) >= 9
    front, warning = fronts[0], str(warnings[0])
    assert warning.startswith("Not clearly better than chance: the honest error 0.")
    assert warning.endswith("is not clearly below that of the constant model, 0.5.")
    assert warning in repr(front)
    assert warning in front._repr_html_()


def test_a_good_front_has_no_warning(losses) -> None:
    front = pareto_front(study_with_losses(losses, SIZES))
    assert front.honest().warning is None
    assert "chance" not in repr(front)


@pytest.mark.parametrize(("label", "hinted"), [("1 - accuracy", True), ("RMSE", False)])
def test_imbalanced_classes_have_a_hint_to_another_scorer(label, hinted) -> None:
    losses = [(np.arange(100) < 6).astype(float)] * 2
    study = study_with_losses(losses, [0, 3], constant=0.06, label=label)
    warning = str(pareto_front(study).honest().warning)
    assert warning.startswith("Not clearly better than chance")
    assert ("One class has 94% of the rows" in warning) == hinted
    assert ("balanced_accuracy" in warning) == hinted


def test_without_honest_values_raw_ones_are_compared(losses) -> None:
    study = study_with_losses(losses, SIZES, masks=True, constant=float(losses.mean(axis=1).min()))
    warning = str(pareto_front(study).honest().warning)
    assert "the best cross-validated error" in warning
    assert "is not below that of the constant model" in warning


@pytest.mark.parametrize(("floor", "warned"), [(0.08, True), (0.45, False)])
@pytest.mark.parametrize("masks", [True, False])
def test_the_noise_floor_is_compared(losses, floor, warned, masks) -> None:
    study = study_with_losses(losses, SIZES, masks=masks)
    write_baselines(study, noise_floor=NoiseFloor(20, (0, 5, 40), (0.5, floor + 0.01, floor)))
    warning = pareto_front(study).honest().warning
    assert (warning is not None) == warned
    if warning is not None:
        assert f"finds on permuted labels, {floor}." in warning


def test_held_out_rows_know_better_than_the_noise_floor(losses) -> None:
    study = study_with_losses(losses, SIZES, masks=True, holdout=list(losses))
    write_baselines(study, noise_floor=NoiseFloor(20, (0, 40), (0.5, 0.05)))
    assert pareto_front(study).honest().warning is None


def test_estimates_as_text() -> None:
    assert str(HonestEstimate(0.49, 0.38, 0.6)) == "0.49 (0.38 to 0.6)"
