"""The ``optuna-mofs`` command: one module per command."""

from optuna_mofs.cli._main import main

__all__ = ["main"]
