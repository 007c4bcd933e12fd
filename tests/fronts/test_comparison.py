from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_mofs import pareto_front
from optuna_mofs.fronts import (
    attainment_surfaces,
    hypervolume_table,
    nondominated_mask,
    shared_reference,
)
from tests.fronts.helpers import make_study, point_arrays, quick


def test_the_reference_is_the_worst_of_all_in_the_studies_own_directions():
    a = make_study([[0.5, 3], [0.25, 1]], ["minimize", "maximize"], names=["error", "speed"])
    b = make_study([[0.75, 2]], ["minimize", "maximize"], names=["error", "speed"])
    assert shared_reference([a, b]) == {"error": 0.75, "speed": 1.0}
    assert shared_reference([a, b], {"speed": 0}) == {"error": 0.75, "speed": 0.0}
    assert shared_reference([a, b], [1, -1]) == {"error": 1.0, "speed": -1.0}


def test_a_study_without_trials_has_no_say():
    empty = optuna.create_study(directions=["minimize"] * 2)
    full = make_study([[0.5, 3], [0.25, 4]])
    assert shared_reference([empty, full]) == {"value_0": 0.5, "value_1": 4.0}
    assert shared_reference([empty], [1, 2]) == {"value_0": 1.0, "value_1": 2.0}
    with pytest.raises(ValueError, match=r"No finished trial in .* Run some trials"):
        shared_reference([empty], {"value_0": 1})


def test_different_metrics_are_refused():
    a = make_study([[0.5, 3]], names=["error", "size"])
    b = make_study([[0.5, 3]], ["minimize", "maximize"], names=["error", "size"])
    with pytest.raises(ValueError, match=r"different metrics: .*minimize 'size' and .*maximize"):
        shared_reference([a, b])
    with pytest.raises(ValueError, match="No studies"):
        shared_reference([])


def test_studies_of_a_row_are_measured_by_one_reference():
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
    with pytest.raises(ValueError, match="numbers of studies are"):
        hypervolume_table(studies)
    with pytest.raises(ValueError, match=r"numbers of studies are \{\}"):
        hypervolume_table({})


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


def test_rows_without_a_value_are_left_out_and_a_run_of_nothing_counts():
    runs = [np.array([[1.0, 1.0], [0.0, np.nan], [np.inf, 0.0]]), np.empty((0, 2))]
    surfaces = attainment_surfaces(runs, levels=[0.5, 1.0])
    assert surfaces[0.5].tolist() == [[1.0, 1.0]]
    assert surfaces[1.0].shape == (0, 2)
    assert np.isnan(runs[0][1, 1])


def test_a_level_that_rounding_made_larger_asks_for_no_further_run():
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
def test_bad_runs_are_refused(runs, message):
    with pytest.raises(ValueError, match=message):
        attainment_surfaces(runs)


@pytest.mark.parametrize("level", [0.0, -0.1, 1.1, np.nan])
def test_bad_levels_are_refused(level):
    with pytest.raises(ValueError, match="level"):
        attainment_surfaces([np.zeros((1, 2))], levels=[level])
