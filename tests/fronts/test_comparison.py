from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_mofs import pareto_front
from optuna_mofs.fronts import (
    attainment_surfaces,
    hypervolume,
    hypervolume_history,
    hypervolume_table,
    nondominated_mask,
    shared_reference,
)
from tests.fronts.helpers import make_study, point_arrays, quick


def test_the_shared_reference_is_the_worst_of_all_in_the_studies_own_directions():
    a = make_study([[0.5, 3], [0.25, 1]], ["minimize", "maximize"], names=["error", "speed"])
    b = make_study([[0.75, 2]], ["minimize", "maximize"], names=["error", "speed"])
    assert shared_reference([a, b]) == {"error": 0.75, "speed": 1.0}
    assert shared_reference([a, b], {"speed": 0}) == {"error": 0.75, "speed": 0.0}
    assert shared_reference([a, b], [1, -1]) == {"error": 1.0, "speed": -1.0}


def test_a_study_without_trials_does_not_affect_the_reference():
    empty = optuna.create_study(directions=["minimize"] * 2)
    full = make_study([[0.5, 3], [0.25, 4]])
    assert shared_reference([empty, full]) == {"value_0": 0.5, "value_1": 4.0}
    assert shared_reference([empty], [1, 2]) == {"value_0": 1.0, "value_1": 2.0}
    with pytest.raises(ValueError, match=r"No completed trial in .* Run some trials"):
        shared_reference([empty], {"value_0": 1})


def test_different_metrics_raise():
    a = make_study([[0.5, 3]], names=["error", "size"])
    b = make_study([[0.5, 3]], ["minimize", "maximize"], names=["error", "size"])
    with pytest.raises(ValueError, match=r"different metrics: .*minimize 'size' and .*maximize"):
        shared_reference([a, b])
    with pytest.raises(ValueError, match="No studies"):
        shared_reference([])


def test_studies_of_a_row_share_one_reference():
    rows = [[[0.2, 2]], [[0.1, 3]]], [[[20, 200]], [[30, 100]]]
    ours, theirs = ([make_study(row[j]) for row in rows] for j in (0, 1))
    table = hypervolume_table({"ours": ours, "theirs": theirs})
    assert table.columns.tolist() == ["ours", "theirs"]
    for i in range(2):
        bound = shared_reference([ours[i], theirs[i]])
        assert table["ours"][i] == pareto_front(ours[i]).hypervolume(bound)
        assert table["theirs"][i] == pareto_front(theirs[i]).hypervolume(bound)
    absolute = hypervolume_table({"ours": ours[1:], "theirs": theirs[1:]}, [100, 300])
    assert absolute.to_numpy().tolist() == [[80 * 100, 70 * 200]]


@pytest.mark.parametrize("counts", [(1, 2), (0, 0)])
def test_methods_need_the_same_runs(counts):
    studies = {str(i): [make_study([[1, 2]])] * count for i, count in enumerate(counts)}
    with pytest.raises(ValueError, match="numbers of studies: "):
        hypervolume_table(studies)
    with pytest.raises(ValueError, match=r"numbers of studies: \{\}"):
        hypervolume_table({})


@quick
@given(point_arrays(widths=(2, 3)), st.booleans())
def test_the_history_is_the_volume_so_far_and_ends_with_that_of_the_front(points, maximize):
    directions = ["maximize" if maximize else "minimize", *["minimize"] * (points.shape[1] - 1)]
    study = make_study(points, directions)
    signs = np.array([-1.0 if d == "maximize" else 1.0 for d in directions])
    history = hypervolume_history(study)
    bound = (points * signs).max(axis=0)
    expected = [hypervolume(points[: i + 1] * signs, bound) for i in range(len(points))]
    np.testing.assert_allclose(history, expected)
    assert history.index.tolist() == list(range(len(points)))
    assert history.iloc[-1] == pytest.approx(pareto_front(study).hypervolume())


def test_the_history_is_indexed_by_the_numbers_of_completed_trials():
    study = make_study([[0.5, 0.5]])
    study.add_trial(optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL))
    study.add_trial(optuna.trial.create_trial(values=[0.25, 0.5]))
    history = hypervolume_history(study, {"value_0": 1.0, "value_1": 1.0})
    assert history.index.tolist() == [0, 2]
    assert history.index.name == "number"
    assert history.name == "hypervolume"
    assert history.tolist() == [0.25, 0.375]


def test_infeasible_trials_add_nothing_to_the_history():
    study = make_study([[0.5, 0.5], [0.0, 0.0]], constraints=[{"c": 0.0}, {"c": 1.0}])
    assert hypervolume_history(study, [1, 1]).tolist() == [0.25, 0.25]
    study = make_study([[np.inf, 0.0]], constraints=[{"c": 1.0}])
    assert hypervolume_history(study).tolist() == [0.0]


def test_the_history_without_a_completed_trial_is_empty():
    assert len(hypervolume_history(make_study([], ["minimize", "minimize"]))) == 0


values = st.one_of(st.integers(0, 6).map(float), st.just(-np.inf))


def n_attaining(runs: list[np.ndarray], point: np.ndarray) -> int:
    return sum(bool((run <= point).all(axis=1).any()) for run in runs)


@quick
@given(
    st.integers(2, 3).flatmap(
        lambda width: st.lists(
            point_arrays(values, widths=(width, width), min_points=0, max_points=5),
            min_size=1,
            max_size=5,
        )
    ),
    st.sampled_from([0.01, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 0.1 + 0.2, 1.0]),
)
def test_a_point_is_behind_the_surface_exactly_if_enough_runs_attain_it(runs, level):
    surface = attainment_surfaces(runs, levels=[level])[level]
    needed = next(k for k in range(1, len(runs) + 1) if k >= level * len(runs) - 1e-9)
    width = runs[0].shape[1]
    grid = np.array(list(np.ndindex(*[8] * width)), dtype=float)
    for point in grid[:: 1 if width == 2 else 7]:
        behind = bool((surface <= point).all(axis=1).any())
        assert behind == (n_attaining(runs, point) >= needed)
    assert nondominated_mask(surface).all()
    assert (surface[:-1, 0] <= surface[1:, 0]).all()


def test_invalid_rows_are_left_out_and_an_empty_run_counts():
    runs = [np.array([[1.0, 1.0], [0.0, np.nan], [np.inf, 0.0]]), np.empty((0, 2))]
    surfaces = attainment_surfaces(runs, levels=[0.5, 1.0])
    assert surfaces[0.5].tolist() == [[1.0, 1.0]]
    assert surfaces[1.0].shape == (0, 2)
    assert np.isnan(runs[0][1, 1])


def test_a_level_that_rounding_made_larger_requires_no_further_run():
    runs = [[[float(i), float(i)]] for i in range(10)]
    assert (0.1 + 0.2) * 10 > 3
    level = 0.1 + 0.2
    assert attainment_surfaces(runs, levels=[level])[level].tolist() == [[2.0, 2.0]]


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], "No runs"),
        ([np.zeros((1, 2)), np.zeros((1, 3))], r"\[2, 3\] columns"),
        ([np.zeros((1, 4))], r"\[4\] columns"),
    ],
)
def test_bad_runs_raise(runs, message):
    with pytest.raises(ValueError, match=message):
        attainment_surfaces(runs)


@pytest.mark.parametrize("level", [0.0, -0.1, 1.1, np.nan])
def test_bad_levels_raise(level):
    with pytest.raises(ValueError, match="level"):
        attainment_surfaces([np.zeros((1, 2))], levels=[level])
