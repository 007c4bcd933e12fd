"""The ``optuna-mofs`` command. One module a subcommand; only the public API is used."""

from optuna_mofs.cli._main import main

__all__ = ["main"]
