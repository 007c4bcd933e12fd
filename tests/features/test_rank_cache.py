from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from optuna_mofs.features import _rank_cache as rank_cache
from optuna_mofs.features._rank_cache import cache_folder, content_key, read_arrays, write_arrays
from optuna_mofs.filters import auc, get_filter, jmi
from optuna_mofs.filters._elimination import EstimatorElimination

ARRAYS = {"ranks": np.linspace(0, 1, 7)[None], "others": np.arange(6).reshape(3, 2)}


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("OPTUNA_MOFS_CACHE", str(tmp_path))
    return tmp_path


def test_tests_have_no_cache():
    assert cache_folder() is None


def test_the_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("OPTUNA_MOFS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "optuna_mofs"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "optuna_mofs"
    monkeypatch.setenv("OPTUNA_MOFS_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_arrays_come_back_exactly(folder):
    assert read_arrays("a") is None
    write_arrays("a", ARRAYS)
    found = read_arrays("a")
    assert set(found) == set(ARRAYS)
    for name, values in ARRAYS.items():
        np.testing.assert_array_equal(found[name], values)
        assert found[name].dtype == values.dtype
    assert [path.name for path in folder.iterdir()] == ["a.ranks.npz"]


def test_without_a_folder_nothing_is_stored(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    write_arrays("a", ARRAYS)
    assert read_arrays("a") is None
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPTUNA_MOFS_CACHE", str(tmp_path / "file"))
    write_arrays("a", ARRAYS)
    assert read_arrays("a") is None


def test_objects_are_never_unpickled(folder):
    np.savez(folder / "a.ranks.npz", ranks=np.array([{}], dtype=object), allow_pickle=True)
    assert read_arrays("a") is None


def test_half_a_file_is_never_visible(folder, monkeypatch):
    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    write_arrays("a", ARRAYS)
    assert not list(folder.iterdir())


def test_the_least_recently_used_files_are_removed(folder, monkeypatch):
    write_arrays("a", ARRAYS)
    size = (folder / "a.ranks.npz").stat().st_size
    monkeypatch.setattr(rank_cache, "MAX_BYTES", 3 * size)
    (folder / "killed.ranks.tmp").write_bytes(b"x" * size)
    (folder / "other.txt").write_bytes(b"x" * 10 * size)
    for age, name in enumerate(["killed.ranks.tmp", "a.ranks.npz"]):
        os.utime(folder / name, (1000 + age, 1000 + age))
    write_arrays("b", ARRAYS)
    os.utime(folder / "b.ranks.npz", (1002, 1002))
    assert read_arrays("a") is not None  # now it is used later than b
    write_arrays("c", ARRAYS)
    write_arrays("d", ARRAYS)
    names = {path.name for path in folder.iterdir()}
    assert names == {"a.ranks.npz", "c.ranks.npz", "d.ranks.npz", "other.txt"}


def own(X, y):
    return X.sum(axis=0)


class OwnEstimator(BaseEstimator):
    pass


def test_filters_of_the_package_have_a_key():
    X = np.eye(3)
    assert content_key([auc, jmi], X) == content_key([get_filter("auc"), jmi], X.copy())
    keys = {content_key([auc, jmi], X), content_key([jmi, auc], X), content_key([auc], X)}
    assert len(keys) == 3
    for function in (own, lambda X, y: X[0], np.sum):
        assert content_key([auc, function], X) is None


def test_estimators_of_a_library_have_a_key():
    def key(estimator):
        return content_key([EstimatorElimination(estimator)], 0)

    assert key(SVC(C=2)) == key(SVC(C=2))
    assert len({key(SVC(C=2)), key(SVC()), key(LogisticRegression())}) == 3
    assert key(OneVsRestClassifier(SVC())) is not None
    assert key(OneVsRestClassifier(OwnEstimator())) is None
    assert key(OwnEstimator()) is None
    assert key(SVC(kernel=np.dot)) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(12.0).reshape(4, 3),
        lambda: sparse.csr_array(np.eye(4)),
        lambda: pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["x", None])}),
    ],
    ids=["array", "sparse", "frame"],
)
def test_equal_tables_have_equal_keys(make):
    assert content_key([auc], make()) == content_key([auc], make())


def test_the_key_is_the_same_in_another_process():
    code = (
        "import numpy as np, pandas as pd; from optuna_mofs.filters import auc;"
        "from optuna_mofs.features._rank_cache import content_key;"
        "print(content_key([auc], np.eye(3), pd.DataFrame({'a': ['x', 'y']}), (1, None)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    here = content_key([auc], np.eye(3), pd.DataFrame({"a": ["x", "y"]}), (1, None))
    assert output.stdout.strip() == here


def test_other_code_has_other_keys(monkeypatch, tmp_path):
    before = content_key([auc], 0)
    rank_cache._source.cache_clear()
    assert content_key([auc], 0) == before
    (tmp_path / "__init__.py").write_text("changed")
    monkeypatch.setattr(rank_cache.filters, "__file__", str(tmp_path / "__init__.py"))
    rank_cache._source.cache_clear()
    assert content_key([auc], 0) != before
    rank_cache._source.cache_clear()
