from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler

from optuna_mofs.features import FeatureTable, FilterEnsembleFeatures, MaskFeatures
from optuna_mofs.filters import rank_scores
from optuna_mofs.objectives.repeats import RepeatIndex
from optuna_mofs.selection import suggest_mask

TABLE = FeatureTable(
    tuple(f"x{j}" for j in range(6)),
    filters=("a", "b"),
    ranks=rank_scores([[1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5]]),
)


def ask(study, bound):
    trial = study.ask()
    return trial, suggest_mask(trial, bound)


def test_different_integers_of_one_mask_are_one_configuration():
    bound = MaskFeatures(form="packed").bind(TABLE)
    index = RepeatIndex(bound)
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    first_of = {}
    for _ in range(60):
        trial, mask = ask(study, bound)
        same = index.find(study, trial, mask)
        key = mask.tobytes()
        assert (None if same is None else same.number) == first_of.get(key)
        first_of.setdefault(key, trial.number)
        study.tell(trial, 0.0)
    integers = {t.params["mask"] for t in study.trials}
    assert len(integers) == 60 > len(first_of)


def test_bits_and_hyperparameters_count():
    bound = MaskFeatures(form="bits").bind(TABLE)
    index = RepeatIndex(bound)
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    fixed = dict.fromkeys(TABLE.names, True)
    found = []
    for rate in (0.5, 0.25, 0.5, 0.5):
        study.enqueue_trial({**fixed, "rate": rate})
        trial, mask = ask(study, bound)
        trial.suggest_float("rate", 0, 1)
        same = index.find(study, trial, mask)
        found.append(None if same is None else same.number)
        study.tell(trial, 0.0)
    assert found == [None, None, 0, 0]


@pytest.mark.parametrize(("ranks", "expected"), [("all", 0), ("fold", None)])
def test_weights_that_choose_the_same_set(ranks, expected):
    # Ranked once, the mask is all there is; ranked by fold, the weights may matter in a fold.
    bound = FilterEnsembleFeatures(ranks=ranks).bind(TABLE)
    index = RepeatIndex(bound)
    study = optuna.create_study()
    found = []
    for weight in (0.5, 0.75):
        study.enqueue_trial({"fraction": 1.0, "weight_a": weight, "weight_b": 0.5})
        trial, mask = ask(study, bound)
        assert mask.all()
        same = index.find(study, trial, mask)
        found.append(None if same is None else same.number)
        study.tell(trial, 0.0)
    assert found == [None, expected]


def test_only_complete_trials_count_and_late_ones_are_seen():
    index = RepeatIndex(None)
    study = optuna.create_study()
    none = np.zeros(0, dtype=bool)

    def asked(value):
        study.enqueue_trial({"a": value})
        trial = study.ask()
        trial.suggest_float("a", 0, 1)
        return trial

    running, failed = asked(0.5), asked(0.5)
    study.tell(failed, state=optuna.trial.TrialState.FAIL)
    assert index.find(study, asked(0.5), none) is None
    study.tell(running, 1.0)
    assert index.find(study, asked(0.5), none).number == 0
    assert index.find(study, asked(0.25), none) is None


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_choices_that_cannot_be_hashed(tmp_path, open_sqlite):
    index = RepeatIndex(None)
    study = optuna.create_study(
        storage=open_sqlite(tmp_path / "a.db"), sampler=RandomSampler(seed=0)
    )
    none = np.zeros(0, dtype=bool)
    found = []
    for k in range(3):
        trial = study.ask()
        value = trial.suggest_categorical("layers", [(50,), (20, 20)])
        same = index.find(study, trial, none)
        if same is not None:
            assert tuple(same.params["layers"]) == value
            found.append(same.number)
        study.tell(trial, float(k))
    # Two choices, three trials.
    assert found
