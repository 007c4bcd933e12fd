from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import RandomSampler
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    LexiFlowSampler,
    MOEADSampler,
)
from optuna_mofs.features._mask_sampling import weights_from_raw
from optuna_mofs.features._representation import (
    FilterEnsembleFeatures,
    FilterFeatures,
    MaskFeatures,
    Representation,
    SingleFilterFeatures,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._initial_design import (
    RandomDesign,
    gower_distances,
    latin_hypercube,
    near_defaults,
    rule_size,
    spread_size,
    thin,
    thinned_design,
    with_empty_set,
)
from optuna_mofs.study._description import PER_FEATURE, MeasureDescription, StudyDescription
from optuna_mofs.testing.problems import _table, make_study, mixed


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(0, 6), st.integers(0, 99))
def test_one_point_in_each_slice(count: int, d: int, seed: int) -> None:
    design = latin_hypercube(np.random.default_rng(seed), count, d)
    assert design.shape == (count, d)
    for column in np.floor(design * count).astype(int).T:
        assert sorted(column) == list(range(count))


def test_gower_by_hand() -> None:
    rows = np.array([[0.0, 0.2, np.nan], [2.0, 0.7, np.nan], [2.0, np.nan, 0.5]])
    found = gower_distances(rows, np.array([True, False, False]))
    assert np.isclose(found[0, 1], (1 + 0.5) / 2)  # the third is inactive in both
    assert np.isclose(found[1, 2], (0 + 1 + 1) / 3)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 0)


@settings(max_examples=25)
@given(st.integers(3, 30), st.integers(1, 30), st.integers(0, 99))
def test_thinning_drops_one_of_the_closest_pair(count: int, keep: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.random((count, 2))
    apart = gower_distances(points, np.zeros(2, dtype=bool))
    kept = thin(np.random.default_rng(seed), apart, keep)
    assert len(kept) == min(count, keep)
    # Literally: search all pairs, toss the same coin.
    coins = np.random.default_rng(seed).random(count) < 0.5
    alive = list(range(count))
    for step in range(count - keep):
        gaps = apart[np.ix_(alive, alive)] + np.diag(np.full(len(alive), np.inf))
        closest = gaps.min()
        pair = {alive[i] for i in np.argwhere(gaps == closest)[0]}
        gone = (pair - set(kept)) or pair
        assert gone & set(alive)
        first = min(pair)
        alive.remove(max(pair) if coins[step] else first)
    assert list(kept) == alive


def test_thinned_design_is_spread_better_than_chance() -> None:
    def sample(rng: np.random.Generator, count: int) -> np.ndarray:
        return rng.random((count, 3))

    def least(rows: np.ndarray) -> float:
        apart = gower_distances(rows, np.zeros(3, dtype=bool))
        return float(apart[~np.eye(len(rows), dtype=bool)].min())

    rng = np.random.default_rng(0)
    thinned = thinned_design(rng, sample, np.zeros(3, dtype=bool), 20)
    assert len(thinned) == 20
    assert least(thinned) > 2 * np.mean([least(rng.random((20, 3))) for _ in range(20)])


def with_features(table: FeatureTable) -> History:
    return History(StudyDescription(table, MaskFeatures(form="packed").bind(table)))


def test_mask_samplers_take_turns_by_trial_number() -> None:
    design = RandomDesign(("bernoulli", "geometric"))
    history = with_features(_table(60))
    made = [design(np.random.default_rng(0), history, number) for number in range(4)]
    names = [proposal.note.operator for proposal in made]
    assert names == ["initial_bernoulli", "initial_geometric"] * 2
    rng = np.random.default_rng(0)
    sizes = [design(rng, history, n).mask.sum() for n in range(40)]  # type: ignore[union-attr]
    assert np.mean(sizes[::2]) > 25
    assert np.mean(sizes[1::2]) < 8


def test_filter_weights_are_uniform_on_the_simplex() -> None:
    history, design = with_features(_table(60)), RandomDesign(("ensemble",))
    rng = np.random.default_rng(0)
    weights = np.array(
        [
            weights_from_raw(np.array(design(rng, history, n).note.filter_weights))
            for n in range(600)
        ]
    )
    assert weights.sum(axis=1) == pytest.approx(1)
    # Of two weights each is uniform.
    assert np.quantile(weights[:, 0], [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.06)


def test_a_random_design_without_filters() -> None:
    history = with_features(FeatureTable(names=tuple(f"f{j}" for j in range(50))))
    for number in range(6):
        made = RandomDesign()(np.random.default_rng(number), history, number)
        assert made.note.filter_weights == ()
        assert made.mask is not None
        assert made.mask.shape == (50,)


def test_a_random_design_without_features() -> None:
    study = make_study("mixed", sampler=RandomSampler(seed=0))
    study.optimize(mixed, n_trials=3)
    history = History()
    history.update(study)
    made = RandomDesign()(np.random.default_rng(0), history, 3)
    assert made.note.operator == "random"
    assert made.mask is None
    assert set(history.space.decode(made.row)) == set(study.trials[0].params)


def test_hyperparameters_are_uniform() -> None:
    study = make_study("mixed", sampler=RandomSampler(seed=0))
    study.optimize(mixed, n_trials=3)
    history = History()
    history.update(study)
    rng = np.random.default_rng(0)
    rows = np.array([RandomDesign()(rng, history, n).row for n in range(400)])
    numbers = rows[:, ~history.space.categorical]
    assert numbers.mean(axis=0) == pytest.approx(np.full(numbers.shape[1], 0.5), abs=0.06)
    assert numbers.std(axis=0) == pytest.approx(
        np.full(numbers.shape[1], 1 / np.sqrt(12)), abs=0.03
    )


def test_unknown_mask_samplers_raise() -> None:
    message = r"mask sampler must be one of .*Did you mean 'ensemble'"
    with pytest.raises(ValueError, match=message):
        RandomDesign(("ensembel",))


# ---- numbers of features of rules ---------------------------------------------------------------

BOTH = (MeasureDescription("error"), MeasureDescription("fraction"))
LOG = FloatDistribution(1e-3, 1e3, log=True)
SPACE: dict[str, BaseDistribution] = {
    "C": LOG,
    "depth": IntDistribution(1, 16),
    "gamma": LOG,
    "kernel": CategoricalDistribution(("rbf", "linear", "poly")),
    "other": FloatDistribution(0, 1),
}
DEFAULTS = {"C": 1.0, "depth": 4, "gamma": PER_FEATURE, "kernel": "linear"}


def rule_history(
    features: Representation | None = None,
    p: int = 200,
    measures: tuple[MeasureDescription, ...] = BOTH,
    **options: Any,
) -> History:
    table = _table(p)
    features = FilterEnsembleFeatures() if features is None else features
    described = StudyDescription(table, features.bind(table), SPACE, measures, **options)
    return History(described)


def sizes_of(history: History, numbers: range) -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = history.space.sample(rng, len(numbers))
    return np.array(
        [rule_size(history, spread_size(r, history, n)) for r, n in zip(rows, numbers)]
    )


@pytest.mark.parametrize(
    "features",
    [FilterEnsembleFeatures(), SingleFilterFeatures(), FilterEnsembleFeatures.from_paper()],
)
@pytest.mark.parametrize(("measures", "expected"), [(BOTH, [1]), (BOTH[:1], []), ((), [])])
def test_the_second_trial_of_several_objectives_has_no_features(
    features: FilterFeatures, measures: tuple[MeasureDescription, ...], expected: list[int]
) -> None:
    sizes = sizes_of(rule_history(features, measures=measures), range(200))
    assert np.flatnonzero(sizes == 0).tolist() == expected
    assert sizes.max() > 190


def test_numbers_of_features_cover_the_logarithmic_scale_evenly() -> None:
    history = rule_history()
    fraction = history.space.names.index("fraction")
    row = np.full(len(history.space), 0.25)
    at = np.array([spread_size(row, history, n)[fraction] for n in range(2, 34)])
    one = history.space.encode({"fraction": 1 / 199})[fraction]
    unit = np.sort((at - one) / (1 - one))
    # Each of 16 slices has one to three of the 32, where a random slice is empty in one of eight.
    counts = np.histogram(unit, bins=16, range=(0, 1))[0]
    assert 1 <= counts.min() <= counts.max() <= 3
    assert np.diff(unit).max() < 0.06
    # On this scale, half of the sets have at most the square root of all features.
    sizes = sizes_of(history, range(2, 102))
    assert np.mean(sizes <= 14) == pytest.approx(0.5, abs=0.05)


def test_only_the_fraction_is_changed() -> None:
    history = rule_history()
    row = history.space.sample(np.random.default_rng(0))[0]
    before = row.copy()
    spread = spread_size(row, history, 5)
    changed = [name for name, is_new in zip(history.space.names, spread != row) if is_new]
    assert changed == ["fraction"]
    np.testing.assert_array_equal(row, before)


def test_other_studies_have_no_number_of_features_to_spread() -> None:
    study = make_study("mixed", sampler=RandomSampler(seed=0))
    study.optimize(mixed, n_trials=1)
    no_description = History()
    no_description.update(study)
    for history in (no_description, with_features(_table(60)), History()):
        row = np.full(len(history.space), 0.25)
        np.testing.assert_array_equal(spread_size(row, history, 1), row)
        assert rule_size(history, row) == 0


def test_a_row_without_a_fraction_has_no_features() -> None:
    history = rule_history()
    row = np.full(len(history.space), 0.9)
    assert rule_size(history, row) > 50
    row[history.space.names.index("fraction")] = np.nan
    assert rule_size(history, row) == 0


@pytest.mark.parametrize(
    "features", [FilterEnsembleFeatures(), FilterEnsembleFeatures.from_paper()]
)
def test_the_smallest_set_of_a_design_becomes_the_empty_one(features: FilterFeatures) -> None:
    history = rule_history(features)
    rows = history.space.sample(np.random.default_rng(0), 12)
    rows[:, history.space.names.index("fraction")] = np.linspace(0.9, 0.3, 12)
    before = rows.copy()
    made = with_empty_set(rows, history)
    np.testing.assert_array_equal(rows, before)
    assert np.flatnonzero((made != rows).any(axis=1)).tolist() == [11]
    sizes = [rule_size(history, row) for row in made]
    assert sizes.index(0) == 11
    assert sizes.count(0) == 1


def test_designs_of_other_studies_stay_as_they_are() -> None:
    for history in (rule_history(measures=BOTH[:1]), rule_history(MaskFeatures()), History()):
        rows = np.full((4, len(history.space)), 0.5)
        assert with_empty_set(rows, history) is rows


# ---- hyperparameters near the defaults ----------------------------------------------------------


def rows_near(history: History, size: int = 4, count: int = 300) -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = history.space.sample(rng, count)
    return np.array([near_defaults(rng, history, row, size, n) for n, row in enumerate(rows)])


@pytest.mark.parametrize("features", [FilterEnsembleFeatures(), MaskFeatures()])
def test_two_of_three_trials_are_near_the_defaults(features: Representation) -> None:
    history = rule_history(features, defaults=DEFAULTS)
    rng = np.random.default_rng(0)
    for number in range(12):
        row = history.space.sample(rng)[0]
        made = near_defaults(rng, history, row, 4, number)
        changed = {name for name, is_new in zip(history.space.names, made != row) if is_new}
        # A category may be the default already.
        expected = set() if number % 3 == 0 else set(DEFAULTS)
        assert changed | {"kernel"} == expected | {"kernel"}


def test_numbers_are_near_and_categories_are_exact() -> None:
    history = rule_history(defaults=DEFAULTS)
    names = history.space.names
    made = rows_near(history)
    near = np.arange(len(made)) % 3 > 0
    kernel = made[:, names.index("kernel")]
    assert (kernel[near] == 1.0).all()
    assert len(set(kernel[~near])) == 3
    for name, default in [("C", 1.0), ("depth", 4), ("gamma", 1 / 4)]:
        center = history.space.encode({name: default})[names.index(name)]
        away = made[near, names.index(name)] - center
        assert away.mean() == pytest.approx(0, abs=0.02)
        assert away.std() == pytest.approx(0.1, abs=0.015)
    # All values are still possible, and those without a default are uniform.
    assert ((made >= 0) & (made <= np.where(history.space.categorical, 2, 1))).all()
    assert made[near, names.index("other")].std() == pytest.approx(1 / np.sqrt(12), abs=0.03)


@settings(max_examples=30)
@given(st.integers(0, 5000))
def test_a_default_per_feature_depends_on_the_number_of_features(size: int) -> None:
    history = rule_history(defaults={"gamma": PER_FEATURE})
    j = history.space.names.index("gamma")
    center = history.space.encode({"gamma": 1 / max(1, size)})[j]
    near = rows_near(history, size, 90)[np.arange(90) % 3 > 0, j]
    # The smallest values of a study of 5000 features are beyond the range, and fold back.
    assert np.median(near) == pytest.approx(max(center, 0.06), abs=0.06)


def test_a_default_at_the_end_of_the_range_is_approached_from_inside() -> None:
    history = rule_history(defaults={"C": 1e-3})
    near = rows_near(history)[np.arange(300) % 3 > 0, history.space.names.index("C")]
    assert near.min() > 0
    assert np.mean(near < 0.2) > 0.9


def test_a_missing_parameter_with_a_default_gets_it_and_another_stays_missing() -> None:
    history = rule_history(defaults={"C": 1.0})
    row = np.full(len(history.space), np.nan)
    made = near_defaults(np.random.default_rng(0), history, row, 3, 1)
    assert set(history.space.decode(made)) == {"C"}


def test_a_default_outside_the_distribution_is_ignored() -> None:
    history = rule_history(defaults={"kernel": "sigmoid", "unknown": 3.0, "C": "text"})
    rng = np.random.default_rng(0)
    row = history.space.sample(rng)[0]
    np.testing.assert_array_equal(near_defaults(rng, history, row, 3, 1), row)


def test_without_defaults_no_random_number_is_drawn() -> None:
    rng, other = np.random.default_rng(0), np.random.default_rng(0)
    row = np.full(len(rule_history().space), 0.5)
    assert near_defaults(rng, rule_history(), row, 3, 1) is row
    assert rng.random() == other.random()


# ---- the random design --------------------------------------------------------------------------


def test_a_random_design_of_rules_spreads_sizes_and_is_near_the_defaults() -> None:
    history = rule_history(defaults=DEFAULTS)
    names = history.space.names
    rng = np.random.default_rng(0)
    made = [RandomDesign()(rng, history, number) for number in range(120)]
    assert all(proposal.mask is None for proposal in made)
    rows = np.array([proposal.row for proposal in made])
    sizes = np.array([rule_size(history, row) for row in rows])
    np.testing.assert_array_equal(sizes, sizes_of(history, range(120)))
    near = np.arange(120) % 3 > 0
    # The kernel width follows the number of features of its own trial.
    logs = np.log(history.space.values("gamma", rows)[near])
    expected = np.log(1 / np.maximum(1, sizes[near]))
    assert np.corrcoef(logs, expected)[0, 1] > 0.6
    assert (rows[near, names.index("kernel")] == 1.0).all()
    # Every second rule follows one filter, each in turn; the weights of the others are random.
    columns = [j for j, name in enumerate(names) if name.startswith("weight_")]
    single, drawn = rows[::2][:, columns], rows[1::2][:, columns]
    assert (np.sort(single, axis=1)[:, -1] == 1).all()
    assert (single.sum(axis=1) == 1).all()
    assert len({row.tobytes() for row in single}) == len(columns)
    assert drawn.std() == pytest.approx(1 / np.sqrt(12), abs=0.04)


def test_a_random_design_of_mixtures_of_filters_only() -> None:
    history, rng = rule_history(), np.random.default_rng(0)
    columns = [j for j, n in enumerate(history.space.names) if n.startswith("weight_")]
    design = RandomDesign(single_filters=False)
    weights = np.array([design(rng, history, number).row[columns] for number in range(40)])
    assert weights.max() < 1


def test_a_kernel_width_per_feature_of_a_mask() -> None:
    history = rule_history(MaskFeatures(), defaults={"gamma": PER_FEATURE})
    rng = np.random.default_rng(0)
    made = [RandomDesign()(rng, history, number) for number in range(90)]
    sizes = np.array([max(1, proposal.mask.sum()) for proposal in made])  # type: ignore[union-attr]
    gammas = history.space.values("gamma", np.array([proposal.row for proposal in made]))
    near = np.arange(90) % 3 > 0
    away = np.log10(gammas * sizes)
    # A tenth of six powers of ten.
    assert np.median(np.abs(away[near])) < 0.8 < np.median(np.abs(away[~near]))


@pytest.mark.parametrize("features", [FilterEnsembleFeatures(), MaskFeatures()])
def test_a_plain_design_is_random_throughout(features: Representation) -> None:
    history = rule_history(features, defaults=DEFAULTS)
    for number in range(6):
        made = RandomDesign(plain=True)(np.random.default_rng(number), history, number)
        drawn = history.space.sample(np.random.default_rng(number))[0]
        np.testing.assert_array_equal(made.row, drawn)


def test_a_given_row_is_used_where_the_trial_is_not_near_the_defaults() -> None:
    history = rule_history(MaskFeatures(), defaults=DEFAULTS)
    row = np.full(len(history.space), 0.25)
    made = [RandomDesign()(np.random.default_rng(0), history, n, row).row for n in range(3)]
    np.testing.assert_array_equal(made[0], row)
    assert all((near != row).any() for near in made[1:])


# ---- samplers that share it ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MOEADSampler, LexiFlowSampler, FilterEnsembleNSGA2Sampler])
@pytest.mark.parametrize("representation", ["mask", "filter_ensemble"])
def test_samplers_start_near_the_defaults_of_the_estimator(
    kind: type[HistorySampler], representation: str
) -> None:
    X, y = load_wine(return_X_y=True)
    objective = FeatureSelectionObjective(
        GaussianNB(var_smoothing=1e-6),
        X[::4],
        y[::4],
        space={"var_smoothing": FloatDistribution(1e-12, 1.0, log=True)},
        representation=representation,
        filters=["anova_f", "auc"],
        holdout=None,
    )
    study = objective.create_study(sampler=kind(seed=3))
    study.optimize(objective, n_trials=15)
    logs = np.log10([trial.params["var_smoothing"] for trial in study.trials])
    is_near = np.arange(15) % 3 > 0
    assert np.median(np.abs(logs[is_near] + 6)) < 1.5 < np.median(np.abs(logs[~is_near] + 6))
    assert study.trials[1].user_attrs["n_features"] == 0
    assert len({trial.user_attrs["n_features"] for trial in study.trials}) > 6
