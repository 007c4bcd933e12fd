"""Studies that this and earlier versions have stored: they are read and continued, or refused."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

from optuna_mofs import FilterEnsembleNSGA2Sampler, pareto_front, selected_features, storage
from optuna_mofs._validation import DamagedAttributeError
from optuna_mofs.study._description import SCHEMA, LaterVersionError, StudyDescription
from tools.store_studies import FOLDER, N_TRIALS, make_objective

STORED = sorted(FOLDER.glob("*.sql"))


def _restored(file: Path, folder: Path) -> str:
    connection = sqlite3.connect(folder / "a.db")
    connection.executescript(file.read_text(encoding="utf-8"))
    connection.close()
    return f"sqlite:///{folder}/a.db"


def test_this_version_has_stored_studies() -> None:
    assert any(file.name.startswith("0.1.0-schema0") for file in STORED)
    assert any(f'"schema": {SCHEMA}' in file.read_text() for file in STORED), (
        "run python -m tools.store_studies"
    )


@pytest.mark.parametrize("file", STORED, ids=lambda file: file.stem)
def test_a_stored_study_is_read_and_continued(file: Path, tmp_path: Path) -> None:
    kind = file.stem.rpartition("-")[2]
    objective = make_objective(kind)
    study = optuna.load_study(
        study_name=kind,
        storage=storage(_restored(file, tmp_path)),
        sampler=FilterEnsembleNSGA2Sampler(seed=0),
    )
    front = pareto_front(study)
    assert front.honest().source is not None
    for trial in front:
        assert len(selected_features(study, trial) or []) == trial.user_attrs["n_features"]
        again = objective(trial)
        np.testing.assert_allclose(again, trial.values)
    study.optimize(objective, n_trials=3)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * (N_TRIALS + 3)
    assert len({str(t.params) for t in study.trials}) == N_TRIALS + 3


def _study(described: object) -> optuna.Study:
    study = optuna.create_study(study_name="s", sampler=optuna.samplers.RandomSampler(seed=0))
    study._storage.set_study_system_attr(study._study_id, "mofs:description", described)
    return study


def test_a_study_of_a_later_version_is_refused() -> None:
    data = {"schema": SCHEMA + 1, "written_by": "9.0", "unknown": []}
    with pytest.raises(LaterVersionError, match=r"Study 's' was written by .* 9\.0 .*Upd"):
        pareto_front(_study({"value": data}))


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"value": []},
        {"value": {}},
        {"value": {"schema": "1"}},
        {"pieces": 10**9, "digest": "x"},
        {"pieces": 1, "digest": "x"},
        {"value": {**StudyDescription().to_json(), "representation": 3, "measures": [[]]}},
        {"value": {**StudyDescription().to_json(), "measures": [[{}, "minimize", 1.0, ""]]}},
        {"value": {**StudyDescription().to_json(), "measures": [["error", "down", 1.0, ""]]}},
        {"value": {**StudyDescription().to_json(), "measures": [["error", "minimize", "1", ""]]}},
        {"value": {**StudyDescription().to_json(), "active_if": {"C": ["kernel", 3]}}},
    ],
)
def test_an_altered_description_is_refused_by_name(value: object) -> None:
    study = _study(value)
    if value is None:
        assert StudyDescription.read(study) is None
        return
    with pytest.raises(DamagedAttributeError, match="'mofs:description' of study 's'"):
        StudyDescription.read(study)


def test_an_altered_piece_is_refused(tmp_path: Path) -> None:
    names = tuple(f"feature {j}" for j in range(2000))
    from optuna_mofs import FeatureTable

    study = optuna.create_study(
        storage=f"sqlite:///{tmp_path}/a.db",
        study_name="s",
        sampler=optuna.samplers.RandomSampler(seed=0),
    )
    StudyDescription(FeatureTable(names)).write(study)
    connection = sqlite3.connect(tmp_path / "a.db")
    query = "select key, value_json from study_system_attributes where key like '%:2'"
    key, text = connection.execute(query).fetchone()
    altered = json.dumps(json.loads(text).replace("feature", "fixture"))
    connection.execute(
        "update study_system_attributes set value_json = ? where key = ?", (altered, key)
    )
    connection.commit()
    again = optuna.load_study(study_name="s", storage=f"sqlite:///{tmp_path}/a.db")
    with pytest.raises(DamagedAttributeError, match="expected pieces with digest"):
        StudyDescription.read(again)
    connection.execute("delete from study_system_attributes where key = ?", (key,))
    connection.commit()
    connection.close()
    again = optuna.load_study(study_name="s", storage=f"sqlite:///{tmp_path}/a.db")
    with pytest.raises(DamagedAttributeError, match="'mofs:description' of study 's'"):
        StudyDescription.read(again)
