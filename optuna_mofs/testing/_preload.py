"""Imported once by the server from which worker processes are forked."""

from optuna.storages import RDBStorage

from optuna_mofs.testing import _workers

__all__ = ["_workers"]

# The first database of a process costs half a second of imports and set-up.
RDBStorage("sqlite:///:memory:").engine.dispose()
