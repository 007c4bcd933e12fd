from __future__ import annotations

import importlib
import pkgutil
import warnings

import pytest

import optuna_mofs
from optuna_mofs import _deprecated
from optuna_mofs._deprecated import deprecated, renamed_argument


@pytest.fixture(autouse=True)
def pending(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    before = list(_deprecated.PENDING)
    monkeypatch.setattr(_deprecated, "PENDING", before)
    return before


def release(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def overdue(pending: list[tuple[str, str]], version: str) -> list[str]:
    return [name for removed_in, name in pending if release(removed_in) <= release(version)]


def test_nothing_is_overdue(pending: list[tuple[str, str]]) -> None:
    for module in pkgutil.walk_packages(optuna_mofs.__path__, "optuna_mofs."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert overdue(pending, optuna_mofs.__version__) == []


def test_the_check_finds_what_is_overdue(pending: list[tuple[str, str]]) -> None:
    deprecated(since="0.1.0", removed_in="0.10.0", instead="use b")(lambda: None)
    renamed_argument("old", "new", since="0.1.0", removed_in="1.0.0")(lambda new: new)
    assert len(overdue(pending, "0.9.0")) == 0
    assert len(overdue(pending, "0.10.0")) == 1
    assert len(overdue(pending, "1.0.0")) == 2


def test_a_class_warns_when_an_object_is_created() -> None:
    @deprecated(since="0.1.0", removed_in="9.0.0", instead="use New")
    class Old:
        """Old class."""

        def __init__(self, a: int, *, b: int) -> None:
            self.sum = a + b

    with pytest.warns(FutureWarning, match=r"Old is deprecated since 0\.1\.0 .* use New") as found:
        assert Old(1, b=2).sum == 3
    assert found[0].filename == __file__  # the line of the user, not ours
    assert isinstance(Old, type)
    assert "deprecated:: 0.1.0" in str(Old.__doc__)


def test_a_method_keeps_its_name_and_text() -> None:
    class Front:
        @deprecated(since="0.1.0", removed_in="9.0.0", instead="use pick()")
        def choose(self) -> str:
            """Choose a trial."""
            return "trial"

    with pytest.warns(FutureWarning, match=r"Front\.choose is deprecated"):
        assert Front().choose() == "trial"
    assert Front.choose.__name__ == "choose"
    assert str(Front.choose.__doc__).startswith("Choose a trial.")


def test_a_renamed_argument_works_under_both_names() -> None:
    @renamed_argument("n", "n_trials", since="0.1.0", removed_in="9.0.0")
    def search(n_trials: int = 1) -> int:
        return n_trials

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search(n_trials=2) == search(2) == 2
        assert search() == 1
    with pytest.warns(FutureWarning, match="n is called n_trials"):
        assert search(n=3) == 3
    with pytest.raises(TypeError, match="both n_trials and its former name n"):
        search(n=3, n_trials=3)
