"""Multi-objective feature selection and hyperparameter tuning in one Optuna study.

The public names are listed in ``_api.py``.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna_mofs._api import *  # noqa: F403
    from optuna_mofs._api import __all__ as __all__

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Load the public names when the first one is used: ``optuna-mofs --version`` needs none."""
    if name == "__all__" or not name.startswith("_"):
        # Folders first: a module that imports another one must not load all of them.
        if importlib.util.find_spec(f"optuna_mofs.{name}") is not None:
            return importlib.import_module(f"optuna_mofs.{name}")
        api = importlib.import_module("optuna_mofs._api")
        if hasattr(api, name):
            return getattr(api, name)
    raise AttributeError(f"module 'optuna_mofs' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, even before they are loaded."""
    return sorted({*globals(), *__getattr__("__all__")})
