"""optuna-dashboard on studies of ours: served for a while, for tests and screenshots."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import numpy as np
import optuna
import optuna_dashboard
import sqlalchemy
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study

from optuna_mofs import FeatureTable, FilterEnsembleNSGA2Sampler, suggest_features
from optuna_mofs.dashboard import save_figures, save_note
from tools import example_studies

WIDE = 10_935

#: True on a page once the dashboard's own front is drawn, and once ours is.
FRONT_IS_DRAWN = "document.querySelectorAll('#graph-pareto-front .points path').length > 0"
OURS_IS_DRAWN = "document.getElementById('user-defined-plot:mofs-front')?.querySelector('.gtitle')"


def example_pages(folder: Path) -> tuple[Study, Study]:
    """A study of 30 features and one of 10,935 in one database, with our figures and notes."""
    storage = _database(folder / "pages.db")
    narrow = copied(example_studies.load(folder)["breast cancer"], storage)
    wide = copied(wide_study(), storage)
    for study in (narrow, wide):
        save_note(study)
        save_figures(study)
    return narrow, wide


def _database(path: Path) -> RDBStorage:
    storage = RDBStorage(f"sqlite:///{path}")

    def hurry(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA journal_mode=MEMORY")

    sqlalchemy.event.listen(storage.engine, "connect", hurry)
    storage.engine.dispose()
    return storage


def copied(study: Study, storage: BaseStorage) -> Study:
    """The same study in another storage."""
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
    table = FeatureTable(names, filters=("auc",), ranks=ranks[None, :], mean_size=15)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table)
        noise = 0.02 * np.sqrt(mask.sum()) / np.sqrt(p)
        return 0.55 - float(worth[mask].sum()) + float(noise), float(mask.mean())

    study = optuna.create_study(
        study_name=f"{p} features",
        directions=["minimize", "minimize"],
        sampler=FilterEnsembleNSGA2Sampler(seed=0, n_trials=n_trials),
    )
    study.set_metric_names(["error", "fraction"])
    study.optimize(objective, n_trials=n_trials)
    return study


def address(site: str, study: Study) -> str:
    """The page of a study."""
    return f"{site}/dashboard/studies/{study._study_id}"


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: requests are no news."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


@contextmanager
def served(storage: BaseStorage) -> Iterator[str]:
    """The address of a dashboard of the storage, as long as the context lasts."""
    app = optuna_dashboard.wsgi(storage)
    with make_server("127.0.0.1", 0, app, _Server, _Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
