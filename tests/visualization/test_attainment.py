from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.visualization import NothingToPlotError, plot_attainment

from .helpers import plain_study


def line(figure, name):
    trace = next(t for t in figure.data if t.name == name)
    return list(zip(trace.x, trace.y))


def test_the_median_of_three_runs_and_its_band():
    runs = [plain_study([(1, 3), (3, 1)]), plain_study([(2, 2)]), plain_study([(2, 1)])]
    figure = plot_attainment({"ours": runs})
    # At least two of the three attain (2, 2) and (3, 1).
    corners = line(figure, "ours (3 runs)")
    assert (2.0, 2.0) in corners
    assert (3.0, 1.0) in corners
    assert (1.0, 3.0) not in corners
    band = figure.data[0]
    assert band.fill == "toself"
    assert (1.0, 3.0) in set(zip(band.x, band.y)), "one run attains it"


def test_a_single_run_is_the_boundary_of_what_it_dominates():
    study = plain_study([(1, 3), (2, 1), (3, 3)])
    figure = plot_attainment(study)
    (trace,) = figure.data
    x, y = np.array(trace.x), np.array(trace.y)
    assert list(zip(x, y))[1:-1] == [(1.0, 3.0), (2.0, 3.0), (2.0, 1.0)]
    assert y[0] > 3
    assert x[-1] > 2


def test_directions_are_the_studys_own():
    runs = [plain_study([(0.9, 3), (0.7, 1)], ["maximize", "minimize"], ["accuracy", "size"])]
    figure = plot_attainment({"ours": runs * 2})
    corners = line(figure, "ours (2 runs)")
    assert {(0.9, 3.0), (0.7, 1.0)} <= set(corners)
    assert min(x for x, _ in corners) < 0.7, "the worst accuracy is at the left"
    assert figure.layout.xaxis.title.text == "accuracy (more is better)"


def test_runs_that_attain_nothing_leave_an_edge():
    figure = plot_attainment({"ours": [plain_study([(1, 1)]), plain_study([])]})
    assert len(line(figure, "ours (2 runs)")) > 1
    assert all(np.isfinite(figure.data[0].x))


def test_names_keep_their_color():
    figure = plot_attainment({"a": [plain_study([(1, 1)])] * 2, "b": [plain_study([(2, 2)])]})
    a, b = (next(t for t in figure.data if t.legendgroup == g and t.name) for g in "ab")
    assert a.line.color != b.line.color


def test_targets_choose_two_of_three():
    study = plain_study([(1, 5, 3)], names=["a", "b", "c"])
    with pytest.raises(NothingToPlotError, match=r"got \['a', 'b', 'c'\]. Choose two"):
        plot_attainment(study)
    assert (3.0, 1.0) in set(
        zip(*(plot_attainment(study, targets=["c", "a"]).data[0][k] for k in "xy"))
    )


def test_missing_trials_and_bad_input_raise():
    with pytest.raises(NothingToPlotError, match="No study has a completed trial"):
        plot_attainment(plain_study([]))
    with pytest.raises(ValueError, match="levels must be three ascending fractions"):
        plot_attainment(plain_study([(1, 2)]), levels=(0.5, 0.25, 0.75))
    with pytest.raises(ValueError, match="different metrics"):
        plot_attainment([plain_study([(1, 2)]), plain_study([(1, 2)], ["minimize", "maximize"])])
