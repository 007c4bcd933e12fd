"""Which studies are compared with which: patterns over their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optuna_mofs.cli.data import guess
from optuna_mofs.cli.errors import CommandError

if TYPE_CHECKING:
    from optuna.study import Study


@dataclass(frozen=True)
class Pattern:
    """A group of studies, and what tells its runs apart.

    Attributes:
        group: Name of the group.
        text: Name of a study; ``*`` stands for what differs from run to run.
    """

    group: str
    text: str

    @classmethod
    def parse(cls, written: str) -> Pattern:
        """Read ``PATTERN`` or ``GROUP=PATTERN``.

        Example:
            >>> Pattern.parse("svm-*"), Pattern.parse("ours=svm-*").group
            (Pattern(group='svm', text='svm-*'), 'ours')
        """
        group, given, text = written.partition("=")
        if given and group and text:
            return cls(group, text)
        return cls(written.replace("*", "").strip(" -_.:/") or written, written)

    def run_of(self, name: str) -> str | None:
        """What the ``*`` stand for in the name of a study, or None if it is of another group."""
        parts = map(re.escape, self.text.split("*"))
        found = re.fullmatch("(.*)".join(parts), name, flags=re.DOTALL)
        return None if found is None else " ".join(found.groups())


def grouped(
    written: Sequence[str], studies: Mapping[str, Study]
) -> tuple[dict[str, dict[str, Study]], list[str]]:
    """Studies by group and run, of those runs that all groups have.

    Args:
        written: Patterns.
        studies: All there are, by name.

    Returns:
        The groups, and the names of studies that are left out because a group lacks the run.

    Raises:
        CommandError: If a pattern matches nothing, or no run is in all groups.
    """
    groups: dict[str, dict[str, Study]] = {}
    for pattern in map(Pattern.parse, written):
        if pattern.group in groups:
            raise CommandError(
                f"Two groups are called {pattern.group!r}; name them: NAME={pattern.text}."
            )
        runs = {pattern.run_of(name): study for name, study in studies.items()}
        members = {run: study for run, study in runs.items() if run is not None}
        if not members:
            raise CommandError(
                f"No study is called {pattern.text!r}{guess(pattern.text, studies)}"
            )
        groups[pattern.group] = members
    common = [run for run in next(iter(groups.values())) if all(run in g for g in groups.values())]
    if not common:
        told = "; ".join(f"{name}: {', '.join(map(repr, g))}" for name, g in groups.items())
        raise CommandError(
            f"No run is in all groups, so there is nothing to compare ({told}). What * stands for "
            "must be the same in all: 'svm-*' and 'tree-*' match svm-0 and tree-0."
        )
    left_out = [
        study.study_name
        for members in groups.values()
        for run, study in members.items()
        if run not in common
    ]
    # Runs in the order of people: 2 before 10.
    common.sort(key=lambda run: [(len(part), part) for part in re.split(r"(\d+)", run)])
    return {name: {run: g[run] for run in common} for name, g in groups.items()}, left_out
