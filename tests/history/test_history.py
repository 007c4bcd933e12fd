from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.features._codec import pack, unpack
from optuna_mofs.features._representation import (
    FilterEnsembleFeatures,
    MaskFeatures,
    SingleFilterFeatures,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history import _history as module
from optuna_mofs.history._history import History, HistoryFollower, trial_seconds
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import selected_mask, suggest_features
from optuna_mofs.study._queue import enqueue_features, retry_interrupted
from optuna_mofs.study._trial_note import NOTE, TrialNote

TABLE = FeatureTable(names=tuple(f"f{j}" for j in range(11)), fixed=(2,))
KIND = CategoricalDistribution(["a", "b", "c"])
X = FloatDistribution(0, 1)
N = IntDistribution(1, 9)


def described(form: str = "bits", **options: Any) -> StudyDescription:
    return StudyDescription(TABLE, MaskFeatures(form=form).bind(TABLE), **options)


def test_seconds_are_those_of_fits_or_of_whole_trials() -> None:
    start = datetime.datetime(2026, 1, 1)
    times = {"datetime_start": start, "datetime_complete": start + datetime.timedelta(seconds=3)}

    def trial(state: TrialState = TrialState.COMPLETE, **attrs: Any) -> FrozenTrial:
        values = [1.0] if state == TrialState.COMPLETE else None
        made = create_trial(state=state, values=values, user_attrs=attrs)
        made.datetime_start, made.datetime_complete = times.values()
        return made

    assert trial_seconds(trial()) == 3.0
    assert trial_seconds(trial(fold_scores={"fit_time": [0.5, 1.5]})) == 1.0
    assert math.isnan(trial_seconds(trial(duplicate_of=0)))
    assert math.isnan(trial_seconds(trial(TrialState.PRUNED)))
    assert trial_seconds(trial(TrialState.PRUNED, fold_scores={"fit_time": [2.0]})) == 2.0


def read(study: Study, exclude: int | None = None) -> History:
    """A history from scratch."""
    history = History(StudyDescription.read(study))
    history.update(study, exclude=exclude)
    return history


def new_study(directions: Iterable[str] = ("minimize", "minimize")) -> Study:
    sampler = optuna.samplers.RandomSampler(seed=0)
    return optuna.create_study(directions=list(directions), sampler=sampler)


def add(
    study: Study,
    params: Mapping[str, tuple[BaseDistribution, Any]],
    values: Iterable[float] = (1.0, 2.0),
    **options: Any,
) -> None:
    state = options.pop("state", TrialState.COMPLETE)
    study.add_trial(
        create_trial(
            state=state,
            params={n: v for n, (_, v) in params.items()},
            distributions={n: d for n, (d, _) in params.items()},
            values=list(values) if state == TrialState.COMPLETE else None,
            **options,
        )
    )


def same(one: History, other: History) -> None:
    assert one.space.distributions == other.space.distributions
    assert one.space.names == other.space.names
    for name in ("numbers", "values", "rows", "packed", "sizes", "violations"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    for i in range(len(one)):
        assert one.note(i, TrialNote) == other.note(i, TrialNote)
    assert len(one) == len(other)
    if len(one):
        np.testing.assert_array_equal(one.reference(), other.reference())


# ---- any order of completion --------------------------------------------------------------------

FATES = st.sampled_from(["complete", "complete", "complete", "fail", "prune", "run"])


def _objective(trial: Trial, place: int, form: str | None) -> tuple[float, float]:
    """A conditional space whose ranges and parameters change from trial to trial."""
    size = 0
    if form is not None:
        size = int(suggest_features(trial, TABLE, form=form).sum())
    write_trial_attrs(trial.study, trial, system={NOTE: {"operator": f"op{place}"}})
    if trial.suggest_categorical("kind", ["a", "b", "c"]) == "a":
        trial.suggest_int("steps", 0, 4 * (place % 3 + 1), step=4 if place % 2 else 2)
    else:
        trial.suggest_float("late", 0, 1 + place % 4)
    trial.set_constraint("c", float(place % 3 - 1))
    return math.inf if place == 3 else place * 0.5, size - place * 0.25


@pytest.mark.parametrize("form", [None, "bits", "packed"])
@settings(max_examples=25)
@given(data=st.data())
def test_incremental_updates_equal_a_new_history_in_any_order(
    form: str | None, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, 9))
    fates = data.draw(st.lists(FATES, min_size=count, max_size=count))
    order = data.draw(st.permutations(range(count)))
    looks = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=count)
    )
    asked = [study.ask() for _ in range(count)]
    values = [_objective(trial, place, form) for place, trial in enumerate(asked)]
    history = read(study)
    for place, look in zip(order, looks):
        if fates[place] == "complete":
            study.tell(asked[place], values[place])
        elif fates[place] == "fail":
            study.tell(asked[place], state=TrialState.FAIL)
        elif fates[place] == "prune":
            study.tell(asked[place], state=TrialState.PRUNED)
        if look:
            history.update(study)
            same(history, read(study))
    history.update(study)
    fresh = read(study)
    same(history, fresh)
    for trial in study.trials:
        params = {**trial.params, "late": trial.params.get("late", 0.5)}
        assert history.contains_params(params) == fresh.contains_params(params)


def test_a_late_trial_is_inserted_by_number() -> None:
    study = new_study()
    trials = [study.ask({"x": X}) for _ in range(4)]
    history = History()
    for place in (0, 3, 1, 2):
        study.tell(trials[place], (place, -place))
        history.update(study)
    assert history.numbers.tolist() == [0, 1, 2, 3]
    assert history.values.tolist() == [[0, 0], [1, -1], [2, -2], [3, -3]]
    assert history.rows[:, 0].tolist() == pytest.approx([t.params["x"] for t in trials])


# ---- arrays -------------------------------------------------------------------------------------


def test_values_are_minimized_and_finite() -> None:
    study = new_study(["minimize", "maximize"])
    add(study, {"x": (X, 0.5)}, [1.0, 2.0])
    add(study, {"x": (X, 0.5)}, [math.inf, -math.inf])
    add(study, {"x": (X, 0.5)}, [-math.inf, math.inf])
    values = read(study).values
    assert values[0].tolist() == [1.0, -2.0]
    assert np.isfinite(values).all()
    assert (values[1] > 1e200).all()
    assert (values[2] < -1e200).all()


def test_violations_are_summed() -> None:
    study = new_study()
    for constraints in ({}, {"a": -1.0, "b": 0.0}, {"a": 2.0, "b": -5.0, "c": 0.5}):
        add(study, {"x": (X, 0.5)}, constraints=constraints)
    assert read(study).violations.tolist() == [0.0, 0.0, 2.5]


def test_only_completed_trials_with_a_mask_are_read() -> None:
    study = new_study()
    described("packed").write(study)
    study.optimize(lambda t: (float(suggest_features(t, TABLE, form="packed").sum()), 0), 2)
    add(study, {"x": (X, 0.5)})  # from before features were selected
    add(study, {"x": (X, 0.5)}, state=TrialState.FAIL)
    study.ask()
    assert read(study).numbers.tolist() == [0, 1]


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_masks_are_stored_packed(form: str) -> None:
    study = new_study()
    study.optimize(lambda t: (float(suggest_features(t, TABLE, form=form).sum()), 0), 6)
    history = read(study)
    assert history.packed.shape == (6, 2)  # ten free features in two bytes
    assert history.packed.dtype == np.uint8
    for i, trial in enumerate(study.trials):
        full = selected_mask(study, trial)
        assert full is not None
        free = np.delete(full, 2)
        np.testing.assert_array_equal(history.mask(i), free)
        np.testing.assert_array_equal(unpack(history.packed[i], 10), free)
        assert history.packed[i].tobytes() == pack(free)
        assert history.sizes[i] == free.sum()


def test_a_new_parameter_re_encodes_all_rows() -> None:
    study = new_study()
    add(study, {"m": (N, 3)})
    history = read(study)
    assert history.rows.shape == (1, 1)
    add(study, {"m": (N, 5), "a": (X, 0.25)})
    history.update(study)
    assert history.space.names == ["a", "m"]
    np.testing.assert_array_equal(history.rows[:, 0], [np.nan, 0.25])
    assert [history.space.decode(row).get("m") for row in history.rows] == [3, 5]


def test_a_wider_range_re_encodes_all_rows() -> None:
    study = new_study()
    add(study, {"x": (FloatDistribution(0, 1), 1.0)})
    history = read(study)
    add(study, {"x": (FloatDistribution(0, 4), 4.0)})
    history.update(study)
    assert history.rows[:, 0].tolist() == [0.25, 1.0]


def test_described_parameters_are_in_the_space_before_the_first_trial() -> None:
    history = History(described(space={"x": X, "kind": KIND, "one": IntDistribution(3, 3)}))
    assert history.space.names == ["kind", "x"]
    assert list(history.distributions)[:10] == [f"f{j}" for j in range(11) if j != 2]
    assert len(history) == 0
    assert history.numbers.size == 0


def test_trials_of_another_version_of_the_objective_are_read() -> None:
    study = new_study()
    add(study, {"kind": (KIND, "c")})
    add(study, {"kind": (CategoricalDistribution(["a", "z"]), "z")})
    add(study, {"kind": (X, 0.25)})
    history = read(study)
    assert len(history) == 3
    assert np.isnan(history.rows[:, 0]).sum() == 2
    assert history.contains_params({"kind": study.trials[0].params["kind"]}) in (True, False)


# ---- the reference point ------------------------------------------------------------------------


def test_the_reference_is_slightly_worse_than_the_worst_value() -> None:
    study = new_study(["minimize", "maximize"])
    add(study, {"x": (X, 0.5)}, [1.0, 7.0])
    add(study, {"x": (X, 0.5)}, [3.0, 7.0])
    assert read(study).reference().tolist() == pytest.approx([3.2, -6.9])


def test_the_reference_ignores_infinite_values() -> None:
    study = new_study()
    for values in ([1.0, 0.0], [3.0, math.inf], [math.inf, -math.inf], [2.0, 1.0]):
        add(study, {"x": (X, 0.5)}, values)
    assert read(study).reference().tolist() == pytest.approx([3.2, 1.1])


def test_the_reference_is_the_worst_value_of_the_description() -> None:
    measures = (
        MeasureDescription("error", worst=1.0),
        MeasureDescription("auc", "maximize", worst=0.5),
    )
    study = new_study(["minimize", "maximize"])
    StudyDescription(space={"x": X}, measures=measures).write(study)
    add(study, {"x": (X, 0.5)}, [0.3, 0.9])
    assert read(study).reference().tolist() == [1.0, -0.5]


# ---- configurations that were tried -------------------------------------------------------------


def test_configurations_of_trials_are_found() -> None:
    study = new_study()
    add(study, {"kind": (KIND, "a"), "x": (X, 0.5)})
    add(study, {"kind": (KIND, "b"), "n": (N, 3)}, state=TrialState.FAIL)
    add(study, {"kind": (KIND, "b"), "n": (N, 4)})
    history = read(study)
    assert history.contains_params({"kind": "a", "x": 0.5})
    assert history.contains_params({"kind": "a", "x": 0.5, "n": 7}), (
        "n is not active on this branch"
    )
    assert not history.contains_params({"kind": "a", "x": 0.25, "n": 7})
    assert not history.contains_params({"kind": "c", "x": 0.5, "n": 7})
    assert not history.contains_params({"kind": "a"})
    assert history.contains_params({"kind": "b", "x": 0.1, "n": 4})
    assert history.contains_params({"kind": "b", "x": 0.1, "n": 3}), "failed"


@pytest.mark.parametrize("state", [TrialState.FAIL, TrialState.PRUNED, TrialState.WAITING])
@pytest.mark.parametrize("whole_first", [True, False])
def test_an_incomplete_failed_trial_excludes_no_configuration(
    state: TrialState, whole_first: bool
) -> None:
    study = new_study()
    whole = {"kind": (KIND, "a"), "x": (X, 0.5)}
    if whole_first:
        add(study, whole)
    add(study, {"kind": (KIND, "b")}, state=state)
    if not whole_first:
        add(study, whole)
    history = read(study)
    assert history.contains_params({"kind": "a", "x": 0.5})
    assert not history.contains_params({"kind": "b", "x": 0.5})


def test_a_branch_without_parameters_does_not_make_failed_trials_complete() -> None:
    study = new_study()
    add(study, {"kind": (KIND, "c")})  # complete as it is
    add(study, {"kind": (KIND, "a"), "x": (X, 0.5)})
    add(study, {"kind": (KIND, "b")}, state=TrialState.FAIL)  # interrupted
    history = read(study)
    assert history.contains_params({"kind": "c", "x": 0.5})
    assert not history.contains_params({"kind": "b", "x": 0.5})


def test_running_and_enqueued_configurations_are_found() -> None:
    study = new_study()
    StudyDescription(space={"kind": KIND, "x": X}).write(study)
    running = study.ask({"kind": KIND, "x": X})
    study.enqueue_trial({"kind": "b", "x": 0.125})
    study.enqueue_trial({"kind": "c"})
    study.enqueue_trial({"kind": "no such choice", "x": 0.5})
    history = read(study)
    assert history.contains_params(running.params)
    assert history.contains_params({"kind": "b", "x": 0.125})
    assert not history.contains_params({"kind": "c", "x": 0.125})
    assert not read(study, exclude=running.number).contains_params(running.params)


def test_the_excluded_trial_is_not_found() -> None:
    study = new_study()
    StudyDescription(space={"x": X}).write(study)
    trials = [study.ask({"x": X}) for _ in range(2)]
    history = History(StudyDescription.read(study))
    for _ in range(2):
        history.update(study, exclude=0)
        assert not history.contains_params(trials[0].params)
        assert history.contains_params(trials[1].params)
        history.update(study, exclude=1)
        assert history.contains_params(trials[0].params)
        assert not history.contains_params(trials[1].params)


def test_enqueued_masks_are_found() -> None:
    study = new_study()
    described("packed", space={"x": X}).write(study)
    enqueue_features(study, ["f1", "f7"], {"x": 0.5})
    history = read(study)
    assert history.codec is not None
    params, _ = history.codec.encode(TABLE.mask_of(["f1", "f7"]))
    assert history.contains_params({**params, "x": 0.5})
    assert not history.contains_params({**params, "x": 0.25})


def test_parameters_with_a_single_value_do_not_hide_a_duplicate() -> None:
    study = new_study()
    add(study, {"x": (X, 0.5), "one": (IntDistribution(3, 3), 3)})
    history = read(study)
    assert history.space.names == ["x"]
    assert history.contains_params({"x": 0.5})


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_choices_of_any_type_are_compared() -> None:
    choices = [None, True, "a", math.nan, [1, 2], {"k": 3}]
    distribution = CategoricalDistribution(choices)
    study = new_study()
    for value in (math.nan, [1, 2], None):
        add(study, {"k": (distribution, value)})
    history = read(study)
    known = [history.contains_params({"k": value}) for value in choices]
    assert known == [True, False, False, True, True, False]


def test_n_configurations_counts_distinct_configurations() -> None:
    study = new_study()
    assert read(study).n_configurations == 0
    for n in (1, 2, 2, 3):
        add(study, {"n": (N, n)})
    add(study, {"n": (N, 4)}, state=TrialState.FAIL)
    assert read(study).n_configurations == 3


# ---- cost ---------------------------------------------------------------------------------------


class _Counted(list[FrozenTrial]):
    """A list that counts which elements were looked at one by one."""

    looked = 0

    def __getitem__(self, i: Any) -> Any:
        assert not isinstance(i, slice)
        self.looked += 1
        return super().__getitem__(i)

    def __iter__(self) -> Any:
        raise AssertionError("walked through all trials")


def test_an_update_reads_only_new_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    study = new_study()
    stale = study.ask({"x": X})  # its process died
    slow = study.ask({"x": X})
    study.add_trials(
        [
            create_trial(params={"x": x}, distributions={"x": X}, values=[x, 1 - x])
            for x in np.linspace(0, 1, 3000).tolist()
        ]
    )
    history = read(study)
    calls: list[_Counted] = []

    def counted(study: Study) -> _Counted:
        calls.append(_Counted(study._storage.get_all_trials(study._study_id, deepcopy=False)))
        return calls[-1]

    monkeypatch.setattr(module, "trials_by_number", counted)
    encoded = []
    encode = module.SearchSpace.encode
    monkeypatch.setattr(
        module.SearchSpace, "encode", lambda s, p: encoded.append(p) or encode(s, p)
    )
    add(study, {"x": (X, 0.123)})
    study.tell(slow, (0, 0))
    history.update(study, exclude=stale.number)
    assert calls[0].looked <= 4
    assert len(encoded) == 2
    assert history.numbers[:2].tolist() == [1, 2]
    history.update(study)
    assert calls[1].looked <= 2
    same(history, read(study))


class Sum(HistoryFollower):
    """Adds up trial numbers, one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.sums = [0]

    def rewind(self, n_trials: int) -> None:
        del self.sums[n_trials + 1 :]

    def advance(self, history: History) -> None:
        for number in history.numbers[len(self.sums) - 1 :].tolist():
            self.sums.append(self.sums[-1] + number)


@given(st.lists(st.sets(st.integers(0, 30)), max_size=6))
def test_a_follower_replays_from_the_first_changed_trial(steps: list[set[int]]) -> None:
    follower, history, seen = Sum(), History(), set()
    for step in steps:
        seen |= step
        history.numbers = np.array(sorted(seen), dtype=np.int64)
        follower.follow(history)
        assert follower.sums == [0, *np.cumsum(sorted(seen)).tolist()]


def test_an_infinite_constraint_is_a_large_number() -> None:
    study = new_study(["minimize"])

    def broken(trial: Trial) -> float:
        trial.set_constraint("never", math.inf)
        return trial.suggest_float("x", 0, 1)

    study.optimize(broken, n_trials=1)
    history = History()
    history.update(study)
    assert np.isfinite(history.violations).all()
    assert history.violations[0] > 1e200


# ---- rules --------------------------------------------------------------------------------------

RANKED = FeatureTable(names=("a", "b", "c"), filters=("f", "g"), ranks=np.eye(2, 3))


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (FilterEnsembleFeatures(), {"fraction", "weight_f", "weight_g"}),
        (
            FilterEnsembleFeatures(redundancy_penalty=True),
            {"fraction", "weight_f", "weight_g", "redundancy_penalty"},
        ),
        (SingleFilterFeatures.from_paper(), {"fraction", "filter"}),
        (MaskFeatures(form="bits"), set()),
        (MaskFeatures(form="packed"), set()),
    ],
)
def test_columns_of_a_rule(features: Any, expected: set[str]) -> None:
    history = History(StudyDescription(RANKED, features.bind(RANKED), space={"x": X}))
    assert history.rule_columns.shape == (len(history.space),)
    assert {n for n, r in zip(history.space.names, history.rule_columns) if r} == expected


def test_columns_of_a_rule_follow_the_search_space() -> None:
    bound = SingleFilterFeatures().bind(RANKED)
    history = History(StudyDescription(RANKED, bound))
    assert history.rule_columns.tolist() == [True, True]
    # Columns are sorted by name.
    history.require({"alpha": X, "gamma": X, "zeta": N})
    assert history.space.names == ["alpha", "filter", "fraction", "gamma", "zeta"]
    assert history.rule_columns.tolist() == [False, True, True, False, False]


def test_a_parameter_called_fraction_is_no_rule_without_one() -> None:
    study = new_study()
    add(study, {"fraction": (X, 0.5), "n": (N, 3)})
    history = read(study)
    assert history.rule_columns.tolist() == [False, False]
    assert History().rule_columns.shape == (0,)


def test_positions_are_the_numbers_of_a_study_without_interruptions() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    history = History()

    def complete(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0, 1)

    study.optimize(complete, n_trials=2)
    for _ in range(2):  # trial 2 is interrupted, and so is the first trial that repeats it
        study.ask()
        retry_interrupted(study)
    study.optimize(complete, n_trials=3)
    assert [t.number for t in study.trials if t.state == TrialState.COMPLETE] == [0, 1, 4, 5, 6]
    history.update(study)
    assert history.numbers.tolist() == [0, 1, 2, 3, 4]
    assert [history.position(trial) for trial in study.trials] == [0, 1, 2, 2, 2, 3, 4]
