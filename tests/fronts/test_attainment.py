from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_mofs.fronts import attainment_surfaces, nondominated_mask

from .helpers import point_arrays, quick

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
