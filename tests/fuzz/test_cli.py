"""Commands on odd tables, options and databases: an exit code, and one line for a failure."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from optuna_mofs.cli import main
from optuna_mofs.testing.problems import PROBLEMS
from tests.fuzz.cases import fuzz, names, tables

#: A table, and a database with a search on it and a study of something else, which tests share.
FOLDER = Path(tempfile.mkdtemp(prefix="mofs_fuzz"))
STORAGE = f"sqlite:///{FOLDER}/studies.db"
BASIC = ["--storage", STORAGE]


@pytest.fixture(scope="module", autouse=True)
def _studies() -> Iterator[None]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((40, 4)).round(2), columns=list("abcd"))
    table["y"] = np.where(table["a"] > 0, "yes", "no")
    table.to_csv(FOLDER / "good.csv", index=False)
    assert main(["run", *RUN, "--data", f"{FOLDER}/good.csv", "--study", "ours"]) == 0
    other = optuna.create_study(
        study_name="=cmd|x", storage=STORAGE, directions=["minimize", "maximize"],
        sampler=optuna.samplers.RandomSampler(seed=0),
    )  # fmt: skip
    other.optimize(PROBLEMS["mixed"], n_trials=3)
    yield
    for file in FOLDER.iterdir():
        file.unlink()
    FOLDER.rmdir()


RUN = [
    *BASIC, "--target", "y", "--learner", "logistic_regression", "--trials", "2", "--seed", "0",
    "--cv", "2", "--filters", "variance", "--noise-floor", "0", "--quiet",
]  # fmt: skip


def command(*arguments: str) -> str:
    """Run a command; return what it printed, or fail if it raised or printed no reason."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        try:
            code = main(arguments)
        except SystemExit as usage:
            code = 0 if usage.code in (0, 2) else 99
    assert "Traceback" not in err.getvalue()
    if code:
        assert code == 1
        assert err.getvalue().startswith("optuna-mofs: "), err.getvalue()
        assert len(err.getvalue()) > 30, err.getvalue()
    return out.getvalue()


TEXTS = names | st.sampled_from(["1", "-1", "0", "1e9", "nan", "ours", "value_0=0.1", "no.csv"])
OPTIONS = {
    "front": ["--pick", "--trial", "--max-features", "--format", "--study", "--limit"],
    "report": ["--pick", "--trial", "--max-features", "--study"],
    "export": ["--pick", "--trial", "--format", "--study"],
    "compare": ["--trials", "--reference", "--alpha", "--format", "--by"],
    "studies": ["--format", "--storage"],
    "delete": ["--study"],
    "run": ["--cv", "--trials", "--features", "--measures", "--filters", "--holdout", "--scoring",
            "--target", "--stop", "--timeout", "--sampler", "--max-features", "--positive-class",
            "--feature-costs", "--groups", "--drop", "--warm-start", "--learner", "--seed"],
}  # fmt: skip
VALUES = TEXTS | st.sampled_from(
    ["csv", "json", "table", "best", "knee", "0.1", "time", "a", "y", "all", "error", "joblib",
     "skops", "onnx", "=cmd|x", "5m", "ghga", "yes", "a=2", "gain", "https://x", "sqlite:///"]
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(OPTIONS))
@fuzz
@given(data=st.data())
def test_options(name: str, data: st.DataObject) -> None:
    pair = st.tuples(st.sampled_from(OPTIONS[name]), VALUES)
    extra = [text for chosen in data.draw(st.lists(pair, max_size=2)) for text in chosen]
    first = [name, *BASIC]
    if name == "run":
        first = ["run", *RUN, "--data", f"{FOLDER}/good.csv", "--study", data.draw(names)]
    elif name in ("report", "export"):
        first += ["--output", f"{FOLDER}/output.{'html' if name == 'report' else 'joblib'}"]
    elif name == "delete":
        first += ["--study", data.draw(names), "--yes"]
        extra = []
    printed = command(*first, *extra)
    if "csv" in extra:
        for line in printed.splitlines()[1:]:
            assert not any(cell.startswith(("=", "@", "+")) for cell in line.split(","))


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Return a file that is mostly a table."""
    X, y = draw(tables())
    frame = pd.DataFrame(X.toarray() if sparse.issparse(X) else X)
    with contextlib.suppress(ValueError):  # another number of rows
        frame.insert(0, "y", list(y), allow_duplicates=True)
    text = frame.to_csv(index=draw(st.booleans()), sep=draw(st.sampled_from(",,,;\t")))
    content = text.encode("utf-8", errors="replace")
    how = draw(st.sampled_from(["whole"] * 4 + ["cut", "bytes", "utf-16", "gap"]))
    if how == "cut":
        return content[: draw(st.integers(0, len(content)))]
    if how == "bytes":
        return draw(st.binary(max_size=50))
    if how == "utf-16":
        return text.encode("utf-16", errors="replace")
    return content.replace(b"1", b"", 1) if how == "gap" else content


@fuzz
@given(files(), st.sampled_from([".csv", ".csv", ".csv", ".parquet", ".tsv", ".csv.gz", ""]),
       st.sampled_from(["y", "y", "y", "0", "no"]))  # fmt: skip
def test_run_on_odd_files(content: bytes, suffix: str, target: str) -> None:
    table = FOLDER / f"odd{suffix}"
    table.write_bytes(content)
    command("run", *RUN, "--data", str(table), "--target", target, "--study", "odd")
    command("front", *BASIC, "--study", "odd", "--format", "csv")
    command("delete", *BASIC, "--study", "odd", "--yes")
    os.remove(table)


@fuzz
@given(st.binary(max_size=60) | st.just(b"SQLite format 3\0" + b"x" * 200), st.data())
def test_odd_databases(content: bytes, data: st.DataObject) -> None:
    file = FOLDER / "odd.db"
    file.write_bytes(content)
    name = data.draw(st.sampled_from(["front", "studies", "compare", "report"]))
    output = ["--output", f"{FOLDER}/output.html"] if name == "report" else []
    command(name, "--storage", f"sqlite:///{file}", *output)
    for left in FOLDER.glob("odd.db*"):
        left.unlink()


@fuzz
@given(st.lists(TEXTS | st.sampled_from([*OPTIONS, "--help", "--version", "--", "-"]), max_size=4))
def test_any_words(words: list[str]) -> None:
    command(*words, *(BASIC if words and words[0] in OPTIONS else []))


def test_passwords_are_not_printed(capsys: Any) -> None:
    for url in ("no://me:geheim@host/db", "postgresql://me:geheim@/x?host=/no&password=geheim"):
        assert main(["front", "--storage", url]) == 1
    assert "geheim" not in "".join(capsys.readouterr())
