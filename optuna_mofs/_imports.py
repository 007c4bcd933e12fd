"""One door for optional dependencies, with a message that says what to install."""

from __future__ import annotations

import importlib
from types import ModuleType


def optional_import(module: str, extra: str) -> ModuleType:
    """Import ``module`` or raise an :exc:`ImportError` that names the extra to install.

    Args:
        module: Dotted module name, for example ``"xgboost"``.
        extra: Extra of this package that brings it, for example ``"boosting"``.

    Example:
        >>> optional_import("json", "boosting").__name__
        'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{module!r} is needed here but cannot be imported ({error}). "
            f"Install it with: pip install 'optuna-mofs[{extra}]'"
        ) from error
