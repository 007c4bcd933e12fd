"""The scripts of the papers: reports of stored runs, and the transcription of GHGA."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.model_based.runs import Job
from benchmarks.papers import binder_2020, horn_2016, jung_2013
from benchmarks.papers.jung_2013_literal import BUDGETS, LiteralGHGA, Reading


def options(keep: Path, methods: str) -> argparse.Namespace:
    return argparse.Namespace(
        keep=keep,
        data=None,
        methods=methods,
        tasks="sonar:svm,wdbc:knn",
        rows=99,
        folds=5,
        trials=200,
        seeds=2,
        finished=True,
    )


def stored(path: Path, methods: dict[str, float]) -> Path:
    lines = []
    for fold in range(2):
        for task in ("sonar:svm", "wdbc:knn"):
            for method, value in methods.items():
                result = {
                    "marks": [50, 200],
                    "domhv": [value - 0.1, value + 0.02 * fold],
                    "inside": [value, value + 0.05],
                    "error": [0.3, 0.2],
                    "seconds": 1.0,
                }
                lines.append(json.dumps([[task, 99, 5, 200, method, fold], result]))
    path.write_text("\n".join(lines))
    return path


def test_tables_of_domhv_have_the_papers_figure_beside_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep = stored(tmp_path / "runs", {"default": 0.9, "GA-MO-FE": 0.8, "BO-MO-FE": 0.7})
    args = options(keep, "default;GA-MO-FE;BO-MO-FE")
    binder_2020.tables(args)
    binder_2020.ranks(args)
    binder_2020.errors(args)
    printed = capsys.readouterr().out
    assert "default at 50 | default at 200" in printed
    assert "0.8000 | 0.9100 ± 0.0100, inner 0.9500" in printed
    assert "0.8100 ± 0.0100, inner 0.8500 (paper 0.8599)" in printed  # sonar, svm
    assert "(paper 0.9610)" in printed  # wdbc, knn, BO-MO-FE
    # At 50 the default has .8, in the second fold the others have .02 more at 200.
    assert "| default at 50, GA-MO-FE at 200 | -0.0100 ± 0.0000 | 0 of 2 | 0 of 4 |" in printed
    assert "| default at 200, BO-MO-FE at 200 | +0.2000 ± 0.0000 | 2 of 2 | 4 of 4 |" in printed
    assert "| GA-MO-FE | 2.00 (paper -) | 2.00 (paper 2.38) |" in printed
    assert "| svm, GA-MO-FE | 2 | 0.3000 | 0.2000 | 0.0903 |" in printed


def test_the_first_trials_of_a_longer_run_are_a_shorter_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep = stored(tmp_path / "runs", {"default": 0.9, "GA-MO-FE": 0.8})
    args = options(keep, "default;GA-MO-FE")
    args.trials = 50
    runs = binder_2020.collect(args, ["default"])
    assert {job[3] for job in runs} == {50}
    assert {tuple(found["domhv"]) for found in runs.values()} == {(0.8,)}
    binder_2020.tables(args)
    assert "0.8000 ± 0.0000, inner 0.9000" in capsys.readouterr().out


def test_rows_that_are_not_searched_on_are_tested_on(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), np.arange(100) % 2
    np.savez(tmp_path / "made.npz", X=X, y=y)
    for rows, sizes in ((10**9, (90, 10)), (60, (60, 40))):
        X_train, y_train, X_test, y_test = binder_2020.halves(str(tmp_path), "made", rows, 1)
        assert (len(y_train), len(y_test)) == sizes
        found = np.unique(np.concatenate([X_train, X_test]), axis=0)
        assert len(found) == 100


def test_the_support_vector_machine_is_that_of_a_pipeline() -> None:
    rng = np.random.default_rng(0)
    X, y = 7 * rng.normal(size=(60, 4)) + 3, rng.integers(2, size=60)
    X[:, 3] = 1.0
    both = binder_2020.ScaledSVC(C=3.0), make_pipeline(StandardScaler(), SVC(C=3.0))
    predicted = [model.fit(X[:40], y[:40]).predict(X[40:]).tolist() for model in both]
    assert predicted[0] == predicted[1]


def test_xgboost_stops_early_on_large_data_only() -> None:
    pytest.importorskip("xgboost")
    assert "booster__n_estimators" in binder_2020.learner_of("sonar", "xgboost")[1]
    assert "booster__n_estimators" not in binder_2020.learner_of("madelon", "xgboost")[1]


def test_variants_are_ranked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {f"variant {v}": 0.1 * v for v in range(1, 7)}
    binder_2020.ablation(options(stored(tmp_path / "runs", values), ""))
    assert "| variant 6 | 6.00 (paper -) | 6.00 (paper 5.16) |" in capsys.readouterr().out


def test_two_error_rates_are_compared_with_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    found, jobs = {}, []
    for task in ("phoneme", "spambase"):
        for seed in range(6):
            for k, method in enumerate(horn_2016.methods("svm")):
                job = Job("a", task, 99, 3, 8, f"{method}|svm", seed)
                front = [[0.1 * k, 0.9], [0.9, 0.1 * k], [0.5, 0.3 + 0.1 * k + 0.01 * seed]]
                found[job] = {"tuned": front, "tested": front, "seconds": 0.0, "quarter": 2}
                jobs.append(job)
    horn_2016.report("svm", found, jobs)
    printed = capsys.readouterr().out
    assert "| ParEGO against Latin hypercube | 2 / 0 / 0 | 7 / 2 / 0 of 9 |" in printed
    assert "| SMS-EGO against ParEGO | 0 / 0 / 2 | 1 / 7 / 1 of 9 |" in printed
    assert "default at a quarter, inner" in printed
    assert "Mean ranks over 2 data sets" in printed


def test_a_budget_of_every_reading_is_known() -> None:
    assert {reading.budget for _, reading in jung_2013.READINGS.values()} <= set(BUDGETS)
    assert jung_2013.READINGS["as printed"] == ("ratios", Reading())


def test_readings_are_compared_with_the_paper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "as printed, no guide"
    jobs = [["reading", "ratios", name, "", seed, 9000] for seed in range(3)]
    runs = [[10, 20, 30, 4000, -4000], [10, 20, 30, 2000, -2000], [50, -9000]]
    keep = tmp_path / "runs"
    keep.write_text("\n".join(map(json.dumps, zip(jobs, runs))))
    args = argparse.Namespace(readings=name, seeds=4, trials=9000, finished=True, keep=keep)
    jung_2013.readings(args)
    printed = capsys.readouterr().out
    assert f"| {name} | 3 | 2 of 3 | 3,000 | 10 / 20 / 30 / 4,000; " in printed
    assert "mean 5,632" in printed


def test_the_published_setting_finds_the_four_optima_of_the_paper() -> None:
    # The paper: in every run, after 5,632 evaluations on average.
    job, found = jung_2013.run(("guide", "ratios, noisier copies", "random", "paper", 0, 5632))
    assert len(found) == 4, job


def test_optima_in_a_quarter_of_the_papers_evaluations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [["quarter", "ratios", "forest", "", seed, 1046] for seed in range(2)]
    keep = tmp_path / "runs"
    keep.write_text("\n".join(map(json.dumps, zip(jobs, [[1, 2, 3, 900], [1, 2]]))))
    args = argparse.Namespace(
        guides="forest,none", seeds=2, problem="ratios", variant="", jobs=1, keep=keep
    )
    jung_2013.quarter(args)
    assert "| forest | 1,046 | 1 of 2 | 3.0 | 900 |" in capsys.readouterr().out


@pytest.mark.parametrize("guide", ["random", "frequency", "forest", "none"])
def test_the_transcription_finds_an_easy_optimum(guide: str) -> None:
    needed = np.arange(16) < 3

    def efficiency(mask: np.ndarray) -> float:
        return float(mask[needed].mean()) - 0.001 * float(mask[~needed].sum())

    # As the paper says, without guiding it takes far more evaluations.
    reading = Reading(guide=guide, median="skip", best=False, n_phase1=10, n_trees=5)
    search = LiteralGHGA(efficiency, 16, reading)
    search.run(lambda: len(search.M) >= 150, max_iterations=200)
    best = search.C[search.costs.argmin()] > 0
    assert guide == "none" or best.tolist() == needed.tolist()
    assert len({row.tobytes() for row in search.C}) == len(search.C)
    assert guide == "none" or search.flags.any()
