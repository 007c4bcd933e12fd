from __future__ import annotations

import copy
import inspect
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import RetryHeartbeatStaleTrialCallback
from optuna.study import Study
from optuna.trial import Trial, TrialState
from sklearn.ensemble import RandomForestRegressor
from threadpoolctl import threadpool_info, threadpool_limits

import optuna_mofs
from optuna_mofs import LexicographicPreference, samplers
from optuna_mofs._optuna import frozen_attr, read_study_attr, write_study_attr
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.samplers import _base as base
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.study._feature_sets import selected_features, suggest_features
from optuna_mofs.study._queue import enqueue_features, retry_interrupted
from optuna_mofs.study._trial_note import NOTE, TrialNote

Propose = Callable[[ProposalContext], Proposal]


@dataclass(frozen=True)
class ToyNote(TrialNote):
    """A note with a field of its own."""

    step_size: float = 0.1


class Toy(HistorySampler):
    """Random proposals, or those of a function."""

    def __init__(self, propose: Propose | None = None, *, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self._propose = propose
        self.n_calls = 0

    def propose(self, ctx: ProposalContext) -> Proposal:
        self.n_calls += 1
        if self._propose is not None:
            return self._propose(ctx)
        table = ctx.history.table
        mask = None if table is None else ctx.rng.random(len(table.free)) < 0.5
        return Proposal(ctx.history.space.sample(ctx.rng)[0], mask)


def same_again(ctx: ProposalContext) -> Proposal:
    """Propose the first configuration of the space, without features, every time."""
    table = ctx.history.table
    mask = None if table is None else np.zeros(len(table.free), dtype=bool)
    return Proposal(ctx.history.space.nth(0), mask, TrialNote("stubborn"))


def params(study: Study) -> list[dict[str, Any]]:
    return [t.params for t in study.trials]


def test_the_operator_is_written_as_a_user_attribute() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1, step=0.25)
        if trial.number == 2:
            trial.set_user_attr("operator", "mine")
        return x

    study = optuna.create_study(sampler=Toy(same_again, seed=0))
    study.optimize(objective, n_trials=3)
    shown = [t.user_attrs.get("operator") for t in study.trials]
    # No parameter was known at the first trial: no operator made it.
    assert shown == [None, "unseen", "mine"]


# ---- seeds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_invalid_seeds_raise(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed must be an integer of at least 0, got"):
        Toy(seed=seed)


def test_seeds_of_any_integer_type_are_accepted() -> None:
    assert Toy(seed=np.int64(7)).seed == 7
    assert type(Toy(seed=np.int64(7)).seed) is int
    assert Toy(seed=2**70).seed == 2**70
    assert Toy().seed is None


def test_a_seed_passed_by_the_user_is_not_written_into_the_study() -> None:
    study = optuna.create_study(sampler=Toy(seed=3))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=3)
    assert read_study_attr(study, "seed") is None


@pytest.mark.unseeded
def test_workers_use_the_seed_that_was_written_into_the_study_last() -> None:
    # Another worker, that had found none either, writes after our first trial has read ours.
    study = optuna.create_study(sampler=Toy())
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    write_study_attr(study, "seed", 12345)
    study.tell(trial, 0.0)
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=4)
    other = optuna.create_study(sampler=Toy(seed=12345))
    other.add_trial(study.trials[0])
    other.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=4)
    assert params(other)[1:] == params(study)[1:]


@pytest.mark.unseeded
def test_threads_agree_on_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    both = threading.Barrier(2)
    write = base.write_study_attr

    def slow(study: Study, key: str, value: Any) -> None:
        written.append(value)
        write(study, key, value)

    monkeypatch.setattr(base, "write_study_attr", slow)
    study = optuna.create_study(sampler=Toy())

    def objective(trial: Trial) -> float:
        if trial.number < 2:
            both.wait(20)
        return trial.suggest_float("x", 0, 1)

    study.optimize(objective, n_trials=8, n_jobs=2)
    assert len(written) == 1


@pytest.mark.unseeded
def test_the_context_has_the_seed_of_the_study() -> None:
    seen = []

    def look(ctx: ProposalContext) -> Proposal:
        seen.append(ctx.seed)
        return Proposal(ctx.history.space.sample(ctx.rng)[0])

    study = optuna.create_study(sampler=Toy(look))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=3)
    assert set(seen) == {read_study_attr(study, "seed")}


# ---- independent draws --------------------------------------------------------------------------


def test_independent_draws_depend_on_seed_number_and_name() -> None:
    values = {}
    for seed in (0, 1):
        study = optuna.create_study(sampler=Toy(seed=seed))
        for _ in range(3):
            trial = study.ask()
            for name in ("x", "y"):
                values[seed, trial.number, name] = trial.suggest_float(name, 0, 1)
            study.tell(trial, state=TrialState.FAIL)
    assert len(set(values.values())) == 12
    # The order of the suggestions does not matter.
    trial = optuna.create_study(sampler=Toy(seed=0)).ask()
    assert trial.suggest_float("y", 0, 1) == values[0, 0, "y"]
    assert trial.suggest_float("x", 0, 1) == values[0, 0, "x"]


def test_unknown_parameters_are_drawn_independently() -> None:
    study = optuna.create_study(sampler=Toy(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=2)
    space = {"x": FloatDistribution(0, 1), "other": IntDistribution(3, 9)}
    asked = study.ask()
    frozen = study.trials[asked.number]
    found = study.sampler.sample_relative(study, frozen, dict(space))
    assert set(found) == {"x", "other"}
    assert 3 <= found["other"] <= 9
    alone = study.sampler.sample_relative(study, frozen, {"other": space["other"]})
    assert alone == {"other": found["other"]}
    # Sampling alone adds nothing to the history.
    assert set(study.sampler.infer_relative_search_space(study, frozen)) == {"x"}


# ---- no duplicates ------------------------------------------------------------------------------


def finite(trial: Trial) -> float:
    trial.suggest_categorical("kind", ["a", "b", None])
    return float(trial.suggest_int("n", 1, 5, log=True))


def test_a_sampler_that_repeats_itself_still_tries_every_configuration() -> None:
    study = optuna.create_study(sampler=Toy(same_again, seed=0))
    study.optimize(finite, n_trials=18)
    assert len({tuple(p.values()) for p in params(study)[:15]}) == 15
    operators = [frozen_attr(t, NOTE)["operator"] for t in study.trials[2:]]
    assert set(operators[:13]) == {"unseen"}
    assert set(operators[13:]) == {"stubborn"}, "nothing is left to try"


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_a_small_space_of_masks_is_enumerated(form: str) -> None:
    def objective(trial: Trial) -> float:
        mask = suggest_features(trial, ["a", "b", "c"], form=form)
        return float(mask.sum()) + trial.suggest_int("n", 0, 1)

    study = optuna.create_study(sampler=Toy(same_again, seed=0))
    study.optimize(objective, n_trials=17)
    found = {(*(selected_features(study, t) or ()), t.params["n"]) for t in study.trials[:16]}
    assert len(found) >= 15  # of trial 0 the integer is drawn before the space is known
    full = {(*(selected_features(study, t) or ()), t.params["n"]) for t in study.trials}
    assert len(full) == 16


def test_an_exhausted_space_is_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    study = optuna.create_study(sampler=Toy(same_again, seed=0))
    study.optimize(finite, n_trials=15)
    monkeypatch.setattr(base.SearchSpace, "nth", lambda s, i: 1 / 0 if i else np.zeros(2))
    study.optimize(finite, n_trials=2)


def test_a_large_space_is_sampled_for_a_new_configuration() -> None:
    table = FeatureTable(names=tuple(f"f{j}" for j in range(2000)), expected_n_features=5.0)

    def objective(trial: Trial) -> float:
        return float(suggest_features(trial, table).sum())

    study = optuna.create_study(sampler=Toy(same_again, seed=0))
    study.optimize(objective, n_trials=12)
    assert len({p["mask"] for p in params(study)}) == 12
    sizes = [t.values[0] for t in study.trials]
    assert np.mean(sizes) < 40, "as at the start of a search, not half of all"


def test_a_new_proposal_takes_one_attempt() -> None:
    toy = Toy(seed=0)
    study = optuna.create_study(sampler=toy)
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=10)
    assert toy.n_calls == 9  # one per trial but the first


@pytest.mark.parametrize("before_writing", [True, False])
def test_two_workers_do_not_evaluate_the_same_configuration(
    before_writing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker proposes while we do, just before or just after our reservation."""

    def next_one(ctx: ProposalContext) -> Proposal:
        # The first configuration that is new, the same for every worker.
        space = ctx.history.space
        for position in range(int(space.size())):
            row = space.nth(position)
            if not ctx.history.contains_params(space.decode(row)):
                return Proposal(row)
        return Proposal(space.nth(0))

    study = optuna.create_study(sampler=Toy(next_one, seed=0))
    study.optimize(finite, n_trials=3)
    write = base.write_trial_attrs
    others: list[Trial] = []

    def interrupted(*args: Any, **attributes: Any) -> None:
        monkeypatch.setattr(base, "write_trial_attrs", write)
        if not before_writing:
            write(*args, **attributes)
        other = optuna.load_study(study_name=None, storage=study._storage)
        other.sampler = Toy(next_one, seed=0)
        others.append(other.ask())
        others[0].suggest_categorical("kind", ["a", "b", None])  # the rest comes later
        if before_writing:
            write(*args, **attributes)

    monkeypatch.setattr(base, "write_trial_attrs", interrupted)
    ours = study.ask()
    finite(ours)
    finite(others[0])
    assert ours.number == 3
    assert others[0].number == 4
    assert ours.params != others[0].params
    assert len({tuple(p.values()) for p in params(study)}) == 5


def test_a_reserved_configuration_counts_as_tried_before_it_is_suggested() -> None:
    study = optuna.create_study(sampler=Toy(same_again, seed=0))
    study.optimize(finite, n_trials=2)
    running = study.ask()
    running.suggest_categorical("kind", ["a", "b", None])
    coming = running.relative_params
    history = History()
    history.update(study)
    assert history.contains_params(coming)
    assert not history.contains_params({**coming, "n": coming["n"] % 5 + 1})
    study.tell(running, state=TrialState.FAIL)
    history.update(study)
    assert not history.contains_params(coming), "it was interrupted and may be tried again"


def test_enqueued_values_are_considered_when_duplicates_are_avoided() -> None:
    def objective(trial: Trial) -> float:
        trial.suggest_categorical("kind", ["a", "b"])
        return float(trial.suggest_int("n", 1, 4))

    study = optuna.create_study(sampler=Toy(seed=1))
    study.optimize(objective, n_trials=2)
    for _ in range(4):
        study.enqueue_trial({"kind": "a"})
    study.optimize(objective, n_trials=4)
    tried = [p["n"] for p in params(study) if p["kind"] == "a"]
    assert len(tried) >= 4
    assert len(set(tried[:4])) == 4


# ---- what is written ----------------------------------------------------------------------------


def test_the_note_is_written_on_the_trial() -> None:
    def noted(ctx: ProposalContext) -> Proposal:
        row = ctx.history.space.sample(ctx.rng)[0]
        return Proposal(row, note=ToyNote("noted", parents=(0,), step_size=0.25))

    study = optuna.create_study(sampler=Toy(noted, seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=2)
    assert frozen_attr(study.trials[0], NOTE) is None
    note = {"operator": "noted", "parents": [0], "step_size": 0.25}
    found = frozen_attr(study.trials[1], NOTE)
    assert len(found.pop("configuration")) == 16
    assert found == note


def test_a_trial_with_an_enqueued_value_does_not_get_the_note_of_the_proposal() -> None:
    def noted(ctx: ProposalContext) -> Proposal:
        return Proposal(np.array([0.5, 0.5]), note=ToyNote("noted", step_size=0.25))

    def objective(trial: Trial) -> float:
        return trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1)

    study = optuna.create_study(sampler=Toy(noted, seed=0))
    study.optimize(objective, n_trials=1)
    for value in (0.25, 0.5):
        study.enqueue_trial({"x": value})
    study.optimize(objective, n_trials=2)
    notes = [frozen_attr(trial, NOTE) for trial in study.trials[1:]]
    assert [(note["operator"], note.get("step_size")) for note in notes] == [
        ("enqueued", None),
        ("noted", 0.25),
    ]
    assert [trial.params["y"] for trial in study.trials[1:]] == [0.5, 0.5]


def test_an_enqueued_mask_selects_the_enqueued_features() -> None:
    def objective(trial: Trial) -> float:
        trial.suggest_float("before", 0, 1)  # samples before the mask is suggested
        return float(suggest_features(trial, 40).sum())

    study = optuna.create_study(sampler=Toy(seed=0))
    study.optimize(objective, n_trials=2)
    enqueue_features(study, ["x1", "x2"])
    study.optimize(objective, n_trials=1)
    assert selected_features(study, study.trials[2]) == ["x1", "x2"]
    history = History(study.sampler._cache.of(study).history.described)
    history.update(study)
    assert np.flatnonzero(history.mask(2)).tolist() == [1, 2]


def by_heartbeat(study: Study) -> None:
    """Do what Optuna does with a trial whose process sends no heartbeat any more."""
    stale = study.get_trials(states=(TrialState.RUNNING,))[0]
    study.tell(stale.number, state=TrialState.FAIL)
    RetryHeartbeatStaleTrialCallback()(study, stale)


@pytest.mark.parametrize("retry", [retry_interrupted, by_heartbeat])
def test_a_retried_trial_selects_the_features_suggested_before_the_crash(
    retry: Callable[[Study], Any],
) -> None:
    def objective(trial: Trial) -> float:
        return suggest_features(trial, 40).sum() + trial.suggest_float("x", 0, 1)

    study = optuna.create_study(sampler=Toy(seed=0))
    study.optimize(objective, n_trials=3)
    cut_off = study.ask()
    mask = suggest_features(cut_off, 40)
    retry(study)
    study.optimize(objective, n_trials=1)
    assert study.trials[4].params["mask"] == cut_off.params["mask"]
    history = History(study.sampler._cache.of(study).history.described)
    history.update(study)
    assert history.numbers.tolist() == [0, 1, 2, 3]  # as if it had not been interrupted
    np.testing.assert_array_equal(history.mask(3), mask)


# ---- caches -------------------------------------------------------------------------------------


def counting() -> tuple[Toy, list[int]]:
    made: list[int] = []

    def propose(ctx: ProposalContext) -> Proposal:
        ctx.study_cache("thing", lambda: made.append(ctx.trial_number))
        return Proposal(ctx.history.space.sample(ctx.rng)[0])

    toy = Toy(propose, seed=0)
    return toy, made


def test_each_study_has_its_own_cache() -> None:
    toy, made = counting()
    studies = [optuna.create_study(sampler=toy) for _ in range(2)]
    for _ in range(3):
        for study in studies:
            study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)
    assert made == [1, 1]


def test_only_a_few_studies_are_cached() -> None:
    toy, made = counting()
    studies = [optuna.create_study(sampler=toy) for _ in range(base._MAX_STUDIES + 1)]
    for _ in range(3):
        for study in studies:
            study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)
    assert len(toy._cache._studies) == base._MAX_STUDIES
    assert len(made) == 2 * len(studies)


def test_a_new_description_clears_the_study_cache() -> None:
    toy, made = counting()
    study = optuna.create_study(sampler=toy)
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=2)
    assert made == [1]

    def objective(trial: Trial) -> float:
        return float(suggest_features(trial, ["a", "b"]).sum()) + trial.suggest_float("x", 0, 1)

    toy._propose = None
    study.optimize(objective, n_trials=1)
    assert toy._cache.of(study).study_cache == {}
    assert toy._cache.of(study).history.table is not None


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_have_an_empty_cache(copied: Callable[[Toy], Toy]) -> None:
    toy = Toy(seed=5)
    study = optuna.create_study(sampler=toy)
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=3)
    other = copied(toy)
    assert other.seed == 5
    assert len(other._cache._studies) == 0
    assert len(toy._cache._studies) == 1


def test_the_history_is_read_before_and_after_the_reservation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = []
    update = History.update
    monkeypatch.setattr(
        History,
        "update",
        lambda s, study, exclude=None: (read.append(exclude), update(s, study, exclude=exclude)),
    )
    study = optuna.create_study(sampler=Toy(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=4)
    assert read == [0, 1, 1, 2, 2, 3, 3]


def test_each_of_two_concurrent_trials_reads_the_history() -> None:
    study = optuna.create_study(sampler=Toy(seed=0))
    sampler = study.sampler
    study.optimize(finite, n_trials=3)
    asked = [study.ask() for _ in range(2)]
    frozen = [study.trials[t.number] for t in asked]
    spaces = [sampler.infer_relative_search_space(study, f) for f in frozen]
    late = [sampler.sample_relative(study, f, s) for f, s in zip(frozen, spaces)]
    for f, s, expected in zip(frozen, spaces, late):
        assert Toy(seed=0).sample_relative(study, f, s) == expected


def test_values_outside_a_dynamic_range_are_drawn_again() -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0.1, 1)
        return trial.suggest_float("y", 0, x)

    study = optuna.create_study(sampler=Toy(seed=0))
    study.optimize(objective, n_trials=20)
    assert all(0 <= p["y"] <= p["x"] for p in params(study))


def test_choices_of_every_type_are_proposed() -> None:
    choices = [None, True, "a", 2.5, 7]
    study = optuna.create_study(sampler=Toy(seed=0))
    study.optimize(lambda t: float(t.suggest_categorical("k", choices) == 7), n_trials=6)
    assert {str(p["k"]) for p in params(study)[:5]} == {str(c) for c in choices}
    assert CategoricalDistribution(choices) == study.trials[5].distributions["k"]


def blas_threads() -> set[int]:
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_samplers_propose_with_one_blas_thread_and_restore_the_others() -> None:
    found: list[set[int]] = []

    class Counting(HistorySampler):
        def propose(self, ctx: ProposalContext) -> Proposal:
            found.append(blas_threads())
            return Proposal(ctx.history.space.sample(ctx.rng)[0])

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        found.append(blas_threads())
        return x

    study = optuna.create_study(sampler=Counting(seed=0))
    with threadpool_limits(2, user_api="blas"):
        study.optimize(objective, n_trials=2)
    assert found == [{2}, {1}, {2}]


def test_only_the_attempts_of_one_trial_share_the_trial_cache() -> None:
    made: list[int] = []
    attempts: list[tuple[int, int]] = []

    def propose(ctx: ProposalContext) -> Proposal:
        ctx.trial_cache("model", lambda: made.append(ctx.trial_number))
        attempts.append((ctx.trial_number, ctx.attempt))
        return same_again(ctx)

    study = optuna.create_study(sampler=Toy(propose, seed=0))
    study.optimize(finite, n_trials=4)
    assert made == [1, 2, 3]
    assert attempts.count((3, base._MAX_ATTEMPTS - 1)) == 1


def test_generators_of_study_trial_and_attempt_differ() -> None:
    seen: list[tuple[float, float, float]] = []

    def propose(ctx: ProposalContext) -> Proposal:
        seen.append((ctx.study_rng(5).random(), ctx.trial_rng(5).random(), ctx.rng.random()))
        return same_again(ctx)

    study = optuna.create_study(sampler=Toy(propose, seed=0))
    study.optimize(finite, n_trials=3)
    of_study, of_trial, of_attempt = (len(set(column)) for column in zip(*seen))
    assert (of_study, of_trial) == (1, 2)
    assert of_attempt == len(seen) == 1 + base._MAX_ATTEMPTS


# ---- arguments of all samplers ------------------------------------------------------------------


def half_of_weighted_sum(losses: Any, weights: Any) -> Any:
    return losses @ weights.T / 2


#: All arguments of each sampler except ``settings`` and ``seed``, with values of their own.
FLAT: dict[type[HistorySampler], dict[str, Any]] = {
    samplers.FilterEnsembleNSGA2Sampler: {
        "population_size": 300,
        "n_startup_trials": 12,
        "n_trials": 1000,
        "surrogate": "forest",
    },
    samplers.MOEADSampler: {
        "population_size": 300,
        "n_neighbors": 7,
        "n_startup_trials": 12,
        "n_candidates": 16,
        "decomposition": "augmented_tchebycheff",
    },
    samplers.LexiFlowSampler: {
        "preference": LexicographicPreference(["b"], tolerances={"a": "5%"}, goals={"b": 3.0}),
        "low_cost_partial_config": {"trees": 4, "kind": "x"},
        "n_startup_trials": 8,
        "n_candidates": 0,
    },
    samplers.ParEGOSampler: {
        "n_trials": 60,
        "n_startup_trials": 12,
        "surrogate": RandomForestRegressor(n_estimators=5, random_state=0),
        "kappa": 0.5,
        "acquisition": "ei",
    },
    samplers.SMSEGOSampler: {
        "n_trials": 60,
        "n_startup_trials": 12,
        "surrogate": "gaussian_process",
        "kappa": 0.5,
    },
    samplers.GHGASampler: {
        "tolerance": 0.01,
        "guide": samplers.ForestGuide(n_trees=5),
        "metric": "error",
        "n_trials": 100,
        "n_startup_trials": 7,
    },
}
SETTINGS: dict[type[HistorySampler], Any] = {
    samplers.FilterEnsembleNSGA2Sampler: samplers.NSGA2Settings(
        n_offspring=3,
        parent_selection=samplers.TournamentSelection(),
        variation=samplers.MixedVariation(sbx_prob=0.2),
    ),
    samplers.MOEADSampler: samplers.MOEADSettings(
        max_replacements=2, variation=samplers.DifferentialVariation(scale=0.4)
    ),
    samplers.LexiFlowSampler: samplers.LexiFlowSettings(step_size=0.2, max_failures=None),
    samplers.ParEGOSampler: samplers.ModelBasedSettings(
        rho=0.1, mask_search=samplers.MaskSearch(n_masks=20)
    ),
    samplers.SMSEGOSampler: samplers.ModelBasedSettings(
        infill_search=samplers.InfillSearch(), explore_larger_sets=False
    ),
    samplers.GHGASampler: samplers.GHGASettings(budget=4, initial_mask_sampler="wide"),
}
MADE = {
    **{f"{kind.__name__}()": kind() for kind in FLAT},
    **{
        f"{kind.__name__} with arguments": kind(**flat, settings=SETTINGS[kind], seed=2**40)
        for kind, flat in FLAT.items()
    },
    **{f"{kind.__name__}.from_paper": kind.from_paper(seed=3) for kind in FLAT},
    **{
        f"variant {variant}": samplers.FilterEnsembleNSGA2Sampler.from_paper(variant)
        for variant in (1, 2, 3, 4, 5, 6, "GA-MO", "GA-MO-FE")
    },
    "GHGASampler.from_paper with a guide": samplers.GHGASampler.from_paper(
        guide="frequency", n_phase1_iterations=5
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_the_repr_evaluates_to_an_equal_sampler(name: str) -> None:
    sampler = MADE[name]
    public = {name: getattr(optuna_mofs, name) for name in optuna_mofs.__all__}
    names = vars(samplers) | public | {"RandomForestRegressor": RandomForestRegressor}
    again = eval(repr(sampler), names)
    assert type(again) is type(sampler)
    assert again.settings == sampler.settings
    for argument in inspect.signature(type(sampler)).parameters:
        assert repr(getattr(again, argument)) == repr(getattr(sampler, argument))


@pytest.mark.parametrize("kind", FLAT)
def test_the_repr_shows_only_what_differs_from_the_defaults(kind: type[HistorySampler]) -> None:
    assert repr(kind()) == f"{kind.__name__}()"
    assert repr(kind(seed=5)) == f"{kind.__name__}(seed=5)"


@pytest.mark.parametrize("kind", FLAT)
def test_every_argument_is_an_attribute_that_is_not_changed(kind: type[HistorySampler]) -> None:
    given = {**FLAT[kind], "settings": SETTINGS[kind], "seed": 2**40}
    sampler = kind(**given)
    assert list(inspect.signature(kind).parameters) == list(given)
    for name, value in given.items():
        assert getattr(sampler, name) is value
    for name, parameter in inspect.signature(kind).parameters.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY or name == "preference"
        assert getattr(kind(), name) is parameter.default


def test_all_samplers_together_have_39_arguments() -> None:
    assert sum(len(inspect.signature(kind).parameters) for kind in FLAT) == 39


def test_a_function_as_argument_is_not_changed() -> None:
    sampler = samplers.MOEADSampler(decomposition=half_of_weighted_sum)
    assert sampler.decomposition is half_of_weighted_sum


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
@pytest.mark.parametrize("with_number", [True, False])
@pytest.mark.parametrize("choices", [((50, 50), (100,), (1, (2,))), ([50, 50], [100], None)])
def test_choices_that_are_sequences_come_from_the_proposal(
    choices: tuple[Any, ...], with_number: bool, tmp_path: Any, open_sqlite: Any
) -> None:
    proposed: list[int] = []
    columns = []

    def propose(ctx: ProposalContext) -> Proposal:
        row = ctx.history.space.sample(ctx.rng)[0]
        proposed.append(int(row[ctx.history.space.names.index("layers")]))
        return Proposal(row)

    def objective(trial: Trial) -> float:
        seen.append(trial.suggest_categorical("layers", choices))
        return trial.suggest_float("x", 0, 1) if with_number else 0.0

    for storage in (None, open_sqlite(tmp_path / "a.db")):
        seen: list[Any] = []
        study = optuna.create_study(sampler=Toy(propose, seed=1), storage=storage)
        study.optimize(objective, n_trials=2)
        # Exactly the object that the user passed, although a database returns lists.
        assert seen[1] is choices[proposed[-1]]
        assert study.sampler._cache.of(study).sequence_choices == {}
        history = History()
        history.update(study)
        column = history.rows[:, history.space.names.index("layers")]
        assert column.tolist() == [choices.index(value) for value in seen]
        columns.append(column.tolist())
    assert columns[0] == columns[1]
