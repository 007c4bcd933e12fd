"""Part of the conformance suite: a sampler proposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import Trial, TrialState

from optuna_mofs._optuna import frozen_attr, read_study_attr
from optuna_mofs.history._history import PROPOSAL
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed

SamplerFactory = Callable[..., BaseSampler]


class Proposing:
    """Proposals on every problem, by operators that are named, without clones."""

    #: Trials after which the sampler's own proposals are well under way.
    trials = 30

    @pytest.mark.parametrize("problem", sorted(PROBLEMS))
    @pytest.mark.parametrize("maximize", [False, True])
    def test_proposals_past_the_start(
        self, sampler: SamplerFactory, problem: str, maximize: bool
    ) -> None:
        """All problems run, and later proposals say which operator made them of whom."""
        study = make_study(problem, maximize=maximize, sampler=sampler(0))
        study.optimize(PROBLEMS[problem], n_trials=self.trials)
        assert all(t.state == TrialState.COMPLETE for t in study.trials)
        for trial in study.trials[1:]:
            note = frozen_attr(trial, PROPOSAL)
            assert note is not None
            assert note["operator"]
            assert all(0 <= parent < trial.number for parent in note["parents"])

    def test_direction_mirrors(self, sampler: SamplerFactory) -> None:
        """Maximising the negative proposes the same as minimising."""
        down = make_study("mixed", sampler=sampler(3))
        down.optimize(mixed, n_trials=self.trials)
        up = make_study("mixed", maximize=True, sampler=sampler(3))
        up.optimize(lambda t: tuple(-v for v in mixed(t)), n_trials=self.trials)
        assert params_of(up) == params_of(down)

    def test_seeds_differ(self, sampler: SamplerFactory) -> None:
        """Another seed gives another run, the same seed the same one."""
        runs = []
        for seed in (0, 0, 1):
            study = make_study("packed", sampler=sampler(seed))
            study.optimize(PROBLEMS["packed"], n_trials=12)
            runs.append(params_of(study))
        assert runs[0] == runs[1]
        assert all(a != b for a, b in zip(runs[0], runs[2]))

    def test_seed_is_kept_in_the_study(self, sampler: SamplerFactory) -> None:
        """A run without a seed can be repeated with the one the study kept."""
        study = make_study("mixed", sampler=sampler(None))
        study.optimize(mixed, n_trials=12)
        again = make_study("mixed", sampler=sampler(read_study_attr(study, "seed")))
        again.optimize(mixed, n_trials=12)
        assert params_of(again) == params_of(study)

    def test_no_clones_while_others_exist(self, sampler: SamplerFactory) -> None:
        """A space of 12 configurations is exhausted in 12 trials, then repeats are allowed."""

        def objective(trial: Trial) -> tuple[float, ...]:
            trial.suggest_float("constant", 1, 1)
            flag = trial.suggest_categorical("flag", [False, True])
            return float(flag), float(trial.suggest_int("n", 1, 6, log=True))

        study = make_study("mixed", sampler=sampler(0))
        study.optimize(objective, n_trials=14)
        assert distinct(study.trials[:12]) == 12
        assert len(study.trials) == 14


def params_of(study: Study) -> list[dict[str, Any]]:
    """Parameters of all trials."""
    return [t.params for t in study.get_trials(deepcopy=False)]


def distinct(trials: list[Any]) -> int:
    """Number of different configurations."""
    return len({frozenset(t.params.items()) for t in trials})
