"""All of the smallest feature sets whose performance is close to the best.

Several different sets may explain the data equally well. Jung and Zscheischler (2013), section
2.2, call a set an optimal result if its performance is within a tolerance of the best one and no
smaller set is.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._typing import Bools, Floats, Indices
from optuna_mofs._validation import check_float, check_numbers
from optuna_mofs.study._completed_trials import read_completed_trials
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import selected_mask

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

#: The difference 0.999 - 0.994 is above 0.005 by a rounding error, but within that tolerance.
_ROUNDING = 1e-12


def optimal_rows(
    losses: ArrayLike, sizes: ArrayLike, tolerance: float, *, max_extra_features: float = 0
) -> Indices:
    """Return the rows of the smallest sets whose loss is within a tolerance of the lowest one.

    Args:
        losses: Loss of each set, minimized; sets with NaN are left out.
        sizes: Size of each set.
        tolerance: How much higher than the lowest loss the loss of a set may be.
        max_extra_features: How much larger than the smallest set a set may be.

    Example:
        >>> optimal_rows([0.10, 0.11, 0.12, 0.30], [9, 4, 4, 1], 0.02).tolist()
        [1, 2]
    """
    check_float("tolerance", tolerance, 0, np.finfo(float).max)
    check_float("max_extra_features", max_extra_features, 0)
    loss, size = check_numbers("losses", losses, 1), check_numbers("sizes", sizes, 1)
    if loss.shape != size.shape:
        raise ValueError(
            f"Expected one loss and one size per set, got {len(loss)} losses and {len(size)} "
            "sizes."
        )
    rows = np.flatnonzero(~np.isnan(loss))
    if not len(rows):
        return rows
    best = loss[rows].min()
    slack = tolerance + _ROUNDING * (abs(best) + tolerance) if np.isfinite(best) else 0.0
    rows = rows[loss[rows] <= best + slack]
    return rows[size[rows] <= size[rows].min() + max_extra_features]


def similarities(masks: ArrayLike) -> Floats:
    """Return the similarity of each pair of sets: 1 if equal, 0 if disjoint (1 minus eq. 1).

    Example:
        >>> similarities([[1, 1, 0, 0], [1, 0, 1, 0]]).tolist()
        [[1.0, 0.5], [0.5, 1.0]]
    """
    bits = check_numbers("masks", masks, 2)
    sizes = bits.sum(axis=1)
    scale = np.sqrt(np.outer(sizes, sizes))
    common = bits @ bits.T
    similar: Floats = np.divide(common, scale, out=np.zeros_like(common), where=scale > 0)
    np.fill_diagonal(similar, 1.0)
    return similar


def optima(
    study: Study, tolerance: float, *, metric: str | int = 0, max_extra_features: int = 0
) -> Optima:
    """Return the distinct smallest feature sets within a tolerance of the best performance.

    Args:
        study: A study that selects features, with any sampler.
        tolerance: How much worse than the best performance that of a smaller set may be, in the
            unit of the metric.
        metric: Name or position of the value that is the performance.
        max_extra_features: How many features more than the smallest set a set may have.

    Raises:
        ValueError: If no feasible completed trial has a known feature set.

    Example:
        >>> import optuna
        >>> from optuna_mofs import suggest_features
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     mask = suggest_features(trial, ["a", "b", "c"])
        ...     return float(mask[0] or mask[1]), float(mask.sum())
        >>> study = optuna.create_study(
        ...     directions=["maximize", "minimize"], sampler=optuna.samplers.RandomSampler(seed=0)
        ... )
        >>> study.optimize(objective, n_trials=40)
        >>> found = optima(study, 0.01)
        >>> sorted(found.features)
        [['a'], ['b']]
        >>> found.similarity.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    trials = read_completed_trials(study)
    column = trials.column(metric)
    losses = np.where(trials.feasible, trials.losses[:, column], np.nan)
    best: dict[bytes, tuple[float, FrozenTrial, Any]] = {}
    # By loss, then by number; NaN comes last.
    for row in np.argsort(losses, kind="stable")[: np.count_nonzero(~np.isnan(losses))]:
        mask = selected_mask(study, trials.trials[row])
        if mask is not None:
            best.setdefault(mask.tobytes(), (losses[row], trials.trials[row], mask))
    described = StudyDescription.read(study)
    if not best or described is None or described.features is None:
        raise ValueError(
            f"Study {study.study_name!r} has no completed trial that satisfies its constraints "
            "and has a known feature set. Suggest features with FeatureSelectionObjective or "
            "optuna_mofs.suggest_features, and run trials first."
        )
    found, found_trials, found_masks = zip(*best.values())
    values, masks = np.array(found), np.array(found_masks)
    rows = optimal_rows(
        values, masks.sum(axis=1), tolerance, max_extra_features=max_extra_features
    )
    return Optima(
        trials=tuple(found_trials[row] for row in rows),
        values=trials.signs[column] * values[rows] + 0.0,
        masks=masks[rows],
        feature_names=described.features.names,
        metric_name=trials.metric_names[column],
        tolerance=tolerance,
    )


@dataclass(frozen=True, eq=False)
class Optima(Sequence[FrozenTrial]):
    """Distinct smallest sets of nearly equal performance, the best one first.

    Attributes:
        trials: The best trial of each set.
        values: Performance of each set, in the study's direction.
        masks: Sets × features.
        feature_names: Names of all features of the study.
        metric_name: Name of the value that is the performance.
        tolerance: The tolerance.
    """

    trials: tuple[FrozenTrial, ...]
    values: Floats
    masks: Bools
    feature_names: tuple[str, ...]
    metric_name: str
    tolerance: float

    def __len__(self) -> int:
        return len(self.trials)

    def __getitem__(self, index: Any) -> Any:
        return self.trials[index]

    @property
    def features(self) -> list[list[str]]:
        """Names of the features of each set."""
        return [[self.feature_names[j] for j in np.flatnonzero(mask)] for mask in self.masks]

    @property
    def similarity(self) -> Floats:
        """Similarity of each pair of sets, see :func:`similarities`."""
        return similarities(self.masks)

    @property
    def shared(self) -> list[str]:
        """Names of the features that are in every set."""
        return [self.feature_names[j] for j in np.flatnonzero(self.masks.all(axis=0))]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per set, indexed by trial number."""
        import pandas as pd

        return pd.DataFrame(
            {
                self.metric_name: self.values,
                "n_features": self.masks.sum(axis=1),
                "features": [", ".join(names) for names in self.features],
            },
            index=pd.Index([trial.number for trial in self.trials], name="number"),
        )

    def plot(self) -> Figure:
        """Return a plotly figure of the features that the sets share."""
        # Figures import fronts, so they can be imported only here.
        figures = importlib.import_module("optuna_mofs.visualization._optima")
        return figures.plot_optima(self)
