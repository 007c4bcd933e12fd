"""Conformance suites: what every sampler of this package must keep.

Subclass :class:`SamplerConformance` in a test module and give the fixture ``sampler``.
"""

from optuna_mofs.testing.samplers import SamplerConformance

__all__ = ["SamplerConformance"]
