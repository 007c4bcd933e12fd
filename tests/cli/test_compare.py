from __future__ import annotations

import io
import json
from pathlib import Path

import optuna
import pandas as pd
import pytest

from optuna_mofs.cli import main
from optuna_mofs.cli._compare import group_studies, parse_pattern, run_name
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.statistics import compare_ranks
from tests.cli.tables import QUICK, write_people

URL = "sqlite:///optuna_mofs.db"
RUNS = 6
#: Error of run 0 per group: 'good' is always better than 'fair', 'poor' is the worst.
ERRORS = {"good": 0.1, "fair": 0.2, "poor": 0.6}


@pytest.fixture(autouse=True, scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('compare')}/optuna_mofs.db"
    for name, error in ERRORS.items():
        for i in range(RUNS):
            study = optuna.create_study(
                storage=url, study_name=f"{name}-{i}", directions=["minimize"] * 2
            )
            study.set_metric_names(["error", "size"])
            study.add_trials(
                [
                    optuna.trial.create_trial(values=(0.9, 0.5)),
                    optuna.trial.create_trial(values=(error + i / 100, 0.5)),
                ]
            )
    return url


def _compare(storage: str, *argv: str) -> list[str]:
    return ["compare", *argv, "--storage", storage, "--reference", "error=1", "size=1"]


def test_table(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_compare(storage, "poor-*", "good-*", "fair-*")) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["good", "fair", "poor"]
    assert lines[1].split()[-1] == "1.00"
    assert "Friedman: chi-square 12, p = 0.000129, the groups differ at 0.05" in captured.out
    assert "Nemenyi test, p-value per pair:" in captured.out
    assert captured.err == ""


def test_json_has_the_tests(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_compare(storage, "poor-*", "good-*", "fair-*", "--format", "json")) == 0
    found = json.loads(capsys.readouterr().out)
    scores = [[(1 - (e + i / 100)) / 2 for e in ERRORS.values()] for i in range(RUNS)]
    expected = compare_ranks(scores, list(ERRORS))
    assert found["friedman"]["chi_square"] == pytest.approx(expected.statistic)
    pair = expected.pairwise[expected.names.index("good"), expected.names.index("poor")]
    assert found["nemenyi"]["p"]["good"]["poor"] == pytest.approx(pair)
    assert [group["mean_rank"] for group in found["groups"]] == [1, 2, 3]
    assert found["groups"][0]["hypervolume"] == pytest.approx(sum(s[0] for s in scores) / RUNS)


def test_csv_and_a_shorter_budget(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_compare(storage, "good-*", "fair-*", "--format", "csv", "--trials", "1")) == 0
    frame = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert len(frame) == 2 * RUNS
    assert frame["trials"].eq(1).all()
    assert frame["hypervolume"].to_numpy() == pytest.approx(0.05)
    assert frame["rank"].eq(1.5).all()


def test_single_studies_have_no_test(storage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_compare(storage, "good-0", "poor-0")) == 0
    out = capsys.readouterr().out
    assert "No test" in out
    assert out.splitlines()[1].split() == ["good-0", "1", "0.4500", "-", "1.00"]


def test_a_page(storage: str, tmp_path: Path) -> None:
    path = tmp_path / "c.html"
    assert main(_compare(storage, "good-*", "poor-*", "--output", str(path))) == 0
    text = path.read_text()
    assert text.count("Plotly.newPlot") >= 2
    assert "critical difference" in text.lower()


def test_notes_about_different_lengths_and_missing_runs(
    storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = f"sqlite:///{tmp_path}/b.db"
    for i in (0, RUNS + 3):
        study = optuna.create_study(
            storage=other, study_name=f"long-{i}", directions=["minimize"] * 2
        )
        study.set_metric_names(["error", "size"])
        study.add_trials([optuna.trial.create_trial(values=(0.5, 0.5)) for _ in range(3)])
    assert main([*_compare(storage, "good-*", "long-*"), "--storage", other]) == 0
    captured = capsys.readouterr()
    assert "excluded, because a group lacks the run: good-1" in captured.err
    assert "2 to 3 completed trials; --trials 2" in captured.err


def test_failures(storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "gone", "--storage", storage]) == 1
    assert "No study is called 'gone'" in capsys.readouterr().err
    assert main([*_compare(storage, "good-0"), "--alpha", "2"]) == 1
    assert "--alpha must be between 0 and 1" in capsys.readouterr().err
    other = f"sqlite:///{tmp_path}/b.db"
    optuna.create_study(storage=other, study_name="good-0")
    assert main([*_compare(storage, "good-0"), "--storage", other]) == 1
    assert "is in two storages" in capsys.readouterr().err
    optuna.create_study(storage=other, study_name="single")
    assert main(["compare", "single", "--storage", other]) == 1
    assert "No completed trial" in capsys.readouterr().err


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
    found, pattern = parse_pattern(written)
    assert found == group
    assert run_name(pattern, name) == run


def test_groups_have_the_same_runs_in_natural_order() -> None:
    groups, excluded = group_studies(["svm-*", "near=knn-*"], STUDIES)
    assert {name: list(runs) for name, runs in groups.items()} == {
        "svm": ["0", "2", "10"],
        "near": ["0", "2", "10"],
    }
    assert groups["near"]["2"].study_name == "knn-2"
    assert excluded == ["knn-11"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (["svn-0"], "No study is called 'svn-0'. Did you mean 'svm-0'?"),
        (["svm-*", "svm-0", "svm-*"], "Two groups are called 'svm'"),
        (["svm-*", "wine"], "No run is in all groups"),
    ],
)
def test_bad_patterns(written: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message.replace("?", r"\?")):
        group_studies(written, STUDIES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cv", "4"], "'first' and 'second' differ in folds"),
        (["--measures", "error", "n_features"], "have different measures"),
    ],
)
def test_studies_that_cannot_be_compared_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    run = ["run", "--data", str(write_people(tmp_path)), "--target", "risk", "--drop", "name"]
    run += [*QUICK, "--trials", "1", "--noise-floor", "0", "--quiet", "--storage", url]
    assert main([*run, "--study", "first"]) == 0
    assert main([*run, "--study", "second", *options]) == 0
    assert main(["compare", "first", "second", "--storage", url]) == 1
    assert message in capsys.readouterr().err
    assert main([*run, "--study", "third", "--learner", "svm"]) == 0
    assert main(["compare", "first", "third", "--storage", url]) == 0
