from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optuna_mofs.samplers.model_based.exact import ExactObjectives

SIZES = np.array([1, 7, 3, 3, 12])


@settings(deadline=None, max_examples=40)
@given(st.floats(-5, 5), st.sampled_from([-2.0, 1 / 60, 1.0]), st.integers(0, 60))
def test_a_line_is_found_and_continued(start: float, slope: float, size: int) -> None:
    rough = np.array([0.3, 0.1, 0.4, 0.5, 0.2])
    exact = ExactObjectives(np.column_stack([rough, start + slope * SIZES]), SIZES)
    assert exact.unknown == [0]
    found = exact(np.array([size]))
    assert np.isnan(found[0, 0])
    np.testing.assert_allclose(found[0, 1], start + slope * size, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(arrays(float, (5, 2), elements=st.floats(0, 1)))
def test_one_trial_off_the_line_is_enough(values: np.ndarray) -> None:
    values = values.copy()
    values[:, 1] = SIZES / 60
    values[2, 1] += 0.001  # same size as the next trial
    assert 1 in ExactObjectives(values, SIZES).unknown


def test_two_sizes_make_no_line() -> None:
    sizes = np.array([1, 2, 2, 1])
    assert ExactObjectives(sizes[:, None] / 10, sizes).unknown == [0]


def test_a_constant_is_no_line() -> None:
    assert ExactObjectives(np.ones((5, 1)), SIZES).unknown == [0]
