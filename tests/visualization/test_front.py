from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs import LexicographicPreference, pareto_front
from optuna_mofs.visualization import NothingToPlotError, plot_front

from .helpers import masked_study, nested_study, plain_study


def traces(figure):
    return {trace.name: trace for trace in figure.data}


def test_front_others_and_marks_are_drawn_in_the_studys_values():
    study = plain_study([(0.5, 1), (0.25, 2), (0.125, 4), (0.9, 10)])
    wanted = LexicographicPreference(tolerances={"value_0": 0.3})
    found = traces(plot_front(study, preference=wanted))
    assert list(found) == ["other trials", "front", "default pick", "lexicographic pick"]
    front = pareto_front(study)
    assert np.column_stack([found["front"].x, found["front"].y]) == pytest.approx(front.values)
    assert (found["other trials"].x[0], found["other trials"].y[0]) == (0.9, 10)
    for name, trial in (
        ("default pick", front.pick()),
        ("lexicographic pick", wanted.best(study)),
    ):
        assert [found[name].x[0], found[name].y[0]] == pytest.approx(trial.values)


def test_size_is_the_horizontal_axis_of_a_study_of_error_and_size():
    study = nested_study()
    wanted = LexicographicPreference(tolerances={"error": 0.3})
    figure = plot_front(study, preference=wanted)
    found = traces(figure)
    assert list(found) == ["other trials", "cross-validated", "default pick", "lexicographic pick"]
    points = found["cross-validated"]
    assert (list(points.x), list(points.y)) == ([1, 2, 4], [0.5, 0.25, 0.125])
    assert points.line.shape == "hv"
    assert (found["other trials"].x[0], found["other trials"].y[0]) == (10, 0.9)
    assert found["lexicographic pick"].y[0] == wanted.best(study).values[0]
    assert figure.layout.xaxis.title.text == "number of features, of 10"
    assert figure.layout.yaxis.title.text == "error"


def test_axes_name_the_metrics_and_mark_maximized_ones():
    study = plain_study([(0.9, 3), (0.8, 2)], ["maximize", "minimize"], ["accuracy", "a<b"])
    layout = plot_front(study).layout
    assert layout.xaxis.title.text == "accuracy (more is better)"
    assert layout.yaxis.title.text == "a&lt;b"


def test_the_hover_text_lists_features_and_operator():
    study = nested_study(operators=["start", "mutation", "union", "start"])
    texts = traces(plot_front(study))["cross-validated"].text
    pair = next(text for text in texts if "trial 1<" in text)
    assert "error: 0.25<br>fraction: 0.2<br>2 features:<br>&lt;f0&gt;, &lt;f1&gt;" in pair
    assert "operator: mutation" in pair
    single = next(text for text in texts if "trial 0<" in text)
    assert "1 feature:" in single


def test_the_hover_of_many_features_stays_readable():
    study = nested_study(p=10_935, sizes=(3, 5_000))
    figure = plot_front(study)
    assert max(len(text) for text in traces(figure)["cross-validated"].text) < 1000
    assert "more" in traces(figure)["cross-validated"].text[-1]
    assert len(figure.to_json()) < 30_000


@pytest.mark.parametrize(
    ("directions", "shape"),
    [
        (("minimize", "minimize"), "hv"),
        (("minimize", "maximize"), "hv"),
        (("maximize", "minimize"), "vh"),
        (("maximize", "maximize"), "vh"),
    ],
)
def test_the_line_is_the_boundary_of_what_is_dominated(directions, shape):
    # The better end of x with the worse end of y, and the other way round.
    x = (0.0, 1.0) if directions[0] == "minimize" else (1.0, 0.0)
    y = (1.0, 0.0) if directions[1] == "minimize" else (0.0, 1.0)
    study = plain_study(list(zip(x, y)), directions)
    front = traces(plot_front(study))["front"]
    assert front.line.shape == shape
    assert list(front.x) == [0.0, 1.0]
    corner = (front.x[1], front.y[0]) if shape == "hv" else (front.x[0], front.y[1])
    signs = [1 if d == "minimize" else -1 for d in directions]
    # The corner that the line turns at is dominated by both ends.
    for end in zip(front.x, front.y):
        assert all(s * a <= s * b for s, a, b in zip(signs, end, corner))


def test_one_trial_and_equal_trials():
    assert len(traces(plot_front(plain_study([(1, 2)])))["front"].x) == 1
    same = masked_study([[0], [1]], [(0.2, 0.1)] * 2)
    assert len(traces(plot_front(same))["cross-validated"].x) == 2


def test_infinite_values_are_left_out():
    study = plain_study([(np.inf, 0), (1, 1), (-np.inf, 5), (np.inf, 2)])
    found = traces(plot_front(study))
    assert list(found["front"].x) == [1.0]
    assert "other trials" not in found


def test_three_metrics_and_a_choice_of_more():
    study = plain_study([(1, 2, 3), (3, 2, 1), (3, 3, 3)], names=["a", "b", "c"])
    figure = plot_front(study)
    front = traces(figure)["front"]
    assert front.marker.colorbar.title.text == "c"
    assert list(zip(front.x, front.marker.color)) == [(1.0, 3.0), (3.0, 1.0)]
    assert front.mode == "markers", "a line has no meaning here"
    two = plot_front(study, targets=["c", "a"])
    assert two.layout.xaxis.title.text == "c"
    assert set(zip(traces(two)["front"].x, traces(two)["front"].y)) == {(1.0, 3.0), (3.0, 1.0)}


def test_too_few_or_too_many_metrics_raise():
    four = plain_study([(1, 2, 3, 4)], names=list("abcd"))
    with pytest.raises(NothingToPlotError, match=r"got \['a', 'b', 'c', 'd'\].*targets="):
        plot_front(four)
    with pytest.raises(NothingToPlotError, match=r"got \['value_0'\] of study"):
        plot_front(plain_study([(1,)]))
    with pytest.raises(NothingToPlotError, match="is empty: none of its 0 completed trials"):
        plot_front(plain_study([]))
    with pytest.raises(ValueError, match="max_dominated must be an integer of at least 0, got -1"):
        plot_front(four, max_dominated=-1)


def test_many_dominated_trials_are_reduced_evenly():
    values = [(0, 0), *((1 + i, 1 + i) for i in range(100))]
    study = plain_study(values)
    others = traces(plot_front(study, max_dominated=10))["other trials"]
    assert len(others.x) == 10
    assert (others.x[0], others.x[-1]) == (1.0, 100.0)
    assert "other trials" not in traces(plot_front(study, max_dominated=0))


def test_marks_can_be_left_out():
    assert list(traces(plot_front(plain_study([(1, 2)]), pick=False))) == ["front"]


def test_trials_of_equal_values_are_one_point():
    study = plain_study([(0.1, 3), (0.1, 3), (0.2, 1), (0.3, 5)])
    assert "3 of 4 trials at 2 points;" in plot_front(study).layout.title.text
    study = plain_study([(0.1, 3), (0.2, 1)])
    assert "2 of 2 trials;" in plot_front(study).layout.title.text


def test_several_studies_are_refused() -> None:
    studies = [optuna.create_study(directions=["minimize"] * 2) for _ in range(2)]
    with pytest.raises(ValueError, match=r"one study, got list\. Compare several by"):
        plot_front(studies)  # type: ignore[arg-type]
