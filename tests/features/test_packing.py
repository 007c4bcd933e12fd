from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from optuna_mofs.features._packing import pack_array, unpack_array


@pytest.mark.parametrize("dtype", ["u1", "<u4"])
@given(data=st.data())
def test_arrays_survive_json(dtype, data):
    values = data.draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=1, max_dims=2, min_side=0)))
    text = json.loads(json.dumps(pack_array(values)))
    np.testing.assert_array_equal(unpack_array(text, dtype).reshape(values.shape), values)


def test_repetitive_arrays_are_short():
    assert len(pack_array(np.zeros(10_000, dtype="<u4"))) < 100
