from __future__ import annotations

import copy
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.samplers import RandomSampler
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.fronts import Front, hypervolume, pareto_front
from optuna_mofs.study import MeasureDescription, StudyDescription

from .helpers import coarse, make_study, point_arrays, quick, slow_front

sides = st.sampled_from(["minimize", "maximize"])
infinite = st.one_of(coarse, st.sampled_from([np.inf, -np.inf]))


@st.composite
def studies(draw, values=infinite):
    points = draw(point_arrays(values, max_points=10))
    directions = draw(st.lists(sides, min_size=points.shape[1], max_size=points.shape[1]))
    return points, directions


def errors_and_sizes() -> optuna.Study:
    """Errors 0.10 to 0.30 with 20 down to 1 features; trial 4 is dominated."""
    rows = [(0.10, 20), (0.125, 8), (0.18, 3), (0.30, 1), (0.25, 9)]
    return make_study(
        [(error, n / 20) for error, n in rows],
        names=["error", "fraction"],
        user_attrs=[
            {
                "n_features": n,
                "features": ", ".join(f"x{j}" for j in range(n)),
                "fold_scores": {"error": [error - 0.05, error, error + 0.05]},
            }
            for error, n in rows
        ],
    )


@quick
@given(studies())
def test_same_trials_as_best_trials(case):
    study = make_study(*case)
    expected = {trial.number for trial in study.best_trials} if len(case[1]) > 1 else None
    found = [trial.number for trial in pareto_front(study)]
    if expected is None:
        signed = case[0] * (1 if case[1] == ["minimize"] else -1)
        expected = set(slow_front(signed))
    assert set(found) == expected
    assert len(found) == len(expected)


@quick
@given(studies(), st.data())
def test_constraints_are_respected_as_in_best_trials(case, data):
    points, directions = case
    marks = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=len(points), max_size=len(points))
    study = make_study(
        points, directions, constraints=[{"limit": mark} for mark in data.draw(marks)]
    )
    front = pareto_front(study)
    if len(directions) > 1:
        assert {t.number for t in front} == {t.number for t in study.best_trials}
    assert all(trial.constraints["limit"] <= 0 for trial in front)
    free = make_study(points, directions)
    ignoring = pareto_front(study, include_infeasible=True)
    assert [t.number for t in ignoring] == [t.number for t in pareto_front(free)]


@quick
@given(studies(coarse))
def test_maximizing_mirrors_minimizing(case):
    points, directions = case
    signs = np.array([1.0 if d == "minimize" else -1.0 for d in directions])
    mixed = pareto_front(make_study(points, directions))
    minimized = pareto_front(make_study(points * signs))
    reference = np.full(len(signs), 10.0) * signs
    assert [t.number for t in mixed] == [t.number for t in minimized]
    assert mixed.knee().number == minimized.knee().number
    assert mixed.best().number == minimized.best().number
    tolerances, goals = ["20%"] * len(signs), np.full(len(signs), 2.0)
    assert (
        mixed.lexicographic(tolerances=tolerances, goals=list(goals * signs)).number
        == minimized.lexicographic(tolerances=tolerances, goals=list(goals)).number
    )
    assert mixed.hypervolume(reference) == pytest.approx(minimized.hypervolume(np.abs(reference)))
    assert mixed.hypervolume() == pytest.approx(minimized.hypervolume())
    np.testing.assert_array_equal(mixed.ideal, minimized.ideal * signs)
    np.testing.assert_array_equal(mixed.nadir, minimized.nadir * signs)


@quick
@given(studies(coarse))
def test_sorted_by_the_first_metric_with_values_in_the_studys_directions(case):
    points, directions = case
    front = pareto_front(make_study(points, directions))
    assert front.values.tolist() == [trial.values for trial in front]
    first = front.values[:, 0] * (1 if directions[0] == "minimize" else -1)
    assert (np.diff(first) >= 0).all()
    for trial in front:
        assert trial.values == points[trial.number].tolist()


@quick
@given(studies(coarse))
def test_picks_are_members(case):
    front = pareto_front(make_study(*case))
    numbers = {trial.number for trial in front}
    for pick in (
        front.knee(),
        front.best(),
        front.lexicographic(tolerances=["50%"] * len(case[1])),
    ):
        assert isinstance(pick, optuna.trial.FrozenTrial)
        assert pick.number in numbers


def test_duplicates_can_be_left_out():
    study = make_study([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]])
    assert [trial.number for trial in pareto_front(study)] == [0, 1, 2]
    assert [trial.number for trial in pareto_front(study, duplicates=False)] == [0, 2]


def test_targets_select_metrics():
    study = make_study([[1.0, 5.0, 1.0], [2.0, 1.0, 2.0]], names=["a", "b", "c"])
    assert len(pareto_front(study)) == 2
    front = pareto_front(study, targets=["a", "c"])
    assert [trial.number for trial in front] == [0]
    assert front.metric_names == ("a", "c")
    assert front.values.tolist() == [[1.0, 1.0]]


def test_a_front_is_a_sequence():
    front = pareto_front(errors_and_sizes())
    assert len(front) == 4
    assert [trial.number for trial in front] == [0, 1, 2, 3]
    assert front[0].number == 0
    assert front[-1].number == 3
    assert front[1] in front
    with pytest.raises(IndexError):
        front[4]
    part = front[1:3]
    assert isinstance(part, Front)
    assert [trial.number for trial in part] == [1, 2]
    assert part.ideal.tolist() == [0.125, 0.15]


def test_reading_does_not_deep_copy():
    study = errors_and_sizes()
    stored = study.get_trials(deepcopy=False)
    assert all(trial is stored[trial.number] for trial in pareto_front(study))


def test_it_is_a_snapshot():
    study = errors_and_sizes()
    front = pareto_front(study)
    study.add_trial(optuna.trial.create_trial(values=[0.0, 0.0]))
    assert len(front) == 4
    assert len(pareto_front(study)) == 1


def test_best_within_limits():
    front = pareto_front(errors_and_sizes())
    assert front.best().number == 0
    assert front.best("fraction").number == 3
    assert front.best(1).number == 3
    assert front.best(max_features=8).number == 1
    assert front.best(max_features=7).number == 2
    assert front.best("fraction", error=0.2).number == 2
    assert front.best(fraction=0.4, max_features=3).number == 2


def test_the_limit_of_a_maximized_metric_is_a_lower_limit():
    study = make_study(
        [(0.9, 10), (0.8, 5), (0.6, 1)], ["maximize", "minimize"], names=["accuracy", "size"]
    )
    front = pareto_front(study)
    assert front.best("size", accuracy=0.75).number == 1
    assert front.best("accuracy", size=4).number == 2


def test_best_of_several_is_better_in_the_other_metrics():
    study = make_study([[1.0, 3.0, 9.0], [1.0, 2.0, 10.0], [5.0, 5.0, 1.0]])
    assert pareto_front(study).best("value_0").number == 1


def test_limits_that_no_trial_is_within():
    front = pareto_front(errors_and_sizes())
    with pytest.raises(ValueError, match=r"None of the 4 trials.*'error': 0.01.*Loosen a limit"):
        front.best(error=0.01)
    with pytest.raises(ValueError, match="No metric 'eror'"):
        front.best(eror=0.01)
    with pytest.raises(ValueError, match=r"set_user_attr\('n_features'"):
        pareto_front(make_study([[1.0, 2.0]])).best(max_features=3)


def test_one_standard_error():
    # Folds of the best trial: 0.05, 0.10, 0.15, so its standard error is 0.05 / sqrt(3) = 0.029;
    # dividing by the number of folds, not by one less, would give 0.024 and leave trial 1 out.
    front = pareto_front(errors_and_sizes())
    assert front.one_standard_error().number == 1
    assert front.one_standard_error(sparsity="fraction").number == 1


def test_one_standard_error_of_a_maximized_metric():
    study = make_study(
        [(0.90, 20), (0.88, 8), (0.80, 3)],
        ["maximize", "minimize"],
        names=["accuracy", "size"],
        user_attrs=[{"fold_scores": {"accuracy": [0.85, 0.90, 0.95]}}, {}, {}],
    )
    assert pareto_front(study).one_standard_error(sparsity="size").number == 1


def study_of_trials(rows: list[tuple[float, int]], folds: bool = True) -> optuna.Study:
    """A study with an error and a number of features per trial, and a spread of 0.02."""
    study = optuna.create_study(directions=["minimize"] * 2)
    study.set_metric_names(["error", "size"])
    for error, count in rows:
        attrs: dict[str, Any] = {"n_features": count}
        if folds:
            attrs["fold_scores"] = {"error": [error - 0.02, error + 0.02]}
        study.add_trial(optuna.trial.create_trial(values=(error, count), user_attrs=attrs))
    return study


def test_the_empty_set_does_not_decide_the_knee() -> None:
    rows = [(0.025, 2), (0.233, 1)]
    assert pareto_front(study_of_trials(rows)).knee().number == 0
    assert pareto_front(study_of_trials([*rows, (0.475, 0)])).knee().number == 0
    assert pareto_front(study_of_trials([(0.475, 0)])).knee().number == 0


def test_rounding_errors_do_not_decide_between_sizes() -> None:
    front = pareto_front(study_of_trials([(0.1, 28), (0.1 + 1e-17 + 1e-16, 7), (0.3, 1)]))
    assert len(front) == 3
    assert front.best().user_attrs["n_features"] == 7
    # 0.12 lies one standard error (0.02) above 0.1, but for the last bit.
    front = pareto_front(study_of_trials([(0.1, 366), (0.1 + 0.02 + 1e-17, 114), (0.3, 1)]))
    assert front.one_standard_error().user_attrs["n_features"] == 114


def test_the_default_pick_is_the_sparsest_within_one_standard_error() -> None:
    rows = [(0.10, 9), (0.11, 5), (0.13, 2), (0.45, 1)]
    assert pareto_front(study_of_trials(rows)).pick().number == 1
    without_folds = pareto_front(study_of_trials(rows, folds=False))
    assert not without_folds.has_standard_error
    assert without_folds.pick() == without_folds.knee()


def test_a_trial_without_errors_has_a_standard_error() -> None:
    study = study_of_trials([(0.0, 528), (0.009, 4), (0.02, 2)])
    for trial in study.get_trials(deepcopy=False):
        trial.user_attrs["fold_scores"] = {"error": [trial.values[0]] * 2}
    assert pareto_front(study).pick().number == 0, "the worst value is unknown"
    measures = (MeasureDescription("error", worst=0.5), MeasureDescription("size"))
    StudyDescription(measures=measures).write(study)
    assert pareto_front(study).pick().number == 1


def test_the_empty_set_is_picked_only_if_it_is_the_best() -> None:
    assert pareto_front(study_of_trials([(0.49, 3), (0.50, 0)])).pick().number == 0
    assert pareto_front(study_of_trials([(0.49, 0)])).pick().number == 0


def test_one_standard_error_without_fold_scores_or_sizes_raises():
    study = make_study([[0.1, 2.0]], names=["error", "size"], user_attrs=[{"n_features": 2}])
    with pytest.raises(ValueError, match=r"standard error of 'error'.*trial 0 lacks"):
        pareto_front(study).one_standard_error()
    study = make_study([[0.1, 2.0]], user_attrs=[{"fold_scores": {"value_0": [0.1, 0.1]}}])
    with pytest.raises(ValueError, match="sparsity="):
        pareto_front(study).one_standard_error()
    study = make_study(
        [[0.1, 2.0]], user_attrs=[{"n_features": 2, "fold_scores": {"value_0": [0.1]}}]
    )
    with pytest.raises(ValueError, match="two or more folds"):
        pareto_front(study).one_standard_error()


def test_lexicographic_by_name_and_by_position():
    front = pareto_front(errors_and_sizes())
    assert front.lexicographic().number == 0
    assert front.lexicographic(tolerances={"error": 0.1}).number == 2
    assert front.lexicographic(tolerances=[0.1, 0]).number == 2
    assert front.lexicographic(tolerances={"error": "30%"}).number == 1
    assert front.lexicographic(goals={"error": 0.2}).number == 2
    assert front.lexicographic(priorities=["fraction"]).number == 3
    assert front.lexicographic(priorities=[1], goals={"fraction": 0.5}).number == 1


def test_lexicographic_raises_on_unknown_names():
    front = pareto_front(errors_and_sizes())
    for options in ({"tolerances": {"eror": 1}}, {"goals": {"eror": 1}}, {"priorities": ["eror"]}):
        with pytest.raises(ValueError, match="No metric 'eror'"):
            front.lexicographic(**options)


def test_hypervolume_and_its_reference():
    study = errors_and_sizes()
    front = pareto_front(study)
    assert front.hypervolume([1, 1]) == pytest.approx(hypervolume(front.values, [1, 1]))
    assert front.hypervolume({"fraction": 1, "error": 1}) == front.hypervolume([1, 1])
    # Worst values of completed trials: 0.30 and 1.0.
    assert front.hypervolume() == pytest.approx(hypervolume(front.values, [0.3, 1.0]))
    with pytest.raises(ValueError, match="must be finite"):
        front.hypervolume([np.nan, 1])


def test_frame():
    study = make_study(
        [(0.1, 2.0), (0.2, 1.0)],
        names=["error", "size"],
        params=[{"C": 1.0, "error": 3.0}, {"depth": 2}],
        distributions=[
            {
                "C": optuna.distributions.FloatDistribution(0, 2),
                "error": optuna.distributions.FloatDistribution(0, 5),
            },
            {"depth": optuna.distributions.IntDistribution(1, 5)},
        ],
        user_attrs=[{"n_features": 2, "features": "a, b"}, {}],
    )
    frame = pareto_front(study).to_frame()
    assert frame.index.name == "number"
    assert list(frame.columns) == [
        "error",
        "size",
        "n_features",
        "features",
        "C",
        "params_error",
        "depth",
    ]
    assert frame.loc[0, "error"] == 0.1
    assert frame.loc[0, "params_error"] == 3.0
    assert frame.loc[0, "n_features"] == 2
    assert frame["n_features"].isna().tolist() == [False, True]
    assert np.isnan(frame.loc[1, "C"])


def test_frame_without_features_or_parameters_has_only_metrics():
    assert list(pareto_front(make_study([[1.0, 2.0]])).to_frame().columns) == [
        "value_0",
        "value_1",
    ]


def test_a_metric_keeps_its_name_in_the_frame():
    study = make_study(
        [[0.5, 7.0]],
        names=["features", "n_features"],
        user_attrs=[{"n_features": 3, "features": "a, b, c"}],
    )
    assert pareto_front(study).to_frame().loc[0].to_dict() == {"features": 0.5, "n_features": 7.0}


def test_frame_counts_are_integers():
    assert pareto_front(errors_and_sizes()).to_frame()["n_features"].dtype == "int64"


def test_repr_and_html():
    front = pareto_front(errors_and_sizes())
    text = repr(front)
    assert text.startswith("Front of 4 trials (error minimized")
    assert "error minimized, fraction minimized" in text
    assert "0.18" in text
    study = make_study([[1.0, 1.0]], names=["a<b", "c"])
    html = pareto_front(study)._repr_html_()
    assert "a&lt;b" in html
    assert "a<b" not in html
    assert "<table" in html


def test_what_is_printed_leaves_out_weights_and_long_lists():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    objective = FeatureSelectionObjective(
        GaussianNB(), X[:100], y[:100], cv=2, filters=["anova_f", "variance"]
    )
    study = objective.create_study(study_name="wide", sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=5)
    front = pareto_front(study)
    assert "weight_anova_f" in front.to_frame()
    for text in (repr(front), front._repr_html_()):
        assert "weight_anova_f" not in text
        assert "params_fraction" not in text
        assert "fraction" in text
        assert "of study &#x27;wide&#x27;" in text or "of study 'wide'" in text
    assert max(map(len, repr(front).splitlines())) < 180


def test_empty_front():
    study = make_study([], ["minimize", "minimize"])
    study.add_trial(optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL))
    front = pareto_front(study)
    assert len(front) == 0
    assert list(front) == []
    assert front.values.shape == (0, 2)
    assert front.hypervolume() == 0.0
    assert front.to_frame().shape == (0, 2)
    assert repr(front).startswith("Front of 0 trials")
    assert "0 trials" in front._repr_html_()
    picks = (front.knee, front.best, front.one_standard_error, front.lexicographic)
    for pick in (*picks, lambda: front.ideal, lambda: front.nadir):
        with pytest.raises(ValueError, match="is empty: none of its 0 completed trials"):
            pick()


def test_message_if_all_trials_are_infeasible():
    study = make_study([[1.0, 2.0]], constraints=[{"c": 1.0}])
    with pytest.raises(ValueError, match="include_infeasible=True"):
        pareto_front(study).knee()
    assert pareto_front(study, include_infeasible=True).knee().number == 0


def test_the_study_is_not_changed():
    study = errors_and_sizes()
    before = copy.deepcopy(study.trials), dict(study.user_attrs)
    front = pareto_front(study)
    front.values[:] = 7.0
    frame = front.to_frame()
    frame.iloc[:, :2] = 7.0
    front.knee(), front.best(), front.one_standard_error(), front.hypervolume()
    assert (study.trials, dict(study.user_attrs)) == before
    assert front.values[0].tolist() == [0.1, 1.0]


def test_one_objective():
    study = make_study([[3.0], [1.0], [1.0]], ["minimize"])
    front = pareto_front(study)
    assert [trial.number for trial in front] == [1, 2]
    assert front.knee().number == 1
    assert front.hypervolume(5.0) == 4.0


def study_of_learners() -> optuna.Study:
    study = optuna.create_study(directions=["minimize", "minimize"])
    kinds = optuna.distributions.CategoricalDistribution(["tree", "svm"])
    for learner, values in [("tree", (3, 3)), ("tree", (4, 4)), ("svm", (1, 2)), ("svm", (2, 1))]:
        study.add_trial(
            optuna.trial.create_trial(
                params={"learner": learner}, distributions={"learner": kinds}, values=values
            )
        )
    return study


def test_one_front_per_value_of_a_parameter():
    study = study_of_learners()
    assert [t.number for t in pareto_front(study)] == [2, 3]
    # The first tree is dominated by support vector machines, but not by trees.
    assert [t.number for t in pareto_front(study, by="learner")] == [2, 3, 0]


def test_a_parameter_that_no_trial_has_raises():
    with pytest.raises(ValueError, match=r"one of \['learner'\], got 'model'"):
        pareto_front(study_of_learners(), by="model")
    assert len(pareto_front(optuna.create_study(), by="model")) == 0
