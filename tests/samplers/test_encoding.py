from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import (
    FeatureSelectionObjective,
    FeatureTable,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    MaskFeatures,
    SingleFilterFeatures,
)
from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.features import Representation
from optuna_mofs.features._redundancy import Similarity
from optuna_mofs.features._representation import FilterFeatures
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.samplers._encoding import (
    FeatureSetEmbedding,
    FilterSets,
    RowEncoding,
    SurrogateEncoder,
    TriedFeatureSets,
    filter_sets,
)
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import selected_mask, suggest_mask


class Memory:
    """A study cache."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def __call__(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]


def study_of(features: str | None) -> tuple[optuna.Study, FeatureSelectionObjective]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = make_classification(60, 12, n_informative=4, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(),
        X,
        y,
        space={"var_smoothing": FloatDistribution(1e-9, 1.0, log=True)},
        representation=features,
        filters=["auc", "anova_f"],
        cv=2,
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=9)
    return study, objective


def history_of(study: optuna.Study) -> History:
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def encoder_of(history: History, *, by_distance: bool, kept: Any = None) -> SurrogateEncoder:
    filters = filter_sets(history)
    return SurrogateEncoder(history, filters, kept or Memory(), by_distance=by_distance)


def columns(study: optuna.Study, *, by_distance: bool, kept: Any = None) -> np.ndarray:
    """Return all trials as inputs of surrogates."""
    history = history_of(study)
    encoder = encoder_of(history, by_distance=by_distance, kept=kept)
    return encoder.of_trials(np.arange(len(history))).joined()


@pytest.mark.parametrize(
    ("features", "by_distance", "n_shared", "width", "shape"),
    [
        # One hyperparameter and a fraction, then the set; weights are hidden.
        ("filter_ensemble", True, 12, 3, 1 + 1 + 12),
        ("filter_ensemble", False, 0, 4, 1 + 1 + 2),
        ("single_filter", True, 12, 3, 1 + 1 + 12),
        # Two filters need one column.
        ("single_filter", False, 0, 3, 1 + 1 + 1),
        # The size, then the set; or a summary.
        ("mask", True, 12, 2, 1 + 1 + 12),
        ("mask", False, 0, 2, 1 + 2 + 2 + 2 + 12),
        (None, True, 0, 1, 1),
        (None, False, 0, 1, 1),
    ],
)
def test_columns_of_surrogates(
    features: str | None, by_distance: bool, n_shared: int, width: int, shape: int
) -> None:
    encoder = encoder_of(history_of(study_of(features)[0]), by_distance=by_distance)
    assert encoder.n_shared_columns == n_shared
    assert encoder.width == width
    inputs = encoder.of_trials(np.arange(9))
    assert inputs.joined().shape == (9, shape)
    assert (0 if inputs.sets is None else inputs.sets.shape[1]) == n_shared


@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_a_set_is_the_one_that_was_evaluated(features: str) -> None:
    study, _ = study_of(features)
    X = columns(study, by_distance=True)
    for trial, row in zip(study.trials, X):
        mask = selected_mask(study, trial)
        assert mask is not None
        assert (row[-12:] > 0).tolist() == mask.tolist()


@pytest.mark.parametrize(
    ("features", "by_distance", "kept"),
    [
        ("mask", False, "mask summaries"),
        ("filter_ensemble", True, "packed feature sets"),
        ("single_filter", True, "packed feature sets"),
    ],
)
def test_sets_of_trials_are_made_once(features: str, by_distance: bool, kept: str) -> None:
    study, objective = study_of(features)
    memory = Memory()
    first = columns(study, by_distance=by_distance, kept=memory)
    study.optimize(objective, n_trials=2)
    memory.kept[kept][0] *= 0
    second = columns(study, by_distance=by_distance, kept=memory)
    assert (second[0] != first[0]).any()  # as it was kept
    np.testing.assert_array_equal(second[1:9], first[1:])
    fresh = columns(study, by_distance=by_distance)
    np.testing.assert_array_equal(second[9:], fresh[9:])


SPACE = SearchSpace(
    {
        "kind": CategoricalDistribution(["a", "b", "c"]),
        "on": CategoricalDistribution([False, True]),
        "x": FloatDistribution(0, 1),
    }
)


def test_missing_numbers_stay_so_missing_categories_are_a_level() -> None:
    seen = np.array([[0, 1, 0.2], [2, 0, 0.6], [np.nan, np.nan, np.nan]])
    X = RowEncoding(SPACE, seen)(seen)
    assert np.isnan(X[2, 0])
    assert X[:, 1:].tolist() == [[1, 0, 0, 0, 1], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]]


def test_two_choices_need_one_column() -> None:
    seen = np.array([[0, 1, 0.2], [2, 0, 0.2]])
    X = RowEncoding(SPACE, seen)(seen)
    assert X.shape == (2, 1 + 3 + 1)
    assert X[:, 4].tolist() == [1, 0]


def table(p: int, filters: int = 3, seed: int = 0, fixed: tuple[int, ...] = ()) -> FeatureTable:
    """Features with ties among the ranks, each like four others or fewer."""
    rng = np.random.default_rng(seed)
    ranks = np.round(rng.random((filters, p)), 1 if seed % 2 else 3)
    others = rng.integers(p, size=(p, 4))
    shares = np.round(rng.random((p, 4)), 2) * (rng.random((p, 4)) < 0.8)
    # None is its own neighbor, and none is named twice.
    for j in range(p):
        first = np.unique(others[j], return_index=True)[1]
        shares[j] *= np.isin(np.arange(4), first) & (others[j] != j)
    return FeatureTable(
        tuple(f"x{j}" for j in range(p)),
        filters=tuple(f"f{i}" for i in range(filters)),
        ranks=ranks,
        fixed=fixed,
        similar=Similarity(others, shares),
    )


def space_of(chosen: FilterFeatures) -> SearchSpace:
    return SearchSpace({"C": FloatDistribution(0, 9), **chosen.distributions})


REPRESENTATIONS = [
    FilterEnsembleFeatures(),
    FilterEnsembleFeatures(redundancy_penalty=True),
    FilterEnsembleFeatures(redundancy_penalty=True, scale="linear"),
    FilterEnsembleFeatures.from_paper(),
    SingleFilterFeatures(),
    SingleFilterFeatures.from_paper(),
]


def test_distance_is_what_sets_have_in_common() -> None:
    masks = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    points = FeatureSetEmbedding.embed(masks)
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squares[0], [0, 1, 2, 1], atol=1e-6)


def test_of_many_features_those_that_a_filter_ranks_highest_are_embedded() -> None:
    features = table(900)
    embedding = FeatureSetEmbedding(features)
    assert len(embedding.features) == 500
    assert features.ranks is not None
    best_rank = features.ranks.max(axis=0)
    assert best_rank[embedding.features].min() >= np.delete(best_rank, embedding.features).max()
    assert len(FeatureSetEmbedding(FeatureTable(tuple(map(str, range(900))))).features) == 500


@pytest.mark.parametrize(
    "features", REPRESENTATIONS, ids=lambda f: f"{f.kind} {f.scale} {f.needs_similar}"
)
@settings(max_examples=25)
@given(p=st.integers(1, 32), seed=st.integers(0, 99), fixed=st.booleans())
def test_sets_are_those_that_the_objective_chooses(
    features: FilterFeatures, p: int, seed: int, fixed: bool
) -> None:
    names = (0, p - 1) if fixed and p > 2 else ()
    chosen = features.bind(table(p, seed=seed, fixed=names))
    space = space_of(chosen)
    rng = np.random.default_rng(seed)
    rows = space.sample(rng, 20)
    at = space.names.index("fraction")
    rows[:4, at] = [0, 1, 1 / p, 1 - 1 / p]
    # Raw weights of 0 and 1 are legal too.
    rows[4:8, 1:] = np.round(rows[4:8, 1:])
    sets = FilterSets(chosen, space)
    for row, found in zip(rows, sets(rows)):
        np.testing.assert_array_equal(found, chosen.choose(space.decode(row)))
    np.testing.assert_array_equal(sets.sizes(rows), sets(rows).sum(axis=1))


@pytest.mark.parametrize(
    "features",
    [*REPRESENTATIONS, FilterEnsembleFeatures(redundancy_penalty=True, exceptions=2)],
    ids=lambda f: f"{f.kind} {f.scale} {f.needs_similar} {f.exception_parameters}",
)
@settings(max_examples=15)
@given(p=st.sampled_from([1, 2, 7, 32, 50]), seed=st.integers(0, 99), fixed=st.booleans())
def test_prefixes_are_the_sets_of_rows_with_other_fractions(
    features: FilterFeatures, p: int, seed: int, fixed: bool
) -> None:
    chosen = features.bind(table(p, seed=seed, fixed=(0, p - 1) if fixed and p > 2 else ()))
    space = space_of(chosen)
    rng = np.random.default_rng(seed)
    rules, sets = space.sample(rng, 4), FilterSets(chosen, space)
    for name in chosen.exception_parameters:  # nearly all draws are no exception
        rules[1:, space.names.index(name)] = 0.5 + rng.uniform(-0.5, 0.5, 3) / 20
    index = rng.integers(4, size=24)
    rows = rules[index]
    rows[:, space.names.index("fraction")] = rng.random(24)
    found = sets.prefixes(rules, index, sets.rule_sizes(rows))
    np.testing.assert_array_equal(found, sets(rows))


def test_large_sets_are_nearly_those_that_the_objective_chooses() -> None:
    chosen = FilterEnsembleFeatures(redundancy_penalty=True).bind(table(200, seed=2))
    space = space_of(chosen)
    rows = space.sample(np.random.default_rng(0), 50)
    sets = FilterSets(chosen, space)(rows)
    real = np.array([chosen.choose(space.decode(row)) for row in rows])
    assert sets.sum(axis=1).tolist() == real.sum(axis=1).tolist()
    assert (sets & real).sum() > 0.9 * real.sum()
    assert (sets != real).any()


def test_rows_that_lack_a_parameter_have_no_set() -> None:
    chosen = FilterEnsembleFeatures(redundancy_penalty=True).bind(table(9))
    space = space_of(chosen)
    rows = np.full((4, len(space)), 0.5)
    rows[1, space.names.index("weight_f1")] = np.nan
    rows[2, space.names.index("C")] = np.nan  # not about features
    rows[3, space.names.index("fraction")] = np.nan
    sets = FilterSets(chosen, space)
    # Halfway from 0.4 to 9 features on a logarithmic scale.
    assert sets(rows).sum(axis=1).tolist() == [2, 0, 2, 0]
    assert sets.sizes(rows).tolist() == [2, 0, 2, 0]
    assert sets.complete(rows).tolist() == [True, False, True, False]


def test_sizes_count_features_that_are_not_embedded() -> None:
    chosen = FilterEnsembleFeatures().bind(table(900))
    space = space_of(chosen)
    params = dict.fromkeys(chosen.distributions, 0.5)
    rows = np.array([space.encode({**params, "fraction": f}) for f in (1.0, 700 / 900, 3 / 900)])
    sets = FilterSets(chosen, space)
    assert sets.sizes(rows).tolist() == [900, 700, 3]
    assert sets(rows).sum(axis=1).tolist() == [500, 500, 3]


@pytest.mark.parametrize(
    "features", REPRESENTATIONS, ids=lambda f: f"{f.kind} {f.scale} {f.needs_similar}"
)
def test_parameters_that_only_determine_the_features_are_hidden(features: FilterFeatures) -> None:
    chosen = features.bind(table(9))
    hidden = FilterSets(chosen, space_of(chosen)).parameters
    assert hidden == chosen.distributions.keys() - {"fraction"}


def test_a_filter_without_a_choice() -> None:
    chosen = SingleFilterFeatures().bind(table(9, filters=1))
    space = space_of(chosen)
    assert "filter" not in space.names
    params: dict[str, Any] = {"C": 1.0, "fraction": 0.4, "filter": "f0"}
    found = FilterSets(chosen, space)(space.encode(params)[None])[0]
    np.testing.assert_array_equal(found, chosen.choose(params))


def test_features_must_be_ranked() -> None:
    unranked = FeatureTable(("a", "b"), filters=("f0",))
    chosen = FilterEnsembleFeatures().bind(unranked)
    with pytest.raises(ValueError, match="have not ranked"):
        FilterSets(chosen, space_of(chosen))


# ---- feature sets that were tried ---------------------------------------------------------------

RANKS = np.array([[1.0, 0.8, 0.6, 0.4, 0.2, 0.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]])
FEATURE_SETS_TABLE = FeatureTable(tuple("abcdef"), filters=("up", "down"), ranks=RANKS)


def feature_history(features: Representation, trials: list[dict[str, Any]]) -> History:
    bound = features.bind(FEATURE_SETS_TABLE)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    StudyDescription(FEATURE_SETS_TABLE, bound).write(study)
    for params in trials:
        study.enqueue_trial(params)

    def objective(trial: optuna.Trial) -> float:
        _, system = suggest_mask(trial, bound)
        write_trial_attrs(study, trial, system=system)
        return trial.suggest_float("x", 0, 1)

    study.optimize(objective, n_trials=len(trials))
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def exhausted_of(
    history: History, memory: Memory | None = None
) -> Callable[[dict[str, Any]], bool]:
    """Return a function that tells whether the set of given parameters is exhausted."""
    sets = TriedFeatureSets(history, filter_sets(history), memory or Memory())

    def exhausted(params: dict[str, Any]) -> bool:
        row = history.space.encode({**params, "x": 0.123})
        return bool(sets.exhausted(row[None])[0])

    return exhausted


def test_a_set_of_k_features_is_exhausted_after_the_root_of_k_trials() -> None:
    one, two = {"fraction": 1 / 6, "filter": "up"}, {"fraction": 2 / 6, "filter": "up"}
    history = feature_history(SingleFilterFeatures(ranks="all"), [one, two])
    exhausted = exhausted_of(history)
    assert exhausted(one)
    assert exhausted({"fraction": 0.1, "filter": "up"})  # the same feature
    assert not exhausted({"fraction": 1 / 6, "filter": "down"})
    assert not exhausted(two)
    again = feature_history(SingleFilterFeatures(ranks="all"), [two, two])
    assert exhausted_of(again)(two)


@pytest.mark.parametrize(
    ("features", "smallest"),
    [(SingleFilterFeatures(ranks="all"), 0.4 / 6), (SingleFilterFeatures.from_paper(), 0.0)],
)
def test_the_empty_set_is_exhausted_after_one_trial(
    features: Representation, smallest: float
) -> None:
    none = {"fraction": smallest, "filter": "up"}
    history = feature_history(features, [none, {"fraction": 1.0}])
    assert exhausted_of(history)(none)
    history = feature_history(features, [{"fraction": 1.0}])
    assert not exhausted_of(history)(none)


def test_other_weights_of_the_same_features_are_the_same_set() -> None:
    def params(up: float, down: float) -> dict[str, float]:
        return {"fraction": 1 / 6, "weight_up": up, "weight_down": down}

    history = feature_history(FilterEnsembleFeatures(ranks="all"), [params(0.9, 0.1)])
    memory = Memory()
    for _ in range(2):  # the second time from the cache
        exhausted = exhausted_of(history, memory)
        assert exhausted(params(0.8, 0.3))
        assert not exhausted(params(0.1, 0.9))


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_masks_are_counted(form: str) -> None:
    history = feature_history(MaskFeatures(form=form), [{}] * 6)
    sets = TriedFeatureSets(history, None, Memory())
    masks = [history.mask(i) for i in range(6)]
    for mask in masks:
        n_trials = sum((mask == other).all() for other in masks)
        assert sets.exhausted(np.zeros((1, 1)), mask[None])[0] == (
            n_trials >= np.sqrt(max(1, mask.sum()))
        )
    assert not sets.exhausted(np.zeros((1, 1)), np.ones((1, 6), dtype=bool))[0]
    single = np.arange(6) == 2
    tried = any((mask == single).all() for mask in masks)
    assert sets.exhausted(np.zeros((1, 1)), single[None])[0] == tried


def test_rows_that_determine_no_set_are_never_exhausted() -> None:
    one = {"fraction": 1 / 6, "filter": "up"}
    history = feature_history(SingleFilterFeatures(ranks="all"), [one])
    assert exhausted_of(history)(one)
    assert not exhausted_of(history)({"filter": "up"})
    none = TriedFeatureSets(history, None, Memory())
    assert not none.exhausted(history.rows[:1])[0]


ENSEMBLE = FilterEnsembleFeatures(ranks="all")


def rule(fraction: float, up: float = 0.9, down: float = 0.1, x: float = 0.5) -> dict[str, float]:
    return {"fraction": fraction, "weight_up": up, "weight_down": down, "x": x}


@pytest.mark.parametrize(
    ("new", "parent", "expected"),
    [
        # Another set is never a repetition.
        (rule(2 / 6), None, False),
        (rule(2 / 6), rule(1 / 6), False),
        (rule(1 / 6, up=0.1, down=0.9), rule(1 / 6), False),
        # A set that was tried is one, whatever the hyperparameters, without a parent of that set.
        (rule(1 / 6, x=0.9), None, True),
        (rule(1 / 6, x=0.9), rule(3 / 6), True),
        # The parent's set is one, unless a hyperparameter changed.
        (rule(1 / 6), rule(1 / 6), True),
        (rule(1 / 6, up=0.8, down=0.3), rule(1 / 6), True),
        (rule(0.15), rule(1 / 6), True),
        (rule(1 / 6, x=0.9), rule(1 / 6), False),
        (rule(0.15, up=0.8, x=0.9), rule(1 / 6), False),
        # Without features there are no hyperparameters to change.
        (rule(0.4 / 6, x=0.9), rule(0.4 / 6), True),
        (rule(0.45 / 6, x=0.9), rule(0.4 / 6), True),
    ],
)
def test_repetitions_of_a_set(
    new: dict[str, float], parent: dict[str, float] | None, expected: bool
) -> None:
    history = feature_history(ENSEMBLE, [rule(1 / 6), rule(3 / 6), rule(0.4 / 6)])
    sets = TriedFeatureSets(history, filter_sets(history), Memory())
    encode = history.space.encode
    found = sets.repeats(
        encode(new), None if parent is None else encode(parent), history.rule_columns
    )
    assert found == expected


def test_an_inactive_hyperparameter_is_no_change() -> None:
    history = feature_history(ENSEMBLE, [rule(1 / 6)])
    sets = TriedFeatureSets(history, filter_sets(history), Memory())
    row, x = history.rows[0].copy(), history.space.names.index("x")
    row[x] = np.nan
    assert sets.repeats(row, row.copy(), history.rule_columns)
    assert not sets.repeats(row, history.rows[0], history.rule_columns)


def test_rows_that_determine_no_set_are_no_repetitions() -> None:
    history = feature_history(ENSEMBLE, [rule(1 / 6)])
    row = history.rows[0].copy()
    sets = TriedFeatureSets(history, filter_sets(history), Memory())
    assert sets.repeats(row, None, history.rule_columns)
    row[history.space.names.index("weight_up")] = np.nan
    assert not sets.repeats(row, None, history.rule_columns)
    # A parent without a set does not have this one.
    assert sets.repeats(history.rows[0], row, history.rule_columns)
    unknown = TriedFeatureSets(history, None, Memory())
    assert not unknown.repeats(history.rows[0], None, history.rule_columns)


@pytest.mark.parametrize("features", [ENSEMBLE, MaskFeatures(form="packed")], ids=["rule", "mask"])
@pytest.mark.parametrize("is_late", [False, True])
def test_counts_are_updated_trial_by_trial(features: Representation, is_late: bool) -> None:
    bound = features.bind(FEATURE_SETS_TABLE)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    StudyDescription(FEATURE_SETS_TABLE, bound).write(study)
    history, memory = History(StudyDescription.read(study)), Memory()
    late: list[optuna.Trial] = []
    for number in range(24):
        trial = study.ask()
        write_trial_attrs(study, trial, system=suggest_mask(trial, bound)[1])
        trial.suggest_float("x", 0, 1)
        if is_late and number % 5 == 2:
            late.append(trial)
        else:
            study.tell(trial, 0.0)
        if number in (13, 20) and late:
            study.tell(late.pop(0), 0.0)
        if number % 3:
            continue  # several new trials at a time
        history.update(study)
        filters = filter_sets(history)
        kept = TriedFeatureSets(history, filters, memory)
        fresh = TriedFeatureSets(history, filters, Memory())
        assert kept._counts == fresh._counts
        n_running = len(history.running_configurations()[0])
        assert sum(kept._counts.values()) == len(history) + n_running
    assert max(kept._counts.values()) > 1


def test_masks_of_rules_need_not_be_computed_again() -> None:
    history = feature_history(ENSEMBLE, [rule(1 / 6), rule(3 / 6), rule(3 / 6, x=0.1)])
    filters = filter_sets(history)
    assert filters is not None
    sets = TriedFeatureSets(history, filters, Memory())
    rows = np.array([history.space.encode(rule(f / 6)) for f in (1, 2, 3)])
    rows = np.concatenate([rows, rows[:1]])
    rows[-1, history.space.names.index("weight_up")] = np.nan  # determines no set
    expected = [True, False, True, False]
    assert sets.exhausted(rows).tolist() == expected
    assert sets.exhausted(rows, filters(rows)).tolist() == expected
