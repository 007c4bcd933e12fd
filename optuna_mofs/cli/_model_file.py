"""What ``export`` writes: the pipeline, a file in ONNX, and the model card."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import pickle
import pickletools
import platform
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from optuna_mofs import FeatureSelectionObjective, Front, __version__
from optuna_mofs._format import format_number
from optuna_mofs._imports import optional_import
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._front import Pick
from optuna_mofs.cli._output import format_value
from optuna_mofs.cli._settings import Settings
from optuna_mofs.cli._table import Table
from optuna_mofs.columns import NamedColumns

#: Formats of models, the default first.
FORMATS = ("joblib", "skops", "onnx")
_PACKAGE = "optuna_mofs"
_LIBRARIES = ("optuna", "scikit-learn", "numpy", "pandas")
_LEARNERS = ("xgboost", "lightgbm", "catboost")


def model_of_table(estimator: Any, table: Table, names: Sequence[str], *, named: bool) -> Pipeline:
    """Return a fitted pipeline that selects the columns of a fitted estimator.

    The selection is scikit-learn's own where that is possible: the model then loads without this
    package. Texts and dates need this package, which converts them as the search did.

    Args:
        estimator: A fitted estimator that takes the selected columns only.
        table: The table that it was fitted on.
        names: Names of the selected columns.
        named: Whether the columns of new tables are found by name, or else by position.
    """
    converted = {*table.text_columns, *table.date_columns}
    if converted.intersection(names):
        columns: Any = NamedColumns(
            list(names),
            text_columns=[name for name in table.text_columns if name in names],
            all_columns=list(table.names),
            as_frame=bool(table.text_columns),
        )
    else:
        positions = [table.names.index(name) for name in names]
        selected = list(names) if named else positions
        columns = ColumnTransformer(
            [("columns", "passthrough", selected)], verbose_feature_names_out=False
        )
        output = "pandas" if table.text_columns else "default"
        X = as_frame(table) if named else table.X
        columns.set_output(transform=output).fit(X[:1])
    return Pipeline([("columns", columns), ("model", estimator)])


def as_frame(table: Table) -> pd.DataFrame:
    """Return the features of a table as a DataFrame."""
    is_frame = isinstance(table.X, pd.DataFrame)
    return table.X if is_frame else pd.DataFrame(table.X, columns=list(table.names))


def needs_package(model: Any) -> bool:
    """Return whether this package must be installed where a model is loaded.

    Example:
        >>> from sklearn.svm import SVC
        >>> needs_package(SVC()), needs_package(NamedColumns(["a"]))
        (False, True)
    """
    found = (arg for _, arg, _ in pickletools.genops(pickle.dumps(model)) if isinstance(arg, str))
    return any(arg.partition(".")[0] == _PACKAGE for arg in found)


def write_onnx(model: Pipeline, names: Sequence[str], table: Table, file: Path) -> None:
    """Write the estimator of a model in ONNX; its input are the selected columns in their order.

    Raises:
        CommandError: If it cannot be converted.
    """
    chosen = sorted({*table.text_columns, *table.date_columns}.intersection(names))
    remedy = "Export to FILE.joblib, or exclude the columns with --drop."
    if chosen:
        raise CommandError(f"ONNX needs columns of numbers, got {chosen[0]!r}. {remedy}")
    if not names:
        raise CommandError("The model selects no features, so there is nothing to convert.")
    estimator = model.named_steps["model"]
    try:
        skl2onnx = optional_import("skl2onnx", "onnx")
        kind = optional_import("skl2onnx.common.data_types", "onnx").FloatTensorType
        options = {id(estimator): {"zipmap": False}} if is_classifier(estimator) else None
        with warnings.catch_warnings():
            # It reads attributes that scikit-learn is going to remove.
            warnings.simplefilter("ignore", FutureWarning)
            converted = skl2onnx.to_onnx(
                estimator, initial_types=[("X", kind([None, len(names)]))], options=options
            )
    except ImportError as error:
        raise CommandError(str(error)) from error
    except Exception as error:  # skl2onnx raises many kinds of them
        raise CommandError(
            f"skl2onnx cannot convert {type(estimator).__name__}: {str(error).splitlines()[0]} "
            "Export to FILE.joblib instead."
        ) from error
    entry = converted.metadata_props.add()
    entry.key, entry.value = "features", json.dumps(list(names))
    file.write_bytes(converted.SerializeToString())


def write_skops(model: Pipeline, file: Path) -> None:
    """Write a model in the format of skops, which runs no code when it is loaded."""
    try:
        skops = optional_import("skops.io", "skops")
    except ImportError as error:
        raise CommandError(str(error)) from error
    try:
        skops.dump(model, file)
    except Exception as error:  # skops raises many kinds of them
        raise CommandError(
            f"skops cannot write {type(model.named_steps['model']).__name__}: {error} "
            "Export to FILE.joblib instead."
        ) from error


# ---- model card ---------------------------------------------------------------------------------


def model_card(
    front: Front,
    pick: Pick,
    objective: FeatureSelectionObjective,
    settings: Settings,
    model: Pipeline,
    output: str,
    kind: str,
) -> dict[str, Any]:
    """Return what a user of the file must know, as JSON values."""
    trial, honest = pick.trial, front.honest()
    n_rows, n_columns = objective.all_data.shape
    expected, constant = pick.expected, front.baselines.constant
    is_classes = objective.data.classification
    return {
        "model": Path(output).name,
        "created": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "study": front.study.study_name,
        "trial": trial.number,
        "chosen": pick.description,
        "task": "classification" if is_classes else "regression",
        "classes": np.unique(objective.data.y).tolist() if is_classes else None,
        "data": {
            "file": Path(settings.data).name,
            "target": settings.target,
            "rows": n_rows,
            "columns": n_columns,
        },
        "learner": settings.learner,
        "hyperparameters": {k: _plain(v) for k, v in objective.params_for(trial).items()},
        "features": list(objective.features_for(trial)),
        "cross_validated": dict(zip(objective.metric_names, map(float, trial.values))),
        "on_new_rows": None
        if expected is None
        else {
            "metric": honest.metric_name,
            "value": float(expected.value),
            "low": float(expected.low),
            "high": float(expected.high),
        },
        "constant_model": None if constant is None else float(constant[0]),
        "warning": honest.warning,
        "format": kind,
        "needs_optuna_mofs": kind != "onnx" and needs_package(model),
        "versions": _versions(settings.learner),
    }


def card_text(card: Mapping[str, Any]) -> str:
    """Return a model card in Markdown."""
    data, expected = card["data"], card["on_new_rows"]
    values = ", ".join(f"{k} {format_number(v)}" for k, v in card["cross_validated"].items())
    classes = f" ({', '.join(map(str, card['classes'][:20]))})" if card["classes"] else ""
    lines = [f"# {card['model']}", ""]
    if card["warning"]:
        lines += [f"**{card['warning']}**", ""]
    lines += [
        f"Predicts *{data['target']}*: {card['task']}{classes}. Fitted on the {data['rows']:,} "
        f"rows of {data['file']}, with {len(card['features'])} of {data['columns']:,} features.",
        "",
        "## What to expect",
        "",
    ]
    if expected is not None:
        band = f"{format_number(expected['low'])} to {format_number(expected['high'])}"
        lines.append(
            f"- on new rows: {expected['metric']} {format_number(expected['value'])} "
            f"(95 % interval {band})"
        )
    lines.append(f"- cross-validated, usually too good: {values}")
    if card["constant_model"] is not None:
        lines.append(f"- a constant prediction: {format_number(card['constant_model'])}")
    hyperparameters = [f"- {k} = {format_value(v)}" for k, v in card["hyperparameters"].items()]
    versions = ", ".join(f"{k} {v}" for k, v in card["versions"].items())
    extra = "optuna-mofs and " if card["needs_optuna_mofs"] else ""
    lines += ["", "## Features", "", *(f"- {name}" for name in card["features"]), ""]
    lines += [f"## Learner: {card['learner']}", "", *hyperparameters, ""]
    lines += [
        "## Origin",
        "",
        f"Trial {card['trial']} of study {card['study']}, {card['chosen']}; {card['created']}.",
        f"Versions: {versions}.",
    ]
    if card["format"] != "onnx":
        lines.append(f"Loading it needs {extra}scikit-learn, in these versions.")
    if card["format"] == "joblib":
        lines.append(
            "Load it only if you trust its source: such files can run any code "
            "(those of `--format skops` cannot)."
        )
    if card["format"] == "skops":
        lines.append(
            "`skops.io.load(file, trusted=types)` runs no code; read the types that "
            "`skops.io.get_untrusted_types(file=file)` lists before you trust them."
        )
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    """Return a parameter as a JSON value."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _versions(learner: str) -> dict[str, str]:
    found = {"python": platform.python_version(), "optuna-mofs": __version__}
    for name in (*_LIBRARIES, *(name for name in _LEARNERS if name == learner)):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
