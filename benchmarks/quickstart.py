"""Time per trial of ``optuna-mofs quickstart``, compared with another checkout of this repository.

    python -m benchmarks.quickstart --before PATH

The study of the command on a new SQLite file: 20 trials that are not counted, then 60 that are.
Every run is a new process with one thread; both checkouts take turns, so that other programs slow
down both. Wall time includes waiting for the disk (``--folder``: where the file is), CPU time does
not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.common import Spread, markdown_table, parser

_SCRIPT = """
import json, sys, time
import optuna
from optuna_mofs import FilterEnsembleNSGA2Sampler
from optuna_mofs.cli._quickstart import make_objective
from optuna_mofs.cli._storage import open_storage

url, n_first, n_trials, seed = sys.argv[1], *map(int, sys.argv[2:])
optuna.logging.set_verbosity(optuna.logging.ERROR)
objective = make_objective()
sampler = FilterEnsembleNSGA2Sampler(seed=seed)
study = objective.create_study(study_name="a", storage=open_storage(url), sampler=sampler)
study.optimize(objective, n_trials=n_first)
begin = time.perf_counter(), time.process_time()
study.optimize(objective, n_trials=n_trials)
end = time.perf_counter(), time.process_time()
print(json.dumps([(b - a) / n_trials * 1000 for a, b in zip(begin, end)]))
"""


def measure(checkout: Path, folder: str | None, trials: tuple[int, int], seed: int) -> list[float]:
    """Return milliseconds per trial of a checkout, of wall time and of CPU time."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        url = f"sqlite:///{temporary}/quickstart.db"
        command = [sys.executable, "-c", _SCRIPT, url, *map(str, (*trials, seed))]
        environment = {**os.environ, "PYTHONPATH": str(checkout.resolve())}
        found = subprocess.run(
            command, env=environment, cwd=temporary, check=True, capture_output=True, text=True
        )
    milliseconds: list[float] = json.loads(found.stdout.splitlines()[-1])
    return milliseconds


def main() -> None:
    options = parser(__doc__ or "", seeds=3)
    options.add_argument("--before", type=Path, metavar="PATH", help="another checkout")
    options.add_argument("--folder", metavar="DIR", help="where the SQLite files are")
    args = options.parse_args()
    trials = (5, 5) if args.quick else (20, 60)
    checkouts = {"before": args.before, "now": Path(__file__).parents[1]}
    names = [name for name in checkouts if checkouts[name] is not None]
    times: dict[str, list[list[float]]] = {name: [] for name in names}
    for seed in range(args.seeds):
        for name in names[:: 1 if seed % 2 else -1]:
            times[name].append(measure(checkouts[name], args.folder, trials, seed))
            print(name, seed, times[name][-1], file=sys.stderr, flush=True)
    rows = [[n, *(str(Spread.of(column)) for column in zip(*times[n]))] for n in names]
    print(markdown_table(["quickstart", "ms per trial", "ms of CPU per trial"], rows))
    if len(names) > 1:
        medians = [[Spread.of(column).median for column in zip(*times[n])] for n in names]
        ratios = [f"{now / before:.2f}" for before, now in zip(*medians)]
        print(f"\nNow : before {ratios[0]} (wall), {ratios[1]} (CPU)")


if __name__ == "__main__":
    main()
