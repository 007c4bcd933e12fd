from __future__ import annotations

import numpy as np
import optuna
import pytest
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler, resampled_fronts
from optuna_mofs.data._dataset import Dataset
from optuna_mofs.stability import draw_rows

N = 120


def table():
    """Return rows of two copies of one column that has the class, another one, and noise."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(N) % 2)
    X = rng.normal(size=(N, 10))
    X[:, 0] += 2.2 * y
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=N)
    X[:, 2] += 1.5 * y
    return X, y


def make(**options):
    X, y = table()
    settings = {
        "cv": 3,
        "filters": ["anova_f"],
        "representation": "filter_ensemble",
        "random_state": 0,
        **options,
    }
    return FeatureSelectionObjective(GaussianNB(), X, y, **settings)


def resample(objective=None, **options):
    settings = {"n_trials": 8, "n_resamples": 4, "show_progress_bar": False, **options}
    return resampled_fronts(objective or make(), **settings)


@pytest.fixture(scope="module")
def found():
    return resample(n_resamples=8, n_trials=12)


def test_planted_features_are_frequent_and_noise_is_not(found):
    frequency = found.selection_frequency(3)
    chosen = found.masks[found.members(3)]
    assert (chosen[:, 0] | chosen[:, 1]).all(), "one of two copies"
    noise = frequency[[f"x{j}" for j in range(3, 10)]].max()
    assert noise <= 0.25
    assert noise < frequency["x2"]
    assert found.n_rows == (60, 120)
    assert found.n_resamples == 8


def test_copies_replace_each_other(found):
    (group,) = found.groups(1)
    assert set(found.names_of(group)) == {"x0", "x1"}
    assert group.frequency == 1.0
    assert group.together == 0.0
    assert group.similarity > 0.9


def test_members_are_tested_on_the_other_rows(found):
    objective = make()
    members = found.members()
    k, row = int(found.resample[members[0]]), members[0]
    rows = draw_rows(objective.all_data, "subsample", 0.5, [0, k])
    others = np.setdiff1d(np.arange(N), rows)
    X, y = table()
    model = GaussianNB().fit(X[np.ix_(rows, found.masks[row])], y[rows])
    expected = 1 - model.score(X[np.ix_(others, found.masks[row])], y[others])
    assert found.test[row] == pytest.approx(expected)


def test_a_seed_makes_it_repeatable_and_another_one_draws_other_rows():
    one, two, other = resample(), resample(), resample(random_state=1)
    assert one.frame.equals(two.frame)
    assert not one.frame.equals(other.frame)


def test_it_continues_where_it_was_stopped(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    whole = resample(n_resamples=2, n_trials=6)
    options = {"storage": url, "study_name": "s"}
    resample(n_resamples=2, n_trials=3, **options)
    continued = resample(n_resamples=2, n_trials=6, **options)
    assert continued.frame.equals(whole.frame)
    assert optuna.get_all_study_names(url) == ["s_resample0", "s_resample1"]


def test_resamples_in_parallel_are_the_same():
    assert resample(n_resamples=2, n_jobs=2).frame.equals(resample(n_resamples=2).frame)


def test_a_bootstrap_sample_keeps_the_copies_of_a_row_in_one_fold():
    objective = make()
    rows = draw_rows(objective.all_data, "bootstrap", 0.5, [0, 0])
    assert len(rows) == N
    assert len(np.unique(rows)) < N
    part = objective.on_rows(rows, repeated=True)
    for train, test in part.evaluator.splits:
        assert not set(rows[train]) & set(rows[test])
    found = resample(method="bootstrap", n_resamples=2)
    assert found.method == "bootstrap"
    assert 0.55 * N < found.n_rows[0] < 0.72 * N
    assert np.isfinite(found.test).all()


def test_groups_are_drawn_whole():
    X, y = table()
    data = Dataset(X, y, classification=True, groups=np.arange(N) // 4)
    half = draw_rows(data, "subsample", 0.5, [0, 0])
    assert set(np.bincount(half // 4, minlength=30)) == {0, 4}
    drawn = draw_rows(data, "bootstrap", 0.5, [0, 0])
    assert set(np.bincount(drawn // 4, minlength=30) % 4) == {0}


def test_subsamples_and_bootstrap_samples_keep_the_classes():
    X = np.zeros((40, 1))
    data = Dataset(X, np.repeat([0, 1], [36, 4]), classification=True)
    for seed in range(5):
        assert np.bincount(data.y[draw_rows(data, "subsample", 0.5, [seed])]).tolist() == [18, 2]
        assert np.bincount(data.y[draw_rows(data, "bootstrap", 0.5, [seed])]).tolist() == [36, 4]


def test_masks_have_a_stability_too():
    found = resample(make(representation="mask"), sampler=FilterEnsembleNSGA2Sampler(seed=0))
    assert found.masks.shape[1] == 10
    assert -1 <= found.stability(2).value <= 1


def test_an_error_on_the_other_rows_is_unknown():
    class Picky(GaussianNB):
        def predict(self, X):
            if len(X) > 50:
                raise ValueError("too many rows")
            return super().predict(X)

    X, y = table()
    objective = FeatureSelectionObjective(
        Picky(), X, y, cv=3, filters=["anova_f"], representation="filter_ensemble"
    )
    found = resample(objective, n_resamples=2)
    has_features = found.sizes > 0
    assert np.isnan(found.test[has_features]).all()
    assert np.isfinite(found.values).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "jackknife"}, "method must be one of 'subsample', 'bootstrap'"),
        ({"n_resamples": 1}, "n_resamples must be an integer of at least 2, got 1"),
        ({"fraction": 1.0}, "fraction must be a number of .* got 1.0"),
        ({"storage": "sqlite:///:memory:"}, "study_name is needed with a storage"),
        ({"n_trials": 0}, "n_trials must be an integer of at least 1, got 0"),
    ],
)
def test_bad_arguments_raise(options, message):
    with pytest.raises(ValueError, match=message):
        resample(**options)


def test_a_bootstrap_sample_needs_a_number_of_folds():
    with pytest.raises(ValueError, match="Pass cv=5 to the objective, or use subsamples"):
        resample(make(cv=KFold(3)), method="bootstrap")
