"""``optuna-mofs compare``: compare studies by hypervolume, ranks and statistical tests."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import optuna
import pandas as pd
from optuna.study import Study

from optuna_mofs import hypervolume_history
from optuna_mofs.cli import _html as html
from optuna_mofs.cli import _output as out
from optuna_mofs.cli._errors import CommandError, name_hint
from optuna_mofs.cli._options import (
    STORAGE,
    add_storage_option,
    assignments,
    number,
    positive_int,
)
from optuna_mofs.cli._storage import display_url, open_storage, storage_errors
from optuna_mofs.fronts import shared_reference
from optuna_mofs.statistics import RankComparison, compare_ranks
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.visualization import plot_critical_difference, plot_hypervolume

#: Conditions of studies that must be equal; learners may differ.
_SHARED_CONDITIONS = ("rows", "table", "target", "weights", "scoring", "folds", "holdout")

DESCRIPTION = """\
Compare studies by the hypervolume of their fronts, with one reference point for all. A name may
contain a *: 'svm-*' is the group 'svm' with the runs svm-0, svm-1, ... Runs with the same * (the
same seed, the same data) are compared across groups: the Friedman test checks whether the groups
differ, and the Nemenyi test which ones. The tests need at least two groups of two runs; with
fewer than five runs they rarely find a difference.

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


def add_options(parser: Any) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "studies",
        nargs="+",
        metavar="[GROUP=]STUDY",
        help="names of studies; * matches the part that differs between runs",
    )
    add_storage_option(parser, repeatable=True)
    parser.add_argument(
        "--trials", type=positive_int, metavar="N", help="use the first N completed trials of each"
    )
    parser.add_argument(
        "--reference",
        help="reference point (default: the worst possible values, or the worst observed)",
        **assignments("METRIC=VALUE", number),
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
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if not 0 < arguments.alpha < 1:
        raise CommandError(f"--alpha must be between 0 and 1, got {arguments.alpha:g}.")
    kind = out.output_format(arguments)
    studies = _all_studies(arguments.storage or [STORAGE])
    groups, excluded = group_studies(arguments.studies, studies)
    if excluded:
        names = ", ".join(excluded)
        out.print_status(f"optuna-mofs: note: excluded, because a group lacks the run: {names}")
    try:
        runs = _run_table(groups, arguments.trials, arguments.reference)
        scores = _scores(runs)
        ranks = None
        if min(scores.shape) > 1:  # the tests need two groups of two runs
            ranks = compare_ranks(scores.to_numpy(), list(scores.columns), alpha=arguments.alpha)
    except ValueError as error:
        raise CommandError(str(error)) from error
    low, high = int(runs["trials"].min()), int(runs["trials"].max())
    if low < high:
        out.print_status(
            f"optuna-mofs: note: the studies have {low} to {high} completed trials; "
            f"--trials {max(low, 1)} compares them with the same budget"
        )
    if kind == "html":
        text = _page(groups, runs, ranks, arguments.reference)
    else:
        text = {"table": _text, "csv": _csv, "json": _json}[kind](runs, ranks)
    out.write_text(text, arguments.output)


def _run_table(
    groups: dict[str, dict[str, Study]], n_trials: int | None, reference: Any
) -> pd.DataFrame:
    """Return one row per study: group, run, study, trials, hypervolume, rank among the groups."""
    rows = []
    for run in next(iter(groups.values())):
        row = {name: members[run] for name, members in groups.items()}
        _check_comparable(list(row.values()))
        point = shared_reference(list(row.values()), reference)
        for name, study in row.items():
            volumes = hypervolume_history(study, point).iloc[:n_trials]
            last = float(volumes.iloc[-1]) if len(volumes) else 0.0
            rows.append([name, run, study.study_name, len(volumes), last])
    frame = pd.DataFrame(rows, columns=["group", "run", "study", "trials", "hypervolume"])
    frame["rank"] = frame.groupby("run", sort=False)["hypervolume"].rank(ascending=False)
    return frame


def _check_comparable(studies: Sequence[Study]) -> None:
    """Raise if the values of studies mean different things: other data, folds or measures."""
    found = [StudyDescription.read(study) for study in studies]
    known = [(s.study_name, d) for s, d in zip(studies, found) if d is not None]
    if not known:
        return
    first, expected = known[0]
    for name, description in known[1:]:
        names, others = ([m.name for m in d.measures] for d in (expected, description))
        if names != others:
            raise CommandError(
                f"Studies {first!r} and {name!r} have different measures: {', '.join(names)} and "
                f"{', '.join(others)}. Compare studies with the same --measures."
            )
        differing = [
            key
            for key in _SHARED_CONDITIONS
            if expected.conditions.get(key) != description.conditions.get(key)
        ]
        if differing:
            raise CommandError(
                f"Studies {first!r} and {name!r} differ in {', '.join(differing)}, so their "
                "values cannot be compared. Run them with the same --data, --target, --scoring, "
                "--cv, --holdout and --fold-seed."
            )


def _all_studies(urls: list[str]) -> dict[str, Study]:
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


def _scores(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the hypervolumes, one row per run and one column per group."""
    scores = runs.pivot(index="run", columns="group", values="hypervolume")
    return scores.loc[runs["run"].unique(), runs["group"].unique()]


def _summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per group, the best mean rank first."""
    by_group = runs.groupby("group", sort=False)
    summary = by_group.agg(
        runs=("run", "size"),
        hypervolume=("hypervolume", "mean"),
        sd=("hypervolume", "std"),
        mean_rank=("rank", "mean"),
    )
    order = ["mean_rank", "hypervolume"]
    return summary.sort_values(order, ascending=[True, False]).reset_index()


def _group_cells(runs: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    rows = [
        [str(group), str(n), f"{volume:.4f}", "-" if n < 2 else f"{sd:.4f}", f"{rank:.2f}"]
        for group, n, volume, sd, rank in _summary(runs).itertuples(index=False)
    ]
    return ["group", "runs", "hypervolume", "sd", "mean rank"], rows


def _run_cells(runs: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    scores = _scores(runs)
    rows = [[str(run), *(f"{v:.4f}" for v in row)] for run, *row in scores.itertuples()]
    return ["run", *map(str, scores.columns)], rows


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
    if ranks.is_significant and (0, len(ranks.names) - 1) in ranks.cliques:
        result = "the groups differ, but these runs are too few to say which of them"
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
    return out.csv_text(runs, index=False)


def _json(runs: pd.DataFrame, ranks: RankComparison | None) -> str:
    groups = _summary(runs).to_dict("records")
    found: dict[str, Any] = {
        "groups": [{**row, "sd": row["sd"] if row["runs"] > 1 else None} for row in groups],
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
    reference: Any,
) -> str:
    by_name = {name: list(members.values()) for name, members in groups.items()}
    figures = [plot_hypervolume(by_name, reference=reference)]
    if ranks is not None:
        figures.append(plot_critical_difference(ranks))
    tiles = {
        "groups": str(len(groups)),
        "runs per group": str(runs["run"].nunique()),
        "best mean rank": str(_summary(runs)["group"].iloc[0]),
    }
    parts = [
        html.tiles(tiles),
        html.section(
            "Groups", html.table(*_group_cells(runs), text=[0]), note=_test_summary(ranks)
        ),
        *map(html.figure, figures),
        html.section("Hypervolume per run", html.table(*_run_cells(runs), text=[0])),
    ]
    if ranks is not None:
        pairs = html.table(*_pair_cells(ranks), text=[0])
        parts.append(html.section("Nemenyi test, p-value per pair", pairs))
    lead = f"{out.format_count(len(runs), 'run')}, compared by hypervolume"
    return html.page("Comparison of studies", lead, parts, has_figures=True)


def parse_pattern(written: str) -> tuple[str, str]:
    """Return group and pattern of ``PATTERN`` or ``GROUP=PATTERN``.

    Example:
        >>> parse_pattern("svm-*"), parse_pattern("ours=svm-*")
        (('svm', 'svm-*'), ('ours', 'svm-*'))
    """
    group, _, pattern = written.partition("=")
    if group and pattern:
        return group, pattern
    return written.replace("*", "").strip(" -_.:/") or written, written


def run_name(pattern: str, study_name: str) -> str | None:
    """Return the part of a study name that matches ``*``, or None if the name does not match."""
    parts = map(re.escape, pattern.split("*"))
    found = re.fullmatch("(.*)".join(parts), study_name, flags=re.DOTALL)
    return None if found is None else " ".join(found.groups())


def group_studies(
    patterns: Sequence[str], studies: Mapping[str, Study]
) -> tuple[dict[str, dict[str, Study]], list[str]]:
    """Return studies by group and run, and the names of those whose run a group lacks."""
    groups: dict[str, dict[str, Study]] = {}
    for name, pattern in map(parse_pattern, patterns):
        if name in groups:
            raise CommandError(f"Two groups are called {name!r}. Rename one: NAME={pattern}.")
        runs = {run_name(pattern, study): studies[study] for study in studies}
        groups[name] = {run: study for run, study in runs.items() if run is not None}
        if not groups[name]:
            raise CommandError(f"No study is called {pattern!r}.{name_hint(pattern, studies)}")
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
