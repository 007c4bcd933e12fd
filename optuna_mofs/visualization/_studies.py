"""What figures ask of studies: groups of runs, masks of a front, words for a trial."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._optuna import frozen_attr
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.fronts.front import Front, pareto_front
from optuna_mofs.history._history import PROPOSAL
from optuna_mofs.study._completed_trials import feature_count, feature_text
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import selected_mask, shorten
from optuna_mofs.visualization._style import number

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
    note = frozen_attr(trial, PROPOSAL)
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
