from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs import hypervolume_history
from optuna_mofs.visualization import NothingToPlotError, plot_hypervolume

from .helpers import plain_study


def runs(*ends):
    return [plain_study([(0.9, 0.9), (end, end)], names=["error", "fraction"]) for end in ends]


def lines(figure):
    return {t.name: t for t in figure.data if t.name}


def test_one_study_is_its_history():
    study = plain_study([(0.5, 0.5), (0.2, 0.7), (0.9, 0.9)])
    figure = plot_hypervolume(study, reference=[1, 1])
    (line,) = figure.data
    assert list(line.x) == [1, 2, 3]
    assert list(line.y) == pytest.approx(hypervolume_history(study, [1, 1]).tolist())
    assert figure.layout.showlegend is False


def test_runs_of_a_name_are_a_median_and_a_band():
    figure = plot_hypervolume({"a": runs(0.1, 0.2, 0.3), "b": runs(0.5)}, reference=[1, 1])
    found = lines(figure)
    assert list(found) == ["a (3 runs)", "b"]
    assert found["a (3 runs)"].y[1] == pytest.approx(0.8**2)
    low, high = (t for t in figure.data if not t.name)
    expected = np.quantile([0.9**2, 0.8**2, 0.7**2], [0.25, 0.75])
    assert [low.y[1], high.y[1]] == pytest.approx(expected)
    assert high.fill == "tonexty"
    whole = plot_hypervolume({"a": runs(0.1, 0.3)}, reference=[1, 1], spread=(0, 1))
    assert [t.y[1] for t in whole.data if not t.name] == pytest.approx([0.49, 0.81])


def test_several_studies_have_one_reference():
    figure = plot_hypervolume(runs(0.1, 0.2))
    a, b = lines(figure).values()
    # The worst value of both is 0.9: both start from nothing.
    assert (a.y[0], b.y[0]) == (0.0, 0.0)
    assert (a.y[1], b.y[1]) == pytest.approx((0.8**2, 0.7**2))
    assert "reference error 0.9, fraction 0.9" in figure.layout.title.text


def test_runs_of_different_length_are_cut_to_the_shortest():
    short, long = plain_study([(0.5, 0.5)]), plain_study([(0.5, 0.5), (0.1, 0.1)])
    figure = plot_hypervolume({"a": [short, long]}, reference=[1, 1])
    assert all(len(trace.x) == 1 for trace in figure.data)


def test_maximized_and_single_metrics():
    study = plain_study([(1,), (3,)], ["maximize"])
    assert list(plot_hypervolume(study, reference=[0]).data[0].y) == [1.0, 3.0]


def test_missing_trials_and_bad_input_raise():
    with pytest.raises(NothingToPlotError, match="No study has a completed trial"):
        plot_hypervolume(plain_study([]))
    with pytest.raises(NothingToPlotError, match="in each of its studies"):
        plot_hypervolume({"a": [plain_study([]), plain_study([(1, 2)])]})
    with pytest.raises(ValueError, match="spread must be two quantiles"):
        plot_hypervolume(plain_study([(1, 2)]), spread=(0.8, 0.2))
    with pytest.raises(ValueError, match="different metrics"):
        plot_hypervolume([plain_study([(1, 2)]), plain_study([(1, 2)], names=["a", "b"])])
    with pytest.raises(ValueError, match="No studies"):
        plot_hypervolume([])
    with pytest.raises(ValueError, match="No studies under the name 'a'"):
        plot_hypervolume({"a": []})
    with pytest.raises(TypeError, match="got int 3"):
        plot_hypervolume({"a": [3]})
