"""Proposals are those that were recorded (see :mod:`tests.samplers.golden`)."""

from __future__ import annotations

import pytest

from tests.samplers.golden import SAMPLERS, STUDIES, numeric_build, proposals, read


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_proposals_are_as_recorded(sampler: str, study: str) -> None:
    recorded = read(sampler)
    if recorded["build"] != numeric_build():
        pytest.skip("recorded with a build of NumPy or SciPy that rounds differently")
    made = proposals(sampler, study)
    for number, (now, then) in enumerate(zip(made, recorded[study], strict=True)):
        assert now == then, f"trial {number}"
