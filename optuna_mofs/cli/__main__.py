"""Lets ``python -m optuna_mofs.cli`` do what ``optuna-mofs`` does."""

import sys

from optuna_mofs.cli.command import main

sys.exit(main())
