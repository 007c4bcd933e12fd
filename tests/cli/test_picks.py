from __future__ import annotations

import argparse

import optuna
import pytest

from optuna_mofs import pareto_front
from optuna_mofs.cli.errors import CommandError
from optuna_mofs.cli.picks import add_pick_options, picked
from optuna_mofs.cli.settings import Settings

# error, fraction, number of features
TRIALS = ((0.10, 0.9, 9), (0.11, 0.5, 5), (0.13, 0.2, 2), (0.45, 0.1, 1), (0.5, 1.0, 10))


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    study = optuna.create_study(directions=["minimize"] * 2)
    study.set_metric_names(["error", "fraction"])
    for error, fraction, count in TRIALS:
        attrs = {"n_features": count, "fold_scores": {"error": [error - 0.015, error + 0.015]}}
        study.add_trial(optuna.trial.create_trial(values=(error, fraction), user_attrs=attrs))
    return study


def _pick(study: optuna.Study, *argv: str, settings: Settings | None = None) -> tuple[int, str]:
    parser = argparse.ArgumentParser()
    add_pick_options(parser)
    found = picked(pareto_front(study), parser.parse_args(argv), settings)
    return found.trial.number, found.how


@pytest.mark.parametrize(
    ("argv", "number"),
    [
        ([], 2),
        (["--pick", "knee"], 2),
        (["--pick", "best"], 0),
        (["--pick", "one_standard_error"], 1),
        (["--max-features", "5"], 1),
        (["--trial", "4"], 4),
        (["--tolerance", "error=0.05"], 2),
        (["--tolerance", "error=20%"], 1),
        (["--pick", "lexicographic", "--priority", "fraction"], 3),
        (["--goal", "error=0.12"], 1),
    ],
)
def test_picks(study: optuna.Study, argv: list[str], number: int) -> None:
    found, how = _pick(study, *argv)
    assert found == number
    assert how


def test_what_the_search_went_by_is_the_default(study: optuna.Study) -> None:
    settings = Settings(tolerances={"error": 0.012})
    assert _pick(study, settings=settings)[0] == 1
    assert "error 0.012" in _pick(study, settings=settings)[1]
    assert _pick(study, "--pick", "knee", settings=settings)[0] == 2
    assert _pick(study, "--tolerance", "error=0.05", settings=settings)[0] == 2


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--trial", "7"], "no finished trial 7; on the front are 0, 1, 2, 3"),
        (
            ["--trial", "1", "--max-features", "2"],
            "--trial and --max-features choose a trial each",
        ),
        (["--pick", "knee", "--goal", "error=1"], "--pick and --priority"),
        (["--tolerance", "eror=1"], "No metric 'eror'"),
    ],
)
def test_refused(study: optuna.Study, argv: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        _pick(study, *argv)


def test_no_set_is_small_enough() -> None:
    study = optuna.create_study(directions=["minimize"] * 2)
    study.add_trial(optuna.trial.create_trial(values=(0.1, 0.5), user_attrs={"n_features": 3}))
    with pytest.raises(CommandError, match="None of the 1 trials"):
        _pick(study, "--max-features", "2")
