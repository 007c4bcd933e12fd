from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from optuna_mofs import ResampledFronts
from optuna_mofs.cli import main
from optuna_mofs.cli._stability import stability_text
from tests.cli.tables import QUICK
from tests.fronts.test_resampled import fronts

pytestmark = pytest.mark.usefixtures("folder")

RUN = (
    *("run", "--data", "people.csv", "--target", "risk", "--drop", "name", *QUICK),
    *("--noise-floor", "0", "--quiet", "--trials", "4"),
)


def test_the_search_is_repeated_on_other_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN]) == 0
    assert main(["stability", "--resamples", "3", "--trials", "5"]) == 0
    printed = capsys.readouterr()
    assert "3 subsamples of 30 of 60 rows, 5 trials each" in printed.out
    assert "Stability of the default picks" in printed.out
    assert "report --study people" in printed.err
    url = "sqlite:///optuna_mofs.db"
    assert optuna.get_all_study_names(url) == ["people"], "studies of resamples are deleted"
    found = ResampledFronts.read(optuna.load_study(study_name="people", storage=url))
    assert found is not None
    assert stability_text(found) in printed.out
    assert main(["report", "--output", "r.html", "--quiet"]) == 0
    assert "Stability on other rows" in Path("r.html").read_text(encoding="utf-8")


def test_the_text_has_frequencies_groups_and_the_band() -> None:
    text = stability_text(fronts())
    assert "        67%  a" in text
    assert "Similar features that replace each other:\n       100%  one of a, b" in text
    assert "       2  0.25 (" in text


def test_a_search_that_cannot_be_repeated_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN]) == 0
    Path("people.csv").unlink()
    assert main(["stability"]) == 1
    assert "its data is missing or has changed" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["stability", "--method", "jackknife"])


def test_a_fraction_out_of_range_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN]) == 0
    assert main(["stability", "--fraction", "2"]) == 1
    assert "fraction must be" in capsys.readouterr().err
