from __future__ import annotations

import numpy as np
import optuna
import pytest
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs._row_searches import RowSearch, StoredTests, open_shared, verbosity


@pytest.fixture(scope="module")
def objective():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(60) % 2)
    X = rng.normal(size=(60, 4)) + y[:, None]
    return FeatureSelectionObjective(
        GaussianNB(), X, y, cv=3, filters=["anova_f"], representation="filter_ensemble"
    )


def _numbers(search, k, rows):
    part, study = search(k, rows, None)
    return k, part.data.shape[0], len(study.trials)


def test_each_job_is_a_search_on_its_rows(objective, capsys):
    search = RowSearch(objective, None, 3, None, 0)
    jobs = [(0, np.arange(40)), (1, np.arange(20, 60))]
    found = search.repeat(_numbers, jobs, n_jobs=None, show_progress_bar=True)
    assert found == [(0, 40, 3), (1, 40, 3)]
    assert "6/6" in capsys.readouterr().err
    with pytest.raises(ValueError, match="n_trials must be an integer of at least 1, got 0"):
        RowSearch(objective, None, 0, None, 0)


def test_a_storage_needs_a_name_and_is_opened_once():
    assert open_shared(None, None) is None
    storage = optuna.storages.InMemoryStorage()
    assert open_shared(storage, "s") is storage
    with pytest.raises(ValueError, match="study_name is needed with a storage"):
        open_shared(storage, None)


def test_test_values_are_kept_for_the_same_rows_only(objective):
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=1)
    trial, X, y = study.trials[0], objective.data.X[:9], objective.data.y[:9]
    first = StoredTests(study, objective, "rows")
    values = first.test_values(first.refit(trial), trial, X, y)
    first.write()
    again = StoredTests(study, objective, "rows")
    assert again.refit(trial) is None
    assert again.test_values(None, trial, X, y) == values
    assert StoredTests(study, objective, "other rows").refit(trial) is not None


def test_the_verbosity_is_restored():
    before = optuna.logging.get_verbosity()
    with verbosity(optuna.logging.CRITICAL):
        assert optuna.logging.get_verbosity() == optuna.logging.CRITICAL
    assert optuna.logging.get_verbosity() == before
