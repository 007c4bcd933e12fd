"""optuna-dashboard on example studies, for tests, screenshots and measurements."""

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

#: JavaScript that is true when the front of the dashboard is drawn, or that of this package.
FRONT_IS_DRAWN = "document.querySelectorAll('#graph-pareto-front .points path').length > 0"
FIGURE_IS_DRAWN = (
    "document.getElementById('user-defined-plot:mofs-front')?.querySelector('.gtitle')"
)

#: Stores when the front is drawn, in milliseconds after the start of the navigation.
_OBSERVER = f"""
new MutationObserver((_, observer) => {{
    if ({FRONT_IS_DRAWN}) {{
        window.frontDrawnAfter = performance.now();
        observer.disconnect();
    }}
}}).observe(document, {{childList: true, subtree: true}});
"""


def example_searches(folder: Path) -> tuple[Study, Study]:
    """Return a study of 30 features and one of 10,935."""
    return example_studies.load(folder)["breast cancer"], wide_study()


def saved_pages(
    path: Path, studies: Iterable[Study], *, figures: Collection[str] = DEFAULT_FIGURES
) -> list[Study]:
    """Copy studies into a new database, with notes and figures, and return the copies."""
    storage = _database(path)
    copies = [_copied(study, storage) for study in studies]
    for study in copies:
        save_note(study)
        save_figures(study, names=figures)
    return copies


def _database(path: Path) -> RDBStorage:
    storage = RDBStorage(f"sqlite:///{path}")

    def set_pragmas(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA journal_mode=MEMORY")

    sqlalchemy.event.listen(storage.engine, "connect", set_pragmas)
    storage.engine.dispose()
    return storage


def _copied(study: Study, storage: BaseStorage) -> Study:
    name = study.study_name
    optuna.copy_study(from_study_name=name, from_storage=study._storage, to_storage=storage)
    return optuna.load_study(study_name=name, storage=storage)


def wide_study(*, p: int = WIDE, n_trials: int = 150) -> Study:
    """Return a study of many features, ten of which are useful."""
    rng = np.random.default_rng(0)
    gains = np.zeros(p)
    gains[rng.choice(p, 10, replace=False)] = np.linspace(0.08, 0.02, 10)
    # One filter that ranks most of the useful features high.
    ranks = np.argsort(np.argsort(gains + rng.random(p) * 0.05)) / (p - 1)
    names = tuple(f"probe {j:05}" for j in range(p))
    table = FeatureTable(names, filters=("auc",), ranks=ranks[None, :], expected_n_features=15)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table)
        noise = 0.02 * np.sqrt(mask.sum()) / np.sqrt(p)
        return 0.55 - float(gains[mask].sum()) + float(noise), float(mask.mean())

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
    """A process of optuna-dashboard on a database; use it as a context manager.

    Args:
        path: Path of an SQLite file.
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
                    raise RuntimeError("optuna-dashboard did not start.") from None
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def page(self, study: Study) -> str:
        """Return the address of the page of a study."""
        return f"{self.site}/dashboard/studies/{study._study_id}"

    def opening(self, browser: Browser, study: Study) -> Opening:
        """Open the page of a study in a browser, wait for its front, and return the cost."""
        browser.open("about:blank")
        browser.wait_for("location.href == 'about:blank'")
        # The page itself reads the clock: polling it would slow it down.
        observer = browser.call("Page.addScriptToEvaluateOnNewDocument", source=_OBSERVER)
        before = self._cpu_seconds(browser)
        browser.open(self.page(study))
        browser.wait_for("window.frontDrawnAfter", every=0.2)
        cpu = self._cpu_seconds(browser) - before
        browser.call("Page.removeScriptToEvaluateOnNewDocument", **observer)
        return Opening(browser.evaluate("window.frontDrawnAfter") / 1000, cpu)

    def _cpu_seconds(self, browser: Browser) -> float:
        return browser.cpu_seconds() + cpu_seconds(self._process.pid)


class Opening(NamedTuple):
    """Cost of opening a page until its front is drawn.

    Attributes:
        seconds: Wall-clock time, which depends on the load of the machine.
        cpu: Processor seconds of browser and server.
    """

    seconds: float
    cpu: float
