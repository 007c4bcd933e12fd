from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs import MOEADSampler
from optuna_mofs.samplers.moead.decomposition import augmented_tchebycheff, tchebycheff

LOSSES = np.array([[0.2, 0.4], [0.1, 0.4]])


def test_the_sum_tells_points_apart_that_are_equal_in_the_worst() -> None:
    even = np.array([[0.5, 0.5]])
    assert tchebycheff(LOSSES, even).ravel().tolist() == [0.2, 0.2]
    np.testing.assert_allclose(augmented_tchebycheff(LOSSES, even).ravel(), [0.215, 0.2125])


def test_a_weight_of_zero_still_cares_a_little() -> None:
    assert (tchebycheff(LOSSES, np.array([[0.0, 0.0]])) > 0).all()


def test_by_name() -> None:
    chosen = MOEADSampler(decomposition="augmented_tchebycheff").decomposition
    assert chosen is augmented_tchebycheff
    assert MOEADSampler(decomposition=max).decomposition is max  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"decomposition must be one of .* but is 'sum'"):
        MOEADSampler(decomposition="sum")
