from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import optuna
import pytest

from optuna_mofs import FeatureSelectionObjective, selected_features
from optuna_mofs.cli import _quickstart as quickstart
from optuna_mofs.cli import main

FILE = "optuna_mofs_quickstart.db"


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def objective() -> FeatureSelectionObjective:
    return quickstart.make_objective()


@pytest.fixture(autouse=True)
def _filters_fitted_once(
    objective: FeatureSelectionObjective, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quickstart, "make_objective", lambda: objective)


def _study() -> optuna.Study:
    sampler = optuna.samplers.RandomSampler(seed=0)
    return optuna.load_study(study_name="quickstart", storage=f"sqlite:///{FILE}", sampler=sampler)


def test_first_run_then_continue(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quickstart", "--trials", "6"]) == 0
    first = capsys.readouterr()
    assert f"New study 'quickstart' in sqlite:///{FILE}" in first.out
    assert "6/6" in first.err, "there is a progress bar"
    assert "Trial 0 finished" not in first.err, "Optuna's log lines are off"
    assert f"optuna-dashboard sqlite:///{FILE}" in first.out
    assert Path(FILE).exists()

    assert main(["quickstart", "--trials", "2"]) == 0
    second = capsys.readouterr()
    assert f"Continuing study 'quickstart' in sqlite:///{FILE} after 6 completed" in second.out
    assert len(_study().trials) == 8

    _check_front(second.out)
    _check_refit(second.out, capsys)


def _check_front(text: str) -> None:
    rows = re.findall(r"^ +(0\.\d{4}) +(\d+) +(\d+)$", text, flags=re.MULTILINE)
    expected = {tuple(t.values) for t in _study().best_trials}
    assert len(rows) == len(expected)
    for error, count, number in rows:
        trial = _study().trials[int(number)]
        assert tuple(trial.values) in expected
        assert float(error) == pytest.approx(trial.values[0], abs=1e-4)
        assert int(count) == trial.user_attrs["n_features"]
    # All features of the picked trial are listed by name.
    pick = re.search(
        r"standard error.*?:\ntrial (\d+).*?features\n(.*?)\n  svm__", text, re.DOTALL
    )
    assert pick is not None
    names = selected_features(_study(), _study().trials[int(pick[1])])
    assert " ".join(pick[2].split()) == ", ".join(names or [])


def _check_refit(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the printed code."""
    lines = text.partition("Fit this model")[2].splitlines()
    code = "\n".join(line[2:] for line in lines if line.startswith("  "))
    scope: dict[str, Any] = {}
    exec(compile(code, "refit", "exec"), scope)
    assert scope["model"].score(scope["X"], scope["y"]) > 0.6
    assert capsys.readouterr().out.startswith("[")


def test_same_seed_same_trials(capsys: pytest.CaptureFixture[str]) -> None:
    params = []
    for name, seed in [("a", "3"), ("b", "3"), ("c", "4")]:
        url = f"sqlite:///{name}.db"
        assert main(["quickstart", "--trials", "1", "--seed", seed, "--storage", url]) == 0
        study = optuna.load_study(study_name="quickstart", storage=url)
        params.append([t.params for t in study.trials])
    assert params[0] == params[1]
    assert params[0] != params[2]


def test_ctrl_c_keeps_completed_trials(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate = FeatureSelectionObjective.__call__

    def stop_at_third(self: FeatureSelectionObjective, trial: optuna.Trial) -> tuple[float, ...]:
        if trial.number == 2:
            raise KeyboardInterrupt
        return evaluate(self, trial)

    monkeypatch.setattr(FeatureSelectionObjective, "__call__", stop_at_third)
    assert main(["quickstart", "--trials", "5"]) == 130
    assert "Run the command again to continue" in capsys.readouterr().err
    done = [t for t in _study().trials if t.state == optuna.trial.TrialState.COMPLETE]
    assert len(done) == 2


def test_an_interrupted_trial_is_repeated(
    objective: FeatureSelectionObjective,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["quickstart", "--trials", "1"]) == 0
    interrupted = _study().ask({"svm__C": objective.space["svm__C"]})  # type: ignore[index]
    assert main(["quickstart", "--trials", "1"]) == 0
    assert "after 1 completed trial." in capsys.readouterr().out
    states = [t.state.name for t in _study().trials]
    assert states == ["COMPLETE", "RUNNING", "COMPLETE"], "it may belong to another terminal"
    monkeypatch.setattr(quickstart, "_MAX_TRIAL_TIME", 0.0)
    assert main(["quickstart", "--trials", "1"]) == 0
    states = [t.state.name for t in _study().trials]
    assert states == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert _study().trials[3].params["svm__C"] == interrupted.params["svm__C"]


def test_an_unrelated_study_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    optuna.create_study(study_name="quickstart", storage=f"sqlite:///{FILE}")
    assert main(["quickstart", "--trials", "1"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("optuna-mofs: Study 'quickstart' has directions ['minimize']")
    assert error.count("\n") == 1
    assert _study().trials == []


def test_no_completed_trial(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        FeatureSelectionObjective, "__call__", lambda self, trial: (float("nan"),) * 2
    )
    assert main(["quickstart", "--trials", "1"]) == 1
    assert "no front" in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["quickstart", "--help"])
    text = capsys.readouterr().out
    for word in ("examples:", "--trials", "--storage", "--seed", quickstart._STORAGE):
        assert word in text
