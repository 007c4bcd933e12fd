"""Lets ``python -m optuna_mofs.cli`` do what ``optuna-mofs`` does."""

import sys

from optuna_mofs.cli._main import main

sys.exit(main())
