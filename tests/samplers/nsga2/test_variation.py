from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.samplers import RandomSampler

from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.features._mask_sampling import raw_from_weights, weights_from_raw
from optuna_mofs.features._representation import (
    FilterEnsembleFeatures,
    FilterFeatures,
    MaskFeatures,
    SingleFilterFeatures,
)
from optuna_mofs.history._history import History
from optuna_mofs.samplers import FilterEnsembleNSGA2Sampler
from optuna_mofs.samplers.nsga2._variation import (
    Configuration,
    MixedVariation,
    NSGA2Note,
    change_exception,
    change_rule,
)
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.testing.problems import PROBLEMS, _table, make_study


def read(study: optuna.Study) -> History:
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def test_a_trial_of_another_sampler_has_default_values() -> None:
    study = make_study("packed", sampler=RandomSampler(seed=0))
    study.optimize(PROBLEMS["packed"], n_trials=1)
    found = Configuration.of_trial(read(study), 0)
    assert found.raw.tolist() == [0.5, 0.5]
    assert found.weights.tolist() == [0.5, 0.5]
    assert (found.note.step_size, found.note.switch_prob) == (0.1, 0.1)
    assert found.mask is not None
    assert found.mask.shape == (59,)


def test_strategy_parameters_are_read_from_the_note() -> None:
    sampler = FilterEnsembleNSGA2Sampler.from_paper(6, n_startup_trials=3, seed=0)
    study = make_study("packed", sampler=sampler)
    study.optimize(PROBLEMS["packed"], n_trials=12)
    history = read(study)
    for i in range(12):
        found = Configuration.of_trial(history, i)
        assert found.note == history.note(i, NSGA2Note)
        assert found.raw.tolist() == list(found.note.filter_weights)
        assert len(found.raw) == 2
        assert found.weights.sum() == pytest.approx(1)
    assert len({note.step_size for note in history.notes(NSGA2Note)}) > 1


def test_weights_of_other_filters_are_not_taken() -> None:
    study = make_study("packed", sampler=RandomSampler(seed=0))
    note = NSGA2Note(filter_weights=(0.1, 0.2, 0.3), step_size=0.25)

    def objective(trial: optuna.Trial) -> tuple[float, ...]:
        write_trial_attrs(trial.study, trial, system={NOTE: note.to_json()})
        return PROBLEMS["packed"](trial)

    study.optimize(objective, n_trials=1)
    found = Configuration.of_trial(read(study), 0)
    assert found.raw.tolist() == [0.5, 0.5]
    assert found.note.step_size == 0.25


def test_a_study_without_masks_has_no_filter_weights() -> None:
    study = make_study("mixed", sampler=RandomSampler(seed=0))
    study.optimize(PROBLEMS["mixed"], n_trials=1)
    found = Configuration.of_trial(read(study), 0)
    assert found.mask is None
    assert found.raw.shape == found.weights.shape == (0,)


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=7))
def test_raw_weights_are_the_inverse_of_weights(parts: list[float]) -> None:
    weights = np.array(parts) / sum(parts)
    raw = raw_from_weights(weights)
    assert ((raw >= 0) & (raw < 1)).all()
    np.testing.assert_allclose(weights_from_raw(raw), weights, rtol=1e-6)


# ---- rules --------------------------------------------------------------------------------------

RULES = [
    FilterEnsembleFeatures(),
    FilterEnsembleFeatures(redundancy_penalty=True),
    SingleFilterFeatures(),
    FilterEnsembleFeatures.from_paper(),
]
SPACE = {
    "C": FloatDistribution(1e-3, 1e3, log=True),
    "kind": CategoricalDistribution(("a", "b", "c")),
}


def rule_history(features: FilterFeatures | MaskFeatures, **options: object) -> History:
    table = _table(100)
    return History(StudyDescription(table, features.bind(table), **{"space": SPACE, **options}))  # type: ignore[arg-type]


def changed_columns(history: History, before: np.ndarray, after: np.ndarray) -> set[str]:
    return {name for name, is_new in zip(history.space.names, before != after) if is_new}


@pytest.mark.parametrize("features", RULES, ids=lambda f: f"{f.kind} {f.scale} {f.needs_similar}")
@settings(max_examples=30)
@given(seed=st.integers(0, 9999))
def test_an_operator_changes_only_its_part_of_the_rule(
    features: FilterFeatures, seed: int
) -> None:
    history = rule_history(features)
    rng = np.random.default_rng(seed)
    row, other = history.space.sample(rng, 2)
    before = row.copy(), other.copy()
    rule = {name for name, is_rule in zip(history.space.names, history.rule_columns) if is_rule}
    allowed = {
        "": set(),
        "add_drop": {"fraction"},
        "filter_ensemble": rule - {"fraction"},
        "crossover": set(history.space.names),
        "resample": set(history.space.names),
    }
    for operator, columns in allowed.items():
        made = change_rule(rng, history, operator, row, other, 5.0)
        assert changed_columns(history, row, made) <= columns
        assert ((made >= 0) & (made <= np.where(history.space.categorical, 2, 1))).all()
    np.testing.assert_array_equal([row, other], before)


def test_steps_of_the_number_of_features_are_small_and_stay_inside() -> None:
    history = rule_history(FilterEnsembleFeatures())
    j = history.space.names.index("fraction")
    rng = np.random.default_rng(0)
    row = np.full(len(history.space), 0.5)
    steps = [change_rule(rng, history, "add_drop", row, row, 5.0)[j] - 0.5 for _ in range(500)]
    assert np.mean(steps) == pytest.approx(0, abs=0.01)
    assert np.std(steps) == pytest.approx(0.08, abs=0.01)
    # At an end of the range no step is lost.
    row[j] = 0.0
    ends = [change_rule(rng, history, "add_drop", row, row, 5.0)[j] for _ in range(100)]
    assert min(ends) > 0


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        # A filter is named again, which may be the same.
        (SingleFilterFeatures(), {"filter": 0.5}),
        (FilterEnsembleFeatures(), {"weight_good": 0.5, "weight_poor": 0.5}),
        (
            FilterEnsembleFeatures(redundancy_penalty=True),
            {"weight_good": 0.35, "weight_poor": 0.35, "redundancy_penalty": 0.35},
        ),
    ],
)
def test_weights_are_drawn_again_with_a_probability(
    features: FilterFeatures, expected: dict[str, float]
) -> None:
    history = rule_history(features)
    rng = np.random.default_rng(0)
    row = history.space.sample(rng)[0]
    made = [change_rule(rng, history, "filter_ensemble", row, row, 5.0) for _ in range(600)]
    share = dict(zip(history.space.names, (np.array(made) != row).mean(axis=0)))
    for name in history.space.names:
        assert share[name] == pytest.approx(expected.get(name, 0.0), abs=0.06), name


def test_resampled_rules_are_uniform() -> None:
    history = rule_history(FilterEnsembleFeatures())
    rng = np.random.default_rng(0)
    row = np.full(len(history.space), 0.5)
    made = np.array([change_rule(rng, history, "resample", row, row, 5.0) for _ in range(500)])
    rules = made[:, history.rule_columns]
    assert rules.mean(axis=0) == pytest.approx(np.full(rules.shape[1], 0.5), abs=0.05)


def only(**probs: float) -> MixedVariation:
    """Return a variation in which only the named operators have a probability."""
    none = {
        f"{name}_prob": 0.0
        for name in (
            "mask_crossover",
            "filter_ensemble",
            "add_drop",
            "resample",
            "gaussian",
            "sbx",
        )
    }
    return MixedVariation(**{**none, **{f"{name}_prob": p for name, p in probs.items()}})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("operators", "name", "columns"),
    [
        ({"add_drop": 1.0}, "add_drop", {"fraction"}),
        ({"filter_ensemble": 1.0}, "filter_ensemble", {"weight_good", "weight_poor"}),
        ({"mask_crossover": 1.0}, "crossover", {"fraction", "weight_good", "weight_poor"}),
        ({"resample": 1.0}, "resample", {"fraction", "weight_good", "weight_poor"}),
        # Operators of hyperparameters leave the rule as it is.
        ({"gaussian": 1.0}, "gaussian", {"C", "kind"}),
        ({"sbx": 1.0}, "sbx", {"C", "kind"}),
        ({"add_drop": 1.0, "gaussian": 1.0}, "add_drop+gaussian", {"fraction", "C", "kind"}),
    ],
)
def test_a_child_changes_by_its_operators_only(
    operators: dict[str, float], name: str, columns: set[str]
) -> None:
    history = rule_history(FilterEnsembleFeatures())
    rng = np.random.default_rng(0)
    seen: set[str] = set()
    for _ in range(60):
        rows = history.space.sample(rng, 2)
        first, second = (Configuration(row, None, np.zeros(0)) for row in rows)
        child, operator, crossed = only(**operators)(rng, history, first, second)
        assert operator == name
        assert crossed == (name in ("crossover", "sbx"))
        assert child.mask is None
        seen |= changed_columns(history, first.row, child.row)
    assert seen == columns


def test_every_child_of_a_rule_has_an_operator() -> None:
    for features in RULES[:3]:
        for space in (SPACE, {}):
            history = rule_history(features, space=space)
            rng = np.random.default_rng(0)
            operators = set()
            for _ in range(100):
                rows = history.space.sample(rng, 2)
                first, second = (Configuration(row, None, np.zeros(0)) for row in rows)
                operators.add(MixedVariation()(rng, history, first, second)[1])
            sets = {"crossover", "filter_ensemble", "add_drop", "resample"}
            assert sets <= operators
            assert any("gaussian" in operator for operator in operators) == bool(space)
            assert "copy" not in operators


def test_what_a_parent_lacks_of_a_rule_is_drawn() -> None:
    history = rule_history(FilterEnsembleFeatures())
    rng = np.random.default_rng(0)
    for operator in ("mask_crossover", "filter_ensemble", "add_drop", "gaussian"):
        empty = Configuration(np.full(len(history.space), np.nan), None, np.zeros(0))
        child, _, _ = only(**{operator: 1.0})(rng, history, empty, empty)
        assert not np.isnan(child.row).any()


def test_an_exception_changes_one_feature_of_the_set_or_is_removed() -> None:
    history = rule_history(FilterEnsembleFeatures(exceptions=2))
    assert history.described is not None
    representation = history.described.representation
    assert representation is not None
    rng = np.random.default_rng(0)
    none = history.space.encode({"exception_1": 0, "exception_2": 0, "fraction": 0.3})
    row = np.where(np.isnan(none), history.space.sample(rng)[0], none)
    rule = representation.choose(history.space.decode(row))
    differences = []
    for _ in range(200):
        made = change_exception(rng, history, row, "exception_1")
        assert changed_columns(history, row, made) <= {"exception_1"}
        mask = representation.choose(history.space.decode(made))
        differences.append(int(mask.sum()) - int(rule.sum()))
        assert np.count_nonzero(mask != rule) <= 1
    # A quarter removes an exception, of which there is none; the others add or drop a feature.
    assert differences.count(0) == pytest.approx(50, abs=20)
    assert differences.count(1) == pytest.approx(75, abs=20)


def test_exceptions_come_from_one_parent_and_a_new_rule_has_none() -> None:
    history = rule_history(FilterEnsembleFeatures(exceptions=2))
    j = history.space.names.index("exception_1")
    rng = np.random.default_rng(0)
    first, second = history.space.sample(rng, 2)
    crossed = [change_rule(rng, history, "crossover", first, second, 5.0)[j] for _ in range(50)]
    assert set(crossed) == {first[j], second[j]}
    for _ in range(5):
        made = change_rule(rng, history, "resample", first, second, 5.0)
        assert history.space.decode(made)["exception_1"] == 0
