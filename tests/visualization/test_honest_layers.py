from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, pareto_front
from optuna_mofs.study import MeasureDescription, StudyDescription
from optuna_mofs.study._baselines import NoiseFloor, write_baselines
from optuna_mofs.visualization import plot_front
from optuna_mofs.visualization._honest_layers import SizeErrorAxes, expectation

from .helpers import masked_study, nested_study, plain_study, table
from .test_front import traces


def searched(p: int = 12, *, noise: bool = False, **options) -> optuna.Study:
    X, y = make_classification(120, p, n_informative=4, random_state=0)
    if noise:
        y = np.random.default_rng(0).permutation(y)
    options = {"representation": "filter_ensemble", "scoring": "roc_auc", **options}
    objective = FeatureSelectionObjective(GaussianNB(), X, y, filters=["anova_f"], cv=3, **options)
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=15)
    return study


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    found = searched()
    write_baselines(found, noise_floor=NoiseFloor(5, (0, 3), (0.5, 0.41)))
    return found


def test_all_layers(study):
    figure = plot_front(study)
    found = traces(figure)
    shown = [trace.name for trace in figure.data if trace.showlegend is not False]
    names = ["noise floor", "other trials", "to expect on new rows", "cross-validated"]
    assert shown == [*names, "default pick"]
    honest = pareto_front(study).honest()
    assert list(found["to expect on new rows"].x) == honest.curve["n_features"].tolist()
    assert list(found["to expect on new rows"].y) == pytest.approx(honest.curve["honest"].tolist())
    low, high = (trace for trace in figure.data if trace.line.width == 0)
    assert list(low.y) == pytest.approx(honest.curve["honest_low"].tolist())
    assert list(high.y) == pytest.approx(honest.curve["honest_high"].tolist())
    assert high.fill == "tonexty"
    assert set(found["constant model"].y) == {honest.baselines.constant[0]} == {0.5}
    assert set(found["all features"].y) == {honest.baselines.all_features[0]}
    assert list(found["noise floor"].y) == [0.5, 0.41, 0.41]
    assert list(found["noise floor"].x) == [0, 3, 12]
    assert figure.layout.yaxis.title.text == "error (1 − roc_auc)"


def test_the_error_to_expect_is_written_and_marked(study):
    front = pareto_front(study)
    expected = front.honest().picks["pick"]
    figure = plot_front(study)
    n = front.pick().user_attrs["n_features"]
    line = f"default pick: {n} features, expect {expected} on new rows"
    assert expectation(front) == line
    assert line in figure.layout.title.text
    point = traces(figure)["default pick, on new rows"]
    assert (point.x[0], point.y[0]) == (n, expected.value)
    assert point.error_y.array[0] == pytest.approx(expected.high - expected.value)
    assert point.error_y.arrayminus[0] == pytest.approx(expected.value - expected.low)
    texts = [note.text for note in figure.layout.annotations]
    assert f"expect <b>{expected.value:.3g}</b>" in texts
    assert "default pick, on new rows" not in traces(plot_front(study, pick=False))


def test_the_hover_text_has_spread_and_honest_value(study):
    front = pareto_front(study)
    trial, estimate = front[0], front.honest().members[0]
    texts = traces(plot_front(study))["cross-validated"].text
    text = next(t for t in texts if f"trial {trial.number}<" in t)
    assert f" ± {trial.user_attrs['fold_std']:.4g} over folds" in text
    assert f"on new rows: {estimate}" in text


def test_the_warning_is_shown_in_the_accent_color():
    study = searched(noise=True)
    warning = pareto_front(study).honest().warning
    assert warning is not None
    title = plot_front(study).layout.title.text
    assert "Not clearly better than chance" in title.partition("#b8500f")[2]
    assert "#b8500f" not in plot_front(nested_study()).layout.title.text


def test_held_out_rows():
    study = searched(representation="mask", scoring=None)
    front = pareto_front(study)
    assert front.honest().source == "holdout"
    found = traces(plot_front(study))
    curve = front.honest().curve
    assert list(found["to expect on new rows"].y) == pytest.approx(curve["honest"].tolist())


@pytest.mark.parametrize(("p", "kind"), [(50, None), (51, "log")])
def test_many_features_are_on_a_logarithmic_axis_with_a_place_for_none(p, kind):
    study = masked_study([[], [0], range(5)], [(0.5, 0), (0.3, 1 / p), (0.2, 5 / p)], p=p)
    figure = plot_front(study)
    assert figure.layout.xaxis.type == kind
    x = traces(figure)["cross-validated"].x
    assert list(x) == [0.5 if kind else 0, 1, 5]
    if kind:
        assert dict(zip(figure.layout.xaxis.tickvals, figure.layout.xaxis.ticktext))[0.5] == "0"
        assert figure.layout.xaxis.tickvals[-1] == 50


def test_costs_are_the_horizontal_axis():
    study = searched(feature_costs=dict.fromkeys([f"x{j}" for j in range(12)], 2.5))
    figure = plot_front(study)
    front = pareto_front(study)
    assert front.metric_names == ("error", "cost")
    assert figure.layout.xaxis.title.text == "cost of the features, of 30"
    costs = sorted(front.values[:, 1].tolist())
    assert list(traces(figure)["cross-validated"].x) == costs
    assert list(traces(figure)["to expect on new rows"].x) == costs


def test_the_vertical_axis_leaves_out_what_is_far_worse_than_a_constant():
    study = nested_study()
    write_baselines(study, constant=(0.55, 0.0), all_features=(30.0, 1.0))
    figure = plot_front(study)
    low, high = figure.layout.yaxis.range
    assert low < 0.125
    assert 0.55 < high < 0.8
    texts = [note.text for note in figure.layout.annotations]
    assert texts == ["all features 30 ↑", "constant model 0.55"]
    assert max(traces(figure)["all features"].y) <= high


@pytest.mark.parametrize(
    ("label", "title"),
    [("", "error"), ("RMSE", "RMSE"), ("1 - accuracy", "error (1 − accuracy)")],
)
def test_titles_name_the_metric(label, title):
    study = plain_study([(0.5, 0.1, 3), (0.3, 0.2, 3)], names=["error", "fraction", "seconds"])
    names = ("fraction", "seconds")
    measures = (MeasureDescription("error", label=label), *map(MeasureDescription, names))
    StudyDescription(table(10), measures=measures).write(study)
    assert plot_front(study).layout.xaxis.title.text == title


def test_without_honest_values_the_subtitle_says_so():
    study = searched(store_losses=False, representation="mask")
    pick = pareto_front(study).pick()
    assert pareto_front(study).honest().source is None
    line = f"error {pick.values[0]:.4g} cross-validated; expect a worse one on new rows"
    assert line in plot_front(study).layout.title.text
    study = nested_study()
    assert "cross-validated" not in plot_front(study).layout.title.text
    axes = SizeErrorAxes.of(pareto_front(study))
    assert axes is not None
    assert axes.expected() is None
    assert axes.limits() is None
    assert not axes.is_log
    assert axes.position([0.0, 3.0]).tolist() == [0.0, 3.0]


@pytest.mark.parametrize(
    "study",
    [
        plain_study([(0.5, 0.1)], names=["error", "fraction"]),
        masked_study([[0]], [(0.1, 0.1)], names=["n_features", "fraction"]),
        masked_study([[0]], [(0.1, 0.1)], names=["error", "seconds"]),
    ],
)
def test_other_studies_have_other_axes(study):
    assert SizeErrorAxes.of(pareto_front(study)) is None
    assert "front" in traces(plot_front(study))


def test_trials_of_unknown_size_are_left_out():
    study = nested_study()
    study.add_trial(optuna.trial.create_trial(values=(0.01, 0.01)))
    axes = SizeErrorAxes.of(pareto_front(study))
    assert axes is not None
    assert math.isnan(axes.sizes[-1])
    assert 0.01 not in traces(plot_front(study))["cross-validated"].y
