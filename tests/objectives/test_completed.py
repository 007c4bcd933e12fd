from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import TrialState

from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.features import FeatureTable, FilterEnsembleFeatures, MaskFeatures
from optuna_mofs.filters import rank_scores
from optuna_mofs.objectives._completed import DuplicateIndex, FrontIndex
from optuna_mofs.study._feature_sets import suggest_mask

TABLE = FeatureTable(
    tuple(f"x{j}" for j in range(6)),
    filters=("a", "b"),
    ranks=rank_scores([[1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5]]),
)


def ask(study, bound):
    trial = study.ask()
    mask, system = suggest_mask(trial, bound)
    write_trial_attrs(study, trial, system=system)
    return trial, mask


def test_different_integers_of_one_mask_are_one_configuration():
    bound = MaskFeatures(form="packed").bind(TABLE)
    index = DuplicateIndex(bound)
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
    index = DuplicateIndex(bound)
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
def test_filter_weights_that_select_the_same_set_are_one_configuration(ranks, expected):
    # Ranked once, only the mask matters; ranked per fold, the weights can matter in a fold.
    bound = FilterEnsembleFeatures(ranks=ranks).bind(TABLE)
    index = DuplicateIndex(bound)
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


def test_only_completed_trials_count_and_late_ones_are_found():
    index = DuplicateIndex(None)
    study = optuna.create_study()
    none = np.zeros(0, dtype=bool)

    def new_trial(value):
        study.enqueue_trial({"a": value})
        trial = study.ask()
        trial.suggest_float("a", 0, 1)
        return trial

    running, failed = new_trial(0.5), new_trial(0.5)
    study.tell(failed, state=optuna.trial.TrialState.FAIL)
    assert index.find(study, new_trial(0.5), none) is None
    study.tell(running, 1.0)
    assert index.find(study, new_trial(0.5), none).number == 0
    assert index.find(study, new_trial(0.25), none) is None


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_unhashable_choices_are_compared_by_position(tmp_path, open_sqlite):
    index = DuplicateIndex(None)
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


@pytest.mark.parametrize("directions", [["minimize"] * 2, ["maximize", "minimize"]])
def test_the_front_of_completed_trials(directions):
    study = optuna.create_study(directions=directions, sampler=RandomSampler(seed=0))
    front = FrontIndex()
    rng = np.random.default_rng(0)
    signs = np.where(np.array(directions) == "maximize", -1, 1)
    tried = []
    for _ in range(60):
        values = rng.integers(6, size=2) * signs
        losses = values * signs
        expected = any((a <= losses).all() and (a < losses).any() for a in tried)
        assert front.dominates(study, values.tolist()) == expected
        trial = study.ask()
        if rng.random() < 0.1:
            study.tell(trial, state=TrialState.FAIL)
            continue
        study.tell(trial, values.tolist())
        tried.append(losses)
    assert FrontIndex().dominates(study, (signs * 6).tolist())


def test_an_infeasible_trial_dominates_none():
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    trial = study.ask()
    trial.set_constraint("size", 1.0)
    study.tell(trial, [0.0, 0.0])
    assert not FrontIndex().dominates(study, [1.0, 1.0])
