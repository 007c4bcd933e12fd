from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import NSGAIISampler, PartialFixedSampler, RandomSampler, TPESampler
from optuna.trial import TrialState, create_trial

from optuna_mofs import (
    FeatureTable,
    FilterEnsembleNSGA2Sampler,
    MaskFeatures,
    enqueue_features,
    feature_table,
    retry_interrupted,
    selected_features,
    selected_mask,
    suggest_features,
)
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.features._codec import UnknownMaskError, mask_id
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import MASK, shorten, suggest

NAMES = tuple(f"x{j}" for j in range(40))
FEW = NAMES[:8]


def study_of(objective, *, trials, sampler=None, storage=None, directions=("minimize",)):
    study = optuna.create_study(
        sampler=sampler or RandomSampler(seed=0), storage=storage, directions=directions
    )
    study.optimize(objective, n_trials=trials)
    return study


def size(form="auto", features=NAMES, seen=None):
    def objective(trial):
        mask = suggest_features(trial, features, form=form)
        if seen is not None:
            seen.append(mask)
        return float(mask.sum())

    return objective


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(0.5, 2.0),
        FloatDistribution(0.5, 2.0, log=True),
        FloatDistribution(0.5, 2.0, step=0.5),
        IntDistribution(1, 9),
        IntDistribution(1, 9, log=True),
        IntDistribution(1, 9, step=4),
        CategoricalDistribution(("a", None, 2)),
    ],
)
def test_suggest_supports_every_distribution(distribution):
    trial = optuna.create_study(sampler=RandomSampler(seed=0)).ask()
    value = suggest(trial, "p", distribution)
    assert distribution._contains(distribution.to_internal_repr(value))
    assert trial.distributions == {"p": distribution}


def test_suggest_refuses_unknown_distributions():
    with pytest.raises(ValueError, match="'p' has an unknown distribution: 'uniform'"):
        suggest(optuna.create_study(sampler=RandomSampler(seed=0)).ask(), "p", "uniform")


@pytest.mark.parametrize("form", ["bits", "packed"])
@pytest.mark.parametrize("sampler", [RandomSampler, TPESampler, NSGAIISampler])
def test_own_objectives_with_samplers_without_masks(form, sampler):
    seen = []
    study = study_of(size(form, seen=seen), trials=12, sampler=sampler(seed=0))
    for mask, trial in zip(seen, study.trials):
        np.testing.assert_array_equal(selected_mask(study, trial), mask)
        assert trial.user_attrs["n_features"] == mask.sum() == trial.value
        assert selected_features(study, trial) == [n for n, m in zip(NAMES, mask) if m]
        attribute = frozen_attr(trial, MASK)
        assert (attribute is None) == (form == "bits")
        if attribute is not None:
            assert attribute[0] == trial.params["mask"]
    assert len(np.unique(seen, axis=0)) > 3


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_a_ranked_table_in_an_own_objective_with_two_values(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 50))
    y = (X[:, 3] + X[:, 7] > 0).astype(int)
    table = feature_table(X, y, filters=["anova_f", "variance"], fixed_features=["x0"])

    def objective(trial):
        mask = suggest_features(trial, table, form=form)
        assert mask[0]
        return float(not (mask[3] and mask[7])), float(mask.sum())

    study = study_of(objective, trials=8, directions=("minimize", "minimize"))
    described = StudyDescription.read(study)
    np.testing.assert_allclose(described.features.ranks, table.ranks, atol=1e-12)
    assert described.features.expected_n_features == table.expected_n_features
    assert described.representation.to_json()["form"] == form
    assert described.measures == ()
    for trial in study.trials:
        assert trial.values[1] == selected_mask(study, trial).sum()
        assert "x0" in selected_features(study, trial)


def test_the_description_is_written_once(monkeypatch):
    written = []
    original = StudyDescription.write
    monkeypatch.setattr(
        StudyDescription, "write", lambda self, study: (written.append(1), original(self, study))
    )
    study_of(size(), trials=5)
    assert written == [1]


def test_the_stored_description_is_used_from_the_first_trial_on():
    # These ranks are not on the grid that a study stores; the first trial must not use them raw.
    rng = np.random.default_rng(1)
    table = FeatureTable(NAMES, filters=("a",), ranks=rng.random((1, 40)), expected_n_features=10)
    study = study_of(size(features=table), trials=30)
    stored = StudyDescription.read(study).representation
    for trial in study.trials:
        bare = stored.codec.from_seed(trial.params)
        np.testing.assert_array_equal(selected_mask(study, trial), bare)


def test_features_by_number_and_numpy_number():
    for number in (3, np.int64(3)):
        study = study_of(size(features=number), trials=1)
        assert selected_mask(study, study.trials[0]).shape == (3,)
        assert StudyDescription.read(study).features.names == ("x0", "x1", "x2")


@pytest.mark.parametrize("bad", ["abc", True, 2.5, None, {"a", "b"}])
def test_bad_features_are_refused(bad):
    trial = optuna.create_study(sampler=RandomSampler(seed=0)).ask()
    with pytest.raises(ValueError, match="features must be a FeatureTable"):
        suggest_features(trial, bad)


@pytest.mark.parametrize(
    ("features", "form", "message"),
    [
        (NAMES[:-1], "auto", "missing: 'x39'"),
        (FeatureTable(NAMES, fixed=(2,)), "auto", r"fixed features \[\] in the study, \['x2'\]"),
        (FeatureTable(NAMES, costs=np.arange(40)), "auto", "'x0' costs 1.0 in the study, 0.0"),
        (NAMES, "bits", "'form': 'packed'.*'form': 'bits'"),
    ],
)
def test_other_features_in_the_same_study_are_refused(features, form, message):
    study = study_of(size(), trials=1)
    with pytest.raises(ValueError, match=message):
        suggest_features(study.ask(), features, form=form)


def test_an_own_function_continues_the_study_of_an_objective():
    # The measures in the description do not prevent the function from suggesting.
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    table = FeatureTable(NAMES)
    StudyDescription(table, MaskFeatures().bind(table), {"C": FloatDistribution(0, 1)}).write(
        study
    )
    study.optimize(size(), n_trials=2)
    assert len(study.trials) == 2


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_enqueued_sets_are_evaluated_exactly(form, tmp_path, open_sqlite):
    seen = []
    objective = size(form, FEW, seen=seen)
    study = study_of(objective, trials=1, storage=open_sqlite(tmp_path / "a.db"))
    wanted = [["x3", "x7"], [], list(FEW)]
    for features in wanted:
        enqueue_features(study, features, user_attrs={"why": "known"})
    study.optimize(objective, n_trials=3)
    for mask, trial, features in zip(seen[1:], study.trials[1:], wanted):
        assert [n for n, m in zip(FEW, mask) if m] == features
        assert selected_features(study, trial) == features
        assert trial.user_attrs["why"] == "known"


def test_enqueued_hyperparameters_are_fixed_too():
    def objective(trial):
        mask = suggest_features(trial, NAMES)
        return trial.suggest_float("C", 0, 1) + trial.suggest_float("D", 0, 1) + mask.sum()

    study = study_of(objective, trials=1)
    enqueue_features(study, ["x1"], {"C": 0.25})
    study.optimize(objective, n_trials=1)
    assert study.trials[1].params["C"] == 0.25
    assert selected_features(study, study.trials[1]) == ["x1"]


def test_unknown_features_cannot_be_enqueued():
    with pytest.raises(ValueError, match=r"has no features yet. Call objective.attach"):
        enqueue_features(optuna.create_study(sampler=RandomSampler(seed=0)), ["x1"])
    study = study_of(size(), trials=1)
    with pytest.raises(ValueError, match="no feature 'x41' among 40"):
        enqueue_features(study, ["x41"])
    assert len(study.trials) == 1


def test_a_repeated_integer_keeps_its_feature_set():
    objective = size("packed")
    study = study_of(objective, trials=1)
    enqueue_features(study, ["x3", "x17"])
    study.optimize(objective, n_trials=1)
    known = study.trials[1].params["mask"]
    # Enqueued by hand, and suggested by a sampler without masks.
    study.enqueue_trial({"mask": known})
    study.sampler = PartialFixedSampler({"mask": known}, RandomSampler(seed=0))
    study.optimize(objective, n_trials=2)
    for trial in study.trials[1:]:
        assert selected_features(study, trial) == ["x3", "x17"]
    # Added as completed, without an attribute of its own.
    study.add_trial(
        create_trial(
            params={"mask": known}, distributions=study.trials[0].distributions, value=1.0
        )
    )
    assert selected_features(study, study.trials[-1]) == ["x3", "x17"]


class WritesMasks(RandomSampler):
    """A sampler with masks, whose integer a wrapper can override."""

    def sample_relative(self, study, trial, search_space):
        from optuna_mofs._optuna import write_trial_attrs
        from optuna_mofs.features._codec import pack_attribute

        mask = np.ones(40, dtype=bool)
        write_trial_attrs(study, trial, system={MASK: pack_attribute(mask_id(mask), mask)})
        return {"mask": mask_id(mask)} if search_space else {}

    def infer_relative_search_space(self, study, trial):
        return {"mask": IntDistribution(0, 2**52 - 1)}


def test_an_integer_that_overrides_the_sampler_does_not_get_its_set():
    class Overrides(WritesMasks):
        def infer_relative_search_space(self, study, trial):
            return {}

        def sample_independent(self, study, trial, param_name, param_distribution):
            self.sample_relative(study, trial, {})
            return 12345

    objective = size("packed")
    study = study_of(objective, trials=1, sampler=WritesMasks(seed=0))
    assert study.trials[0].value == 40
    study.sampler = Overrides(seed=0)
    study.optimize(objective, n_trials=1)
    expected = StudyDescription.read(study).representation.codec.from_seed({"mask": 12345})
    np.testing.assert_array_equal(selected_mask(study, study.trials[1]), expected)
    assert frozen_attr(study.trials[1], MASK)[0] == 12345


def test_trials_without_features_have_no_mask():
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("a", 0, 1), n_trials=1)
    assert selected_mask(study, study.trials[0]) is None
    assert selected_features(study, study.trials[0]) is None
    study.optimize(size(), n_trials=1)
    assert selected_mask(study, study.trials[0]) is None
    assert selected_mask(study, study.trials[1]) is not None


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_a_copied_study_keeps_its_sets(form, tmp_path, open_sqlite):
    source, target = (open_sqlite(tmp_path / f"{name}.db") for name in "ab")
    objective = size(form, FEW)
    study = study_of(objective, trials=4, storage=source)
    enqueue_features(study, ["x1", "x2"])
    optuna.copy_study(from_study_name=study.study_name, from_storage=source, to_storage=target)
    copied = optuna.load_study(study_name=None, storage=target, sampler=RandomSampler(seed=1))
    for before, after in zip(study.trials[:4], copied.trials):
        assert selected_features(copied, after) == selected_features(study, before) is not None
    copied.optimize(objective, n_trials=2)
    assert selected_features(copied, copied.trials[4]) == ["x1", "x2"]


def test_shown_names_are_shortened():
    assert shorten(["age", "city"]) == "age, city"
    assert shorten([]) == ""
    many = [f"feature_{j}" for j in range(1000)]
    text = shorten(many)
    assert len(text) < 165
    assert text.startswith("feature_0, feature_1, ")
    shown = text.split(" and ")[0].split(", ")
    assert text.endswith(f" and {1000 - len(shown)} more")
    assert shorten(["x" * 1000, "y"]) == "2 more"


def test_features_are_written_into_user_attributes():
    study = study_of(size(features=tuple(f"feature_{j}" for j in range(400))), trials=5)
    for trial in study.trials:
        assert set(trial.user_attrs) == {"n_features", "features"}
        names = selected_features(study, trial)
        assert trial.user_attrs["features"] == shorten(names, 40)


# ---- integers of packed masks that were fixed before the trial ----------------------------------


def other_study():
    """Return a study whose second trial has a feature set that was enqueued by name."""
    study = study_of(size("packed"), trials=1)
    enqueue_features(study, ["x3", "x17"])
    study.optimize(size("packed"), n_trials=1)
    return study


@pytest.mark.parametrize("sampler", [RandomSampler, TPESampler, FilterEnsembleNSGA2Sampler])
def test_an_enqueued_integer_of_another_study_is_refused(sampler):
    best = other_study().trials[1]
    study = optuna.create_study(sampler=sampler(seed=0))
    study.enqueue_trial(best.params)
    with pytest.raises(UnknownMaskError, match=r"no feature set of this study.*enqueue_features"):
        study.optimize(size("packed"), n_trials=1)
    assert study.trials[0].state == TrialState.FAIL
    assert selected_mask(study, study.trials[0]) is None
    # The search continues, and the remedy works.
    enqueue_features(study, ["x3", "x17"])
    study.optimize(size("packed"), n_trials=3)
    assert selected_features(study, study.trials[1]) == ["x3", "x17"]
    assert all(selected_mask(study, trial) is not None for trial in study.trials[1:])
    # Now the integer is known.
    study.enqueue_trial(best.params)
    study.optimize(size("packed"), n_trials=1)
    assert selected_features(study, study.trials[-1]) == ["x3", "x17"]


@pytest.mark.parametrize("base", [RandomSampler, WritesMasks, FilterEnsembleNSGA2Sampler])
def test_an_integer_of_another_study_that_a_sampler_fixes_is_refused(base):
    best = other_study().trials[1]
    inner = PartialFixedSampler(best.params, base(seed=0))
    for sampler in (inner, PartialFixedSampler({"other": 1}, inner)):
        study = study_of(size("packed"), trials=1)
        study.sampler = sampler
        with pytest.raises(UnknownMaskError, match="no feature set of this study"):
            study.optimize(size("packed"), n_trials=1)
        # Once a trial has the set, the integer is known.
        enqueue_features(study, ["x3", "x17"])
        study.optimize(size("packed"), n_trials=2)
        assert selected_features(study, study.trials[-1]) == ["x3", "x17"]


def test_a_waiting_trial_with_an_integer_of_another_study_is_refused():
    best = other_study().trials[1]
    study = study_of(size("packed"), trials=1)
    study.add_trial(
        create_trial(
            state=TrialState.WAITING, params=best.params, distributions=best.distributions
        )
    )
    with pytest.raises(UnknownMaskError, match="no feature set of this study"):
        study.optimize(size("packed"), n_trials=1)


def test_a_completed_trial_keeps_its_set_in_another_study_only_with_its_attributes():
    best = other_study().trials[1]
    study = study_of(size("packed"), trials=3, sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.add_trial(create_trial(params=best.params, distributions=best.distributions, value=0.0))
    assert selected_features(study, study.trials[-1]) is None
    study.optimize(size("packed"), n_trials=2)
    study.add_trial(best)
    assert selected_features(study, study.trials[-1]) == ["x3", "x17"]


def test_an_interrupted_trial_with_a_random_integer_runs_again():
    study = study_of(size("packed"), trials=1)
    interrupted = study.ask({"mask": IntDistribution(0, 2**52 - 1)})
    retry_interrupted(study)
    study.optimize(size("packed"), n_trials=1)
    assert study.trials[-1].params == interrupted.params
    assert selected_mask(study, study.trials[-1]) is not None


@pytest.mark.parametrize(("form", "name"), [("packed", "mask"), ("bits", "x1")])
def test_a_parameter_named_like_one_that_selects_features_is_refused(form, name):
    def objective(trial):
        trial.suggest_float(name, 0, 1)
        return float(suggest_features(trial, NAMES, form=form).sum())

    with pytest.raises(ValueError, match=f"The parameter '{name}' selects features, .* Rename"):
        study_of(objective, trials=1)


@pytest.mark.parametrize("number", [0, -1, 10**7 + 1, 10**30])
def test_impossible_numbers_of_features_are_refused(number):
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    with pytest.raises(ValueError, match="features must be an integer from 1 to 10000000"):
        suggest_features(study.ask(), number)
