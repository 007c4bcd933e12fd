"""Temporary database servers, on a Unix socket in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
import sqlalchemy


def _program(name: str, *folders: str) -> str:
    """Return the path of a program; skip the test if it is not installed."""
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *folders]))
    if found is None:
        pytest.skip(f"needs {name}")
    return found


def _driver(module: str) -> None:
    if find_spec(module) is None:
        pytest.skip(f"needs {module}")


@contextmanager
def _folder(owner: str | None) -> Iterator[Path]:
    # Not in the folder of pytest, which other users cannot enter.
    folder = Path(tempfile.mkdtemp(prefix="mofs"))
    try:
        if owner is not None:
            shutil.chown(folder, owner)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(command: list[str], url: str) -> Iterator[str]:
    """Start a server, wait until it answers, and stop it in the end."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as server:
        engine = sqlalchemy.create_engine(url)
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    engine.connect().close()
                    break
                except sqlalchemy.exc.OperationalError:
                    if server.poll() is not None or time.monotonic() > deadline:
                        raise
                    time.sleep(0.1)
            yield url
        finally:
            engine.dispose()
            server.terminate()


@contextmanager
def postgresql() -> Iterator[str]:
    """Run a PostgreSQL server. It cannot run as root, which uses the user ``postgres``."""
    _driver("psycopg2")
    folders = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    initdb, postgres = _program("initdb", *folders), _program("postgres", *folders)
    root = os.geteuid() == 0
    as_owner = [_program("runuser"), "-u", "postgres", "--"] if root else []
    with _folder("postgres" if root else None) as folder:
        data = f"{folder}/data"
        make = [*as_owner, initdb, "-D", data, "-U", "postgres", "--auth=trust", "--no-sync"]
        subprocess.run(make, check=True, capture_output=True, cwd=folder)
        start = [*as_owner, postgres, "-D", data, "-k", str(folder), "-c", "listen_addresses="]
        url = f"postgresql+psycopg2://postgres@/postgres?host={folder}"
        with _running([*start, "-c", "fsync=off"], url):
            yield url


@contextmanager
def mariadb() -> Iterator[str]:
    """Run a MariaDB server, which is compatible with MySQL."""
    _driver("pymysql")
    folders = ("/usr/sbin", "/usr/local/sbin")
    install, server = _program("mariadb-install-db"), _program("mariadbd", *folders)
    user = ["--user=root"] if os.geteuid() == 0 else []
    with _folder(None) as folder:
        common = ["--no-defaults", f"--datadir={folder}/data", *user]
        make = [install, *common, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run(make, check=True, capture_output=True)
        socket = f"{folder}/socket"
        start = [server, *common, f"--socket={socket}", "--skip-networking"]
        url = f"mysql+pymysql://root@localhost/{{}}?unix_socket={socket}"
        fast = "--innodb-flush-log-at-trx-commit=0"
        with _running([*start, fast], url.format("")) as top:
            engine = sqlalchemy.create_engine(top)
            with engine.connect() as connection:
                connection.execute(sqlalchemy.text("create database mofs"))
            engine.dispose()
            yield url.format("mofs")


SERVERS: dict[str, Callable[..., object]] = {"postgresql": postgresql, "mariadb": mariadb}
