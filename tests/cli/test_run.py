from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

from optuna_mofs import FeatureSelectionObjective, pareto_front, selected_features
from optuna_mofs._optuna import storage_of, study_key
from optuna_mofs.cli import main
from optuna_mofs.objectives._evaluator import Evaluator
from optuna_mofs.study._baselines import Baselines
from optuna_mofs.study._description import StudyDescription
from tests.cli.tables import QUICK, people

pytestmark = pytest.mark.usefixtures("folder")

DATA = ("--data", "people.csv", "--target", "risk", "--drop", "name")
NEW = ("run", *DATA, *QUICK)


def _study(name: str = "people", url: str = "sqlite:///optuna_mofs.db") -> optuna.Study:
    return optuna.load_study(study_name=name, storage=url)


def _system_attrs() -> set[str]:
    study = _study()
    return set(storage_of(study).get_study_system_attrs(study_key(study)[1]))


def _params(study: optuna.Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def test_a_continued_study_equals_an_uninterrupted_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*NEW, "--trials", "5"]) == 0
    first = capsys.readouterr()
    assert "New study 'people': ridge" in first.err
    assert "60 rows, 5 features (1 text column: city), classification of 'risk'" in first.err
    assert "12 rows not used by the search" in first.err
    assert "5/5 trials, hypervolume 0." in first.err
    assert "the same search on permuted labels" in first.err
    assert "optuna-mofs report --study people --output people.html" in first.err
    assert "Front of 5 completed trials" in first.out

    assert re.search(
        r"Default pick: \d+ features?, expect [\d.]+ \(.* to .*\) on new rows", first.out
    )

    assert main(["run", "--trials", "3"]) == 0, "the only study, with its settings"
    second = capsys.readouterr().err
    assert "Continuing study 'people' after 5 completed trials" in second
    assert "permuted" not in second, "once per study"

    # The sampler depends on the number of trials that was planned first.
    assert main([*NEW, "--trials", "5", "--study", "whole"]) == 0
    assert main(["run", "--trials", "3", "--study", "whole"]) == 0
    assert _params(_study()) == _params(_study("whole"))
    assert len(_study().trials) == 8


def test_races_are_a_setting_of_the_study(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NEW, "--trials", "12", "--racing", "--quiet"]) == 0
    assert main(["run", "--trials", "14"]) == 0
    trials = _study().get_trials(states=(TrialState.PRUNED,))
    assert trials
    assert f"({len(trials)} more were stopped early)" in capsys.readouterr().out
    assert all(trial.user_attrs["n_folds"] < 5 for trial in trials)


def test_the_noise_floor_is_a_baseline_of_the_study() -> None:
    assert main([*NEW, "--trials", "2", "--noise-floor", "0", "--quiet"]) == 0
    assert Baselines.read(_study()).noise_floor is None
    assert main(["run", "--trials", "1", "--timeout", "1h", "--quiet"]) == 0
    assert Baselines.read(_study()).noise_floor is None, "a time limit is kept"
    for n_trials in (3, 2):
        assert main(["run", "--trials", "1", "--noise-floor", str(n_trials), "--quiet"]) == 0
        floor = Baselines.read(_study()).noise_floor
        assert floor is not None
        assert floor.n_trials == n_trials


def test_a_search_on_permuted_labels_that_fails_is_a_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("nothing was completed")

    monkeypatch.setattr("optuna_mofs.cli._run.noise_floor", broken)
    assert main([*NEW, "--trials", "2"]) == 0
    captured = capsys.readouterr()
    assert "note: there is no noise floor. nothing was completed" in captured.err
    assert "Front of 2 completed trials" in captured.out


def test_ctrl_c_skips_the_noise_floor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optuna_mofs.cli._run.noise_floor", stopped)
    assert main([*NEW, "--trials", "2"]) == 0
    captured = capsys.readouterr()
    assert "the noise floor was skipped" in captured.err
    assert "Front of 2 completed trials" in captured.out


def test_the_noise_floor_takes_a_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optuna_mofs.cli._run._MIN_FLOOR_SECONDS", 0.0)
    monkeypatch.setattr("optuna_mofs.cli._run._FLOOR_SHARE", 0.0)
    assert main([*NEW, "--trials", "2", "--quiet"]) == 0
    floor = Baselines.read(_study()).noise_floor
    assert floor is not None
    assert floor.n_trials == 1  # of five


def test_baselines_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NEW, "--trials", "2", "--noise-floor", "2"]) == 0
    captured = capsys.readouterr()
    assert "2/2 trials, " in captured.err.partition("Noise floor")[2]
    line = next(
        x
        for x in captured.out.splitlines()
        if x.startswith("For comparison, error (1 − accuracy): ")
    )
    for name in ("a constant prediction", "all features, not tuned", "permuted labels"):
        assert re.search(rf"{name} 0\.\d+", line)


@pytest.mark.parametrize(
    ("options", "source", "n_rows"),
    [
        ((), "holdout", 12),
        (("--holdout", "0"), None, 0),
        (("--holdout", "0.5"), "holdout", 30),
        (("--features", "auto"), "holdout", 12),
        (("--features", "filter_ensemble"), "bootstrap", 0),
        (("--features", "filter_ensemble", "--holdout", "0.2"), "bootstrap", 12),
    ],
)
def test_held_out_rows_and_the_source_of_honest_values(
    options: tuple[str, ...],
    source: str | None,
    n_rows: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["--trials", "3", "--noise-floor", "0"]
    assert main([*NEW, *options, *argv]) == 0
    assert pareto_front(_study()).honest().source == source
    captured = capsys.readouterr()
    assert (f"{n_rows} rows not used" in captured.err) == (n_rows > 0)
    header = captured.out.splitlines()[0].split()
    assert ("honest" in header) == (source is not None)
    assert main(["run", "--trials", "1", "--quiet"]) == 0, "the setting is stored"


def test_optuna_samplers_do_not_repeat_trials() -> None:
    assert main([*NEW, "--sampler", "random", "--trials", "3", "--quiet"]) == 0
    assert main(["run", "--trials", "3", "--quiet"]) == 0
    assert len({str(params) for params in _params(_study())}) == 6


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NEW, "--trials", "1", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_other_data_is_an_error_that_names_the_difference(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*NEW, "--trials", "1", "--quiet"]) == 0
    capsys.readouterr()
    again = ["run", "--study", "people", "--trials", "1"]
    for change, message in (
        (["--learner", "knn"], "estimator: "),
        (["--cv", "4"], "folds: 3 folds"),
        (["--scoring", "f1_macro"], "scoring: "),
        (["--drop", "name", "dose"], "missing: 'dose'"),
    ):
        assert main([*again, *change]) == 1
        error = capsys.readouterr().err
        assert error.splitlines()[-1].startswith("optuna-mofs: Study 'people' does not match")
        assert message in error
    people().assign(dose=1.0).to_csv(folder / "people.csv", index=False)
    assert main(again) == 1
    assert "table: X" in capsys.readouterr().err
    assert len(_study().trials) == 1


def test_costs_fixed_features_and_measures(folder: Path) -> None:
    (folder / "costs.csv").write_text("feature,cost\ndose,3\ncity,2\n")
    options = ["--feature-costs", "costs.csv", "--feature-cost", "city=5"]
    options += ["--fixed-features", "noise 1"]
    assert main([*NEW, *options, "--trials", "2", "--quiet"]) == 0
    described = StudyDescription.read(_study())
    assert described is not None
    assert described.features is not None
    assert described.features.costs is not None
    assert described.features.costs.tolist() == [1, 1, 1, 3, 5]
    assert described.features.fixed == (1,)
    assert _study().metric_names == ["error", "cost"]
    assert main(["run", "--trials", "1", "--quiet"]) == 0, "the costs are stored"


def test_measures_and_preferences_reach_the_search() -> None:
    options = ["--measures", "error", "n_features", "fnr", "--sampler", "lexiflow"]
    wanted = ["--tolerance", "error=0.02", "n_features=10%", "--goal", "fnr=0.1"]
    assert main([*NEW, *options, *wanted, "--trials", "2", "--quiet"]) == 0
    assert _study().metric_names == ["error", "n_features", "fnr"]


def test_regression_with_texts_and_weights(folder: Path) -> None:
    frame = people().assign(pay=np.random.default_rng(1).normal(size=60), w=1.0)
    frame.to_csv(folder / "pay.csv.gz", index=False)
    argv = ["run", "--data", "pay.csv.gz", "--target", "pay", "--drop", "name", "--quiet"]
    tree = ["--learner", "decision_tree", "--filters", "anova_f", "--weight-column", "w"]
    assert main([*argv, *tree, "--trials", "2"]) == 0
    names = {name for params in _params(_study("pay")) for name in params}
    assert "model__regressor__max_depth" in names
    assert all(t.state == TrialState.COMPLETE for t in _study("pay").trials)


def test_parquet_from_data_to_model(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    people().to_parquet(folder / "folk.parquet")
    argv = ["run", "--data", "folk.parquet", "--target", "risk", "--drop", "name", *QUICK]
    assert main([*argv, "--trials", "2", "--quiet"]) == 0
    assert main(["export", "--output", "folk.joblib"]) == 0
    assert set(joblib.load("folk.joblib").predict(people())) <= {"high", "low"}


@pytest.mark.parametrize(
    "wrong",
    [
        ["--trials", "0"],
        ["--timeout", "soon"],
        ["--learner", "svn"],
        ["--sampler", "nsga3"],
        ["--scoring", "acuracy"],
        ["--filters", "nothing"],
        ["--measures", "eror"],
        ["--feature-cost", "dose"],
        ["--feature-cost", "dose=much"],
        ["--tolerance", "error=x%"],
        ["--storage", "my.db"],
        ["--holdout", "1"],
        ["--holdout", "some"],
        ["--noise-floor", "-1"],
        ["--features", "any"],
    ],
)
def test_wrong_usage_is_2(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*NEW, *wrong])
    assert stopped.value.code == 2
    assert wrong[1].rpartition("=")[2].strip("%") in capsys.readouterr().err
    assert not Path("optuna_mofs.db").exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["run"], "Give --data and --target for a new study"),
        (["run", "--data", "people.csv"], "Study 'people' is new, so --target is required"),
        (["run", "--data", "peple.csv", "--target", "risk"], "does not exist"),
        ([*NEW, "--fixed-features", "does"], "no feature is called 'does'. Did you mean 'dose'?"),
        ([*NEW, "--feature-cost", "cit=2"], "--feature-cost: no feature is called 'cit'"),
        ([*NEW, "--feature-costs", "people.csv"], "needs the columns 'feature' and 'cost'"),
        ([*NEW, "--learner", "elastic_net"], "'elastic_net' is for regression only"),
        ([*NEW, "--cv", "50"], "No class has enough rows for 50 folds"),
        ([*NEW, "--sampler", "lexiflow", "--tolerance", "eror=1"], "eror"),
    ],
)
def test_failures_are_1_and_one_line(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*argv, "--quiet", "--trials", "1"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("optuna-mofs: ")
    assert message in error
    assert error.count("\n") == 1
    assert not list(Path().glob("*.db*")), "nothing is left behind"


def test_a_search_whose_trials_all_fail_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: Evaluator, *rest: Any) -> Any:
        raise ValueError("the learner is broken")

    monkeypatch.setattr(Evaluator, "__call__", broken)
    assert main([*NEW, "--trials", "50"]) == 1
    error = capsys.readouterr().err
    assert "10 trials failed and no model with at least one feature could be fitted" in error
    assert "ValueError: the learner is broken" in error
    assert len(_study().trials) == 10


def test_ctrl_c_enqueues_the_trial_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate = Evaluator.__call__
    calls = []

    def stop_later(self: Evaluator, *rest: Any) -> Any:
        calls.append(rest)
        if len(calls) == 8:  # the first ones are baselines
            raise KeyboardInterrupt
        return evaluate(self, *rest)

    monkeypatch.setattr(Evaluator, "__call__", stop_later)
    assert main([*NEW, "--trials", "50"]) == 130
    error = capsys.readouterr().err
    assert "stopped. " in error
    assert "optuna-mofs run --study people" in error
    assert "Traceback" not in error
    trials = _study().trials
    assert [t.state.name for t in trials[-2:]] == ["FAIL", "WAITING"]
    assert trials[-1].params == trials[-2].params
    assert main(["run", "--trials", "1", "--quiet"]) == 0
    assert Counter(t.state.name for t in _study().trials)["WAITING"] == 0


def test_trials_of_dead_workers_are_retried_on_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*NEW, "--trials", "1", "--quiet"]) == 0
    _study().ask()
    assert main(["run", "--trials", "1", "--quiet"]) == 0
    assert [t.state.name for t in _study().trials] == ["COMPLETE", "RUNNING", "COMPLETE"]
    assert main(["run", "--trials", "1", "--retry-running"]) == 0
    assert "1 running trial enqueued again" in capsys.readouterr().err
    assert [t.state.name for t in _study().trials] == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]


def test_timeout() -> None:
    assert main([*NEW, "--timeout", "0.5s", "--quiet"]) == 0
    assert len(_study().trials) >= 1


def test_an_unrelated_study_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    optuna.create_study(study_name="people", storage="sqlite:///optuna_mofs.db")
    assert main(["run", "--study", "people"]) == 1
    assert "was not created by 'optuna-mofs run', so --data is required" in capsys.readouterr().err
    assert main([*NEW, "--trials", "1"]) == 1
    assert "has directions ['minimize']" in capsys.readouterr().err


def test_a_study_made_in_python_can_be_continued() -> None:
    from optuna_mofs.cli._settings import Settings, load_table, make_objective

    settings = Settings(
        "people.csv", "risk", drop=["name"], learner="ridge", filters=["anova_f"], cv=3
    )
    objective: FeatureSelectionObjective = make_objective(settings, load_table(settings))
    objective.create_study(study_name="mine", storage="sqlite:///optuna_mofs.db")
    assert main([*NEW, "--study", "mine", "--trials", "1", "--quiet"]) == 0
    assert len(_study("mine").trials) == 1


def test_figures_for_the_dashboard() -> None:
    dashboard = pytest.importorskip("optuna_dashboard")
    assert main([*NEW, "--trials", "2", "--quiet"]) == 0
    before = _system_attrs()
    assert main(["run", "--trials", "1", "--dashboard", "--quiet"]) == 0
    after = _system_attrs()
    assert "minimize *error*" in dashboard.get_note(_study())
    assert len(after - before) > 3, "figures in pieces"


def test_the_dashboard_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "optuna_dashboard", None)
    assert main([*NEW, "--trials", "1", "--dashboard", "--quiet"]) == 1
    assert "optuna-mofs[dashboard]" in capsys.readouterr().err
    assert not Path("optuna_mofs.db").exists(), "checked before the search"


def test_a_study_of_failures_does_not_block_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ["run", "--data", "people.csv", "--target", "risk", "--drop", "name", *QUICK]
    with monkeypatch.context() as patch:
        patch.setattr("sklearn.linear_model.RidgeClassifier.fit", lambda *_, **__: 1 / 0)
        assert main([*argv, "--trials", "12", "--storage", "sqlite:///dead.db"]) == 1
    storage = "sqlite:///dead.db"
    capsys.readouterr()
    other = [*argv, "--scoring", "roc_auc", "--trials", "3", "--storage", storage]
    assert main(other) == 0
    assert "'people' holds no model: it is replaced" in capsys.readouterr().err


def test_a_positive_class_makes_scores_of_it_possible(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["run", "--data", "people.csv", "--target", "risk", "--drop", "name", *QUICK]
    argv += ["--scoring", "f1", "--trials", "4", "--noise-floor", "0"]
    storage = ["--storage", "sqlite:///positive.db"]
    assert main([*argv, *storage, "--positive-class", "hihg"]) == 1
    assert "has no class 'hihg'. Did you mean 'high'?" in capsys.readouterr().err
    assert main([*argv, *storage, "--positive-class", "high", "--quiet"]) == 0
    options = ["export", *storage, "--pick", "best", "--output", "m.joblib", "--quiet"]
    assert main(options) == 0
    assert set(joblib.load("m.joblib").predict(people())) <= {0, 1}


def test_a_search_that_stagnates_stops(capsys: pytest.CaptureFixture[str]) -> None:
    stop = ("--stop", "hypervolume", "--stop-horizon", "1", "--stop-risk", "0.4")
    assert main([*NEW, "--trials", "40", *stop, "--noise-floor", "0"]) == 0
    n_trials = len(_study().trials)
    assert 2 <= n_trials < 20
    printed = capsys.readouterr().err
    assert f"Stopped after {n_trials} trials: the chance that 1 more bring a gain is" in printed
    # Nothing has changed since, so that no trial is run; without --stop it continues.
    assert main(["run", "--trials", "40", *stop, "--quiet"]) == 0
    assert len(_study().trials) == n_trials
    assert main(["run", "--trials", "1", "--workers", "2", *stop, "--quiet"]) == 0
    assert len(_study().trials) == n_trials
    assert main(["run", "--trials", "1", "--quiet"]) == 0
    assert len(_study().trials) == n_trials + 1


def test_no_trial_is_started_that_would_end_too_late(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*NEW, "--trials", "2", "--quiet", "--noise-floor", "0"]) == 0
    monkeypatch.setattr("optuna_mofs.cli._worker.trial_seconds", lambda study: 3600.0)
    assert main(["run", "--trials", "2", "--timeout", "30m", "--quiet"]) == 0
    assert len(_study().trials) == 2
    assert main(["run", "--trials", "1", "--timeout", "2h", "--quiet"]) == 0
    assert len(_study().trials) == 3


@pytest.mark.parametrize("value", ["2", "-0.1", "x"])
def test_a_bad_risk_is_refused(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*NEW, "--stop", "pick", "--stop-risk", value])
    assert "--stop-risk" in capsys.readouterr().err


def test_a_study_starts_from_another_one(capsys: pytest.CaptureFixture[str]) -> None:
    mask = ("--features", "mask", "--noise-floor", "0")
    assert main([*NEW, *mask, "--trials", "6", "--quiet"]) == 0
    frame = people()
    frame["more"] = np.arange(len(frame)) % 7
    frame.drop(columns="noise 0").to_csv("next.csv", index=False)
    later = ("run", "--data", "next.csv", *DATA[2:], *QUICK, *mask)
    assert main([*later, "--trials", "3", "--warm-start", "people"]) == 0
    printed = capsys.readouterr().err
    assert re.search(r"Starting with \d trials? of study 'people'", printed)
    before, after = _study(), _study("next")
    first = after.trials[0]
    number = int(first.user_attrs["warm_start"].removeprefix("people #"))
    assert number == pareto_front(before, duplicates=False).pick().number
    names = set(selected_features(before, before.trials[number]) or []) - {"noise 0"}
    assert set(selected_features(after, first) or []) == names
    assert main([*later, "--trials", "1", "--warm-start", "nobody", "--study", "x"]) == 1
    assert "no study 'nobody'" in capsys.readouterr().err
    assert main([*later, "--trials", "1", "--warm-start-storage", "sqlite:///a.db"]) == 1
    assert "--warm-start-storage needs --warm-start" in capsys.readouterr().err
