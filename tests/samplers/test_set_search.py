from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from optuna_mofs import (
    FeatureTable,
    FilterEnsembleFeatures,
    MaskFeatures,
    ModelTypeObjective,
    SingleFilterFeatures,
)
from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.features import Representation
from optuna_mofs.features._redundancy import Similarity
from optuna_mofs.history._history import History
from optuna_mofs.samplers._candidates import Candidates
from optuna_mofs.samplers._infill import starts_of
from optuna_mofs.samplers._set_search import FeatureSetSearch, _MaskMakers, selects_features
from optuna_mofs.samplers._training_data import TrainingData
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import suggest_mask
from tests.samplers.context import make_context


def table_of(
    p: int, *, n_filters: int = 2, fixed: tuple[int, ...] = (), costs: Any = None
) -> FeatureTable:
    """Features of which neighbors are similar, and of which the first filter ranks them down."""
    ranks = np.random.default_rng(0).random((n_filters, p))
    ranks[:1] = np.linspace(1, 0, p)
    others = np.clip(np.arange(p)[:, None] + [-1, 1], 0, p - 1)
    return FeatureTable(
        tuple(f"f{j}" for j in range(p)),
        filters=tuple(f"filter{i}" for i in range(n_filters)),
        ranks=ranks if n_filters else None,
        fixed=fixed,
        costs=costs,
        similar=Similarity(others, np.full(others.shape, 0.7)) if n_filters else None,
    )


SPACE = {
    "kind": CategoricalDistribution(["a", "b", "c"]),
    "n": IntDistribution(1, 9),
    "own_a": FloatDistribution(1e-3, 1e3, log=True),
    "own_b": FloatDistribution(0, 1),
}
ACTIVE_IF = {"own_a": ("kind", ["a"]), "own_b": ("kind", ["b"])}


def data_of(
    features: Representation, table: FeatureTable, *, has_space: bool = True
) -> TrainingData:
    """Return the training data of 15 random trials."""
    bound = features.bind(table)
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    hyperparameters: dict[str, Any] = {"space": SPACE, "active_if": ACTIVE_IF}
    StudyDescription(table, bound, **(hyperparameters if has_space else {})).write(study)

    def objective(trial: Trial) -> tuple[float, float]:
        mask, system = suggest_mask(trial, bound)
        write_trial_attrs(study, trial, system=system)
        if has_space:
            kind = trial.suggest_categorical("kind", ["a", "b", "c"])
            trial.suggest_int("n", 1, 9)
            if kind == "a":
                trial.suggest_float("own_a", 1e-3, 1e3, log=True)
            elif kind == "b":
                trial.suggest_float("own_b", 0, 1)
        return float(3 - mask[:3].sum()), float(mask.sum())

    study.optimize(objective, n_trials=15)
    return read(study)


def read(study: optuna.Study) -> TrainingData:
    history = History(StudyDescription.read(study))
    history.update(study)
    return TrainingData(make_context(history))


def first_features(candidates: Candidates) -> np.ndarray:
    """Return acquisition values: few features, but the first three, are best."""
    masks = candidates.masks_of(slice(None))
    assert masks is not None
    values: np.ndarray = masks.sum(axis=1) / 1e4 - masks[:, :3].sum(axis=1)
    return values


def search(
    data: TrainingData,
    acquisition: Callable[[Candidates], np.ndarray] = first_features,
    *,
    settings: FeatureSetSearch | None = None,
    seed: int = 0,
    n_starts: int = 5,
    **options: Any,
) -> tuple[Candidates, np.ndarray]:
    made = settings or FeatureSetSearch(n_sets=60)
    starts = starts_of(data, np.arange(min(n_starts, len(data.rows))))
    return made(np.random.default_rng(seed), data, acquisition, starts, **options)


def check(data: TrainingData, found: Candidates, values: np.ndarray) -> None:
    """Check that every candidate is a configuration of the study."""
    n, space = len(found), data.space
    assert n > 0
    assert values.shape == (n,)
    assert np.isfinite(values).all()
    assert found.rows.shape == (n, len(space))
    assert found.operators.shape == (n,)
    assert (found.parents >= 0).all()
    assert (found.parents < len(data.history)).all()
    # Hyperparameters: numbers in [0, 1], positions of choices, NaN exactly where inactive.
    numbers, choices = found.rows[:, ~space.categorical], found.rows[:, space.categorical]
    assert np.nanmin(numbers, initial=0.0) >= 0
    assert np.nanmax(numbers, initial=1.0) <= 1
    known = ~np.isnan(choices)
    assert (choices[known] % 1 == 0).all()
    assert ((choices < space.cells[space.categorical]) | ~known).all()
    np.testing.assert_array_equal(data.conditional.apply(found.rows), found.rows)
    # Feature sets.
    masks = found.masks_of(slice(None))
    assert masks is not None
    assert masks.dtype == bool
    if data.filters is not None:
        assert data.filters.complete(found.rows).all()
        np.testing.assert_array_equal(masks, data.filters(found.rows))
    else:
        assert data.history.table is not None
        assert masks.shape == (n, len(data.history.table.free))
    # They are encoded like those of trials.
    encoded = data.encode(found[: min(n, 20)])
    assert encoded.inputs.joined().shape[1] == data.trials.inputs.joined().shape[1]


RULES = {
    "ensemble": FilterEnsembleFeatures(redundancy_penalty=False),
    "penalty": FilterEnsembleFeatures(redundancy_penalty=True),
    "linear": FilterEnsembleFeatures.from_paper(),
    "exceptions": FilterEnsembleFeatures(redundancy_penalty=True, exceptions=2),
    "single": SingleFilterFeatures(),
}
MASKS = {"bits": MaskFeatures(form="bits"), "packed": MaskFeatures(form="packed")}
TABLES = {
    "plain": table_of(12),
    "one filter": table_of(12, n_filters=1),
    "fixed": table_of(12, fixed=(0, 5)),
    "costs": table_of(12, costs=np.arange(1.0, 13)),
    "one feature": table_of(1),
    "all fixed": table_of(2, fixed=(0, 1)),
    "many": table_of(3000),
}


@pytest.mark.parametrize("kind", list(TABLES))
@pytest.mark.parametrize("rule", list(RULES))
def test_candidates_of_rules_are_valid(rule: str, kind: str) -> None:
    data = data_of(RULES[rule], TABLES[kind])
    assert selects_features(data)
    found, values = search(data)
    check(data, found, values)
    assert set(found.operators) == {"add_drop", "filter_ensemble", "resample"}


@pytest.mark.parametrize("prefixes_only", [False, True])
@pytest.mark.parametrize("kind", [*TABLES, "no filters"])
@pytest.mark.parametrize("form", list(MASKS))
def test_candidates_of_masks_are_valid(form: str, kind: str, prefixes_only: bool) -> None:
    table = table_of(12, n_filters=0) if kind == "no filters" else TABLES[kind]
    if form == "bits" and kind == "many":
        pytest.skip("3,000 boolean parameters")
    data = data_of(MASKS[form], table)
    assert selects_features(data)
    found, values = search(data, prefixes_only=prefixes_only)
    check(data, found, values)
    made = {"prefix", "hyperparameters"}
    first = set(found.operators[: 3 * 60])
    assert first <= made if prefixes_only else made < set(found.operators)


def test_no_features_to_select() -> None:
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 0.0), n_trials=5)
    assert not selects_features(read(study))


@pytest.mark.parametrize("features", [RULES["ensemble"], MASKS["packed"]], ids=["rule", "mask"])
def test_masks_without_hyperparameters(features: Representation) -> None:
    data = data_of(features, TABLES["plain"], has_space=False)
    found, values = search(data)
    check(data, found, values)


@pytest.mark.parametrize("representation", ["mask", "filter_ensemble"])
def test_hyperparameters_of_learners(representation: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = make_classification(60, 12, random_state=0)
    C = FloatDistribution(1e-3, 1e3, log=True)
    objective = ModelTypeObjective(
        {
            "svm": (SVC(), {"C": C, "kernel": CategoricalDistribution(("rbf", "linear"))}),
            "line": (LogisticRegression(), {"C": C, "max_iter": IntDistribution(50, 99)}),
        },
        X,
        y,
        representation=representation,
        filters=["auc", "anova_f"],
        measures=["error", "fraction"],
        cv=2,
    )
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=8)
    data = read(study)
    found, values = search(data)
    check(data, found, values)
    assert len({data.space.decode(row)["learner"] for row in found.rows}) == 2
    for row in found.rows[::10]:
        params = data.space.decode(row)
        own = {name for name in params if name.startswith(("svm__", "line__"))}
        assert len(own) == 2
        assert {name.split("__")[0] for name in own} == {params["learner"]}


@pytest.mark.parametrize("features", [*RULES.values(), MASKS["packed"]], ids=[*RULES, "mask"])
def test_the_search_finds_the_best_sets(features: Representation) -> None:
    table = FeatureTable(
        tuple(f"f{j}" for j in range(40)),
        filters=("good", "bad"),
        ranks=np.linspace([1, 0], [0, 1], 40).T,
    )
    data = data_of(features, table)
    before = first_features(search(data)[0])
    for seed in range(3):
        found, values = search(data, settings=FeatureSetSearch(), seed=seed)
        best = found[[int(values.argmin())]]
        masks = best.masks_of(0)
        assert masks is not None
        assert masks[:3].all()
        assert masks.sum() <= 5
        assert values.min() <= before.min()


def test_the_search_finds_the_best_hyperparameters() -> None:
    data = data_of(MASKS["packed"], TABLES["plain"])
    names = data.space.names

    def acquisition(candidates: Candidates) -> np.ndarray:
        kind, x = (candidates.rows[:, names.index(name)] for name in ("kind", "own_b"))
        return np.where(kind == 1, (np.nan_to_num(x) - 0.63) ** 2, 1.0)

    for seed in range(3):
        _, values = search(data, acquisition, settings=FeatureSetSearch(), seed=seed)
        assert values.min() < 1e-3


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("features", [RULES["penalty"], MASKS["packed"]], ids=["rule", "mask"])
def test_a_share_of_the_hyperparameters_is_random(features: Representation, share: float) -> None:
    data = data_of(features, TABLES["plain"])
    settings = FeatureSetSearch(n_rounds=1, fresh_share=share)
    found, _ = search(data, settings=settings, n_starts=1)
    column = data.space.names.index("n")
    # All others are near the only start.
    far = np.abs(found.rows[:, column] - starts_of(data, np.array([0])).rows[0, column]) > 0.4
    assert (share == 0) == (far.mean() < 0.01)
    assert far.mean() <= share


@pytest.mark.parametrize("features", [RULES["penalty"], MASKS["packed"]], ids=["rule", "mask"])
def test_the_generator_decides(features: Representation) -> None:
    data = data_of(features, TABLES["plain"])
    one, same, other = (search(data, seed=seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.rows, same.rows)
    np.testing.assert_array_equal(one.masks_of(slice(None)), same.masks_of(slice(None)))
    assert one.rows.shape != other.rows.shape or (one.rows != other.rows).any()


@pytest.mark.parametrize("features", [RULES["penalty"], MASKS["packed"]], ids=["rule", "mask"])
def test_all_numbers_can_be_one(features: Representation) -> None:
    settings = FeatureSetSearch(n_parents=1, n_sets=1, n_sizes=1, n_rows=1, n_rounds=1)
    data = data_of(features, TABLES["plain"])
    check(data, *search(data, settings=settings, n_starts=1))


@pytest.mark.parametrize("name", ["n_parents", "n_sets", "n_sizes", "n_rows", "n_rounds"])
def test_invalid_settings_raise(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
        FeatureSetSearch(**{name: 0})


def test_later_rounds_are_made_from_the_best_candidates() -> None:
    data = data_of(MASKS["packed"], TABLES["plain"])
    calls: list[np.ndarray] = []

    def acquisition(candidates: Candidates) -> np.ndarray:
        calls.append(first_features(candidates))
        return calls[-1]

    search(data, acquisition, settings=FeatureSetSearch(n_rounds=3))
    means = [values.mean() for values in calls]
    assert len(means) == 3
    assert means[0] > means[1] > means[2]


# ---- masks --------------------------------------------------------------------------------------


def makers(parents: np.ndarray, table: FeatureTable, seed: int = 0) -> _MaskMakers:
    n = len(parents)
    starts = Candidates(np.zeros((n, 0)), np.arange(n)[:, None], np.full(n, ""), parents)
    return _MaskMakers(np.random.default_rng(seed), table, starts, 6, 0.1)


PARENTS = np.random.default_rng(5).random((4, 12)) < [[0.1], [0.4], [0.8], [1.0]]
ORIGIN = np.repeat(np.arange(4), 50)


def test_a_few_features_are_added_and_dropped() -> None:
    masks = makers(PARENTS, TABLES["plain"])._add_drop(ORIGIN)
    changed = (masks != PARENTS[ORIGIN]).sum(axis=1)
    assert changed.max() == 4
    assert (changed == 1).mean() > 0.4
    # A feature that is added and dropped again is no change.
    assert (changed == 0).mean() < 0.15
    # The full set only loses features at first, the empty one only gains them.
    assert (masks[ORIGIN == 3].sum(axis=1) < 12).mean() > 0.8
    empty = makers(PARENTS[:1] & False, TABLES["plain"])._add_drop(np.zeros(50, dtype=int))
    assert (empty.sum(axis=1) > 0).mean() > 0.7


def test_filters_say_what_is_added_and_dropped() -> None:
    table = table_of(12, n_filters=1)
    half = np.tile([True, False], 6)[None]
    masks = makers(half, table)._add_drop(np.zeros(400, dtype=int))
    added, dropped = (masks & ~half).sum(axis=0), (~masks & half).sum(axis=0)
    assert added[:6].sum() > 1.5 * added[6:].sum()
    assert dropped[:6].sum() < dropped[6:].sum() / 1.5


def test_dropped_features_leave_smaller_sets() -> None:
    masks = makers(PARENTS, TABLES["plain"])._drop(ORIGIN)
    old = PARENTS[ORIGIN]
    assert not (masks & ~old).any()
    assert (masks.sum(axis=1) < np.maximum(1, old.sum(axis=1))).all()
    assert len(np.unique(masks[ORIGIN == 3].sum(axis=1))) > 5


def test_crossover_takes_each_bit_from_a_parent() -> None:
    parents = PARENTS[:2]
    masks = makers(parents, TABLES["plain"])._crossover(np.zeros(60, dtype=int))
    assert (masks[:, parents.all(axis=0)]).all()
    assert not masks[:, ~parents.any(axis=0)].any()


def test_prefixes_have_at_least_one_feature_and_all_sizes() -> None:
    masks = makers(PARENTS, TABLES["plain"])._prefix(ORIGIN)
    sizes = masks.sum(axis=1)
    assert sizes.min() == 1
    assert sizes.max() == 12
    # Without filters, prefixes of random orders.
    unranked = makers(PARENTS, table_of(12, n_filters=0))._prefix(ORIGIN)
    assert (unranked.mean(axis=0) > 0.1).all()
    # With one filter and no similar features, the best ones in order.
    table = FeatureTable(tuple("abcd"), filters=("one",), ranks=np.linspace(1, 0, 4)[None])
    ordered = makers(PARENTS[:, :4], table)._prefix(ORIGIN)
    np.testing.assert_array_equal(ordered, np.arange(4) < ordered.sum(axis=1)[:, None])


@pytest.mark.parametrize("name", ["_prefix", "_resample", "_filter_ensemble", "_add_drop"])
def test_expensive_features_are_drawn_less(name: str) -> None:
    costs = np.where(np.arange(12) % 2, 30.0, 1.0)
    plain, dear = (
        getattr(makers(PARENTS, table_of(12, costs=given)), name)(ORIGIN)
        for given in (None, costs)
    )
    share = [masks[:, 1::2].sum() / masks.sum() for masks in (plain, dear)]
    assert share[1] < share[0] - 0.02


def test_the_parents_own_masks_are_tried_with_other_hyperparameters() -> None:
    sets = makers(PARENTS, TABLES["plain"])(40, {"crossover": 1.0})
    own = sets.operators == "hyperparameters"
    np.testing.assert_array_equal(sets.masks[own], PARENTS)
    assert sets.origin[own].tolist() == [0, 1, 2, 3]
    assert (sets.operators[~own] == "crossover").sum() == 40


@pytest.mark.parametrize("density", [0.002, 0.3, 1.0])
@pytest.mark.parametrize("n_filters", [0, 2])
def test_of_many_features_the_best_and_those_of_parents_are_changed(
    density: float, n_filters: int
) -> None:
    p = 1500
    parents = np.random.default_rng(1).random((3, p)) < density
    table = table_of(p, n_filters=n_filters)
    made = makers(parents, table)
    active = np.zeros(p, dtype=bool)
    active[made._active] = True
    assert active.sum() == 1000
    if table.ranks is not None:
        assert active[np.argsort(-table.ranks.max(axis=0))[:300]].all()
    if density < 0.1:
        assert active[parents.any(axis=0)].all()
    sets = made(100, {"prefix": 0.4, "resample": 0.3, "add_drop": 0.3})
    assert sets.masks.shape == (103, p)
    is_new = np.isin(sets.operators, ["prefix", "resample"])
    assert not sets.masks[is_new][:, ~active].any()
    changed = sets.masks != parents[sets.origin]
    assert not changed[~is_new][:, ~active].any()
    assert changed[sets.operators == "add_drop"].any(axis=1).mean() > 0.8
