"""Storages, callbacks and searches of other packages: nothing is lost, proposals are the same."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    GHGASampler,
    MOEADSampler,
    pareto_front,
    selected_features,
)

N_TRIALS = 6


def make_objective(n_features: int = 30, *, representation: str = "mask") -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, n_features))
    y = (X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(60) > 0).astype(int)
    space = {"var_smoothing": FloatDistribution(1e-9, 1e-3, log=True)}
    return FeatureSelectionObjective(
        GaussianNB(),
        X,
        y,
        space=space,
        cv=2,
        filters=["anova_f", "variance"],
        feature_names=[f"a column with a long name {j}" for j in range(n_features)],
        representation=representation,
    )


def search(storage: BaseStorage | None, objective: Any, n_trials: int = N_TRIALS) -> optuna.Study:
    study = optuna.create_study(
        storage=storage,
        study_name="wide",
        directions=objective.directions,
        sampler=FilterEnsembleNSGA2Sampler(seed=0),
    )
    study.optimize(objective, n_trials=n_trials)
    return study


def contents(study: optuna.Study) -> list[Any]:
    """Return what a study knows of its trials; MLflow returns the newest first."""
    return [
        (trial.number, trial.values, trial.params, selected_features(study, trial))
        for trial in sorted(study.trials, key=lambda trial: trial.number)
    ]


def check_storage(storage: BaseStorage, n_features: int = 30) -> None:
    """Interrupt a search and continue it: the trials are those of an uninterrupted one."""
    objective = make_objective(n_features)
    expected = search(None, objective)
    search(storage, objective, N_TRIALS // 2)
    # MLflow knows no load_if_exists: it would create a second study of the same name.
    sampler = FilterEnsembleNSGA2Sampler(seed=0)
    study = optuna.load_study(study_name="wide", storage=storage, sampler=sampler)
    study.optimize(make_objective(n_features), n_trials=N_TRIALS - N_TRIALS // 2)
    reopened = optuna.load_study(study_name="wide", storage=storage)
    assert contents(reopened) == contents(expected)
    front = pareto_front(reopened)
    known = pareto_front(expected)
    np.testing.assert_array_equal(front.values, known.values)
    assert front.honest().picks["pick"] == known.honest().picks["pick"]
    assert objective.refit(front.pick()).predict(objective.all_data.X).shape == (60,)


# ---- storages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [30, 10_000])
def test_mlflow_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_features: int) -> None:
    mlflow = pytest.importorskip("mlflow")
    storages = pytest.importorskip("mlflow.optuna.storage")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    try:
        experiment = mlflow.create_experiment("wide", artifact_location=str(tmp_path))
        check_storage(storages.MlflowStorage(experiment_id=experiment), n_features)
    finally:
        mlflow.set_tracking_uri(before)


def test_journal_file(tmp_path: Path) -> None:
    check_storage(JournalStorage(JournalFileBackend(str(tmp_path / "journal.log"))))


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    redis = pytest.importorskip("redis")
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("needs redis-server")
    # Paths of sockets must be short.
    socket = f"/tmp/mofs-{tmp_path.name}-{tmp_path.parent.name}.sock"
    command = [program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", tmp_path]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL) as server:
        try:
            client = redis.Redis(unix_socket_path=socket)
            for _ in range(600):
                try:
                    client.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.1)
            yield f"unix://{socket}"
        finally:
            server.terminate()
            server.wait()
            Path(socket).unlink(missing_ok=True)


def test_journal_on_redis(redis_url: str) -> None:
    from optuna.storages.journal import JournalRedisBackend

    check_storage(JournalStorage(JournalRedisBackend(redis_url)))


def test_grpc_proxy(tmp_path: Path, open_sqlite: Callable[[Path], RDBStorage]) -> None:
    grpc = pytest.importorskip("grpc")
    from optuna.storages import GrpcStorageProxy
    from optuna.storages._grpc.server import make_server

    # Port 0: the system chooses one.
    server = make_server(open_sqlite(tmp_path / "a.db"), "localhost", 0)
    port = server.add_insecure_port("localhost:0")
    server.start()
    try:
        proxy = GrpcStorageProxy(host="localhost", port=port)
        proxy.wait_server_ready(timeout=60)
        check_storage(proxy)
        proxy.close()
    finally:
        server.stop(None)
    assert grpc is not None


def test_dask_storage() -> None:
    distributed = pytest.importorskip("distributed")
    integration = pytest.importorskip("optuna_integration")
    pytest.importorskip("optuna_integration.dask")
    with (
        distributed.LocalCluster(
            n_workers=1, processes=False, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        check_storage(integration.DaskStorage(client=client))


# ---- copies and artifacts -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "sampler", [FilterEnsembleNSGA2Sampler, GHGASampler, MOEADSampler], ids=lambda s: s.__name__
)
def test_a_copied_study_continues_as_the_original(
    tmp_path: Path, open_sqlite: Callable[[Path], RDBStorage], sampler: Any
) -> None:
    objective = make_objective()
    original = optuna.create_study(
        study_name="original", directions=objective.directions, sampler=sampler(seed=0)
    )
    original.optimize(objective, n_trials=10)
    target = open_sqlite(tmp_path / "copy.db")
    # Ids of trials differ from those of the original.
    optuna.create_study(storage=target).add_trial(optuna.trial.create_trial(value=0.0))
    optuna.copy_study(
        from_study_name="original", from_storage=original._storage, to_storage=target
    )
    copied = optuna.load_study(study_name="original", storage=target, sampler=sampler(seed=0))
    assert contents(copied) == contents(original)
    for study in (original, copied):
        study.optimize(objective, n_trials=6)
    assert contents(copied) == contents(original)


def test_models_as_artifacts(tmp_path: Path) -> None:
    import joblib
    from optuna.artifacts import FileSystemArtifactStore, download_artifact, upload_artifact
    from optuna.artifacts import get_all_artifact_meta as all_meta

    objective = make_objective()
    study = search(None, objective)
    trial = pareto_front(study).pick()
    joblib.dump(objective.refit(trial), tmp_path / "model.joblib")
    (tmp_path / "store").mkdir()
    store = FileSystemArtifactStore(tmp_path / "store")
    upload_artifact(
        artifact_store=store,
        file_path=str(tmp_path / "model.joblib"),
        study_or_trial=study,  # a completed trial takes no artifacts
    )
    (meta,) = all_meta(study)
    study.optimize(objective, n_trials=2)  # the search does not stumble over the attribute
    path = str(tmp_path / "again.joblib")
    download_artifact(artifact_store=store, file_path=path, artifact_id=meta.artifact_id)
    X = objective.all_data.X
    expected = objective.refit(trial).predict(X)
    np.testing.assert_array_equal(joblib.load(path).predict(X), expected)


# ---- callbacks ----------------------------------------------------------------------------------


def test_mlflow_callback(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    integration = pytest.importorskip("optuna_integration")
    pytest.importorskip("optuna_integration.mlflow")
    objective = make_objective(representation="auto")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)
    try:
        mlflow.create_experiment("wide", artifact_location=str(tmp_path))
        callback = integration.MLflowCallback(uri, metric_name=list(objective.metric_names))
        study = objective.create_study(
            study_name="wide", sampler=FilterEnsembleNSGA2Sampler(seed=0)
        )
        study.optimize(objective, n_trials=2, callbacks=[callback])
        experiment = mlflow.get_experiment_by_name("wide")
        runs = mlflow.MlflowClient(uri).search_runs([experiment.experiment_id])
    finally:
        mlflow.set_tracking_uri(before)
    logged = sorted(tuple(r.data.metrics[n] for n in objective.metric_names) for r in runs)
    assert logged == sorted(tuple(trial.values) for trial in study.trials)
    assert {run.data.tags["n_features"] for run in runs} == {
        str(trial.user_attrs["n_features"]) for trial in study.trials
    }


def test_weights_and_biases_callback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    integration = pytest.importorskip("optuna_integration")
    pytest.importorskip("optuna_integration.wandb")
    objective = make_objective(representation="auto")
    logged: list[dict[str, Any]] = []
    callback = integration.WeightsAndBiasesCallback(
        metric_name=list(objective.metric_names),
        wandb_kwargs={"mode": "disabled", "dir": str(tmp_path)},
    )
    log = wandb.run.log
    monkeypatch.setattr(
        wandb.run, "log", lambda values, *a, **k: (logged.append(values), log(values, *a, **k))
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=2, callbacks=[callback])
    assert len(logged) == 2
    for values, trial in zip(logged, study.trials):
        assert tuple(values[name] for name in objective.metric_names) == tuple(trial.values)


# ---- Ray ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sampler", [FilterEnsembleNSGA2Sampler, MOEADSampler], ids=lambda s: s.__name__
)
def test_the_search_of_ray_tune(sampler: Any) -> None:
    search = pytest.importorskip("ray.tune.search.optuna")
    from ray import tune

    space = {
        "model": {"C": tune.loguniform(1e-3, 1e3), "kind": tune.choice(["a", "b"])},
        "use": {"age": tune.choice([True, False]), "body mass": tune.choice([True, False])},
    }
    tuner = search.OptunaSearch(
        space, metric=["error", "n_features"], mode=["min", "min"], sampler=sampler(seed=0)
    )
    names = set()
    for number in range(30):
        config = tuner.suggest(str(number))
        used = config["use"]
        error = abs(np.log10(config["model"]["C"])) + (not used["age"])
        result = {"error": error, "n_features": sum(used.values())}
        tuner.on_trial_complete(str(number), result)
        names |= {f"{outer}/{name}" for outer in config for name in config[outer]}
    study = tuner._ot_study
    assert names == {"model/C", "model/kind", "use/age", "use/body mass"}
    assert set(study.trials[-1].params) == names
    assert len(study.trials) == 30
    assert {tuple(t.params.items()) for t in study.trials[:5]} != {()}
    front = pareto_front(study)
    assert len(front) >= 1


def test_features_with_slashes_in_their_names() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    objective = FeatureSelectionObjective(
        LogisticRegression(),
        X,
        (X[:, 0] > 0).astype(int),
        feature_names=["a/b", "a/c", "/", "d e"],
        representation="mask",
        holdout=None,
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=4)
    assert set(objective.features_for(study.trials[0])) <= {"a/b", "a/c", "/", "d e"}
