from __future__ import annotations

import sys

import numpy as np
import pytest
from optuna.trial import TrialState, create_trial

from optuna_mofs import LexicographicPreference, visualization
from optuna_mofs.visualization import _registry, plot_all, register_figure
from tests.visualization.helpers import ensemble_study, nested_study, plain_study


def test_every_figure_that_applies():
    study = nested_study(operators=["start", "union", "union", "start"])
    assert list(plot_all(study)) == [
        "front",
        "hypervolume",
        "feature_order",
        "feature_frequency",
        "operators",
        "filter_weights",
    ]
    assert "lexicographic_targets" in plot_all(study, preference=LexicographicPreference())


def test_figures_that_do_not_apply_are_left_out():
    assert list(plot_all(plain_study([]))) == []
    failed = plain_study([])
    failed.add_trial(create_trial(state=TrialState.FAIL))
    assert list(plot_all(failed)) == []
    assert list(plot_all(plain_study([(np.inf, 1)]))) == []
    assert list(plot_all(plain_study([(1, 2)]))) == ["front", "hypervolume"]
    assert list(plot_all(plain_study([(1, 2, 3, 4)]))) == ["hypervolume"]
    assert "operators" not in plot_all(ensemble_study([(0.5, 0.5)]))


def test_names_select_figures():
    study = nested_study()
    assert list(plot_all(study, names=["hypervolume", "front"])) == ["front", "hypervolume"]
    with pytest.raises(ValueError, match=r"'front', 'hypervolume', .*, got 'fornt'. Did you mean"):
        plot_all(study, names=["fornt"])


def test_max_features_limits_lists_of_features():
    figures = plot_all(nested_study(sizes=(1, 6)), max_features=2)
    assert len(figures["feature_frequency"].data[0].y) == 2
    assert len(figures["feature_order"].data[1].y) == 2


NEW_FIGURE = """
from optuna_mofs.visualization import NothingToPlotError, register_figure

@register_figure(order=1.5)
def plot_number_of_trials(study):
    if not study.trials:
        raise NothingToPlotError("No trials.")
    return len(study.trials)
"""


@pytest.fixture
def registry(monkeypatch):
    """Restore the registry after a test."""
    visualization.plot_all(plain_study([]))  # import the figures first
    monkeypatch.setattr(_registry, "_FIGURES", dict(_registry._FIGURES))
    yield
    _registry._import_figures.cache_clear()


def test_a_new_figure_is_one_file(registry, tmp_path, monkeypatch):
    (tmp_path / "_number_of_trials.py").write_text(NEW_FIGURE)
    monkeypatch.setattr(visualization, "__path__", [*visualization.__path__, str(tmp_path)])
    _registry._import_figures.cache_clear()
    figures = plot_all(plain_study([(1, 2)]))
    assert list(figures) == ["front", "number_of_trials", "hypervolume"]
    assert figures["number_of_trials"] == 1
    assert visualization.plot_number_of_trials(plain_study([(1, 2)])) == 1
    sys.modules.pop("optuna_mofs.visualization._number_of_trials")


def test_figures_get_the_options_that_they_have(registry):
    @register_figure()
    def plot_options(study, preference, max_features=1):
        return preference, max_features

    assert "options" not in plot_all(plain_study([(1, 2)]))
    wanted = LexicographicPreference()
    found = plot_all(plain_study([(1, 2)]), preference=wanted, max_features=3)
    assert found["options"] == (wanted, 3)


def test_a_name_of_another_module_is_taken(registry):
    with pytest.raises(ValueError, match=r"'front' is registered already, by optuna_mofs"):

        @register_figure()
        def plot_front(study):
            pass


def test_unknown_attributes_raise():
    with pytest.raises(AttributeError, match="has no attribute 'plot_fornt'"):
        visualization.plot_fornt  # noqa: B018
