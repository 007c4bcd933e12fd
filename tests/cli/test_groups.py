from __future__ import annotations

import optuna
import pytest

from optuna_mofs.cli.errors import CommandError
from optuna_mofs.cli.groups import Pattern, grouped

STUDIES = {
    name: optuna.create_study(study_name=name)
    for name in ("svm-0", "svm-2", "svm-10", "knn-0", "knn-2", "knn-10", "knn-11", "wine", "a=b")
}


@pytest.mark.parametrize(
    ("written", "group", "name", "run"),
    [
        ("svm-*", "svm", "svm-0", "0"),
        ("svm-*", "svm", "svm", None),
        ("ours=svm-*", "ours", "svm-12", "12"),
        ("wine", "wine", "wine", ""),
        ("*-svm-*", "svm", "wine-svm-3", "wine 3"),
        ("(a)*", "(a)", "(a)1", "1"),
    ],
)
def test_patterns(written: str, group: str, name: str, run: str | None) -> None:
    pattern = Pattern.parse(written)
    assert pattern.group == group
    assert pattern.run_of(name) == run


def test_runs_that_all_groups_have_in_the_order_of_people() -> None:
    groups, left_out = grouped(["svm-*", "near=knn-*"], STUDIES)
    assert {name: list(runs) for name, runs in groups.items()} == {
        "svm": ["0", "2", "10"],
        "near": ["0", "2", "10"],
    }
    assert groups["near"]["2"].study_name == "knn-2"
    assert left_out == ["knn-11"]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["svn-0"], "No study is called 'svn-0'; did you mean 'svm-0'?"),
        (["svm-*", "svm-0", "svm-*"], "Two groups are called 'svm'"),
        (["svm-*", "wine"], "No run is in all groups"),
    ],
)
def test_refused(written: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said.replace("?", r"\?")):
        grouped(written, STUDIES)
