"""Run the ``optuna-mofs`` command as ``python -m optuna_mofs.cli``."""

import sys

from optuna_mofs.cli._main import main

sys.exit(main())
