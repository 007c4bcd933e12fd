"""Conformance suites: what every sampler of this package must keep.

Subclass :class:`SamplerConformance` in a test module and give the fixture ``sampler``.
"""

import pytest

# Before they are imported, so that a failed assertion shows its values.
for _part in ("proposing", "resuming", "surviving"):
    pytest.register_assert_rewrite(f"{__name__}.{_part}")

from optuna_mofs.testing.samplers import SamplerConformance  # noqa: E402

__all__ = ["SamplerConformance"]
