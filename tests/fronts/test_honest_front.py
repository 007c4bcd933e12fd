"""Honest values of a front."""

from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs.fronts import HonestEstimate, pareto_front
from tests.fronts.honest_studies import (
    SIZES,
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
