"""optuna-dashboard on studies of ours, for tests, screenshots and measurements."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import optuna
import sqlalchemy
from optuna.exceptions import ExperimentalWarning
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study

from optuna_mofs import FeatureTable, FilterEnsembleNSGA2Sampler, suggest_features
from optuna_mofs.dashboard import DEFAULT_FIGURES, save_figures, save_note
from tools import example_studies
from tools.browser import Browser, cpu_seconds

WIDE = 10_935

#: True on a page once the dashboard's own front is drawn, and once ours is.
FRONT_IS_DRAWN = "document.querySelectorAll('#graph-pareto-front .points path').length > 0"
OURS_IS_DRAWN = "document.getElementById('user-defined-plot:mofs-front')?.querySelector('.gtitle')"

#: Writes down when the front is drawn, in milliseconds after the click.
_WATCH = f"""
new MutationObserver((_, observer) => {{
    if ({FRONT_IS_DRAWN}) {{
        window.frontDrawnAfter = performance.now();
        observer.disconnect();
    }}
}}).observe(document, {{childList: true, subtree: true}});
"""


def example_searches(folder: Path) -> tuple[Study, Study]:
    """A study of 30 features and one of 10,935."""
    return example_studies.load(folder)["breast cancer"], wide_study()


def saved_pages(
    path: Path, studies: Iterable[Study], *, figures: Collection[str] = DEFAULT_FIGURES
) -> list[Study]:
    """The studies in a new database, with our notes and figures."""
    storage = _database(path)
    copies = [_copied(study, storage) for study in studies]
    for study in copies:
        save_note(study)
        save_figures(study, names=figures)
    return copies


def _database(path: Path) -> RDBStorage:
    storage = RDBStorage(f"sqlite:///{path}")

    def hurry(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA journal_mode=MEMORY")

    sqlalchemy.event.listen(storage.engine, "connect", hurry)
    storage.engine.dispose()
    return storage


def _copied(study: Study, storage: BaseStorage) -> Study:
    name = study.study_name
    optuna.copy_study(from_study_name=name, from_storage=study._storage, to_storage=storage)
    return optuna.load_study(study_name=name, storage=storage)


def wide_study(*, p: int = WIDE, n_trials: int = 150) -> Study:
    """A search among many features, ten of which are useful."""
    rng = np.random.default_rng(0)
    worth = np.zeros(p)
    worth[rng.choice(p, 10, replace=False)] = np.linspace(0.08, 0.02, 10)
    # One filter that is right about the useful ones more often than not.
    ranks = np.argsort(np.argsort(worth + rng.random(p) * 0.05)) / (p - 1)
    names = tuple(f"probe {j:05}" for j in range(p))
    table = FeatureTable(names, filters=("auc",), ranks=ranks[None, :], expected_n_features=15)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table)
        noise = 0.02 * np.sqrt(mask.sum()) / np.sqrt(p)
        return 0.55 - float(worth[mask].sum()) + float(noise), float(mask.mean())

    study = optuna.create_study(
        study_name=f"{p} features",
        directions=["minimize", "minimize"],
        sampler=FilterEnsembleNSGA2Sampler(seed=0, n_trials=n_trials),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        study.set_metric_names(["error", "fraction"])
    study.optimize(objective, n_trials=n_trials)
    return study


class Dashboard:
    """A process of optuna-dashboard on a database; use it as a context.

    Args:
        path: Of an SQLite file.
    """

    def __init__(self, path: Path) -> None:
        self._url = f"sqlite:///{path}"

    def __enter__(self) -> Self:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.site = f"http://127.0.0.1:{port}"
        command = "from optuna_dashboard._cli import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", command, self._url, "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return self
            except OSError:
                if self._process.poll() is not None:
                    raise RuntimeError("optuna-dashboard does not start.") from None
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def page(self, study: Study) -> str:
        """The address of a study's page."""
        return f"{self.site}/dashboard/studies/{study._study_id}"

    def opening(self, browser: Browser, study: Study) -> Opening:
        """Open a study's page in a browser and wait for its front."""
        browser.open("about:blank")
        browser.wait_for("location.href == 'about:blank'")
        # The page itself looks at the clock: to ask it all the time would slow it down.
        watch = browser.call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        used = self._cpu_seconds(browser)
        browser.open(self.page(study))
        browser.wait_for("window.frontDrawnAfter", every=0.2)
        busy = self._cpu_seconds(browser) - used
        browser.call("Page.removeScriptToEvaluateOnNewDocument", **watch)
        return Opening(browser.evaluate("window.frontDrawnAfter") / 1000, busy)

    def _cpu_seconds(self, browser: Browser) -> float:
        return browser.cpu_seconds() + cpu_seconds(self._process.pid)


class Opening(NamedTuple):
    """What it took from the click to the front.

    Attributes:
        seconds: By the clock, which counts what others do on the machine.
        cpu: Processor seconds of browser and server.
    """

    seconds: float
    cpu: float
