"""The conformance suite that every sampler runs, on top of Optuna's own.

It needs pytest. A test module does::

    class TestMine(SamplerConformance):
        @pytest.fixture
        def sampler(self):
            return lambda seed=0: MySampler(seed=seed)
"""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.samplers import BaseSampler, PartialFixedSampler
from optuna.study import Study
from optuna.trial import Trial, TrialState

from optuna_mofs._storage import frozen_attr, read_study_attr
from optuna_mofs.history import PROPOSAL
from optuna_mofs.resume import retry_interrupted
from optuna_mofs.selection import enqueue_features, selected_features
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed
from optuna_mofs.testing.worker import open_storage, start

SamplerFactory = Callable[..., BaseSampler]


class SamplerConformance:
    """Inherit from it and define a fixture ``sampler``: a function of ``seed`` (None allowed)."""

    #: Trials after which the sampler's own proposals are well under way.
    trials = 30

    @pytest.fixture(autouse=True)
    def _quiet(self) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)

    # ---- it proposes ----------------------------------------------------------------------------

    @pytest.mark.parametrize("problem", sorted(PROBLEMS))
    @pytest.mark.parametrize("maximize", [False, True])
    def test_proposals_past_the_start(
        self, sampler: SamplerFactory, problem: str, maximize: bool
    ) -> None:
        """All problems run, and later proposals say which operator made them."""
        study = make_study(problem, maximize=maximize, sampler=sampler(0))
        study.optimize(PROBLEMS[problem], n_trials=self.trials)
        assert all(t.state == TrialState.COMPLETE for t in study.trials)
        notes = [frozen_attr(t, PROPOSAL) for t in study.trials[1:]]
        assert all(note is not None and note["operator"] for note in notes)
        parents = [p for t, n in zip(study.trials[1:], notes) for p in n["parents"]]
        assert all(p < self.trials for p in parents)

    def test_direction_mirrors(self, sampler: SamplerFactory) -> None:
        """Maximising the negative proposes the same as minimising."""
        down = make_study("mixed", sampler=sampler(3))
        down.optimize(mixed, n_trials=self.trials)
        up = make_study("mixed", maximize=True, sampler=sampler(3))
        up.optimize(lambda t: tuple(-v for v in mixed(t)), n_trials=self.trials)
        assert _params(up) == _params(down)

    def test_seeds_differ(self, sampler: SamplerFactory) -> None:
        """Another seed gives another run, the same seed the same one."""
        runs = []
        for seed in (0, 0, 1):
            study = make_study("packed", sampler=sampler(seed))
            study.optimize(PROBLEMS["packed"], n_trials=12)
            runs.append(_params(study))
        assert runs[0] == runs[1]
        assert all(a != b for a, b in zip(runs[0], runs[2]))

    def test_seed_is_kept_in_the_study(self, sampler: SamplerFactory) -> None:
        """A run without a seed can be repeated with the one the study kept."""
        study = make_study("mixed", sampler=sampler(None))
        study.optimize(mixed, n_trials=12)
        again = make_study("mixed", sampler=sampler(read_study_attr(study, "seed")))
        again.optimize(mixed, n_trials=12)
        assert _params(again) == _params(study)

    # ---- it resumes -----------------------------------------------------------------------------

    @pytest.mark.parametrize("problem", ["mixed", "conditional", "bits", "packed", "three"])
    def test_exact_resume(self, sampler: SamplerFactory, problem: str, tmp_path: Path) -> None:
        """Stopped after any trial and reopened in a new process: bit for bit the same trials."""
        whole = make_study(problem, sampler=sampler(5))
        whole.optimize(PROBLEMS[problem], n_trials=self.trials)
        url = f"sqlite:///{tmp_path}/resume.db"
        storage = open_storage(url)
        stops = [1, 2, self.trials // 2, self.trials - 1]
        for stop in stops:
            part = make_study(
                problem, sampler=sampler(5), storage=storage, study_name=f"stop{stop}"
            )
            part.optimize(PROBLEMS[problem], n_trials=stop)
        names = [f"stop{stop}" for stop in stops]
        worker = start(sampler(5), storage=url, studies=names, problem=problem, until=self.trials)
        assert worker.wait(300) == 0
        for name in names:
            resumed = optuna.load_study(study_name=name, storage=storage)
            assert _params(resumed) == _params(whole), name
            assert [t.values for t in resumed.trials] == [t.values for t in whole.trials]

    def test_killed_in_the_middle_of_a_trial(
        self, sampler: SamplerFactory, tmp_path: Path
    ) -> None:
        """SIGKILL: the configuration that was cut off is evaluated again, nothing is lost."""
        url = f"sqlite:///{tmp_path}/kill.db"
        storage = open_storage(url)
        study = make_study("packed", storage=storage, study_name="s", sampler=sampler(1))
        job: dict[str, Any] = {"storage": url, "studies": ["s"], "problem": "packed"}
        at = self.trials // 2
        assert start(sampler(1), **job, trials=self.trials, kill_at=at).wait(300) == -9
        assert study.trials[at].state == TrialState.RUNNING
        before = _params(study)
        assert retry_interrupted(study) == [at]
        assert start(sampler(1), **job, until=self.trials).wait(300) == 0
        after = study.trials
        complete = [t for t in after if t.state == TrialState.COMPLETE]
        assert len(complete) == self.trials
        assert [t.params for t in after[: at + 1]] == before
        again = [t for t in complete if t.params == before[at]]
        assert len(again) == 1
        assert selected_features(study, again[0]) == selected_features(study, after[at])
        assert len({frozenset(t.params.items()) for t in complete}) == self.trials

    @pytest.mark.parametrize("kind", ["sqlite", "journal"])
    def test_four_processes(self, sampler: SamplerFactory, kind: str, tmp_path: Path) -> None:
        """Four workers on one storage: every trial is finished, none is a clone."""
        where = f"sqlite:///{tmp_path}/four.db" if kind == "sqlite" else f"{tmp_path}/four.log"
        storage = open_storage(where)
        study = make_study("packed", storage=storage, study_name="s", sampler=sampler(2))
        workers = [
            start(sampler(2), storage=where, studies=["s"], problem="packed", trials=10)
            for _ in range(4)
        ]
        assert [w.wait(300) for w in workers] == [0, 0, 0, 0]
        assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 40
        assert len({frozenset(t.params.items()) for t in study.trials}) == 40

    def test_pickle_and_deepcopy(self, sampler: SamplerFactory) -> None:
        """A copied sampler goes on as the original would have."""
        whole = make_study("bits", sampler=sampler(4))
        whole.optimize(PROBLEMS["bits"], n_trials=20)
        study = make_study("bits", sampler=sampler(4))
        study.optimize(PROBLEMS["bits"], n_trials=6)
        study.sampler = copy.deepcopy(study.sampler)
        study.optimize(PROBLEMS["bits"], n_trials=7)
        study.sampler = pickle.loads(pickle.dumps(study.sampler))
        study.optimize(PROBLEMS["bits"], n_trials=7)
        assert _params(study) == _params(whole)

    def test_copied_study_goes_on(self, sampler: SamplerFactory, tmp_path: Path) -> None:
        """Trial ids change in a copy; what the sampler remembers must not depend on them."""
        url = f"sqlite:///{tmp_path}/copy.db"
        storage = open_storage(url)
        make_study("mixed", storage=storage, study_name="other").ask()
        study = make_study("packed", storage=storage, study_name="from", sampler=sampler(6))
        study.optimize(PROBLEMS["packed"], n_trials=12)
        optuna.copy_study(
            from_study_name="from", from_storage=storage, to_storage=storage, to_study_name="to"
        )
        study.optimize(PROBLEMS["packed"], n_trials=8)
        copied = optuna.load_study(study_name="to", storage=storage, sampler=sampler(6))
        copied.optimize(PROBLEMS["packed"], n_trials=8)
        assert _params(copied) == _params(study)

    # ---- it takes what comes --------------------------------------------------------------------

    def test_threads(self, sampler: SamplerFactory) -> None:
        """``n_jobs=2`` finishes every trial, without clones."""
        study = make_study("packed", sampler=sampler(0))
        study.optimize(PROBLEMS["packed"], n_trials=self.trials, n_jobs=2)
        assert [t.state for t in study.trials] == [TrialState.COMPLETE] * self.trials
        assert len({frozenset(t.params.items()) for t in study.trials}) == self.trials

    def test_failed_pruned_nan_and_enqueued(self, sampler: SamplerFactory) -> None:
        """Trials of every fate are survived, and queued ones run as they were asked for."""

        def objective(trial: Trial) -> tuple[float, ...]:
            values = PROBLEMS["bits"](trial)
            if trial.number % 5 == 1:
                raise ValueError("on purpose")
            if trial.number % 5 == 2:
                return math.nan, values[1]
            if trial.number % 5 == 3:
                raise optuna.TrialPruned
            return values

        study = make_study("bits", sampler=sampler(0))
        study.optimize(objective, n_trials=self.trials, catch=(ValueError,))
        enqueue_features(study, ["f3", "f5"], {"C": 7.0})
        number = len(study.trials) - 1
        study.optimize(objective, n_trials=6, catch=(ValueError,))
        assert selected_features(study, study.trials[number]) == ["f3", "f5", "f11"]
        assert study.trials[number].params["C"] == 7.0
        fates = {t.state for t in study.trials}
        assert fates == {TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED}

    def test_infinite_values(self, sampler: SamplerFactory) -> None:
        """Infinite values are legal in Optuna."""
        study = make_study("mixed", sampler=sampler(0))

        def objective(trial: Trial) -> tuple[float, ...]:
            first, second = mixed(trial)
            return (math.inf, second) if trial.number % 3 == 0 else (first, -math.inf)

        study.optimize(objective, n_trials=self.trials)
        assert len(study.trials) == self.trials

    def test_constraints(self, sampler: SamplerFactory) -> None:
        """Constraints set on trials are survived."""
        study = make_study("mixed", sampler=sampler(0))

        def objective(trial: Trial) -> tuple[float, ...]:
            values = mixed(trial)
            trial.set_constraint("x", trial.params["x"])
            return values

        study.optimize(objective, n_trials=self.trials)
        assert all(t.state == TrialState.COMPLETE for t in study.trials)

    def test_partial_fixed(self, sampler: SamplerFactory) -> None:
        """Parameters fixed from outside stay fixed, the others are searched."""
        inner = sampler(0)
        study = make_study("mixed", sampler=PartialFixedSampler({"x": 0.5, "kind": "b"}, inner))
        study.optimize(mixed, n_trials=self.trials)
        assert {t.params["x"] for t in study.trials} == {0.5}
        assert {t.params["kind"] for t in study.trials} == {"b"}
        assert len({t.params["rate"] for t in study.trials}) == self.trials

    def test_fixed_mask(self, sampler: SamplerFactory) -> None:
        """A mask fixed from outside means the same set in every trial."""
        inner = sampler(0)
        study = make_study("packed", sampler=PartialFixedSampler({"mask": 99}, inner))
        study.optimize(PROBLEMS["packed"], n_trials=8)
        assert len({tuple(selected_features(study, t) or ()) for t in study.trials}) == 1

    def test_no_clones_while_others_exist(self, sampler: SamplerFactory) -> None:
        """A space of 12 configurations is exhausted in 12 trials."""

        def objective(trial: Trial) -> tuple[float, ...]:
            flag = trial.suggest_categorical("flag", [False, True])
            return float(flag), float(trial.suggest_int("n", 1, 6))

        study = make_study("mixed", sampler=sampler(0))
        study.optimize(objective, n_trials=13)
        assert len({frozenset(t.params.items()) for t in study.trials[:12]}) == 12


def _params(study: Study) -> list[dict[str, Any]]:
    return [t.params for t in study.get_trials(deepcopy=False)]
