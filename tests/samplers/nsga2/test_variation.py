from __future__ import annotations

import dataclasses

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
from optuna_mofs.samplers._mask_operators import FilterEnsembleMutation
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
        found = Configuration.of_trial(history, i, constant_filter=True)
        assert found.note == history.note(i, NSGA2Note)
        assert found.raw.tolist() == list(found.note.filter_weights)
        assert len(found.raw) == 3  # two filters and the constant one
        assert found.weights.sum() == pytest.approx(1)
    assert len({history.note(i, NSGA2Note).step_size for i in range(12)}) > 1


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


# ---- the paper's variation ----------------------------------------------------------------------


def literal_child(
    rng: np.random.Generator, history: History, parents: list[Configuration]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
    """Transcribe Table 1 and sections 4.3.4 and 5.3 of Binder et al. (2020), gene by gene.

    Returns hyperparameters, features, raw filter weights, step size and switching probability.
    """
    a, b = parents
    x, s, u = a.row.copy(), a.mask.copy(), a.raw.copy()  # type: ignore[union-attr]
    sigma, switch = a.note.step_size, a.note.switch_prob
    categorical, d = history.space.categorical, len(a.row)

    def sbx(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        u, flips = rng.random(len(first)), rng.random(len(first))
        child = np.empty(len(first))
        for j in range(len(first)):
            beta = (2 * u[j]) ** (1 / 6) if u[j] < 0.5 else (1 / (2 * (1 - u[j]))) ** (1 / 6)
            sign = 1 if flips[j] < 0.5 else -1
            child[j] = (first[j] + second[j]) / 2 + sign * beta * (first[j] - second[j]) / 2
        return child.clip(0, 1)

    if rng.random() < 0.7:
        other = rng.random(len(s)) < 0.5
        s = np.array([b.mask[j] if other[j] else s[j] for j in range(len(s))])  # type: ignore[index]
        numbers = sbx(a.row, b.row)
        other = rng.random(d) < 0.5
        for j in range(d):
            x[j] = (b.row[j] if other[j] else a.row[j]) if categorical[j] else numbers[j]
        u = sbx(a.raw, b.raw)
        sigma = (a.note.step_size + b.note.step_size) / 2
        switch = (a.note.switch_prob + b.note.switch_prob) / 2
    if rng.random() < 0.3:
        n_categories = sum(categorical)
        sigma *= np.exp(rng.standard_normal() / np.sqrt(2 * (d - n_categories + len(u))))
        tau = 1 / np.sqrt(2 * n_categories)
        switch = 1 / (1 + (1 - switch) / switch * np.exp(-tau * rng.standard_normal()))
        switch = min(max(switch, 1 / (3 * n_categories)), 0.5)
        steps, chosen = rng.standard_normal(d), rng.random(d) < 0.1
        draws, switched = rng.random(d), rng.random(d) < switch
        for j in range(d):
            if categorical[j]:
                others = [k for k in range(int(history.space.cells[j])) if k != x[j]]
                if switched[j]:
                    x[j] = others[int(draws[j] * len(others))]
            elif chosen[j]:
                x[j] = folded(x[j] + sigma * steps[j])
        steps, chosen = rng.standard_normal(len(u)), rng.random(len(u)) < 0.1
        u = np.array([folded(v + sigma * z) if c else v for v, z, c in zip(u, steps, chosen)])
        w = -np.log(1 - u.clip(max=1 - 1e-12))
        w /= w.sum()
        ranks = np.vstack([history.table.free_ranks, np.full(len(s), 0.5)])  # type: ignore[union-attr, list-item]
        S, p = s.sum(), len(s)
        erased, drawn = rng.random(p) < 0.1, rng.random(p)
        for j in range(p):
            EF = sum(w[m] * ranks[m, j] for m in range(len(w)))
            pi = EF * (S + 1) / (EF * S + (1 - EF) * (p - S) + 1)  # eq. 2
            if erased[j]:
                s[j] = drawn[j] < pi
    return x, s, u, sigma, switch


def folded(value: float) -> float:
    value %= 2
    return value if value <= 1 else 2 - value


def test_children_are_those_of_table_1() -> None:
    history = rule_history(MaskFeatures(form="packed"))
    variation = FilterEnsembleNSGA2Sampler.from_paper().settings.variation
    rng, n_changed, n_filters = np.random.default_rng(0), 0, len(_table(100).filters) + 1
    for seed in range(200):
        parents = []
        for _ in range(2):
            note = NSGA2Note(step_size=rng.uniform(0.001, 3), switch_prob=rng.uniform(0.05, 0.5))
            row, mask = history.space.sample(rng)[0], rng.random(99) < rng.random()
            parents.append(Configuration(row, mask, rng.random(n_filters), note))
        child, operator, _ = variation(np.random.default_rng(seed), history, *parents)
        x, s, u, sigma, switch = literal_child(np.random.default_rng(seed), history, parents)
        np.testing.assert_allclose(child.row, x, atol=1e-12)
        np.testing.assert_allclose(child.raw, u, atol=1e-12)
        assert child.mask is not None
        assert child.mask.tolist() == s.tolist()
        assert child.note.step_size == pytest.approx(sigma)
        assert child.note.switch_prob == pytest.approx(switch)
        n_changed += operator != "copy"
    assert 130 < n_changed < 180  # 1 - 0.3 * 0.7 of them


def test_the_constant_filter_lets_the_feature_that_all_rank_first_be_erased() -> None:
    history = rule_history(MaskFeatures(form="packed"))
    assert history.table is not None
    first = int(history.table.free_ranks.mean(axis=0).argmax())  # type: ignore[union-attr]
    ranks = np.zeros((2, 100))
    ranks[:, first] = 1.0
    table = dataclasses.replace(history.table, ranks=ranks)
    mask, weights = np.ones(99, dtype=bool), np.ones(3) / 3
    erase, rng = FilterEnsembleMutation(erase_prob=1.0), np.random.default_rng(0)
    assert all(erase(rng, mask, table, np.ones(2) / 2)[first] for _ in range(100))
    mask = np.arange(99) == first
    kept = [erase(rng, mask, table.with_constant_filter, weights)[first] for _ in range(200)]
    assert 0 < sum(kept) < 200
    assert table.with_constant_filter.with_constant_filter is table.with_constant_filter
