"""Trials and losses that a choice is made from."""

from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs.fronts import _candidates, pareto_front
from optuna_mofs.fronts._honest import SelectionBootstrap, unit_losses
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
    original = _candidates.read_losses
    monkeypatch.setattr(_candidates, "_MAX_ENTRIES", 20 * N_ROWS)
    monkeypatch.setattr(
        _candidates, "read_losses", lambda t, s: read.append(t.number) or original(t, s)
    )
    thinned = pareto_front(study).honest()
    assert len(read) < 40
    assert thinned.picks["best"] == full.picks["best"]
    np.testing.assert_allclose(thinned.curve["honest"], full.curve["honest"], atol=1e-6)


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


def test_many_rows_are_represented_by_a_sample() -> None:
    losses = random_losses(ERRORS, seed=1, n_rows=6000)
    front = pareto_front(study_with_losses(losses, SIZES))
    units = unit_losses(losses)
    bootstrap = SelectionBootstrap(units, SIZES, n_bootstraps=200, seed=0)
    expected = bootstrap.estimate(bootstrap.best_at_most())
    curve = front.honest().curve
    errors = (curve["honest_high"] - curve["honest_low"]) / (2 * 1.96)
    np.testing.assert_allclose(front.honest().curve["honest"], expected.values, atol=0.002)
    np.testing.assert_allclose(errors, np.sqrt(3) * expected.standard_errors, rtol=0.15)
    held = pareto_front(
        study_with_losses(losses[:, :1000], SIZES, holdout=list(losses), masks=True)
    )
    for trial, member in zip(held, held.honest().members):
        assert member.value == pytest.approx(losses[trial.number].mean(), abs=1e-6)
