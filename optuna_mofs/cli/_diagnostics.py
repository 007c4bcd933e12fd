"""Predictions of a trial on rows that its models did not see; stability of its features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial
from sklearn.inspection import permutation_importance
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve

from optuna_mofs import FeatureSelectionObjective, Front, selected_mask
from optuna_mofs._typing import Array
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._settings import Settings, load_table, make_objective
from optuna_mofs.features._stability import selection_instability
from optuna_mofs.measures._base import Fold
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._partial import fold_scores
from optuna_mofs.visualization._utils import (
    CELLS,
    MAIN,
    MUTED,
    NAME_AXIS,
    apply_style,
    import_plotly,
    tick_labels,
)

#: Maximum number of points in a figure.
_MAX_POINTS = 2000
#: Maximum number of features whose importance is computed, and of bars.
_MAX_PERMUTED = 200
_MAX_BARS = 25
_N_REPEATS = 5
#: Maximum number of classes in a confusion matrix.
_MAX_CLASSES = 30


def load_objective(front: Front, settings: Settings | None) -> FeatureSelectionObjective | None:
    """Return the objective of a study, or None if its data is missing or has changed."""
    if settings is None or not Path(settings.data).exists():
        return None
    try:
        objective = make_objective(settings, load_table(settings))
        objective.attach(front.study)
    except (CommandError, ValueError):
        return None
    return objective


# ---- predictions --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of a trial on rows that its models were not fitted on.

    Attributes:
        source: Which rows, in words.
        truth: Target.
        predicted: Predicted classes or numbers.
        scores: Scores of the second of two classes, None if there are none.
        classification: Whether the target is a class.
    """

    source: str
    truth: Array
    predicted: Array
    scores: Array | None
    classification: bool

    def figures(self) -> list[Any]:
        """Return a confusion matrix, and the ROC curve of two classes; or the residuals."""
        if not self.classification:
            return [self._residuals()]
        classes = np.unique(self.truth)
        found = [self._confusion(classes)] if len(classes) <= _MAX_CLASSES else []
        return [*found, self._roc(classes)] if self.scores is not None else found

    def _confusion(self, classes: Array) -> Any:
        counts = confusion_matrix(self.truth, self.predicted, labels=classes)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        names = tick_labels([str(name) for name in classes])
        wrong = 1.0 - np.trace(counts) / counts.sum()
        figure = import_plotly().Figure()
        figure.add_heatmap(
            z=np.round(shares, 4).tolist(),
            x=names,
            y=names,
            **CELLS,
            showscale=False,
            text=counts.tolist(),
            texttemplate="%{text}",
            textfont={"size": 15},
            hovertemplate="%{y} predicted as %{x}: %{text} rows (%{z:.0%})<extra></extra>",
        )
        subtitle = f"{self.source}; {wrong:.1%} of them wrong"
        apply_style(figure, "Confusion matrix", subtitle=subtitle, height=400)
        figure.update_xaxes(title="predicted", type="category", showgrid=False)
        return figure.update_yaxes({**NAME_AXIS, "title": "true"})

    def _roc(self, classes: Array) -> Any:
        positive = self.truth == classes[1]
        false, true, _ = roc_curve(positive, self.scores)
        area = roc_auc_score(positive, self.scores)
        figure = import_plotly().Figure()
        figure.add_scatter(
            x=[0, 1],
            y=[0, 1],
            mode="lines",
            line={"color": MUTED, "dash": "dash"},
            hoverinfo="skip",
        )
        figure.add_scatter(
            x=np.round(false, 6).tolist(),
            y=np.round(true, 6).tolist(),
            mode="lines",
            line={"color": MAIN, "width": 2.5, "shape": "hv"},
            hovertemplate="%{x:.3f} of the others for %{y:.3f} of the class<extra></extra>",
        )
        subtitle = f"{self.source}; area {area:.3f}, positive class {classes[1]}"
        apply_style(figure, "ROC curve", subtitle=subtitle, height=400, showlegend=False)
        figure.update_xaxes(title="false positive rate", range=[-0.02, 1.02])
        return figure.update_yaxes(title="true positive rate", range=[-0.02, 1.02])

    def _residuals(self) -> Any:
        rows = np.linspace(0, len(self.truth) - 1, min(len(self.truth), _MAX_POINTS)).astype(int)
        residuals = self.truth - self.predicted
        figure = import_plotly().Figure()
        figure.add_scatter(
            x=self.predicted[rows].tolist(),
            y=residuals[rows].tolist(),
            mode="markers",
            marker={"color": MAIN, "size": 6, "opacity": 0.6},
            hovertemplate="predicted %{x:.4g}, true minus predicted %{y:.4g}<extra></extra>",
        )
        figure.add_hline(0, line={"color": MUTED})
        spread = math.sqrt(float(np.mean(residuals**2)))
        subtitle = f"{self.source}; root mean squared error {spread:.4g}"
        apply_style(figure, "Residuals", subtitle=subtitle, height=400)
        figure.update_xaxes(title="predicted")
        return figure.update_yaxes(title="true minus predicted")


def honest_predictions(objective: FeatureSelectionObjective, folds: Sequence[Fold]) -> Predictions:
    """Predict held-out rows, or else each test fold, by the models of a trial.

    With several folds, the scores are replaced by their ranks within the fold, because models of
    different folds can score on different scales.

    Args:
        objective: The objective of the study.
        folds: As returned by ``objective.tested_folds(trial)``.
    """
    scores = [_scores(fold.estimator, fold.X_test) for fold in folds]
    known = [score for score in scores if score is not None]
    if len(folds) > 1:
        known = [np.argsort(np.argsort(score)) / len(score) for score in known]
    n_rows = sum(len(fold.y_test) for fold in folds)
    held_out = objective.holdout_rows is not None
    source = f"{n_rows:,} held-out rows" if held_out else f"{n_rows:,} rows of the test folds"
    return Predictions(
        source=source,
        truth=np.concatenate([fold.y_test for fold in folds]),
        predicted=np.concatenate([fold.prediction for fold in folds]),
        scores=np.concatenate(known) if len(known) == len(folds) else None,
        classification=objective.data.classification,
    )


def _scores(model: Any, X: Any) -> Array | None:
    """Return the scores of the second of two classes, None if a model has none."""
    if len(getattr(model, "classes_", ())) != 2:
        return None
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=float)
    return np.asarray(model.predict_proba(X))[:, 1] if hasattr(model, "predict_proba") else None


# ---- importance ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Importance:
    """How much worse a model gets if the values of a feature are permuted among test rows.

    Attributes:
        drops: Mean drop of the score by feature, the most important first.
        spread: Standard deviation over repetitions and folds.
        source: Which rows, in words.
    """

    drops: dict[str, float]
    spread: dict[str, float]
    source: str

    def figure(self) -> Any:
        """Return bars, the most important feature on top."""
        names = list(self.drops)[:_MAX_BARS]
        figure = import_plotly().Figure()
        figure.add_bar(
            x=[self.drops[name] for name in names],
            y=tick_labels(names),
            orientation="h",
            marker={"color": MAIN},
            error_x={"array": [self.spread[name] for name in names], "color": MUTED},
            hovertemplate="%{x:.4g}<extra></extra>",
        )
        height = 150 + 24 * len(names)
        subtitle = f"values of one feature permuted, {self.source}"
        apply_style(figure, "Permutation importance", subtitle=subtitle, height=height)
        figure.update_xaxes(title="drop of the score")
        return figure.update_yaxes(NAME_AXIS)


def importance(
    objective: FeatureSelectionObjective, trial: FrozenTrial, folds: Sequence[Fold]
) -> Importance | None:
    """Return the permutation importance of the features of a trial; None for many features.

    A feature that is not selected in a fold has no importance there.

    Args:
        objective: The objective of the study.
        trial: The trial.
        folds: As returned by ``objective.tested_folds(trial)``.
    """
    masks = objective.fold_masks_for(trial)
    if objective.holdout_rows is not None:
        masks = [objective.mask_for(trial)]
    columns = [objective.table.columns_of(mask) for mask in masks]
    if not 0 < max(map(len, columns)) <= _MAX_PERMUTED:
        return None
    drops: dict[int, list[Array]] = {}
    for fold, chosen in zip(folds, columns):
        n_rows = min(len(fold.y_test), _MAX_POINTS)
        if not len(chosen):
            continue
        found = permutation_importance(
            fold.estimator,
            fold.X_test[:n_rows],
            fold.y_test[:n_rows],
            scoring=objective.evaluator.scorer,
            n_repeats=_N_REPEATS,
            random_state=0,
        )
        for column, values in zip(chosen, found.importances):
            drops.setdefault(int(column), []).append(values)
    absent = np.zeros(_N_REPEATS)
    names, n = objective.table.names, len(folds)
    means, spread = {}, {}
    for column, values in drops.items():
        everything = np.concatenate([*values, *[absent] * (n - len(values))])
        means[names[column]] = float(everything.mean())
        spread[names[column]] = float(everything.std())
    ordered = dict(sorted(means.items(), key=lambda pair: -pair[1]))
    source = "held-out rows" if objective.holdout_rows is not None else "test folds"
    return Importance(ordered, spread, source)


# ---- stability ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stability:
    """How often the features of a trial are selected again.

    Attributes:
        counts: Number of sets that contain the feature, by its name, the most frequent first.
        n_sets: Number of sets.
        source: Which sets, in words.
        index: Stability of Nogueira et al. (2018): 1 for equal sets, about 0 for random ones.
    """

    counts: dict[str, int]
    n_sets: int
    source: str
    index: float


def stability(
    front: Front, trial: FrozenTrial, objective: FeatureSelectionObjective | None
) -> Stability | None:
    """Return how often the features of a trial are selected again, or None without other sets.

    The sets are those of the training folds if features are selected there. Otherwise they are
    those of the trials on the front whose error is within one standard error of the trial's.
    """
    description = StudyDescription.read(front.study)
    chosen = selected_mask(front.study, trial)
    if description is None or description.features is None or chosen is None or not chosen.any():
        return None
    representation = None if objective is None else objective.representation
    if objective is not None and representation is not None and representation.ranks == "fold":
        masks, source = objective.fold_masks_for(trial), "training folds"
    else:
        masks, source = _similar_masks(front, trial), "trials of the front with about this error"
    if len(masks) < 2:
        return None
    table = np.array(masks)
    counts = {
        description.features.names[j]: int(table[:, j].sum()) for j in np.flatnonzero(chosen)
    }
    ordered = dict(sorted(counts.items(), key=lambda pair: -pair[1]))
    return Stability(ordered, len(table), source, 1.0 - selection_instability(table))


def _similar_masks(front: Front, trial: FrozenTrial) -> list[Array]:
    scores: list[float] = next(iter(fold_scores(trial).values()), [])
    if len(scores) < 2:
        return []
    margin = float(np.std(scores, ddof=1)) / math.sqrt(len(scores))
    near = [other for other in front if abs(other.values[0] - trial.values[0]) <= margin]
    found = [selected_mask(front.study, other) for other in near]
    return [mask for mask in found if mask is not None and mask.any()]
