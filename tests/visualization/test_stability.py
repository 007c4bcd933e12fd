from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.visualization import NothingToPlotError, plot_all, plot_stability
from tests.fronts.test_resampled import fronts
from tests.visualization.helpers import nested_study


def test_the_band_is_above_the_frequencies():
    figure = plot_stability(fronts())
    lines = [trace for trace in figure.data[:-1] if trace.name]
    assert [line.name for line in lines] == [
        "cross-validated in the resample",
        "on the rows outside of it",
    ]
    assert list(lines[0].x) == ["1", "2", "3"], "sets without features are not shown"
    assert list(lines[0].y) == pytest.approx(fronts().band().loc[[1, 2, 3], "median"].tolist())
    heat = figure.data[-1]
    assert list(heat.x) == ["1", "2", "3", "pick"]
    assert sorted(heat.y) == ["a", "b", "c", "d"]
    shares = dict(zip(heat.y, np.array(heat.z).tolist()))
    assert shares["a"] == pytest.approx([0.5, 2 / 3, 2 / 3, 2 / 3], abs=1e-4)
    assert "3 subsamples of 30 of 60 rows; stability of the pick" in figure.layout.title.text


def test_many_features_and_sizes_are_cut():
    figure = plot_stability(fronts(), max_features=2, max_sizes=2)
    heat = figure.data[-1]
    assert list(heat.x) == ["1", "3", "pick"]
    assert len(heat.y) == 2
    assert "2 of 4 features" in figure.layout.title.text
    with pytest.raises(ValueError, match="max_sizes must be an integer of at least 1, got 0"):
        plot_stability(fronts(), max_sizes=0)


def test_a_study_has_the_figure_if_it_has_resamples():
    study = nested_study()
    with pytest.raises(NothingToPlotError, match=r"has no resamples\. Run resampled_fronts"):
        plot_stability(study)
    assert "stability" not in plot_all(study)
    fronts().write(study)
    assert plot_stability(study).to_dict() == plot_stability(fronts()).to_dict()
    assert "stability" in plot_all(study, max_features=2)


def test_empty_sets_have_nothing_to_plot():
    found = fronts()
    found.masks[:] = False
    with pytest.raises(NothingToPlotError, match="found a set with a feature"):
        plot_stability(found)


def test_unknown_values_on_other_rows_are_left_out():
    found = fronts()
    found.test[:] = np.nan
    names = [trace.name for trace in plot_stability(found).data if trace.name]
    assert names == ["cross-validated in the resample"]
