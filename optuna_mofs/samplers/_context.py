"""What a sampler gets to see and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from optuna_mofs._typing import Array


@dataclass
class Proposal:
    """A configuration that a sampler wants to be evaluated.

    Args:
        row: Hyperparameters, encoded by the history's parameter space.
        mask: Over the free features, or None in a study without masks.
        operator: What made it, for people and for plots.
        parents: Numbers of the trials it was made of.
        memory: What the algorithm must remember of it (JSON values).
    """

    row: Array
    mask: Array | None = None
    operator: str = "random"
    parents: tuple[int, ...] = ()
    memory: dict[str, Any] = field(default_factory=dict)

    def note(self) -> dict[str, Any]:
        """What is written on the trial."""
        return {"operator": self.operator, "parents": list(self.parents), **self.memory}
