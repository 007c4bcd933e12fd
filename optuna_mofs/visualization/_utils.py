"""What the figures share: style, number formats, grouped studies, masks of a front."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._imports import optional_import
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.fronts._front import Front, pareto_front
from optuna_mofs.study._completed_trials import feature_count, feature_text
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import selected_mask, shorten
from optuna_mofs.study._trial_note import NOTE

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: One color a study, filter or method; easy to tell apart for the color-blind too.
PALETTE = (
    "#2f6db3",
    "#e07b39",
    "#2e9d74",
    "#b5446e",
    "#7b5ea7",
    "#d1a11b",
    "#3aa6b9",
    "#6f7782",
)

#: The subject of a figure, what it is compared with, and what is picked out.
MAIN, QUIET, ACCENT, SECOND = PALETTE[0], "#b9c0ca", PALETTE[1], PALETTE[3]
INK, GRID = "#2b313a", "#e8ebef"
#: From nothing to all.
SCALE = [[0.0, "#f3f5f8"], [0.15, "#d5e2f0"], [0.5, "#7fabd6"], [1.0, "#1f4f87"]]
#: Where a legend stands: above the figure, or in a corner that its lines leave free.
ABOVE = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.0, "yanchor": "bottom"}
LOWER_RIGHT = {"x": 0.99, "xanchor": "right", "y": 0.02, "yanchor": "bottom"}
UPPER_RIGHT = {"x": 0.99, "xanchor": "right", "y": 0.98, "yanchor": "top"}
#: Longest label of a tick; the whole name is in the hover.
_TICK = 30


def plotly(module: str = "graph_objects") -> ModuleType:
    """A module of plotly, imported when a figure is made."""
    return optional_import(f"plotly.{module}")


def color(i: int) -> str:
    """The i-th color; they come around again."""
    return PALETTE[i % len(PALETTE)]


def faded(hex_color: str, opacity: float) -> str:
    """A color that lets through what is below.

    Example:
        >>> faded("#ff8000", 0.25)
        'rgba(255,128,0,0.25)'
    """
    red, green, blue = (int(hex_color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def apply_style(
    figure: go.Figure, title: str, *, subtitle: str | None = None, **layout: Any
) -> go.Figure:
    """The figure with title, fonts, background and legend as all have them.

    Args:
        figure: The figure, changed in place.
        title: What is seen. Escaped here.
        subtitle: One line below it. Escaped here.
        **layout: More of the layout.
    """
    text = f"<b>{escape(title, quote=False)}</b>"
    if subtitle:
        text += f"<br><span style='font-size:12px;color:#6f7782'>{escape(subtitle, False)}</span>"
    margin = {"l": 70, "r": 30, "t": 90 if subtitle else 70, "b": 60}
    figure.update_layout(
        template="plotly_white",
        title={
            "text": text,
            "x": 0.02,
            "xanchor": "left",
            "y": 1.0,
            "yanchor": "top",
            "pad": {"t": 26},
        },
        font={"family": "Helvetica, Arial, sans-serif", "size": 13, "color": INK},
        hoverlabel={"bgcolor": "white", "bordercolor": QUIET, "align": "left"},
        legend={"orientation": "v", "bgcolor": "rgba(255,255,255,0.7)"},
        margin=margin,
        colorway=list(PALETTE),
    )
    lines = {"gridcolor": GRID, "linecolor": QUIET, "zeroline": False, "automargin": True}
    figure.update_xaxes(**lines)
    figure.update_yaxes(**lines)
    return figure.update_layout(**layout)


def axis_title(name: str, sign: float) -> str:
    """A metric's name, with a word where more is better."""
    text = escape(name, quote=False)
    return text if sign > 0 else f"{text} (more is better)"


def tick(name: str) -> str:
    """A name cut to what fits beside an axis.

    Example:
        >>> tick("mean radius"), tick("a" * 40)
        ('mean radius', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa…')
    """
    short = name if len(name) <= _TICK else name[: _TICK - 1] + "…"
    return escape(short, quote=False)


def tick_labels(names: Sequence[str]) -> list[str]:
    """Labels beside an axis; those cut to the same text are numbered, or they would merge.

    Example:
        >>> tick_labels(["b", "x" * 40 + "1", "x" * 40 + "2"])[1:]
        ['xxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (1)', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (2)']
    """
    labels = [tick(name) for name in names]
    return [
        label if labels.count(label) == 1 else f"{label} ({labels[:i].count(label) + 1})"
        for i, label in enumerate(labels)
    ]


def number(value: float) -> str:
    """A number as people read it, four significant digits.

    Example:
        >>> number(0.123456), number(10935.0), number(12.0)
        ('0.1235', '10,935', '12')
    """
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:.4g}"


def percent(share: float) -> str:
    """A share as a percentage of two significant digits.

    Example:
        >>> percent(0.1), percent(3 / 10935), percent(1.0)
        ('10 %', '0.027 %', '100 %')
    """
    text = f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.2g}"
    return f"{text} %"


#: A study; or several, each shown on its own; or by name, with several runs of one method.
Studies = Study | Sequence[Study] | Mapping[str, Study | Sequence[Study]]
#: Letters of feature names in a hover, and letters a line.
_HOVER, _LINE = 400, 60


class NothingToPlotError(ValueError):
    """A study lacks what a figure shows; the message says what, and how to get it."""


#: How Optuna begins the name of a study to which nobody gave one, and our longest name in a title.
_NAMELESS, _TITLE = "no-name-", 40


def titled(text: str, study: Study) -> str:
    """A title that names the study, unless nobody did.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> titled("Front", optuna.create_study(study_name="sonar"))
        'Front of sonar'
        >>> titled("Front", optuna.create_study())
        'Front'
    """
    name = study.study_name
    if name.startswith(_NAMELESS):
        return text
    # A longer one would lie under the figure's tools.
    return f"{text} of {name if len(name) <= _TITLE else name[: _TITLE - 1] + '…'}"


def _label(study: Study, position: int) -> str:
    name = study.study_name
    return f"study {position + 1}" if name.startswith(_NAMELESS) else name


def grouped(studies: Studies) -> dict[str, list[Study]]:
    """The studies by name: one group a line, band or bar of a figure."""
    if isinstance(studies, Study):
        return {_label(studies, 0): [studies]}
    if isinstance(studies, Mapping):
        groups = {
            str(name): [runs] if isinstance(runs, Study) else list(runs)
            for name, runs in studies.items()
        }
    else:
        groups = {}
        for i, study in enumerate(_only_studies(list(studies))):
            label = _label(study, i)
            groups[f"{label} ({i})" if label in groups else label] = [study]
    for name, runs in groups.items():
        if not _only_studies(runs):
            raise ValueError(f"No studies under the name {name!r}: give at least one.")
    if not groups:
        raise ValueError("No studies: give at least one.")
    return groups


def _only_studies(runs: list[Study]) -> list[Study]:
    for run in runs:
        if not isinstance(run, Study):
            raise TypeError(
                "Expected a study, a sequence of studies, or a mapping from names to studies, "
                f"but found {type(run).__name__} {run!r}."
            )
    return runs


def front_of(
    study: Study, *, targets: Sequence[str | int] | None = None, duplicates: bool = True
) -> Front:
    """The front of a study that has one."""
    front = pareto_front(study, targets=targets, duplicates=duplicates)
    if not len(front):
        raise NothingToPlotError(
            f"The front of study {study.study_name!r} is empty: of {len(front.points.trials)} "
            "finished trials none can be on it. Run more trials."
        )
    return front


@dataclass(frozen=True)
class FrontMasks:
    """Feature sets along the front of one study or several.

    Attributes:
        names: The features that may be chosen (fixed ones are not).
        masks: Trials × features.
        sizes: Number of features of each trial, fixed ones too.
        total: Number of all features.
        trials: The trials with their studies.
    """

    names: tuple[str, ...]
    masks: NDArray[np.bool_]
    sizes: NDArray[np.int64]
    total: int
    trials: tuple[tuple[Study, FrozenTrial], ...]


def front_masks(studies: Sequence[Study], *, duplicates: bool = True) -> FrontMasks:
    """The feature sets of the fronts of studies of the same features, smallest first."""
    names: tuple[str, ...] | None = None
    found: list[tuple[Study, FrozenTrial, NDArray[np.bool_]]] = []
    for study in studies:
        table = _features(study)
        if names is not None and names != table.names:
            raise ValueError(
                f"Studies {studies[0].study_name!r} and {study.study_name!r} have different "
                "features. Show them apart."
            )
        names = table.names
        front = front_of(study, duplicates=duplicates)
        masks = [(trial, selected_mask(study, trial)) for trial in front]
        found += [(study, trial, mask) for trial, mask in masks if mask is not None]
    if not found or names is None:
        raise NothingToPlotError(
            f"No trial on the front of study {studies[0].study_name!r} says which features it "
            "chose. Suggest them by optuna_mofs.suggest_features or FeatureSelectionObjective."
        )
    full = np.array([mask for _, _, mask in found])
    sizes = full.sum(axis=1)
    order = np.argsort(sizes, kind="stable")
    free = table.free
    return FrontMasks(
        names=tuple(names[j] for j in free),
        masks=full[order][:, free],
        sizes=sizes[order],
        total=len(names),
        trials=tuple(found[i][:2] for i in order),
    )


def _features(study: Study) -> FeatureTable:
    described = StudyDescription.read(study)
    if described is None or described.features is None or described.representation is None:
        raise NothingToPlotError(
            f"Study {study.study_name!r} selects no features, or does not say so. Suggest them by "
            "optuna_mofs.suggest_features or FeatureSelectionObjective."
        )
    return described.features


def operator_of(trial: FrozenTrial) -> str | None:
    """The operator that made a trial, or None where nobody said."""
    note = frozen_attr(trial, NOTE)
    told = (note or {}).get("operator") or trial.user_attrs.get("operator")
    return None if told is None else str(told)


def trial_text(
    study: Study, trial: FrozenTrial, names: Sequence[str], values: Sequence[float]
) -> str:
    """What a hover says of a trial: its number, values, features and operator."""
    lines = [f"<b>trial {trial.number}</b>"]
    lines += [f"{escape(name, False)}: {number(value)}" for name, value in zip(names, values)]
    count, text = feature_count(study, trial), feature_text(study, trial)
    if count is not None:
        lines.append(f"{count:,} feature{'' if count == 1 else 's'}" + (":" if text else ""))
    if text:
        short = shorten(text.split(", "), _HOVER)
        lines += [escape(line, False) for line in textwrap.wrap(short, _LINE)]
    operator = operator_of(trial)
    if operator is not None:
        lines.append(f"<i>made by {escape(operator, False)}</i>")
    return "<br>".join(lines)
