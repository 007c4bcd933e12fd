"""Walk through the command line, the Python side, exports and figures; print what is annoying.

    python -m tools.annoyances --data DIR

``DIR`` contains ``german_credit.csv.gz``, a table with texts. Each function below is one walk, and
yields a sentence per annoyance. The last line is their number, or "nothing".
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
from sklearn.linear_model import LogisticRegression

from optuna_mofs import (
    FeatureSelectionObjective,
    FeatureSelectionSearchCV,
    FilterEnsembleNSGA2Sampler,
    dashboard,
)
from optuna_mofs.cli import main as command
from optuna_mofs.cli._settings import Settings, resolve_learner
from optuna_mofs.cli._table import Table
from optuna_mofs.visualization import plot_front

QUICK = ["--learner", "logistic_regression", "--filters", "anova_f", "--cv", "3"]
QUICK += ["--noise-floor", "0", "--holdout", "0"]
_MAX_START = 0.5  # CPU seconds
_MAX_LINE = 600  # characters of a log line
_MAX_CELL = 160  # characters of a cell of the dashboard


def typed(*argv: Any) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = command([str(arg) for arg in argv])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    return code, out.getvalue(), err.getvalue()


def objective_of(X: Any, y: Any, **options: Any) -> FeatureSelectionObjective:
    """Return a quick objective."""
    return FeatureSelectionObjective(
        LogisticRegression(), X, y, cv=2, filters=["anova_f"], holdout=None, **options
    )


def numbers(n: int = 80, p: int = 20) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return a table of numbers and a target."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(n, p)), columns=[f"a long column name {j}" for j in range(p)]
    )
    y = pd.Series((X.iloc[:, 0] + rng.normal(size=n) > 0).astype(int), name="y")
    return X, y


# ---- command line -------------------------------------------------------------------------------


def columns_in_one_message(data: Path) -> Iterator[str]:
    """Every problem of a table is in one message, and the suggested command works."""
    frame = pd.read_csv(data / "german_credit.csv.gz").head(150)
    target = str(frame.columns[-1])
    frame["id"] = [f"customer {i}" for i in range(len(frame))]
    frame["rate"] = [f"{i},5" for i in range(len(frame))]
    frame["since"] = pd.date_range("2020-01-01", periods=len(frame)).strftime("%Y-%m-%d")
    frame.to_csv("credit.csv", index=False, sep=";")
    argv = ["run", "--data", "credit.csv", "--separator", ";", "--target", target]
    argv += [*QUICK, "--trials", "3"]
    code, _, err = typed(*argv)
    if code != 1 or "'id'" not in err or "'rate'" not in err:
        yield f"problems of columns are not in one message: {err}"
        return
    again = re.search(r"^Try: optuna-mofs (.*)$", err, flags=re.MULTILINE)
    if again is None:
        yield "no command is suggested for a table with problems"
        return
    code, _, err = typed(*argv, "--decimal", ",", "--drop", "id")
    if code:
        yield f"the suggested command fails: {err}"
    for words in ("text column", "1 date column: since", "left"):
        if words not in err:
            yield f"'run' does not print {words!r}"
    if len(typed("front", "--study", "credit")[1].splitlines()) < 4:
        yield "'front' prints no table"


def start() -> Iterator[str]:
    """``--version`` is quick, near misses get a hint, the options are there."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "optuna_mofs.cli", "--version"], check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if spent > _MAX_START:
        yield f"--version takes {spent:.2f} CPU seconds"
    if "Did you mean '--trials'" not in typed("run", "--trails", "5")[2]:
        yield "--trails gets no hint"
    if "Did you mean 'front'" not in typed("frnt")[2]:
        yield "frnt gets no hint"
    text = typed("run", "--help")[1]
    for option in ("--decimal", "--positive-class", "--holdout", "time", "group"):
        if option not in text:
            yield f"'run' has no {option}"
    Path("sheet.xlsx").write_bytes(b"PK")
    if "read_excel" not in typed("run", "--data", "sheet.xlsx", "--target", "y")[2]:
        yield "a spreadsheet gets no hint"


def default_learner() -> Iterator[str]:
    """The default learner suits the size of the table."""
    for n, p in ((200, 20), (50_000, 40), (50_000, 5_000)):
        table = Table(
            np.broadcast_to(0.0, (n, p)), np.arange(n) % 2, tuple(f"x{j}" for j in range(p))
        )
        learner = resolve_learner(Settings(), table).learner
        if n > 2_000 and learner == "svm":
            yield f"the default learner of {n} x {p} is {learner}"


def databases() -> Iterator[str]:
    """Studies are listed and deleted; broken databases give one line."""
    X, y = numbers()
    X.assign(y=y).to_csv("table.csv", index=False)
    argv = ["run", "--data", "table.csv", "--target", "y", *QUICK, "--trials", "2"]
    for name in ("one", "two"):
        if typed(*argv, "--study", name, "--storage", "sqlite:///a.db")[0]:
            yield "a plain search fails"
    if "one" not in typed("studies", "--storage", "sqlite:///a.db")[1]:
        yield "'studies' does not list a study"
    os.chmod("a.db", 0o444)
    if typed("front", "--study", "one", "--storage", "sqlite:///a.db")[0]:
        yield "a read-only database cannot be shown"
    os.chmod("a.db", 0o644)
    if typed("delete", "--study", "one", "--yes", "--storage", "sqlite:///a.db")[0]:
        yield "a study cannot be deleted"
    content = Path("a.db").read_bytes()
    Path("a.db").write_bytes(content[:5000])
    code, _, err = typed("front", "--study", "two", "--storage", "sqlite:///a.db")
    if code != 1 or len(err.strip().splitlines()) != 1:
        yield f"a broken database does not give one line: {err[:300]}"
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)); "
        "from optuna_mofs.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    full = [*argv, "--quiet", "--storage", "sqlite:///full.db"]
    done = subprocess.run([sys.executable, "-c", limited, *full], capture_output=True, text=True)
    if done.returncode != 1 or len(done.stderr.strip().splitlines()) != 1:
        yield f"a full disk does not give one line: {done.stderr[-300:]}"


def comparisons() -> Iterator[str]:
    """Studies of other data are not compared."""
    X, y = numbers()
    for name, table in (("a-0", X), ("b-0", X.iloc[:60])):
        table.assign(y=y).to_csv("table.csv", index=False)
        argv = ["run", "--data", "table.csv", "--target", "y", *QUICK, "--trials", "2"]
        typed(*argv, "--study", name, "--storage", "sqlite:///compare.db")
    code, _, err = typed("compare", "a-*", "b-*", "--storage", "sqlite:///compare.db")
    if code != 1 or "differ" not in err:
        yield "'compare' compares studies of different data"


# ---- Python -------------------------------------------------------------------------------------


def log_lines() -> Iterator[str]:
    """A line of Optuna's log can be read."""
    X, y = numbers(p=40)
    lines: list[str] = []

    class Handler(optuna.logging.logging.Handler):
        def emit(self, record: Any) -> None:
            lines.append(record.getMessage())

    handler = Handler()
    logger = optuna.logging.get_logger("optuna")
    logger.addHandler(handler)
    optuna.logging.set_verbosity(optuna.logging.INFO)
    for kind in ("auto", "mask"):
        objective = objective_of(X, y, representation=kind)
        study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
        study.optimize(objective, n_trials=2)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    logger.removeHandler(handler)
    longest = max(map(len, lines))
    if longest > _MAX_LINE:
        yield f"a log line has {longest} characters"


def wrong_tables() -> Iterator[str]:
    """Texts, dates, other indices, leaks and misspelled scores are named."""
    X, y = numbers()
    wrong = {
        "OneHotEncoder": X.assign(city=["Rome", "Oslo"] * 40),
        "dt.days": X.assign(when=pd.date_range("2020", periods=80)),
    }
    for remedy, table in wrong.items():
        try:
            objective_of(table, y)
            yield f"a table that needs {remedy} is not refused"
        except ValueError as error:
            if remedy not in str(error):
                yield f"the message does not name {remedy}: {error}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        objective_of(X, y.sample(frac=1, random_state=0))
        search = FeatureSelectionSearchCV(
            LogisticRegression(), n_trials=12, cv=2, filters=["anova_f"], random_state=0
        )
        search.fit(X.assign(copied=5.0 * y), y)
    texts = " ".join(str(entry.message) for entry in caught)
    for words in ("indices of X and y differ", "'copied' alone is nearly perfect"):
        if words not in texts:
            yield f"no warning: {words}"
    try:
        objective_of(X, y, scoring="rocauc")
        yield "scoring='rocauc' is accepted"
    except ValueError as error:
        if "Did you mean 'roc_auc'" not in str(error):
            yield "scoring='rocauc' gets no hint"


# ---- exports and reports ------------------------------------------------------------------------


def exports() -> Iterator[str]:
    """A model loads without this package, has a card, and its report says what matters."""
    X, y = numbers(200)
    X.assign(y=y).to_csv("table.csv", index=False)
    storage = ["--storage", "sqlite:///export.db"]
    typed("run", "--data", "table.csv", "--target", "y", *QUICK, "--trials", "8", *storage)
    code, _, err = typed("export", *storage, "--pick", "best", "--output", "m.joblib")
    if code:
        yield f"'export' fails: {err}"
        return
    alone = (
        "import sys; sys.modules['optuna_mofs'] = sys.modules['optuna'] = None; import joblib, "
        "pandas; joblib.load('m.joblib').predict(pandas.read_csv('table.csv'))"
    )
    done = subprocess.run([sys.executable, "-c", alone], capture_output=True, text=True)
    if done.returncode:
        yield f"the model does not load without this package: {done.stderr[-200:]}"
    card = json.loads(Path("m.card.json").read_text(encoding="utf-8"))
    missing = {"data", "features", "on_new_rows", "versions"} - set(card)
    if missing or not Path("m.card.md").exists():
        yield f"the model card lacks {missing or 'its Markdown'}"
    with contextlib.suppress(ImportError):
        __import__("skl2onnx")
        code, _, err = typed("export", *storage, "--pick", "best", "--output", "m.onnx")
        if code:
            yield f"ONNX fails: {err}"
    typed("report", *storage, "--pick", "best", "--output", "r.html")
    if "Permutation importance" not in Path("r.html").read_text(encoding="utf-8"):
        yield "the report does not say which features matter"


# ---- dashboard and figures ----------------------------------------------------------------------


def attributes_and_figures() -> Iterator[str]:
    """Cells are short, the note names the metric, figures refuse clearly."""
    X, y = numbers(p=200)
    objective = objective_of(X, y)
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=6)
    for trial in study.trials:
        for key, value in {**trial.user_attrs, **trial.params}.items():
            if isinstance(value, str) and len(value) > _MAX_CELL:
                yield f"the attribute {key} of trial {trial.number} has {len(value)} characters"
    if "*error*" not in dashboard.study_note(study):
        yield "the note does not name the metric"
    try:
        plot_front([study, study])  # type: ignore[arg-type]
        yield "plot_front draws a list"
    except ValueError as error:
        if "plot_hypervolume" not in str(error):
            yield "plot_front does not say what compares studies"


WALKS: tuple[Callable[..., Iterator[str]], ...] = (
    columns_in_one_message,
    start,
    default_learner,
    databases,
    comparisons,
    log_lines,
    wrong_tables,
    exports,
    attributes_and_figures,
)


def main() -> None:
    """Print the annoyances."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    data = parser.parse_args().data.absolute()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    found: list[str] = []
    for walk in WALKS:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            print(f"{walk.__name__} ...", flush=True)
            for text in walk(data) if walk is columns_in_one_message else walk():
                found.append(text)
                print(f"  {text}", flush=True)
    print(f"still annoying: {len(found) or 'nothing'}")


if __name__ == "__main__":
    main()
