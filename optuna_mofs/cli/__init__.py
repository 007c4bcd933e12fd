"""The ``optuna-mofs`` command: one module per subcommand."""

from optuna_mofs.cli._main import main

__all__ = ["main"]
