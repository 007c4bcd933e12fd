"""Estimates of stopped trials."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from optuna.trial import TrialState, create_trial

from optuna_mofs._optuna import PREFIX
from optuna_mofs.study._partial import (
    PartialEstimate,
    fold_scores,
    measured_values,
    partial_estimate,
)

ESTIMATE = PartialEstimate(
    values=(0.3, 0.5), folds=(0, 4), rival=7, bound=0.1, variances=(0.01, 0.0)
)


def trial(state: TrialState, estimate: PartialEstimate | None = ESTIMATE, values=None):
    attrs = {} if estimate is None else estimate.to_attr()
    return create_trial(
        state=state, values=values, system_attrs={PREFIX + k: v for k, v in attrs.items()}
    )


def test_a_stopped_trial_has_its_estimate() -> None:
    assert partial_estimate(trial(TrialState.PRUNED)) == ESTIMATE
    assert measured_values(trial(TrialState.PRUNED)) == ((0.3, 0.5), (0.01, 0.0))
    unknown = replace(ESTIMATE, variances=())
    assert measured_values(trial(TrialState.PRUNED, unknown)) == ((0.3, 0.5), [0.0, 0.0])


def test_completed_trials_have_their_values() -> None:
    completed = trial(TrialState.COMPLETE, values=[1.0, 2.0])
    assert partial_estimate(completed) is None
    assert measured_values(completed) == ([1.0, 2.0], [0.0, 0.0])


@pytest.mark.parametrize("state", [TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING])
def test_other_trials_have_none(state: TrialState) -> None:
    assert measured_values(trial(state, None)) is None


def test_user_attributes_name_the_rival_only_if_there_is_one() -> None:
    assert ESTIMATE.user_attrs() == {"n_folds": 2, "stopped_by": 7}
    assert PartialEstimate((0.3,), (0, 1, 2)).user_attrs() == {"n_folds": 3}


@pytest.mark.parametrize("stored", [None, [0.5], "0.5", {"error": "0.5", "fit_time": [None]}])
def test_fold_scores_that_something_else_wrote_are_ignored(stored: Any) -> None:
    written = create_trial(state=TrialState.FAIL, user_attrs={"fold_scores": stored})
    assert fold_scores(written) == {}


def test_fold_scores() -> None:
    stored = {"error": [0.5, 1], "fit_time": []}
    written = create_trial(state=TrialState.FAIL, user_attrs={"fold_scores": stored})
    assert fold_scores(written) == stored
