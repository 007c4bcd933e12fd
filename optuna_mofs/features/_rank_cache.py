"""Results of filters on disk, so that processes do not repeat slow ones."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import optuna

from optuna_mofs import filters
from optuna_mofs._typing import Array
from optuna_mofs.filters._elimination import EstimatorElimination
from optuna_mofs.filters._registry import FilterFunction

_logger = optuna.logging.get_logger("optuna.mofs")

#: Environment variable with the folder, or ``0`` for no files.
FOLDER_VARIABLE = "OPTUNA_MOFS_CACHE"
#: The least recently used files are removed above this total.
MAX_BYTES = 500_000_000
_SUFFIX = ".ranks.npz"
_UNFINISHED = ".ranks.tmp"
#: Modules of this folder that compute what is stored.
_SOURCES = ("_ranking.py", "_redundancy.py", "_screening.py")


def cache_folder() -> Path | None:
    """Return the folder of this user, or None if nothing is to be stored.

    It is that of the environment variable ``OPTUNA_MOFS_CACHE`` (``0``: none), else
    ``optuna_mofs`` in ``$XDG_CACHE_HOME`` or ``~/.cache``.
    """
    given = os.environ.get(FOLDER_VARIABLE)
    if given == "0":
        return None
    if given:
        return Path(given)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "optuna_mofs"
    except RuntimeError:  # the user has no home directory
        return None


def content_key(functions: list[FilterFunction], *content: Any) -> str | None:
    """Return a name for the results of filters on some data, the same in every process.

    Returns:
        None if the code of a filter is not known, such as that of a function of the user.
    """
    identities = [_identity(function) for function in functions]
    if None in identities:
        return None
    return str(joblib.hash((_source(), identities, content), hash_name="sha1"))


def _identity(function: FilterFunction) -> Any:
    """Return what determines a filter besides the source of this package, or None."""
    if isinstance(function, EstimatorElimination):
        parameters = function.estimator.get_params()
        parts = [function.estimator, *parameters.values()]
        versions = [_version(part) for part in parts if hasattr(part, "get_params")]
        plain = not any(callable(value) for value in parts if not hasattr(value, "get_params"))
        return None if None in versions or not plain else (function, versions)
    module = getattr(function, "__module__", "")
    return function.__name__ if module.startswith(f"{filters.__name__}.") else None


def _version(estimator: Any) -> str | None:
    """Return the version of an estimator's library; None if it has none, so that it may change."""
    library = type(estimator).__module__.partition(".")[0]
    return getattr(sys.modules.get(library), "__version__", None)


@cache
def _source() -> str:
    """Return a hash of the code that computes ranks, and the versions that it relies on."""
    files = sorted(Path(filters.__file__).parent.glob("*.py"))
    files += [Path(__file__).with_name(name) for name in _SOURCES]
    versions = [sys.modules[name].__version__ for name in ("numpy", "scipy", "sklearn", "pandas")]
    return str(joblib.hash((versions, [file.read_bytes() for file in files if file.exists()])))


def read_arrays(key: str) -> dict[str, Array] | None:
    """Return the arrays stored under a key, or None if there are none that can be read."""
    folder = cache_folder()
    if folder is None:
        return None
    path = folder / f"{key}{_SUFFIX}"
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = dict(stored)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        _logger.debug(f"{path} cannot be read: {error}")
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # it was used
    return arrays


def write_arrays(key: str, arrays: dict[str, Array]) -> None:
    """Store arrays under a key if the disk allows it; readers never see half a file."""
    folder = cache_folder()
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, suffix=_UNFINISHED, delete=False) as file:
            try:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
            except BaseException:
                os.unlink(file.name)
                raise
        os.replace(file.name, folder / f"{key}{_SUFFIX}")
        _remove_oldest(folder)
    except OSError as error:
        _logger.debug(f"Ranks are not kept in {folder}: {error}")


def _remove_oldest(folder: Path) -> None:
    """Keep the total size below the limit. Another process may remove files at the same time."""
    found = []
    for path in folder.glob("*.ranks.*"):  # also what a killed process left unfinished
        with contextlib.suppress(OSError):
            state = path.stat()
            found.append((state.st_mtime, state.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= MAX_BYTES:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
