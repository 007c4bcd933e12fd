from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    ParEGOSampler,
    SMSEGOSampler,
    selected_features,
)
from optuna_mofs._optuna import frozen_attr, write_trial_attrs
from optuna_mofs.history._history import History
from optuna_mofs.samplers._gaussian_process import SplitInputs
from optuna_mofs.samplers._infill import (
    ExpectedHypervolumeGain,
    ExpectedNote,
    LargerSetAcquisition,
    ModelBasedNote,
    ObjectiveSurrogates,
    _rank_in_group,
    fit_surrogate,
    model_inputs,
    running_values,
)
from optuna_mofs.samplers._training_data import EncodedBatch, ObjectiveScale, TrainingData
from optuna_mofs.samplers.model_based import ModelBasedSettings
from optuna_mofs.samplers.nsga2._variation import NSGA2Note
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import suggest_mask
from optuna_mofs.study._trial_note import NOTE
from tests.samplers.context import make_context


class Constant:
    """Predicts the first column, with a standard deviation of 0.25."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Constant:
        return self

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return X[:, 0], np.full(len(X), 0.25)


def batch_of(columns: Any, known_values: np.ndarray, sizes: Any = None) -> EncodedBatch:
    inputs = SplitInputs(np.asarray(columns, dtype=float)[:, None])
    return EncodedBatch(inputs, known_values, None if sizes is None else np.array(sizes))


def test_bounds_of_modeled_and_known_objectives() -> None:
    trials = batch_of([1.0, 0.2], np.array([[np.nan, 0.7], [np.nan, 0.1]]))
    data = SimpleNamespace(
        trials=trials,
        modeled=[0],
        values=np.zeros((2, 2)),
        variances=np.zeros((2, 2)),
        floor=np.array([0.0, -np.inf]),
        uses_gaussian_process=False,
        scale=ObjectiveScale(np.zeros(2), np.ones(2)),
    )
    surrogates = ObjectiveSurrogates(cast(Any, data), lambda *targets: Constant())
    bounds = surrogates.lower_bounds(trials, 2.0)
    assert bounds.tolist() == [[0.5, 0.7], [0.0, 0.1]]  # the second is at the floor
    other = batch_of([3.0], np.array([[np.nan, 0.3]]))
    assert surrogates.lower_bounds(other, 0.0).tolist() == [[3.0, 0.3]]


def history(sizes: list[int], errors: list[float], p: int) -> Any:
    """The part of the training data that the acquisition needs."""
    values = np.column_stack([errors, np.array(sizes) / p])
    trials = batch_of(errors, values * [np.nan, 1], sizes)
    return SimpleNamespace(trials=trials, values=values, modeled=[0], n_free_features=p)


class Surrogates:
    """The error is in the first column, with a standard deviation of 0.1."""

    def lower_bounds(self, batch: EncodedBatch, kappa: float) -> np.ndarray:
        return np.column_stack([batch.inputs.own[:, 0] - kappa * 0.1, batch.known_values[:, 1]])


def candidates(sizes: list[int], errors: list[float]) -> EncodedBatch:
    return batch_of(errors, np.zeros((len(sizes), 2)), sizes)


def acquisition(data: Any, position: float) -> LargerSetAcquisition:
    return LargerSetAcquisition(data, cast(Any, Surrogates()), 0.0, position)


@given(
    st.lists(st.integers(0, 40), min_size=3, max_size=6),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 30),
)
def test_sizes_are_larger_than_that_of_the_least_error(
    sizes: list[int], position: float, more: int
) -> None:
    p = max(1, max(sizes) + more)
    data = history(sizes, np.linspace(0.1, 0.5, len(sizes)).tolist(), p)
    if LargerSetAcquisition.is_possible(data):
        low, high = acquisition(data, position).size_range
        assert max(1, sizes[0]) < low <= high <= p
    else:
        assert max(1, sizes[0]) > 0.8 * p


def test_positions_go_from_the_best_size_to_all_features() -> None:
    data = history([8, 1, 20], [0.1, 0.3, 0.2], 80)
    found = [acquisition(data, position).size_range for position in (0.0, 0.5, 0.999)]
    assert found == [(9, 12), (23, 35), (64, 80)]


def test_of_equal_errors_the_smaller_set_is_the_best() -> None:
    data = history([30, 4, 60], [0.1, 0.1, 0.2], 80)
    assert acquisition(data, 0.0).size_range == (5, 6)


def test_the_least_error_of_the_sizes_comes_first() -> None:
    larger = acquisition(history([8, 1, 20], [0.1, 0.3, 0.2], 80), 0.5)
    values = larger(candidates([30, 25, 22, 10], [0.2, 0.15, 0.0, 0.0]))
    assert np.argsort(values).tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize(
    ("step", "error", "expected"), [(4, 0.29, True), (4, 0.31, False), (1, 0.9, True)]
)
def test_later_trials_explore_larger_sets_only_if_promising(
    step: int, error: float, expected: bool
) -> None:
    larger = acquisition(history([8, 1, 20], [0.1, 0.3, 0.2], 80), 0.5)
    assert larger.is_promising(step, candidates([30], [error])) is expected


def test_only_where_the_size_is_known_and_the_error_is_not() -> None:
    data = history([8, 1, 20], [0.1, 0.3, 0.2], 80)
    assert LargerSetAcquisition.is_possible(data)
    for modeled in ([], [0, 1]):
        assert not LargerSetAcquisition.is_possible(
            SimpleNamespace(**{**vars(data), "modeled": modeled})
        )
    trials = EncodedBatch(data.trials.inputs, data.trials.known_values)
    assert not LargerSetAcquisition.is_possible(
        SimpleNamespace(**{**vars(data), "trials": trials})
    )


@pytest.mark.parametrize("sampler", [ParEGOSampler, SMSEGOSampler])
@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_trials_of_a_study_explore_larger_sets(sampler: Any, features: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = make_classification(60, 30, n_informative=4, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, representation=features, filters=["auc", "anova_f"], cv=2
    )
    for wanted in (True, False):
        settings = ModelBasedSettings(explore_larger_sets=wanted)
        study = objective.create_study(
            sampler=sampler(seed=0, n_startup_trials=8, settings=settings)
        )
        study.optimize(objective, n_trials=12)
        notes = [frozen_attr(trial, NOTE) or {} for trial in study.trials]
        larger = [i for i, note in enumerate(notes) if "size_range" in note]
        # Later ones only if they are promising.
        assert larger[:2] == ([8, 9] if wanted else [])
        assert set(larger) <= {8, 9, 10}
        for i in larger:
            low, high = notes[i]["size_range"]
            assert low <= round(study.trials[i].values[1] * 30) <= high


# ---- running trials -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "note",
    [
        NSGA2Note(),
        NSGA2Note("prefix", (3,), expected=(0.25, -1.5), step_size=0.2, switch_prob=0.3),
        ModelBasedNote("local", expected=(1.0,), kappa=0.5, size_range=(2, 9)),
    ],
    ids=str,
)
def test_notes_there_and_back(note: ExpectedNote) -> None:
    stored = json.loads(json.dumps(note.to_json()))
    assert type(note).from_json(stored) == note
    # Samplers read what is expected of each other's trials.
    assert ExpectedNote.from_json(stored).expected == note.expected


def test_values_of_running_trials() -> None:
    notes = [NSGA2Note(expected=(0.5, 2.0)), NSGA2Note(), ModelBasedNote(expected=(1.0, 3.0))]
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0)
    )
    for note in notes:
        trial = study.ask()
        write_trial_attrs(study, trial, system={NOTE: note.to_json()})
    done = study.ask()
    expected = NSGA2Note(expected=(9.0, 9.0))
    write_trial_attrs(study, done, system={NOTE: expected.to_json()})
    study.tell(done, [1.0, 1.0])
    history = History()
    history.update(study)
    assert running_values(history) == [(0.5, 2.0), (1.0, 3.0)]


class Exact:
    """Predicts the columns as they are, with a given standard deviation."""

    def __init__(self, sd: float) -> None:
        self._sd = sd

    def predict_linear(self, batch: EncodedBatch) -> tuple[np.ndarray, np.ndarray]:
        means = batch.inputs.own
        return means, np.full(means.shape, self._sd)


def gain_of(violations: Any = (0, 0), running: Any = (), sd: float = 0.0) -> Any:
    trials = EncodedBatch(SplitInputs(np.array([[0.0, 1.0], [1.0, 0.0]])), np.zeros((2, 2)))
    data = SimpleNamespace(
        trials=trials,
        violations=np.array(violations),
        scale=ObjectiveScale(np.zeros(2), np.array([10.0, 1.0])),
        described_reference=lambda: np.full(2, 2.0),
    )
    return ExpectedHypervolumeGain(cast(Any, data), cast(Any, Exact(sd)), running)


def at(*points: tuple[float, float]) -> EncodedBatch:
    return EncodedBatch(SplitInputs(np.array(points)), np.zeros((len(points), 2)))


def test_the_gain_is_that_over_the_front_of_means() -> None:
    found = gain_of()(at((0.5, 0.5), (1.5, 1.5), (-1.0, 0.0)))
    # Minus the areas; the last one dominates both members.
    np.testing.assert_allclose(found, [-0.25, 0.0, -3.0], atol=1e-9)
    assert gain_of().expected(at((0.5, 0.5))).tolist() == [[0.5, 0.5]]


def test_running_trials_leave_nothing_to_gain_where_they_are() -> None:
    free = gain_of()(at((0.5, 0.5), (0.6, 0.4)))
    # Values of running trials are not scaled yet.
    taken = gain_of(running=[(5.0, 0.5)])(at((0.5, 0.5), (0.6, 0.4)))
    assert taken[0] == pytest.approx(0.0, abs=1e-9)
    assert free[1] < taken[1] < 0


@pytest.mark.parametrize(
    ("violations", "expected"), [((0, 0), -0.25), ((1, 0), -0.75), ((1, 2), -0.25)]
)
def test_infeasible_trials_are_not_on_the_front_if_others_are(
    violations: Any, expected: float
) -> None:
    assert gain_of(violations)(at((0.5, 0.5)))[0] == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=20))
def test_ranks_within_groups(pairs: list[tuple[int, int]]) -> None:
    groups, values = (np.array(column) for column in zip(*pairs))
    found = _rank_in_group(groups, values)
    for group in np.unique(groups):
        members = found[groups == group]
        assert sorted(members) == list(range(len(members)))
        assert (np.diff(values[groups == group][np.argsort(members)]) >= 0).all()


def _study_with_running(representation: str, n_running: int) -> Any:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = make_classification(60, 20, n_informative=4, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, representation=representation, filters=["auc", "anova_f"], cv=2
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=20)
    running = []
    for _ in range(n_running):
        running.append(study.ask())
        described = StudyDescription.require(study)
        assert described.representation is not None
        _, system = suggest_mask(running[-1], described.representation)
        write_trial_attrs(study, running[-1], system=system)
    return study, running


@pytest.mark.parametrize("representation", ["filter_ensemble", "mask"])
def test_a_surrogate_is_less_uncertain_near_running_trials(representation: str) -> None:
    surrogate = "gaussian_process"
    study, running = _study_with_running(representation, 1)
    described = StudyDescription.read(study)
    sds = []
    for hidden in (None, running[0].number):
        history = History(described)
        history.update(study, exclude=hidden)
        rows = history.running_configurations()[0]
        assert len(rows) == (hidden is None)
        data = TrainingData(make_context(history), surrogate)
        if hidden is None:
            assert data.running is not None
            batch = data.running
        values = data.values[:, 0]
        model = fit_surrogate(data, surrogate, np.random.default_rng(0), values)
        sds.append(model.predict(model_inputs(data, batch.inputs))[1][0])
    assert sds[0] < sds[1]


@pytest.mark.parametrize("representation", ["filter_ensemble", "mask"])
def test_workers_evaluate_different_feature_sets(representation: str) -> None:
    study, running = _study_with_running(representation, 8)
    sets = {tuple(selected_features(study, study.trials[t.number]) or ()) for t in running}
    # A set of k features is tried up to sqrt(k) times.
    assert len(sets) >= 7
