from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

import optuna_mofs
from optuna_mofs.cli import _main as command
from optuna_mofs.cli import _quickstart as quickstart
from optuna_mofs.cli import main
from optuna_mofs.cli._errors import CommandError, Terminated


def _with_run(monkeypatch: pytest.MonkeyPatch, run: Callable[..., None]) -> None:
    """Let ``quickstart`` call a function."""
    monkeypatch.setattr(quickstart, "run", run)


def _raise(error: BaseException) -> Callable[..., None]:
    def run(arguments: argparse.Namespace) -> None:
        raise error

    return run


def test_success_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_run(monkeypatch, lambda arguments: None)
    assert main(["quickstart"]) == 0


def test_expected_failure_is_one_line_and_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _with_run(monkeypatch, _raise(CommandError("The disk\n  is full.\n")))
    assert main(["quickstart"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "optuna-mofs: The disk is full.\n"
    assert captured.out == ""


def test_ctrl_c_is_130_with_its_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _with_run(monkeypatch, _raise(KeyboardInterrupt("Five trials are kept.")))
    assert main(["quickstart"]) == 130
    assert capsys.readouterr().err == "\noptuna-mofs: stopped. Five trials are kept.\n"


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_run(monkeypatch, _raise(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["quickstart"])


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["--nonsense"], ["quickstart", "more"]])
def test_wrong_usage_is_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(argv)
    assert stopped.value.code == 2
    assert "usage: optuna-mofs" in capsys.readouterr().err


def test_help_names_every_command_and_the_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    for name in command._COMMANDS:
        assert re.search(rf"^ +{name}\b", text, flags=re.MULTILINE)
    assert "130" in text


@pytest.mark.parametrize("name", list(command._COMMANDS))
def test_help_of_every_command_has_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert f"\n  optuna-mofs {name}" in text.partition("examples:")[2]


def test_sigterm_is_143(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_run(monkeypatch, _raise(Terminated()))
    assert main(["quickstart"]) == 143


def test_a_closed_pipe_is_no_error() -> None:
    code = (
        "import sys\n"
        "from optuna_mofs.cli import _quickstart, main\n"
        "_quickstart.run = lambda arguments: [print('line') for _ in range(100_000)]\n"
        "sys.exit(main(['quickstart']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "optuna_mofs.cli", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout == f"optuna-mofs {optuna_mofs.__version__}\n"


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["run", "--trails", "5"], "Did you mean '--trials'?"),
        (
            ["run", "--groups", "city"],
            "--groups city. Did you mean '--group-column'?",
        ),
        (["raport"], "Did you mean 'report'?"),
        (["run", "--learner", "svn"], "Did you mean 'svm'?"),
    ],
)
def test_near_misses_get_a_hint(
    argv: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(argv)
    assert stopped.value.code == 2
    assert hint in capsys.readouterr().err


def test_an_error_can_suggest_the_whole_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _with_run(monkeypatch, _raise(CommandError("Two columns.", add=["--drop", "a b", "c"])))
    assert main(["quickstart", "--trials", "3"]) == 1
    assert "Try: optuna-mofs quickstart --trials 3 --drop 'a b' c\n" in capsys.readouterr().err
