"""Studies in real database servers; tests are skipped if the server is not installed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from threading import Barrier

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

import optuna_mofs
from optuna_mofs import (
    FeatureTable,
    FilterEnsembleNSGA2Sampler,
    GHGASampler,
    LexiFlowSampler,
    MOEADSampler,
    ParEGOSampler,
    SMSEGOSampler,
    retry_interrupted,
    selected_features,
    suggest_features,
)
from optuna_mofs.cli import main
from optuna_mofs.samplers.ghga import GHGASettings
from optuna_mofs.testing._workers import Job, open_storage, run_workers
from optuna_mofs.testing.problems import PROBLEMS, make_study
from optuna_mofs.testing.pytest_samplers import all_params, n_configurations
from tests.cli.tables import QUICK, write_people
from tests.servers import SERVERS

SAMPLERS = {
    "nsga2": lambda: FilterEnsembleNSGA2Sampler(seed=2, n_startup_trials=8, population_size=8),
    "parego": lambda: ParEGOSampler(seed=2, n_startup_trials=8),
    "smsego": lambda: SMSEGOSampler(seed=2, n_startup_trials=8),
    "ghga": lambda: GHGASampler(
        n_startup_trials=5, settings=GHGASettings(n_phase1_iterations=4), seed=2
    ),
    "lexiflow": lambda: LexiFlowSampler(seed=2, n_startup_trials=5),
    "moead": lambda: MOEADSampler(seed=2, population_size=8),
}


@pytest.fixture(scope="module", params=list(SERVERS))
def url(request):
    with SERVERS[request.param]() as made:
        yield made


def test_workers_that_open_an_empty_database_at_the_same_moment(url):
    # Threads with connections of their own race like processes do.
    barrier = Barrier(16)

    def create(_: int) -> str:
        barrier.wait(60)
        storage = optuna_mofs.storage(url)
        return optuna.create_study(
            study_name="first", storage=storage, load_if_exists=True
        ).study_name

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(create, range(16))) == ["first"] * 16


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_reopened_study_continues_as_in_memory(url, name):
    whole = make_study("packed", sampler=SAMPLERS[name]())
    whole.optimize(PROBLEMS["packed"], n_trials=16)
    make_study("packed", storage=url, study_name=f"resumed {name}")
    for trials in (9, 7):
        study = optuna.load_study(
            study_name=f"resumed {name}", storage=url, sampler=SAMPLERS[name]()
        )
        study.optimize(PROBLEMS["packed"], n_trials=trials)
    # Bit for bit: a server must not round the values that a sampler uses.
    assert all_params(study) == all_params(whole)
    assert [t.values for t in study.trials] == [t.values for t in whole.trials]


@pytest.mark.parametrize("name", ["nsga2", "ghga"])
def test_four_processes_repeat_nothing(url, name):
    study = make_study("packed", storage=open_storage(url), study_name=f"four {name}")
    job = Job(url, f"four {name}", "packed", n_trials=8)
    assert run_workers(SAMPLERS[name], [job], n_workers=4) == [0, 0, 0, 0]
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 32
    assert n_configurations(study.trials) == 32


def test_a_killed_trial_is_repeated(url):
    study = make_study("packed", storage=open_storage(url), study_name="killed")
    job = Job(url, "killed", "packed", n_trials=8, kill_at=5)
    assert run_workers(SAMPLERS["nsga2"], [job]) == [-9]
    assert retry_interrupted(study) == [5]
    study.sampler = SAMPLERS["nsga2"]()
    study.optimize(PROBLEMS["packed"], n_trials=1)
    assert study.trials[-1].params == study.trials[5].params
    assert study.trials[-1].state == TrialState.COMPLETE


def test_long_descriptions_and_unicode_names(url):
    p = 10_935
    # A TEXT column of MySQL holds 64 KB; these names take several times that.
    names = tuple(f"Größe «{j}» λ 基因 🧬" for j in range(p))
    ranks = np.arange(p)[None, ::-1] / (p - 1)
    table = FeatureTable(names, filters=("auc",), ranks=ranks, expected_n_features=9)

    def objective(trial):
        mask = suggest_features(trial, table)
        return 1.0 - mask[:20].mean(), mask.mean()

    study = make_study(
        "mixed", storage=url, study_name="wide", sampler=FilterEnsembleNSGA2Sampler(seed=0)
    )
    study.optimize(objective, n_trials=12)
    again = optuna.load_study(study_name="wide", storage=url)
    for trial in again.trials:
        chosen = selected_features(again, trial)
        assert len(chosen) == round(trial.values[1] * p)
        assert 1.0 - len(set(chosen) & set(names[:20])) / 20 == pytest.approx(trial.values[0])


def test_the_command_line_with_two_workers(url, tmp_path, capsys):
    data = write_people(tmp_path)
    where = ("--storage", url, "--study", "people")
    new = ("--data", str(data), "--target", "risk", "--drop", "name", *QUICK)
    with chdir(tmp_path):
        assert main(["run", *where, *new, "--trials", "6", "--workers", "2", "--quiet"]) == 0
        assert main(["run", *where, "--trials", "4", "--quiet"]) == 0
        assert main(["front", *where, "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("trial,pick,error,fraction")
    study = optuna.load_study(study_name="people", storage=url)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 10
