from __future__ import annotations

import io

import optuna
import pytest
from optuna.trial import TrialState

from optuna_mofs.cli.progress import Progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def study() -> optuna.Study:
    study = optuna.create_study(directions=["minimize"] * 2)
    study.set_metric_names(["error", "fraction"])
    for values in [(0.5, 0.5), (0.25, 1.0)]:
        study.add_trial(optuna.trial.create_trial(values=values))
    return study


def test_a_bar_in_a_terminal(study: optuna.Study) -> None:
    stream = _Terminal()
    progress = Progress(study, 4, stream=stream)
    progress.tick(TrialState.COMPLETE)
    progress.tick(TrialState.FAIL)
    progress.close()
    text = stream.getvalue()
    assert "2/4" in text
    assert "hypervolume" in text
    assert "front 2" in text
    assert "error 0.25" in text
    assert progress.failed == 1


@pytest.mark.parametrize(("total", "lines"), [(200, 10), (3, 3)])
def test_a_few_lines_in_a_log(study: optuna.Study, total: int, lines: int) -> None:
    stream = io.StringIO()
    progress = Progress(study, total, stream=stream)
    for _ in range(total):
        progress.tick(TrialState.COMPLETE)
    said = stream.getvalue().splitlines()
    assert len(said) == lines
    assert said[-1].startswith(f"  {total}/{total} trials, hypervolume ")


def test_nothing_at_all(study: optuna.Study) -> None:
    stream = _Terminal()
    progress = Progress(study, 1, quiet=True, stream=stream)
    progress.tick(TrialState.FAIL)
    progress.close()
    assert stream.getvalue() == ""
    assert (progress.done, progress.failed) == (1, 1)
