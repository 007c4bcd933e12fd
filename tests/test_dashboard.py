"""Figures and note of optuna-dashboard; test_dashboard_pages.py opens the pages."""

from __future__ import annotations

import builtins
import json
from importlib.util import find_spec
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler, suggest_features
from optuna_mofs.dashboard import DashboardFigures, save_figures, save_note, study_note

needs_dashboard = pytest.mark.skipif(
    find_spec("optuna_dashboard") is None,
    reason="needs optuna-dashboard: pip install 'optuna-mofs[dashboard]'",
)

SMOOTHING = {"var_smoothing": FloatDistribution(1e-9, 1, log=True)}


def small_study(n_trials: int = 0, **options: Any) -> optuna.Study:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        mask = suggest_features(trial, ["age", "city", "pay"])
        return 1.0 - 0.5 * mask[0], mask.mean()

    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=FilterEnsembleNSGA2Sampler(seed=0)
    )
    study.set_metric_names(["error", "fraction"])
    study.optimize(objective, n_trials=n_trials, **options)
    return study


def saved(study: optuna.Study) -> dict[str, str]:
    from optuna_dashboard._custom_plot_data import get_plotly_graph_objects

    return get_plotly_graph_objects(study._storage.get_study_system_attrs(study._study_id))


# ---- the note -----------------------------------------------------------------------------------


def test_the_note_describes_objectives_data_and_space() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    objective = FeatureSelectionObjective(
        DecisionTreeClassifier(),
        X,
        y,
        space={
            "max_depth": IntDistribution(1, 9),
            "ccp_alpha": FloatDistribution(1e-4, 0.1, log=True),
            "criterion": CategoricalDistribution(["gini", "entropy"]),
        },
        representation="mask",
        filters=("anova_f",),
        fixed_features=["hue"],
        cv=3,
    )
    text = study_note(objective.create_study())
    assert text.startswith("**Optimized:** minimize *error*, minimize *fraction*.")
    assert "DecisionTreeClassifier, 178 rows, 3 folds, scored by" in text
    assert "**Features:** 13, selected by a mask, 1 of them fixed. Filters: anova_f." in text
    assert "alcohol, malic_acid" in text
    assert "| max_depth | 1 to 9 |" in text
    assert "| ccp_alpha | 0.0001 to 0.1, logarithmic |" in text
    assert "| criterion | gini, entropy |" in text


def test_the_note_of_many_features_is_short() -> None:
    def objective(trial: optuna.Trial) -> float:
        return float(suggest_features(trial, 10_935).mean())

    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(objective, n_trials=1)
    text = study_note(study)
    assert "10,935, selected by a mask" in text
    assert "more" in text
    assert len(text) < 700


def test_the_note_of_tuning_only_names_no_features() -> None:
    X, y = load_wine(return_X_y=True)
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, representation=None, measures=["error"], space=SMOOTHING
    )
    assert "**Features:**" not in study_note(objective.create_study())


def noisy_objective() -> FeatureSelectionObjective:
    X, y = load_wine(return_X_y=True, as_frame=True)
    y = np.random.default_rng(0).permutation(y)
    return FeatureSelectionObjective(
        GaussianNB(), X, y, representation="filter_ensemble", filters=("anova_f",), cv=3
    )


@needs_dashboard
def test_the_note_says_what_to_expect_on_new_rows() -> None:
    import optuna_dashboard

    objective = noisy_objective()
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    assert save_note(study)
    assert "new rows" not in optuna_dashboard.get_note(study)
    study.optimize(objective, n_trials=4, callbacks=[DashboardFigures(every=3)])
    text = optuna_dashboard.get_note(study)
    assert "**To expect on new rows:** error (1 − accuracy) of the default pick: " in text
    assert "on new rows." in text
    assert "**Not clearly better than chance" in text
    optuna_dashboard.save_note(study, text + " My remark.")
    study.optimize(objective, n_trials=3, callbacks=[DashboardFigures(every=1)])
    assert optuna_dashboard.get_note(study) == text + " My remark.", "a note of the user"


@needs_dashboard
def test_the_front_figure_shows_what_to_expect() -> None:
    objective = noisy_objective()
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=4)
    save_figures(study, names=["front"])
    names = [trace.get("name") for trace in json.loads(saved(study)["mofs-front"])["data"]]
    assert {"to expect on new rows", "cross-validated", "constant model"} <= set(names)


@needs_dashboard
def test_an_existing_note_is_kept() -> None:
    import optuna_dashboard

    study = small_study()
    assert save_note(study)
    assert optuna_dashboard.get_note(study) == study_note(study)
    optuna_dashboard.save_note(study, "mine")
    assert not save_note(study)
    assert optuna_dashboard.get_note(study) == "mine"
    assert save_note(study, overwrite=True)
    assert optuna_dashboard.get_note(study) == study_note(study)


# ---- figures ------------------------------------------------------------------------------------


@needs_dashboard
def test_figures_replace_earlier_ones() -> None:
    study = small_study(12)
    names = save_figures(study)
    assert names == ["front", "hypervolume", "feature_frequency"]
    before = saved(study)
    assert set(before) == {f"mofs-{name.replace('_', '-')}" for name in names}
    assert "age" in before["mofs-front"]
    layouts = [json.loads(text)["layout"] for text in before.values()]
    assert {layout.get("height") for layout in layouts} == {None}, "all boxes have the same height"
    assert not any(layout.get("template") for layout in layouts), "most of the JSON"
    study.add_trial(optuna.trial.create_trial(values=(0.0, 0.0)))
    save_figures(study)
    after = saved(study)
    assert set(after) == set(before)
    assert after["mofs-front"] != before["mofs-front"]


@needs_dashboard
def test_more_figures_by_name() -> None:
    study = small_study(12)
    assert save_figures(study, names=["operators", "front"]) == ["front", "operators"]
    assert set(saved(study)) == {"mofs-front", "mofs-operators"}
    with pytest.raises(ValueError, match=r"one of 'front', .*, got 'fornt'. Did you mean"):
        save_figures(study, names=["fornt"])
    with pytest.raises(ValueError, match="got 'fornt'"):
        DashboardFigures(names=["fornt"])


@needs_dashboard
def test_figures_of_the_user() -> None:
    import plotly.graph_objects as go

    study = small_study()
    assert save_figures(study) == [], "nothing to show yet"
    assert save_figures(study, figures={"mine": go.Figure()}) == ["mine"]
    assert set(saved(study)) == {"mofs-mine"}


@needs_dashboard
def test_the_callback_updates_at_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    import optuna_dashboard

    seen = []
    monkeypatch.setattr(
        "optuna_mofs.dashboard.save_figures", lambda study, **_: seen.append(len(study.trials))
    )
    study = small_study(12, callbacks=[DashboardFigures(every=5)])
    assert seen == [1, 6, 11]
    assert optuna_dashboard.get_note(study).startswith("**Optimized:**")


@needs_dashboard
def test_a_figure_that_fails_does_not_stop_the_study(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of ink")

    monkeypatch.setattr("optuna_mofs.dashboard.save_figures", broken)
    warned = []
    monkeypatch.setattr("optuna_mofs.dashboard._logger.warning", warned.append)
    study = small_study(3, callbacks=[DashboardFigures(every=2)])
    assert len(study.trials) == 3
    assert len(warned) == 2
    assert "out of ink" in warned[0]


@needs_dashboard
@pytest.mark.parametrize("every", [0, 1.5, True])
def test_bad_intervals_raise(every: Any) -> None:
    with pytest.raises(ValueError, match="every must be an integer of at least 1"):
        DashboardFigures(every)


def test_the_message_without_the_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("optuna_dashboard"):
            raise ImportError("not here")
        return real(name, *args, **options)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ImportError, match=r"pip install 'optuna-mofs\[dashboard\]'"):
        DashboardFigures()
    with pytest.raises(ImportError, match=r"pip install 'optuna-mofs\[dashboard\]'"):
        save_figures(small_study())


def test_the_benchmark_uses_the_second_opening_of_a_page() -> None:
    from benchmarks.dashboard import table
    from tools.dashboard_pages import Opening

    first = Opening(9.0, 4.0)
    took = {
        (10_935, "all"): [(first, Opening(3.5, 4.0)), (first, Opening(3.1, 5.0))],
        (30, "none"): [(first, Opening(2.0, 1.0))],
    }
    rows = table(took).splitlines()[2:]
    assert rows[0].startswith("| 30 features, figures: none | 4 [4, 4] | 9 [9, 9] | 1 [1, 1]")
    assert rows[0].endswith("| 2 [2, 2] | yes |")
    assert rows[1].endswith("| 3.3 [3.1, 3.5] | **no** |")
