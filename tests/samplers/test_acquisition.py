from __future__ import annotations

import numpy as np

from optuna_mofs.samplers._acquisition import expected_improvement, log_expected_improvement


def test_log_expected_improvement_is_smooth_where_its_two_formulas_meet() -> None:
    z = np.linspace(-20, 3, 500)
    found = log_expected_improvement(-z, np.ones(500), 0.0)
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0).all()
    assert np.abs(np.diff(found, 2)).max() < 0.1


def test_log_expected_improvement_is_the_logarithm_of_the_expected_improvement() -> None:
    mean, sd = np.linspace(-2, 2, 41), np.linspace(0.5, 1.5, 41)
    expected = np.log(expected_improvement(mean, sd, 0.3))
    np.testing.assert_allclose(log_expected_improvement(mean, sd, 0.3), expected)
