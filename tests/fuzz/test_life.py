"""The life of a study, step by step, against a model in plain Python.

Trials are asked for, told, failed, killed and repeated; studies are reopened, copied and deleted;
trials are enqueued and added. After each step, everything that can be read must be what the model
says.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from optuna.trial import TrialState, create_trial

import optuna_mofs
from optuna_mofs import (
    enqueue_features,
    pareto_front,
    retry_interrupted,
    selected_features,
    suggest_features,
)
from optuna_mofs.history._history import History
from optuna_mofs.study._description import StudyDescription
from tests.fuzz.cases import SETTINGS, tally

SAMPLERS = {
    "random": lambda: optuna.samplers.RandomSampler(seed=0),
    "nsga2": lambda: optuna_mofs.FilterEnsembleNSGA2Sampler(seed=0, n_startup_trials=3),
    "ghga": lambda: optuna_mofs.GHGASampler(seed=0, n_startup_trials=3),
    "lexiflow": lambda: optuna_mofs.LexiFlowSampler(seed=0, n_startup_trials=3),
    "moead": lambda: optuna_mofs.MOEADSampler(seed=0, population_size=4),
}
VALUE = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@dataclass
class Expected:
    """What the model knows of a trial."""

    state: TrialState
    values: list[float] | None = None
    features: list[str] | None = None
    x: float | None = None
    #: Whether the trial has suggested what is above, rather than will do so.
    is_chosen: bool = False

    @property
    def is_running(self) -> bool:
        """Whether no process has ended it."""
        return self.state == TrialState.RUNNING


class StudyLife(RuleBasedStateMachine):
    """A study, and the list of trials that it should have."""

    def __init__(self) -> None:
        super().__init__()
        tally["cases"] += 1
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="mofs_life", dir=memory))
        self.n_studies = 0
        self.trials: list[Expected] = []
        self.held: dict[int, optuna.Trial] = {}
        self.history: History | None = None

    def teardown(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.folder)

    def _open(self) -> Any:
        if self.kind == "sqlite":
            return optuna_mofs.storage(self.folder / "studies.db")
        return optuna_mofs.journal(self.folder / "studies.log")

    @initialize(
        kind=st.sampled_from(["journal", "journal", "journal", "sqlite"]),
        n_features=st.sampled_from([3, 40]),
        sampler=st.sampled_from(sorted(SAMPLERS)),
    )
    def create(self, kind: str, n_features: int, sampler: str) -> None:
        """Create a study, and run a trial so that it has features."""
        self.kind, self.n_features = kind, n_features
        self.names = [f"x{j}" for j in range(n_features)]
        self._create(sampler)

    def _create(self, sampler: str) -> None:
        self.n_studies += 1
        self.study = optuna.create_study(
            storage=self._open(),
            study_name=f"s{self.n_studies}",
            directions=["minimize"] * 2,
            sampler=SAMPLERS[sampler](),
        )
        self.trials, self.held, self.history = [], {}, None
        self.tell(self.ask(), 0.5, 0.5)

    # ---- trials --------------------------------------------------------------------------------

    @rule(suggests=st.booleans())
    def begin(self, suggests: bool) -> None:
        """Begin a trial, which is perhaps killed before it suggests anything."""
        self.ask(suggests)

    def ask(self, suggests: bool = True) -> int:
        """Begin a trial, and return its number."""
        trial = self.study.ask()
        waiting = [i for i, t in enumerate(self.trials) if t.state == TrialState.WAITING]
        if waiting:
            assert trial.number == waiting[0]
        else:
            assert trial.number == len(self.trials)
            self.trials.append(Expected(TrialState.RUNNING))
        expected = self.trials[trial.number]
        expected.state = TrialState.RUNNING
        if suggests:
            mask = suggest_features(trial, self.n_features)
            x = trial.suggest_float("x", 0, 1)
            features = [self.names[j] for j in np.flatnonzero(mask)]
            assert expected.features in (None, features)
            assert expected.x in (None, x)
            expected.features, expected.x, expected.is_chosen = features, x, True
        self.held[trial.number] = trial
        return trial.number

    def _choose(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(sorted(self.held)))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), error=VALUE, size=VALUE)
    def end(self, data: st.DataObject, error: float, size: float) -> None:
        """Complete a trial."""
        self.tell(self._choose(data), error, size)

    def tell(self, number: int, error: float, size: float) -> None:
        """Complete a trial."""
        self.study.tell(self.held.pop(number), [error, size])
        self.trials[number].state, self.trials[number].values = TrialState.COMPLETE, [error, size]

    @precondition(lambda self: self.held)
    @rule(data=st.data(), state=st.sampled_from([TrialState.FAIL, TrialState.PRUNED]))
    def fail(self, data: st.DataObject, state: TrialState) -> None:
        """End a trial without values."""
        number = self._choose(data)
        self.study.tell(self.held.pop(number), state=state)
        self.trials[number].state = state

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        """Forget a trial, as a process that is killed does."""
        del self.held[self._choose(data)]

    @rule()
    def retry(self) -> None:
        """Repeat all running trials; the processes that had them are gone."""
        running = [i for i, trial in enumerate(self.trials) if trial.is_running]
        assert retry_interrupted(self.study) == running
        for number in running:
            old = self.trials[number]
            old.state = TrialState.FAIL
            self.trials.append(Expected(TrialState.WAITING, None, old.features, old.x))
        self.held = {}

    @rule(data=st.data(), x=st.none() | VALUE)
    def enqueue(self, data: st.DataObject, x: float | None) -> None:
        """Enqueue a feature set."""
        features = data.draw(st.lists(st.sampled_from(self.names), unique=True, max_size=5))
        enqueue_features(self.study, features, None if x is None else {"x": x})
        ordered = [name for name in self.names if name in features]
        self.trials.append(Expected(TrialState.WAITING, None, ordered, x))

    @rule(error=VALUE, size=VALUE)
    def add(self, error: float, size: float) -> None:
        """Add a completed trial of something else."""
        space = {"x": optuna.distributions.FloatDistribution(0, 1)}
        self.study.add_trial(
            create_trial(params={"x": error}, distributions=space, values=[error, size])
        )
        self.trials.append(Expected(TrialState.COMPLETE, [error, size], None, error, True))

    # ---- studies -------------------------------------------------------------------------------

    @rule(sampler=st.sampled_from(sorted(SAMPLERS)))
    def reopen(self, sampler: str) -> None:
        """Go on in another process, perhaps with another sampler."""
        self.study = optuna.load_study(
            study_name=self.study.study_name, storage=self._open(), sampler=SAMPLERS[sampler]()
        )
        self.held, self.history = {}, None

    @rule(sampler=st.sampled_from(sorted(SAMPLERS)))
    def copy(self, sampler: str) -> None:
        """Go on with a copy."""
        self.n_studies += 1
        optuna.copy_study(
            from_study_name=self.study.study_name,
            from_storage=self.study._storage,
            to_storage=self.study._storage,
            to_study_name=f"s{self.n_studies}",
        )
        self.study = optuna.load_study(
            study_name=f"s{self.n_studies}", storage=self._open(), sampler=SAMPLERS[sampler]()
        )
        self.held, self.history = {}, None

    @rule(sampler=st.sampled_from(sorted(SAMPLERS)))
    def delete(self, sampler: str) -> None:
        """Delete the study, and begin another one."""
        optuna.delete_study(study_name=self.study.study_name, storage=self.study._storage)
        self._create(sampler)

    # ---- what can be read ----------------------------------------------------------------------

    @invariant()
    def trials_are_those_of_the_model(self) -> None:
        """Compare states, values, parameters and features."""
        found = self.study.get_trials(deepcopy=False)
        assert [t.state for t in found] == [t.state for t in self.trials]
        for trial, expected in zip(found, self.trials):
            assert trial.values == expected.values
            if expected.is_chosen:
                assert trial.params.get("x") == expected.x
                assert selected_features(self.study, trial) == expected.features

    @invariant()
    def the_front_is_that_of_the_model(self) -> None:
        """Compare the front with all pairs of trials."""
        points = {tuple(t.values) for t in self.trials if t.values is not None}
        best = {
            p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)
        }
        assert {tuple(trial.values) for trial in pareto_front(self.study)} == best

    @invariant()
    def the_history_is_that_of_a_new_process(self) -> None:
        """Compare the history that is read step by step with one that is read at once."""
        described = StudyDescription.read(self.study)
        if self.history is None:
            self.history = History(described)
        once = History(described)
        once.update(self.study)
        # A trial without features is none of this search.
        known = [
            t
            for t in self.trials
            if t.values is not None and t.is_chosen and t.features is not None
        ]
        assert len(once) == len(known)
        self.history.update(self.study)
        for name in ("numbers", "values", "packed", "sizes", "rows"):
            found, expected = getattr(self.history, name), getattr(once, name)
            np.testing.assert_array_equal(found, expected, err_msg=name)


TestStudyLife = StudyLife.TestCase
TestStudyLife.settings = settings(SETTINGS, stateful_step_count=15)
