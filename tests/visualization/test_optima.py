from __future__ import annotations

import numpy as np

from optuna_mofs import optima
from tests.fronts.test_optima import study_of


def test_figure_of_shared_features() -> None:
    figure = optima(study_of(("a", "b"), ("c", "d"), ("a", "c")), 0.06).plot()
    (heat,) = figure.data
    # Features of several sets come first. The color is the number of sets.
    assert list(heat.x) == ["a", "c", "b", "d"]
    assert list(heat.y) == ["trial 1", "trial 2", "trial 3"]
    np.testing.assert_array_equal(
        np.nan_to_num(np.array(heat.z, dtype=float)), [[2, 0, 1, 0], [0, 2, 0, 1], [2, 2, 0, 0]]
    )
    assert "3 sets" in figure.layout.title.text
    assert "within 0.06 of the best value_0" in figure.layout.title.text
