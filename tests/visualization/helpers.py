"""Studies of completed trials for the tests of figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.study import Study
from optuna.trial import create_trial

from optuna_mofs import FeatureTable
from optuna_mofs._optuna import PREFIX
from optuna_mofs.features import FilterEnsembleFeatures, MaskFeatures, SingleFilterFeatures
from optuna_mofs.features._representation import weight_parameter
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._trial_note import NOTE, TrialNote
from tests.fronts.helpers import make_study

FILTERS = ("anova_f", "auc")

#: A study without features.
plain_study = make_study


def table(p: int, **options: Any) -> FeatureTable:
    ranks = np.tile(np.linspace(0, 1, p), (2, 1))
    names = tuple(f"<f{j}>" for j in range(p))
    return FeatureTable(names, filters=FILTERS, ranks=ranks, **options)


def masked_study(
    sets: Sequence[Sequence[int]],
    values: Sequence[Sequence[float]],
    *,
    p: int = 10,
    directions: Sequence[str] = ("minimize", "minimize"),
    names: Sequence[str] = ("error", "fraction"),
    operators: Sequence[str | None] | None = None,
    fold_scores: Sequence[Sequence[float]] | None = None,
    **options: Any,
) -> Study:
    """Return a study of masks: one set of positions and one row of values per trial."""
    features = table(p, **options)
    representation = MaskFeatures().bind(features)
    study = optuna.create_study(study_name="masks & more", directions=list(directions))
    study.set_metric_names(list(names))
    StudyDescription(features, representation).write(study)
    for i, (chosen, row) in enumerate(zip(sets, values)):
        mask = np.isin(features.free, list(chosen))
        params, attr = representation.codec.encode(mask)
        system = {} if attr is None else {PREFIX + "mask": attr}
        operator = None if operators is None else operators[i]
        if operator is not None:
            system[PREFIX + NOTE] = TrialNote(operator, filter_weights=(0.5, 0.0)).to_json()
        study.add_trial(
            create_trial(
                values=[float(v) for v in row],
                params=params,
                distributions={n: representation.distributions[n] for n in params},
                system_attrs=system,
                user_attrs={"fold_scores": {names[0]: fold_scores[i]}} if fold_scores else {},
            )
        )
    return study


def nested_study(p: int = 10, sizes: Sequence[int] = (1, 2, 4), **options: Any) -> Study:
    """Return a study of nested sets, larger ones with less error, and one dominated trial."""
    sets = [range(size) for size in sizes]
    values = [(0.5 / size, size / p) for size in sizes]
    return masked_study([*sets, range(p)], [*values, (0.9, 1.0)], p=p, **options)


def ensemble_study(raw: Sequence[Sequence[float]]) -> Study:
    """Return a study of a filter ensemble, one row of raw weights per trial."""
    features = table(6)
    representation = FilterEnsembleFeatures(ranks="all").bind(features)
    study = optuna.create_study(directions=["minimize"] * 2)
    StudyDescription(features, representation).write(study)
    uniform = FloatDistribution(0.0, 1.0)
    for i, row in enumerate(raw):
        params = {"fraction": 0.5, **{weight_parameter(n): w for n, w in zip(FILTERS, row)}}
        study.add_trial(
            create_trial(
                values=[0.1 * i, 0.5], params=params, distributions=dict.fromkeys(params, uniform)
            )
        )
    return study


def single_filter_study(chosen: Sequence[str]) -> Study:
    """Return a study of single filters, one name per trial."""
    features = table(6)
    representation = SingleFilterFeatures(ranks="all").bind(features)
    study = optuna.create_study(directions=["minimize"] * 2)
    StudyDescription(features, representation).write(study)
    for i, name in enumerate(chosen):
        study.add_trial(
            create_trial(
                values=[0.1 * i, 0.5],
                params={"fraction": 0.5, "filter": name},
                distributions=representation.distributions,
            )
        )
    return study
