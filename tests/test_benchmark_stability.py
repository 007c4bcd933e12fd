"""The benchmark of stability."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import stability


def test_planted_columns_determine_the_target() -> None:
    X, y = stability.planted("regression")
    residual = y - X[:, : stability.N_PLANTED] @ np.array([1.0, -1.0] * 3)
    assert X.shape == (400, 50)
    assert residual.std() == pytest.approx(1, abs=0.1)
    _, labels = stability.planted("classification")
    assert set(labels) == {0, 1}


@pytest.mark.parametrize("peer", stability.PEERS[:2])
def test_peers_select_columns_with_the_class(peer: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(80) % 2)
    X = rng.standard_normal((80, 6))
    X[:, 0] += 3 * y
    mask = stability.select(peer, X, y, 0)
    assert mask.shape == (6,)
    assert mask[0]


def test_tables_have_complete_data_sets_only(capsys: pytest.CaptureFixture[str]) -> None:
    run = {"index": [0.5, 0.4, 0.6], "size": 3.0, "inner": 0.1, "outer": 0.2, "tuned": None}
    results = {f"peers|sonar|{method}": run for method in ("default pick", *stability.PEERS)}
    results["peers|wdbc|default pick"] = run
    results["planted|regression"] = {
        "pick": {"planted": [1.0, 0.9], "noise": [0.1], "index": run["index"], "size": 2.0}
    }
    stability.print_tables(results)
    printed = capsys.readouterr().out
    assert "| regression, pick | 0.90 | 0.95 | 0.10 | 0.100 | 2.0 | 0.50 [0.40, 0.60] |" in printed
    assert "| sonar | 0.50 [0.40, 0.60] |" in printed
    assert "wdbc" not in printed
