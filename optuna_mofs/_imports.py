"""Imports of modules that are optional or slow, with a message that names the remedy."""

from __future__ import annotations

import importlib
from types import ModuleType


def optional_import(module: str, extra: str | None = None) -> ModuleType:
    """Import ``module``, or raise an :exc:`ImportError` that names what to install.

    Args:
        module: Dotted module name, for example ``"xgboost"``.
        extra: Extra of this package that installs it, for example ``"boosting"``; None for a
            module that this package requires anyway and imports late because it is slow.

    Example:
        >>> optional_import("json").__name__
        'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0] if extra is None else f"'optuna-mofs[{extra}]'"
        raise ImportError(
            f"{module!r} is required here but cannot be imported ({error}). "
            f"Install it with: pip install {package}"
        ) from error
