from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import Trial, TrialState, create_trial

from optuna_mofs import FilterEnsembleNSGA2Sampler, suggest_features
from optuna_mofs.features import FeatureTable, MaskFeatures
from optuna_mofs.history import History
from optuna_mofs.samplers.nsga2.tried import TriedMasks
from optuna_mofs.study._description import StudyDescription

TABLE = FeatureTable(names=tuple("abcd"))
DESCRIBED = StudyDescription(TABLE, MaskFeatures().bind(TABLE))


def _study(masks: list[str]) -> optuna.Study:
    study = optuna.create_study(directions=["minimize"] * 2)
    codec = DESCRIBED.representation.codec  # type: ignore[union-attr]
    for text in masks:
        params, _ = codec.encode(_mask(text))
        study.add_trial(
            create_trial(
                state=TrialState.COMPLETE,
                values=[0.0, 0.0],
                params={**params, "x": 0.5},
                distributions={**codec.distributions, "x": FloatDistribution(0, 1)},
            )
        )
    return study


def _mask(text: str) -> np.ndarray:
    return np.array([bit == "1" for bit in text])


def _tried(masks: list[str]) -> TriedMasks:
    history = History(DESCRIBED)
    history.update(_study(masks))
    tried = TriedMasks()
    tried.update(history)
    return tried


@pytest.mark.parametrize(
    ("mask", "parent", "fixed", "wasted"),
    [
        ("1100", None, False, True),
        ("1100", "0110", False, True),
        ("1100", "1100", False, False),  # other hyperparameters for the parent's mask
        ("1110", "1100", False, False),
        ("0000", "0000", False, True),  # nothing to tune without features
        ("0000", "0000", True, False),
    ],
)
def test_what_is_wasted(mask: str, parent: str | None, fixed: bool, wasted: bool) -> None:
    tried = _tried(["1100", "0000", "0110"])
    before = None if parent is None else _mask(parent)
    assert tried.wastes(_mask(mask), before, anything_fixed=fixed) == wasted


def test_late_trials_are_taken_in() -> None:
    study = _study(["1100", "1010"])
    running = study.ask({"x": FloatDistribution(0, 1)})
    history, tried = History(DESCRIBED), TriedMasks()
    study.add_trial(_study(["0001"]).trials[0])
    history.update(study)
    tried.update(history)
    codec = DESCRIBED.representation.codec  # type: ignore[union-attr]
    for name, value in codec.encode(_mask("0111"))[0].items():
        study._storage.set_trial_param(
            running._trial_id, name, float(value), codec.distributions[name]
        )
    study.tell(running, [0.0, 0.0])
    history.update(study)
    tried.update(history)
    for text in ("1100", "1010", "0001", "0111"):
        assert tried.wastes(_mask(text), None, anything_fixed=False)


def test_the_empty_set_is_tried_once() -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, 20)
        C = trial.suggest_float("C", 0.01, 100, log=True)
        return (1.0 if not mask[:3].any() else 1 / (1 + mask[:3].sum())) + C / 1e3, mask.mean()

    def empty(repeat: bool) -> int:
        sampler = FilterEnsembleNSGA2Sampler(seed=0, start_size=15, repeat_masks=repeat)
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
        study.optimize(objective, n_trials=60)
        return sum(t.values[1] == 0 for t in study.trials)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    assert empty(repeat=False) <= 1
    assert empty(repeat=True) > 3
