"""What happens to a worker's trial when it is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import Trial, TrialState

from optuna_mofs.cli.storage import open_storage
from optuna_mofs.cli.work import work


def test_a_query_that_was_cut_off_does_not_lock_its_own_process_out(tmp_path: Path) -> None:
    storage, another = (open_storage(f"sqlite:///{tmp_path}/a.db") for _ in range(2))
    study = optuna.create_study(storage=storage, study_name="a")
    for _ in range(3):
        study.ask()
    half_read: list[Any] = []

    def stopped(trial: Trial) -> float:
        # Ctrl-C in the middle of a query: the traceback keeps its cursor, half read, and the
        # connection, with a view of the file that is old as soon as another process writes.
        pooled = storage.engine.raw_connection()
        assert pooled.driver_connection is not None
        half_read.append(pooled.driver_connection.execute("SELECT trial_id FROM trials"))
        half_read[0].fetchone()
        pooled.close()
        another.set_study_user_attr(study._study_id, "somebody", "else")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work(study, stopped, take=lambda: True, ended=lambda state: None)  # type: ignore[arg-type]
    states = [trial.state for trial in study.trials[3:]]
    assert states == [TrialState.FAIL, TrialState.WAITING]
