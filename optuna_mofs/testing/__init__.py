"""Conformance suites: what every sampler of this package must keep.

Subclass :class:`SamplerConformance` in a test module and give the fixture ``sampler``.
"""

import pytest

# Before it is imported, so that a failed assertion shows its values.
pytest.register_assert_rewrite(f"{__name__}.pytest_samplers")

from optuna_mofs.testing.pytest_samplers import SamplerConformance

__all__ = ["SamplerConformance"]
