"""Waiting trials: feature sets that a user enqueues, and interrupted trials to repeat."""

from __future__ import annotations

import datetime
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from optuna_mofs._optuna import (
    PREFIX,
    enqueued_attrs,
    retried_numbers,
    retry_attrs,
    trials_of,
)
from optuna_mofs._validation import check_float
from optuna_mofs.features._representation import MaskFeatures
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import MASK, check_enqueued


def enqueue_features(
    study: Study,
    features: Iterable[str],
    params: Mapping[str, Any] | None = None,
    *,
    user_attrs: Mapping[str, Any] | None = None,
) -> None:
    """Enqueue a trial with a feature set, given by names, and hyperparameters.

    Use it instead of ``study.enqueue_trial`` to transfer a feature set from another study.

    Args:
        study: A study to which an objective has been attached (or that has run a trial).
        features: Names of the features; fixed ones need not be included.
        params: Hyperparameters to fix as well; the sampler suggests the others.
        user_attrs: User attributes of the trial.

    Example:
        >>> import optuna
        >>> from optuna_mofs import enqueue_features, selected_features, suggest_features
        >>> def objective(trial):
        ...     return float(suggest_features(trial, 50).sum())
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> study.optimize(objective, n_trials=1)
        >>> enqueue_features(study, ["x3", "x41"])
        >>> study.optimize(objective, n_trials=1)
        >>> selected_features(study, study.trials[1])
        ['x3', 'x41']
    """
    described = StudyDescription.read(study)
    if described is None or described.features is None:
        raise ValueError(
            f"Study {study.study_name!r} has no features yet. "
            "Call objective.attach(study) first, or run one trial."
        )
    if not isinstance(described.representation, MaskFeatures):
        used = None if described.representation is None else described.representation.kind
        raise ValueError(
            "Feature sets can be enqueued by name only with the representation 'mask', but study "
            f"{study.study_name!r} uses {used!r}. Enqueue its parameters with study.enqueue_trial."
        )
    unknown = sorted(set(params or {}) - set(described.space or params or {}))
    if unknown:
        raise ValueError(
            f"params names {unknown[0]!r}, which is not a parameter of study "
            f"{study.study_name!r}: it has {sorted(described.space or {})}."
        )
    check_enqueued(described.features, described.features.mask_of(features))
    enqueue(study, params or {}, features=features, user_attrs=user_attrs)


def enqueue(
    study: Study,
    params: Mapping[str, Any],
    *,
    features: Iterable[str] | None = None,
    user_attrs: Mapping[str, Any] | None = None,
) -> None:
    """Enqueue a trial with some parameters, and with the mask of features given by names."""
    described = StudyDescription.require(study)
    system_attrs = enqueued_attrs(params)
    if features is not None:
        assert described.features is not None
        assert isinstance(described.representation, MaskFeatures)
        mask = described.features.mask_of(features)
        chosen, attr = described.representation.codec.encode(mask)
        system_attrs = enqueued_attrs({**chosen, **params})
        if attr is not None:
            system_attrs[PREFIX + MASK] = attr
    waiting = create_trial(
        state=TrialState.WAITING, system_attrs=system_attrs, user_attrs=dict(user_attrs or {})
    )
    study.add_trial(waiting)


def retry_interrupted(
    study: Study, *, older_than: float = 0.0, numbers: Container[int] | None = None
) -> list[int]:
    """Enqueue the configurations of interrupted trials again.

    A process that is killed leaves its trial RUNNING forever. This function marks such trials as
    failed and enqueues the same configuration again, with everything the sampler wrote on it. Call
    it while no worker runs on the study, or pass the numbers of the trials. (Optuna's heartbeat
    with ``RetryHeartbeatStaleTrialCallback`` does this automatically on storages that support it.)

    Args:
        study: The study.
        older_than: Only trials that started at least this many seconds ago.
        numbers: Only these trials, running or failed (Optuna marks a trial that is stopped by
            Ctrl-C as failed). Default: all running trials.

    Returns:
        Numbers of the interrupted trials.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> _ = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
        >>> retry_interrupted(study)
        [0]
        >>> [trial.state.name for trial in study.trials]
        ['FAIL', 'WAITING']
    """
    check_float("older_than", older_than, 0)
    now = datetime.datetime.now()
    states = (TrialState.RUNNING,) if numbers is None else (TrialState.RUNNING, TrialState.FAIL)
    interrupted = [
        trial
        for trial in trials_of(study, states=states)
        if (numbers is None or trial.number in numbers)
        and (now - (trial.datetime_start or now.min)).total_seconds() >= older_than
    ]
    is_repeated = {number for other in trials_of(study) for number in retried_numbers(other)}
    for trial in interrupted:
        if trial.number in is_repeated:
            # This function was interrupted itself, between the two steps below.
            _end(study, trial)
            continue
        waiting = create_trial(
            state=TrialState.WAITING,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs=trial.user_attrs,
            system_attrs=retry_attrs(trial),
        )
        # Enqueue first: if killed in between, the configuration runs twice rather than never.
        study.add_trial(waiting)
        _end(study, trial)
    return [trial.number for trial in interrupted]


def _end(study: Study, trial: FrozenTrial) -> None:
    """Mark an interrupted trial as failed."""
    # A worker that was only slow may have completed it in the meantime.
    with suppress(UpdateFinishedTrialError):
        study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)
