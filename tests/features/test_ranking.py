from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from optuna_mofs import feature_table
from optuna_mofs.data._dataset import Dataset
from optuna_mofs.features import FeatureTable, mean_tree_size
from optuna_mofs.features import _ranking as ranking
from optuna_mofs.features._ranking import Ranking
from optuna_mofs.features._table import feature_layout
from optuna_mofs.filters import FilterEnsemble

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, 2] > 0).astype(int)


@pytest.fixture
def fits(monkeypatch):
    """Rows of every fit of an ensemble."""
    counted = []
    original = FilterEnsemble.fit

    def counting(self, X, y, feature_groups=None):
        counted.append(len(y))
        return original(self, X, y, feature_groups=feature_groups)

    monkeypatch.setattr(FilterEnsemble, "fit", counting)
    return counted


def make(filters=("anova_f",), fixed=(), **options):
    table = FeatureTable(("a", "b", "c", "d"), fixed=fixed)
    return Ranking(Dataset(X, Y, classification=True), table, filters, 0, **options)


def test_nothing_is_ranked_before_it_is_needed(fits):
    found = make()
    assert found.unranked.filters == ("anova_f",)
    assert found.unranked.ranks is None
    assert fits == []
    assert found.table.ranks.shape == (1, 4)
    assert found.table is found.table
    assert fits == [60]


def test_ranks_of_rows_see_only_those_rows_and_are_kept(fits):
    found, rows = make(), np.arange(0, 60, 2)
    first = found.of_rows(rows)
    np.testing.assert_array_equal(
        first.ranks, FilterEnsemble(["anova_f"], random_state=0).fit(X[rows], Y[rows]).ranks_
    )
    fits.clear()
    assert found.of_rows(rows.copy()) is first
    assert fits == []


def test_similarity_is_computed_on_the_given_rows_and_only_on_request():
    rows = np.arange(0, 60, 2)
    found = make(similar=True)
    for seen, expected in ((found.of_rows(rows), X[rows]), (found.table, X)):
        square = np.corrcoef(expected.T) ** 2
        np.fill_diagonal(square, 0)
        assert seen.similar.shares[:, 0].max() == pytest.approx(square.max(), abs=1e-5)
    assert make().table.similar is None


def test_ranks_of_ever_new_rows_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(ranking, "_MAX_CACHED", 3)
    found = make()
    for k in range(6):
        found.of_rows(np.arange(k, 60))
    assert len(found._by_rows) == 3


def test_folds_are_ranked_once_and_in_order(fits):
    found = make()
    folds = [np.arange(0, 60, 2), np.arange(1, 60, 2), np.arange(0, 60, 2)]
    tables = found.of_folds(folds)
    assert fits == [30, 30]
    assert tables[0] is tables[2] is found.of_rows(folds[0])
    assert tables[1] is found.of_rows(folds[1])
    assert not np.array_equal(tables[0].ranks, tables[1].ranks)
    assert found.of_folds([]) == []
    assert fits == [30, 30]


def test_threads_wait_for_the_first_one(fits):
    found, rows = make(filters=["random_forest"]), np.arange(50)
    with ThreadPoolExecutor(4) as pool:
        tables = list(pool.map(found.of_rows, [rows] * 4))
    assert fits == [50]
    assert all(table is tables[0] for table in tables)


def test_a_copy_of_a_ranking_ranks_too(fits):
    copy = pickle.loads(pickle.dumps(make()))
    rows = np.arange(50)
    np.testing.assert_array_equal(copy.of_rows(rows).ranks, make().of_rows(rows).ranks)


@pytest.fixture
def all_are_slow(monkeypatch):
    monkeypatch.setattr(ranking, "_SLOW_SECONDS", -1.0)


@pytest.mark.usefixtures("all_are_slow")
def test_slow_folds_are_ranked_in_parallel(monkeypatch):
    filters = ["forest_elimination", ("own", lambda X, y: X.sum(axis=0))]
    folds = [np.delete(np.arange(60), np.arange(k, 60, 5)) for k in range(5)]
    calls = []
    original = ranking._RankingJob.alone
    monkeypatch.setattr(
        ranking._RankingJob, "alone", lambda self: calls.append(self) or original(self)
    )
    expected = make(filters).of_folds(folds)
    assert calls == []
    with joblib.parallel_config(backend="threading"):  # starting processes takes seconds
        tables = make(filters, similar=True, n_jobs=2).of_folds(folds)
    assert len(calls) == 4  # the first fold told that it is slow
    assert {job.ensemble.n_jobs for job in calls} == {1}
    for table, same in zip(tables, expected, strict=True):
        np.testing.assert_array_equal(table.ranks, same.ranks)
        assert table.similar is not None


def test_jobs_can_be_sent_to_processes():
    job = make(["jmi", "l1_path"])._job(np.arange(50))
    copy = pickle.loads(pickle.dumps(job))
    np.testing.assert_array_equal(copy()[0]["ranks"], job()[0]["ranks"])


def test_quick_folds_start_no_processes(monkeypatch):
    monkeypatch.setattr(joblib, "Parallel", None)
    tables = make(n_jobs=2).of_folds([np.arange(50), np.arange(10, 60)])
    assert len(tables) == 2


@pytest.mark.parametrize("seconds", [-1.0, 1000.0])
def test_progress_is_shown_only_if_it_is_slow(monkeypatch, seconds):
    monkeypatch.setattr(ranking, "_SLOW_SECONDS", seconds)
    bars, messages = [], []
    monkeypatch.setattr(ranking, "tqdm", lambda it, **options: bars.append(options) or it)
    monkeypatch.setattr(ranking._logger, "info", messages.append)
    make().of_folds([np.arange(50), np.arange(10, 60), np.arange(5, 55)])
    assert (bars[0]["total"], bars[0]["initial"]) == (3, 1)
    assert bars[0]["disable"] is (None if seconds < 0 else True)
    slow = ["Ranked 4 features by 1 filters on 3 sets of rows, which took 0 seconds of work."]
    assert messages == (slow if seconds < 0 else [])


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("OPTUNA_MOFS_CACHE", str(tmp_path / "ranks"))
    return tmp_path / "ranks"


@pytest.mark.usefixtures("all_are_slow")
@pytest.mark.parametrize("similar", [True, False])
def test_slow_ranks_are_found_on_disk_by_another_process(folder, fits, similar):
    filters = ["jmi", "forest_elimination", "linear_elimination", "l1_path"]
    folds = [np.arange(50), np.arange(10, 60)]
    first = make(filters, similar=similar).of_folds(folds)
    assert fits == [50, 50]
    assert len(list(folder.iterdir())) == 2
    second = make(filters, similar=similar)
    for one, other in zip(first, second.of_folds(folds), strict=True):
        np.testing.assert_array_equal(one.ranks, other.ranks)
        if similar:
            np.testing.assert_array_equal(one.similar.others, other.similar.others)
            np.testing.assert_array_equal(one.similar.shares, other.similar.shares)
        else:
            assert other.similar is None
    assert fits == [50, 50]


def test_quick_ranks_are_not_kept_on_disk(folder):
    make().of_rows(np.arange(50))
    assert not folder.exists()


@pytest.mark.usefixtures("all_are_slow")
def test_other_content_has_another_file(folder, fits):
    rows = np.arange(50)
    make().of_rows(rows)
    make(similar=True).of_rows(rows)
    make(["auc"]).of_rows(rows)
    make().of_rows(rows[1:])
    layout = FeatureTable(("ab", "c", "d"), columns=((0, 1), (2,), (3,)))
    Ranking(Dataset(X, Y, classification=True), layout, ["anova_f"], 0).of_rows(rows)
    plain = FeatureTable(("a", "b", "c", "d"))
    Ranking(Dataset(X, Y, classification=True), plain, ["anova_f"], 1).of_rows(rows)
    Ranking(Dataset(X, Y, classification=False), plain, ["anova_f"], 0).of_rows(rows)
    Ranking(Dataset(X, 1 - Y, classification=True), plain, ["anova_f"], 0).of_rows(rows)
    changed = X.copy()
    changed[3, 2] += 1e-9
    Ranking(Dataset(changed, Y, classification=True), plain, ["anova_f"], 0).of_rows(rows)
    assert len(fits) == len(list(folder.iterdir())) == 9
    # n_jobs does not change ranks.
    make(n_jobs=2).of_rows(rows)
    assert len(fits) == 9


@pytest.mark.usefixtures("all_are_slow")
def test_a_broken_file_is_replaced(folder, fits):
    rows = np.arange(50)
    expected = make(similar=True).of_rows(rows)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    for content in (b"", b"nothing", whole[: len(whole) // 2]):
        path.write_bytes(content)
        np.testing.assert_array_equal(make(similar=True).of_rows(rows).ranks, expected.ranks)
        assert path.read_bytes() == whole
    np.savez(path.with_suffix(""), ranks=np.zeros((1, 3)))
    assert make(similar=True).of_rows(rows).ranks.shape == (1, 4)
    assert fits == [50] * 5


@pytest.mark.usefixtures("all_are_slow")
def test_ranks_of_own_functions_are_not_kept_on_disk(folder, fits):
    for _ in range(2):
        make(["auc", ("own", lambda X, y: X.sum(axis=0))]).of_rows(np.arange(50))
    assert fits == [50, 50]
    assert not folder.exists()


def test_without_filters_or_free_features_nothing_is_ranked(fits):
    assert make(filters=()).table.ranks is None
    assert make(fixed=(0, 1, 2, 3)).table.ranks is None
    assert fits == []


TABLES_X = RNG.normal(size=(80, 6))
TABLES_Y = (TABLES_X[:, 1] - TABLES_X[:, 4] > 0).astype(int)


def test_ranks_and_prior_are_those_of_the_data():
    table = feature_table(TABLES_X, TABLES_Y, filters=["anova_f", "random_forest"], random_state=3)
    ensemble = FilterEnsemble(["anova_f", "random_forest"], random_state=3).fit(TABLES_X, TABLES_Y)
    np.testing.assert_array_equal(table.ranks, ensemble.ranks_)
    assert table.filters == ("anova_f", "random_forest")
    assert table.names == tuple(f"x{j}" for j in range(6))
    expected = mean_tree_size(TABLES_X, TABLES_Y, classification=True, random_state=3)
    assert table.expected_n_features == expected
    given = feature_table(TABLES_X, TABLES_Y, filters=["anova_f"], expected_n_features=2.5)
    assert given.expected_n_features == 2.5


def test_default_filters_are_the_papers_five():
    assert feature_table(TABLES_X, TABLES_Y).ranks.shape == (5, 6)


def test_without_filters():
    table = feature_table(TABLES_X, TABLES_Y, filters=())
    assert table.ranks is None
    assert table.filters == ()
    assert table.expected_n_features >= 1


@pytest.mark.parametrize(
    ("task", "y"),
    [
        ("auto", TABLES_Y),
        ("auto", TABLES_X[:, 0]),
        ("regression", TABLES_Y),
        ("classification", TABLES_Y),
    ],
)
def test_tasks(task, y):
    assert feature_table(TABLES_X, y, task=task, filters=["anova_f"]).ranks.shape == (1, 6)


def test_groups_costs_and_fixed_features():
    frame = pd.DataFrame(TABLES_X, columns=["age", "city=1", "city=2", "pay", "u", "v"])
    table = feature_table(
        frame,
        TABLES_Y,
        filters=["anova_f"],
        feature_groups={"city": ["city=1", "city=2"]},
        fixed_features=["age"],
        feature_costs={"city": 4},
    )
    assert table.names == ("age", "city", "pay", "u", "v")
    assert table.column_sets == ((0,), (1, 2), (3,), (4,), (5,))
    assert table.fixed == (0,)
    assert table.costs.tolist() == [1, 4, 1, 1, 1]
    assert table.ranks.shape == (1, 5)
    # A group ranks as its best column does.
    assert table.ranks[0, 1] == 1.0


def test_sparse_data_and_names():
    table = feature_table(
        sparse.csr_array(TABLES_X), TABLES_Y, filters=["anova_f"], feature_names=list("abcdef")
    )
    dense = feature_table(TABLES_X, TABLES_Y, filters=["anova_f"])
    assert table.names == tuple("abcdef")
    np.testing.assert_array_equal(table.ranks, dense.ranks)


def test_layout_without_data():
    layout = feature_layout(["a", "b", "c"], fixed=["c", "a", "c"], costs=[1, 2, 3])
    assert layout.fixed == (0, 2)
    assert layout.costs.tolist() == [1, 2, 3]
    assert feature_layout(["a", "b"], all_fixed=True).fixed == (0, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "ranking"}, "got 'ranking'"),
        ({"filters": ["anova"]}, "anova_f"),
        ({"fixed_features": ["x9"]}, "no feature 'x9'"),
        ({"fixed_features": "x1"}, r"\['x1'\]"),
        (
            {"feature_groups": {"g": ["x1", "x2"]}, "fixed_features": ["x2"]},
            r"'x2' is in the group 'g', .* fixed_features=\['g'\]",
        ),
        ({"feature_costs": [1, 2]}, "6 features"),
        ({"feature_costs": {"x9": 1}}, "no feature 'x9'"),
        ({"feature_costs": {"x1": -1}}, "'x1' costs -1"),
        ({"expected_n_features": -1}, "expected_n_features must be"),
        ({"feature_names": ["a"]}, "6 columns"),
        ({"feature_groups": {"g": ["x7"]}}, "names no column 'x7'"),
    ],
)
def test_bad_options_raise(options, message):
    with pytest.raises(ValueError, match=message):
        feature_table(TABLES_X, TABLES_Y, **options)


def test_a_series_has_costs_by_name():
    costs = pd.Series({"x3": 3.0, "x1": 1.5})
    assert feature_layout(["x1", "x2", "x3"], costs=costs).costs.tolist() == [1.5, 1.0, 3.0]
    by_place = pd.Series([4.0, 5.0])
    assert feature_layout(["x1", "x2"], costs=by_place).costs.tolist() == [4.0, 5.0]
