from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "city": pd.Categorical(rng.choice(["Oslo", "Rome", "Bern"], n)),
            "pay": np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
            "member": rng.random(n) < 0.5,
            "kind": pd.Categorical(rng.choice(["a", "b"], n), ordered=True),
        },
        index=np.arange(1000, 1000 + n),
    )
    frame.loc[1003, "city"] = None
    return frame, np.where(frame["city"] == "Rome", "yes", "no")
