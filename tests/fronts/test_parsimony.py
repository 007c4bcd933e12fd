from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_mofs.fronts import one_standard_error_index

from .helpers import quick

rows = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=12
)


@quick
@given(rows)
def test_rule_by_its_definition(cases):
    errors, sizes, spreads = (np.array(column, dtype=float) for column in zip(*cases))
    pick = one_standard_error_index(errors, sizes, spreads)
    best = min(range(len(cases)), key=lambda i: (errors[i], sizes[i], i))
    allowed = [i for i in range(len(cases)) if errors[i] <= errors[best] + spreads[best]]
    assert pick in allowed
    assert (sizes[pick], errors[pick]) == min((sizes[i], errors[i]) for i in allowed)


@quick
@given(rows)
def test_no_spread_gives_the_sparsest_of_the_best(cases):
    errors, sizes, _ = (np.array(column, dtype=float) for column in zip(*cases))
    pick = one_standard_error_index(errors, sizes, 0.0)
    assert (errors[pick], sizes[pick]) == min(zip(errors, sizes))


def test_nan_is_left_out():
    assert one_standard_error_index([np.nan, 0.2, 0.21], [1, 5, np.nan], 0.1) == 1
    with pytest.raises(ValueError, match="none without NaN"):
        one_standard_error_index([np.nan], [1], 0.1)


def test_only_the_spread_of_the_best_point_counts():
    assert one_standard_error_index([0.1, 0.2], [9, 1], [0.05, 5.0]) == 0
    assert one_standard_error_index([0.1, 0.2], [9, 1], [0.2, np.nan]) == 1


@pytest.mark.parametrize("spread", [-0.1, np.nan, np.inf])
def test_bad_spread_is_refused(spread):
    with pytest.raises(ValueError, match="standard error of the best"):
        one_standard_error_index([0.1, 0.2], [9, 1], spread)


def test_bad_shapes_are_refused():
    with pytest.raises(ValueError, match="one length"):
        one_standard_error_index([0.1, 0.2], [9], 0.1)
