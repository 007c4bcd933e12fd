"""``optuna-mofs compare``: hypervolume, ranks and tests of several studies."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optuna_mofs.cli import _output as page
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._options import STORAGE, add_study_options, assigning, number, positive
from optuna_mofs.cli._output import add_output_options, chosen_format, counted, table, write_text
from optuna_mofs.cli._table import guess

if TYPE_CHECKING:
    import pandas as pd
    from optuna.study import Study

    from optuna_mofs.statistics import RankComparison

_DESCRIPTION = """\
Compare studies by the hypervolume of their fronts, all measured by one reference point. A name
may hold a *: 'svm-*' is the group 'svm' of the runs svm-0, svm-1, ... Runs are compared with the
runs of the same * in the other groups (the same seed, the same data), so that Friedman's test,
and Nemenyi's after it, can tell whether the groups differ. Two groups and two runs are the least
for a test; five runs are the least for one that can find something.

examples:
  optuna-mofs compare wine-svm wine-knn
  optuna-mofs compare 'svm-*' 'knn-*' 'xgboost-*'             groups of seeds
  optuna-mofs compare ours='nsga2-*' random='random-*' --trials 200 --format json
  optuna-mofs compare 'svm-*' 'knn-*' --storage sqlite:///a.db --storage sqlite:///b.db \\
      --output comparison.html

a way to make such studies:
  for seed in 0 1 2 3 4; do for sampler in nsga2 random; do
    optuna-mofs run --data wine.csv --target quality --sampler $sampler --seed $seed \\
        --study $sampler-$seed --quiet
  done; done
"""


def add_to(subparsers: Any) -> None:
    """Add the subcommand to the parser."""
    parser = subparsers.add_parser(
        "compare",
        help="compare several studies: hypervolume, ranks, tests",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "studies",
        nargs="+",
        metavar="[GROUP=]STUDY",
        help="names of studies; * stands for what differs from run to run",
    )
    add_study_options(parser, several=True)
    parser.add_argument(
        "--trials", type=positive, metavar="N", help="only the first N finished trials of each"
    )
    parser.add_argument(
        "--reference",
        nargs="+",
        action=assigning(number),
        metavar="METRIC=VALUE",
        help="worst values that count (default: the worst possible, or the worst found)",
    )
    parser.add_argument(
        "--alpha",
        type=number,
        default=0.05,
        metavar="LEVEL",
        help="of significance (default: %(default)s)",
    )
    add_output_options(parser, formats=("table", "csv", "json", "html"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Compare and print."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if not 0 < arguments.alpha < 1:
        raise CommandError(f"--alpha must be between 0 and 1, but is {arguments.alpha:g}.")
    kind = chosen_format(arguments)
    studies = _all_studies(arguments.storage or [STORAGE])
    groups, left_out = grouped(arguments.studies, studies)
    if left_out:
        print(
            f"optuna-mofs: note: left out, because a group lacks the run: {', '.join(left_out)}",
            file=sys.stderr,
        )
    try:
        runs = compared_runs(groups, arguments.trials, arguments.reference)
        ranks = _tested(runs, arguments.alpha)
    except ValueError as error:
        raise CommandError(str(error)) from error
    _warn_of_lengths(runs)
    if kind == "html":
        text = _page(groups, runs, ranks, arguments)
    else:
        text = {"table": _text, "csv": _csv, "json": _json}[kind](runs, ranks)
    write_text(text, arguments.output)


def compared_runs(
    groups: dict[str, dict[str, Study]], trials: int | None, reference: Any
) -> pd.DataFrame:
    """One row a study: group, run, study, trials, hypervolume, rank among the groups.

    Args:
        groups: Studies by group and run; all groups have the same runs.
        trials: First finished trials that count, or None for all.
        reference: Of the hypervolume.

    Raises:
        ValueError: If studies of a run have different metrics, or nothing was finished.
    """
    import pandas as pd

    from optuna_mofs import hypervolume_history
    from optuna_mofs.fronts import shared_reference

    rows = []
    for run in next(iter(groups.values())):
        row = {name: members[run] for name, members in groups.items()}
        bound = shared_reference(list(row.values()), reference)
        for name, study in row.items():
            volumes = hypervolume_history(study, bound).iloc[:trials]
            last = float(volumes.iloc[-1]) if len(volumes) else 0.0
            rows.append([name, run, study.study_name, len(volumes), last])
    frame = pd.DataFrame(rows, columns=["group", "run", "study", "trials", "hypervolume"])
    frame["rank"] = frame.groupby("run", sort=False)["hypervolume"].rank(ascending=False)
    return frame


def _all_studies(urls: list[str]) -> dict[str, Study]:
    import optuna

    from optuna_mofs.cli._storage import open_storage, shown, storage_errors

    found: dict[str, Study] = {}
    for url in urls:
        with storage_errors(url):
            storage = open_storage(url, create=False)
            for name in optuna.get_all_study_names(storage):
                if name in found:
                    raise CommandError(
                        f"Study {name!r} is in two storages, the second is {shown(url)}. "
                        "Names must tell studies apart."
                    )
                found[name] = optuna.load_study(study_name=name, storage=storage)
    return found


def _tested(runs: pd.DataFrame, alpha: float) -> RankComparison | None:
    """Friedman's and Nemenyi's tests, or None if there are not enough groups or runs."""
    from optuna_mofs.statistics import compare_ranks

    scores = _wide(runs)
    if min(scores.shape) < 2:
        return None
    return compare_ranks(scores.to_numpy(), list(scores.columns), alpha=alpha)


def _wide(runs: pd.DataFrame) -> pd.DataFrame:
    """One row a run, one column a group."""
    wide = runs.pivot(index="run", columns="group", values="hypervolume")
    return wide.loc[runs["run"].unique(), runs["group"].unique()]


def _warn_of_lengths(runs: pd.DataFrame) -> None:
    least, most = int(runs["trials"].min()), int(runs["trials"].max())
    if least < most:
        print(
            f"optuna-mofs: note: the studies have {least} to {most} finished trials; "
            f"--trials {max(least, 1)} compares them at the same budget",
            file=sys.stderr,
        )


def _summary(runs: pd.DataFrame) -> pd.DataFrame:
    """One row a group, the best mean rank first."""
    by_group = runs.groupby("group", sort=False)
    summary = by_group.agg(
        runs=("run", "size"),
        mean=("hypervolume", "mean"),
        sd=("hypervolume", "std"),
        rank=("rank", "mean"),
    )
    return summary.sort_values(["rank", "mean"], ascending=[True, False])


def _cells(runs: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
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


def _verdict(ranks: RankComparison | None) -> str:
    if ranks is None:
        return "No test: it needs at least two groups of two runs (give names with a *)."
    found = "the groups differ" if ranks.is_significant else "no difference is shown"
    return (
        f"Friedman: chi-square {ranks.statistic:.3g}, p = {ranks.p_value:.3g}, {found} at "
        f"{ranks.alpha:g}. Critical difference of mean ranks (Nemenyi): "
        f"{ranks.critical_difference:.2f}."
    )


def _text(runs: pd.DataFrame, ranks: RankComparison | None) -> str:
    parts = [table(*_cells(runs))]
    if runs["run"].nunique() > 1:
        parts.append("Hypervolume of each run:\n" + table(*_run_cells(runs)))
    parts.append(_verdict(ranks))
    if ranks is not None and len(ranks.names) > 2:
        parts.append("Nemenyi, p of each pair:\n" + table(*_pair_cells(ranks)))
    return "\n\n".join(parts)


def _csv(runs: pd.DataFrame, ranks: RankComparison | None) -> str:
    return str(runs.to_csv(index=False)).rstrip("\n")


def _json(runs: pd.DataFrame, ranks: RankComparison | None) -> str:
    summary = _summary(runs)
    made: dict[str, Any] = {
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
        made["friedman"] = {"chi_square": ranks.statistic, "p": ranks.p_value}
        made["nemenyi"] = {
            "alpha": ranks.alpha,
            "critical_difference": ranks.critical_difference,
            "p": {
                name: dict(zip(ranks.names, row.tolist()))
                for name, row in zip(ranks.names, ranks.pairwise)
            },
        }
    return json.dumps(made, indent=2, ensure_ascii=False)


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
        page.tiles(
            {
                "groups": str(len(groups)),
                "runs of each": str(runs["run"].nunique()),
                "best mean rank": str(best),
            }
        ),
        page.section("Groups", page.page_table(*_cells(runs), text=[0]), note=_verdict(ranks)),
        *map(page.figure, figures),
        page.section("Hypervolume of each run", page.page_table(*_run_cells(runs), text=[0])),
    ]
    if ranks is not None:
        pairs = page.page_table(*_pair_cells(ranks), text=[0])
        parts.append(page.section("Nemenyi, p of each pair", pairs))
    lead = f"{counted(len(runs), 'run')}, compared by hypervolume"
    return page.page("Comparison of studies", lead, parts, script=True)


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
