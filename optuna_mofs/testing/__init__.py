"""Conformance suites for samplers.

Subclass :class:`SamplerConformance` in a test module and define the fixture ``sampler``.
"""

import pytest

# Before the import, so that a failed assertion shows its values.
pytest.register_assert_rewrite(f"{__name__}.pytest_samplers")

from optuna_mofs.testing.pytest_samplers import SamplerConformance  # noqa: E402

__all__ = ["SamplerConformance"]
