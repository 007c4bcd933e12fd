"""Titles of figures contain the name of the study, unless Optuna generated it."""

from __future__ import annotations

import optuna
import pytest

from optuna_mofs import LexicographicPreference
from optuna_mofs.visualization import plot_all, plot_hypervolume

from .helpers import nested_study, plain_study


def renamed(name: str | None) -> optuna.Study:
    study = nested_study(operators=["start", "union", "union", "start"])
    copy = optuna.create_study(study_name=name, directions=study.directions)
    copy.set_metric_names(study.metric_names)
    for key, value in study._storage.get_study_system_attrs(study._study_id).items():
        copy._storage.set_study_system_attr(copy._study_id, key, value)
    copy.add_trials(study.trials)
    return copy


@pytest.mark.parametrize(("name", "shown"), [("sonar", "of sonar"), ("x" * 60, f"{'x' * 39}…")])
def test_a_title_contains_the_name_of_the_study(name, shown):
    figures = plot_all(renamed(name), preference=LexicographicPreference())
    assert len(figures) == 7
    for kind, figure in figures.items():
        title = figure.layout.title.text.partition("</b>")[0]
        assert (shown in title) == (kind != "hypervolume")
        assert name not in title or len(name) < 40


def test_a_generated_name_is_left_out():
    study = renamed(None)
    for figure in plot_all(study, preference=LexicographicPreference()).values():
        assert study.study_name not in str(figure.to_json())
        assert " of</b>" not in figure.layout.title.text


def test_studies_without_names_are_numbered():
    figure = plot_hypervolume([plain_study([(1, 2)]), plain_study([(2, 1)])], reference=[3, 3])
    assert [trace.name for trace in figure.data] == ["study 1", "study 2"]
