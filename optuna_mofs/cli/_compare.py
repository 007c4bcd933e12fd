"""``optuna-mofs compare``: compare studies by hypervolume, ranks and statistical tests."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optuna_mofs.cli import _output as out
from optuna_mofs.cli._errors import CommandError, name_hint
from optuna_mofs.cli._options import (
    STORAGE,
    add_command,
    add_study_options,
    assignments,
    number,
    positive_int,
)

if TYPE_CHECKING:
    import pandas as pd
    from optuna.study import Study

    from optuna_mofs.statistics import RankComparison

_DESCRIPTION = """\
Compare studies by the hypervolume of their fronts, with one reference point for all. A name may
contain a *: 'svm-*' is the group 'svm' with the runs svm-0, svm-1, ... Runs with the same * (the
same seed, the same data) are compared across groups: the Friedman test checks whether the groups
differ, and the Nemenyi test which ones. The tests need at least two groups of two runs; with
fewer than five runs they hardly ever find a difference.

examples:
  optuna-mofs compare wine-svm wine-knn
  optuna-mofs compare 'svm-*' 'knn-*' 'xgboost-*'             groups of seeds
  optuna-mofs compare ours='nsga2-*' random='random-*' --trials 200 --format json
  optuna-mofs compare 'svm-*' 'knn-*' --storage sqlite:///a.db --storage sqlite:///b.db \\
      --output comparison.html

to create such studies:
  for seed in 0 1 2 3 4; do for sampler in nsga2 random; do
    optuna-mofs run --data wine.csv --target quality --sampler $sampler --seed $seed \\
        --study $sampler-$seed --quiet
  done; done
"""


def add_to(subparsers: Any) -> None:
    """Add the subcommand to the parser."""
    parser = add_command(
        subparsers,
        "compare",
        run,
        help="compare several studies: hypervolume, ranks, tests",
        description=_DESCRIPTION,
    )
    parser.add_argument(
        "studies",
        nargs="+",
        metavar="[GROUP=]STUDY",
        help="names of studies; * stands for the part that differs between runs",
    )
    add_study_options(parser, several=True)
    parser.add_argument(
        "--trials", type=positive_int, metavar="N", help="use the first N completed trials of each"
    )
    parser.add_argument(
        "--reference",
        nargs="+",
        action=assignments(number),
        metavar="METRIC=VALUE",
        help="reference point (default: the worst possible values, or the worst observed)",
    )
    parser.add_argument(
        "--alpha",
        type=number,
        default=0.05,
        metavar="LEVEL",
        help="significance level (default: %(default)s)",
    )
    out.add_output_options(parser, formats=("table", "csv", "json", "html"))


def run(arguments: argparse.Namespace) -> None:
    """Compare studies and print the result."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if not 0 < arguments.alpha < 1:
        raise CommandError(f"--alpha must be between 0 and 1, got {arguments.alpha:g}.")
    kind = out.output_format(arguments)
    studies = _all_studies(arguments.storage or [STORAGE])
    groups, excluded = group_studies(arguments.studies, studies)
    if excluded:
        print(
            f"optuna-mofs: note: excluded, because a group lacks the run: {', '.join(excluded)}",
            file=sys.stderr,
        )
    try:
        runs = run_table(groups, arguments.trials, arguments.reference)
        ranks = _compare_ranks(runs, arguments.alpha)
    except ValueError as error:
        raise CommandError(str(error)) from error
    _note_different_lengths(runs)
    if kind == "html":
        text = _page(groups, runs, ranks, arguments)
    else:
        text = {"table": _text, "csv": _csv, "json": _json}[kind](runs, ranks)
    out.write_text(text, arguments.output)


def run_table(
    groups: dict[str, dict[str, Study]], n_trials: int | None, reference: Any
) -> pd.DataFrame:
    """Return one row per study: group, run, study, trials, hypervolume, rank among the groups.

    Args:
        groups: Studies by group and run; all groups have the same runs.
        n_trials: Number of completed trials that count, or None for all.
        reference: Reference point of the hypervolume.

    Raises:
        ValueError: If the studies of a run have different metrics, or no trial has completed.
    """
    import pandas as pd

    from optuna_mofs import hypervolume_history
    from optuna_mofs.fronts import shared_reference

    rows = []
    for run in next(iter(groups.values())):
        row = {name: members[run] for name, members in groups.items()}
        point = shared_reference(list(row.values()), reference)
        for name, study in row.items():
            volumes = hypervolume_history(study, point).iloc[:n_trials]
            last = float(volumes.iloc[-1]) if len(volumes) else 0.0
            rows.append([name, run, study.study_name, len(volumes), last])
    frame = pd.DataFrame(rows, columns=["group", "run", "study", "trials", "hypervolume"])
    frame["rank"] = frame.groupby("run", sort=False)["hypervolume"].rank(ascending=False)
    return frame


def _all_studies(urls: list[str]) -> dict[str, Study]:
    import optuna

    from optuna_mofs.cli._storage import display_url, open_storage, storage_errors

    found: dict[str, Study] = {}
    for url in urls:
        with storage_errors(url):
            storage = open_storage(url, create=False)
            for name in optuna.get_all_study_names(storage):
                if name in found:
                    raise CommandError(
                        f"Study {name!r} is in two storages, the second is {display_url(url)}. "
                        "Names must be unique."
                    )
                found[name] = optuna.load_study(study_name=name, storage=storage)
    return found


def _compare_ranks(runs: pd.DataFrame, alpha: float) -> RankComparison | None:
    """Run the Friedman and Nemenyi tests; return None if there are too few groups or runs."""
    from optuna_mofs.statistics import compare_ranks

    scores = _wide(runs)
    if min(scores.shape) < 2:
        return None
    return compare_ranks(scores.to_numpy(), list(scores.columns), alpha=alpha)


def _wide(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run and one column per group."""
    wide = runs.pivot(index="run", columns="group", values="hypervolume")
    return wide.loc[runs["run"].unique(), runs["group"].unique()]


def _note_different_lengths(runs: pd.DataFrame) -> None:
    low, high = int(runs["trials"].min()), int(runs["trials"].max())
    if low < high:
        print(
            f"optuna-mofs: note: the studies have {low} to {high} completed trials; "
            f"--trials {max(low, 1)} compares them with the same budget",
            file=sys.stderr,
        )


def _summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per group, the best mean rank first."""
    by_group = runs.groupby("group", sort=False)
    summary = by_group.agg(
        runs=("run", "size"),
        mean=("hypervolume", "mean"),
        sd=("hypervolume", "std"),
        rank=("rank", "mean"),
    )
    return summary.sort_values(["rank", "mean"], ascending=[True, False])


def _group_cells(runs: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    header = ["group", "runs", "hypervolume", "sd", "mean rank"]
    rows = [
        [
            str(name),
            str(row["runs"]),
            f"{row['mean']:.4f}",
            "-" if row["runs"] < 2 else f"{row['sd']:.4f}",
            f"{row['rank']:.2f}",
        ]
        for name, row in _summary(runs).to_dict("index").items()
    ]
    return header, rows


def _run_cells(runs: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    wide = _wide(runs)
    rows = [
        [str(run), *(f"{v:.4f}" for v in row)] for run, row in zip(wide.index, wide.to_numpy())
    ]
    return ["run", *map(str, wide.columns)], rows


def _pair_cells(ranks: RankComparison) -> tuple[list[str], list[list[str]]]:
    rows = [
        [name, *(f"{p:.3g}" if i != j else "" for j, p in enumerate(row))]
        for i, (name, row) in enumerate(zip(ranks.names, ranks.pairwise))
    ]
    return ["", *ranks.names], rows


def _test_summary(ranks: RankComparison | None) -> str:
    if ranks is None:
        return "No test: it needs at least two groups of two runs (use names with a *)."
    result = "the groups differ" if ranks.is_significant else "no significant difference"
    return (
        f"Friedman: chi-square {ranks.statistic:.3g}, p = {ranks.p_value:.3g}, {result} at "
        f"{ranks.alpha:g}. Critical difference of mean ranks (Nemenyi): "
        f"{ranks.critical_difference:.2f}."
    )


def _text(runs: pd.DataFrame, ranks: RankComparison | None) -> str:
    parts = [out.format_table(*_group_cells(runs))]
    if runs["run"].nunique() > 1:
        parts.append("Hypervolume per run:\n" + out.format_table(*_run_cells(runs)))
    parts.append(_test_summary(ranks))
    if ranks is not None and len(ranks.names) > 2:
        parts.append("Nemenyi test, p-value per pair:\n" + out.format_table(*_pair_cells(ranks)))
    return "\n\n".join(parts)


def _csv(runs: pd.DataFrame, ranks: RankComparison | None) -> str:
    return str(runs.to_csv(index=False)).rstrip("\n")


def _json(runs: pd.DataFrame, ranks: RankComparison | None) -> str:
    summary = _summary(runs)
    found: dict[str, Any] = {
        "groups": [
            {
                "group": name,
                "runs": int(row["runs"]),
                "hypervolume": float(row["mean"]),
                "sd": float(row["sd"]) if row["runs"] > 1 else None,
                "mean_rank": float(row["rank"]),
            }
            for name, row in summary.to_dict("index").items()
        ],
        "runs": runs.to_dict("records"),
        "friedman": None,
        "nemenyi": None,
    }
    if ranks is not None:
        found["friedman"] = {"chi_square": ranks.statistic, "p": ranks.p_value}
        found["nemenyi"] = {
            "alpha": ranks.alpha,
            "critical_difference": ranks.critical_difference,
            "p": {
                name: dict(zip(ranks.names, row.tolist()))
                for name, row in zip(ranks.names, ranks.pairwise)
            },
        }
    return json.dumps(found, indent=2, ensure_ascii=False)


def _page(
    groups: dict[str, dict[str, Study]],
    runs: pd.DataFrame,
    ranks: RankComparison | None,
    arguments: argparse.Namespace,
) -> str:
    from optuna_mofs.visualization import plot_critical_difference, plot_hypervolume

    by_name = {name: list(members.values()) for name, members in groups.items()}
    figures = [plot_hypervolume(by_name, reference=arguments.reference)]
    if ranks is not None:
        figures.append(plot_critical_difference(ranks))
    best = _summary(runs).index[0]
    parts = [
        out.html_tiles(
            {
                "groups": str(len(groups)),
                "runs per group": str(runs["run"].nunique()),
                "best mean rank": str(best),
            }
        ),
        out.html_section(
            "Groups", out.html_table(*_group_cells(runs), text=[0]), note=_test_summary(ranks)
        ),
        *map(out.html_figure, figures),
        out.html_section("Hypervolume per run", out.html_table(*_run_cells(runs), text=[0])),
    ]
    if ranks is not None:
        pairs = out.html_table(*_pair_cells(ranks), text=[0])
        parts.append(out.html_section("Nemenyi test, p-value per pair", pairs))
    lead = f"{out.format_count(len(runs), 'run')}, compared by hypervolume"
    return out.html_page("Comparison of studies", lead, parts, has_figures=True)


@dataclass(frozen=True)
class Pattern:
    """A group of studies, given by a pattern of their names.

    Attributes:
        group: Name of the group.
        text: Name of a study; ``*`` stands for the part that differs between runs.
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

    def run_name(self, study_name: str) -> str | None:
        """Return the part of a study name that matches ``*``, or None if nothing matches."""
        parts = map(re.escape, self.text.split("*"))
        found = re.fullmatch("(.*)".join(parts), study_name, flags=re.DOTALL)
        return None if found is None else " ".join(found.groups())


def group_studies(
    patterns: Sequence[str], studies: Mapping[str, Study]
) -> tuple[dict[str, dict[str, Study]], list[str]]:
    """Group studies by group and run, with the runs that all groups have.

    Args:
        patterns: Patterns as written by the user.
        studies: All studies by name.

    Returns:
        The groups, and the names of the studies that are excluded because a group lacks the run.

    Raises:
        CommandError: If a pattern matches nothing, or no run is in all groups.
    """
    groups: dict[str, dict[str, Study]] = {}
    for pattern in map(Pattern.parse, patterns):
        if pattern.group in groups:
            raise CommandError(
                f"Two groups are called {pattern.group!r}. Name them: NAME={pattern.text}."
            )
        runs = {pattern.run_name(name): study for name, study in studies.items()}
        members = {run: study for run, study in runs.items() if run is not None}
        if not members:
            raise CommandError(
                f"No study is called {pattern.text!r}.{name_hint(pattern.text, studies)}"
            )
        groups[pattern.group] = members
    common = [run for run in next(iter(groups.values())) if all(run in g for g in groups.values())]
    if not common:
        listed = "; ".join(f"{name}: {', '.join(map(repr, g))}" for name, g in groups.items())
        raise CommandError(
            f"No run is in all groups, so there is nothing to compare ({listed}). The part for * "
            "must be the same in all groups: 'svm-*' and 'tree-*' match svm-0 and tree-0."
        )
    excluded = [
        study.study_name
        for members in groups.values()
        for run, study in members.items()
        if run not in common
    ]
    # Natural order: 2 before 10.
    common.sort(key=lambda run: [(len(part), part) for part in re.split(r"(\d+)", run)])
    return {name: {run: g[run] for run in common} for name, g in groups.items()}, excluded
