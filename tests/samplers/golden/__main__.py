import sys

import optuna

from tests.samplers.golden import SAMPLERS, record

optuna.logging.set_verbosity(optuna.logging.ERROR)
for name in sys.argv[1:] or SAMPLERS:
    record(name)
    print(name)
