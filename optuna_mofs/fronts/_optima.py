"""The smallest feature sets that are as good as any, all of them.

Several different sets may explain the data equally well. Jung and Zscheischler (2013), section
2.2, call a set an optimal result if its performance is within a tolerance of the best one and no
smaller set's is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs.study._completed_trials import read_points
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import selected_mask

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

# A difference like 0.999 - 0.994 is a rounding error above 0.005; who allows 0.005 means it.
_ROUNDING = 1e-12


def optimal_rows(
    losses: ArrayLike, sizes: ArrayLike, tolerance: float, *, extra: float = 0
) -> NDArray[np.intp]:
    """Rows of the smallest sets whose loss is within a tolerance of the least one.

    Args:
        losses: Of each set, minimized; NaN is left out.
        sizes: Of each set.
        tolerance: What may be lost.
        extra: How much larger than the smallest a set may be.

    Example:
        >>> optimal_rows([0.10, 0.11, 0.12, 0.30], [9, 4, 4, 1], 0.02).tolist()
        [1, 2]
    """
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance must be a number of at least 0, but is {tolerance}.")
    if not extra >= 0:
        raise ValueError(f"extra must be at least 0, but is {extra}.")
    loss, size = np.asarray(losses, dtype=float), np.asarray(sizes, dtype=float)
    rows = np.flatnonzero(~np.isnan(loss))
    if not len(rows):
        return rows
    best = loss[rows].min()
    slack = tolerance + _ROUNDING * (abs(best) + tolerance) if np.isfinite(best) else 0.0
    rows = rows[loss[rows] <= best + slack]
    smallest: np.ndarray[Any, np.dtype[np.intp]] = rows[size[rows] <= size[rows].min() + extra]
    return smallest


def similarities(masks: ArrayLike) -> NDArray[np.float64]:
    """How much sets share, pair by pair: 1 the same, 0 nothing (1 minus eq. 1).

    Example:
        >>> similarities([[1, 1, 0, 0], [1, 0, 1, 0]]).tolist()
        [[1.0, 0.5], [0.5, 1.0]]
    """
    bits = np.asarray(masks, dtype=float)
    sizes = bits.sum(axis=1)
    scale = np.sqrt(np.outer(sizes, sizes))
    common = bits @ bits.T
    shared: NDArray[np.float64] = np.divide(
        common, scale, out=np.zeros_like(common), where=scale > 0
    )
    np.fill_diagonal(shared, 1.0)
    return shared


def optima(study: Study, tolerance: float, *, value: str | int = 0, extra: int = 0) -> Optima:
    """Return the distinct smallest feature sets within a tolerance of the best performance.

    Args:
        study: A study that selects features; any sampler may have run it.
        tolerance: What may be lost of the best value for a smaller set, in units of the value.
        value: Name or position of the value that is the performance.
        extra: Sets with so many features more than the smallest are wanted too.

    Raises:
        ValueError: If no finished trial that keeps its constraints tells which features it used.

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
    points = read_points(study)
    column = points.column(value)
    best: dict[bytes, tuple[float, int, FrozenTrial, Any]] = {}
    for trial, loss, kept in zip(points.trials, points.losses[:, column], points.feasible):
        mask = selected_mask(study, trial) if kept and not np.isnan(loss) else None
        if mask is not None:
            found = best.get(mask.tobytes())
            if found is None or loss < found[0]:
                best[mask.tobytes()] = float(loss), trial.number, trial, mask
    described = StudyDescription.read(study)
    if not best or described is None or described.features is None:
        raise ValueError(
            f"Study {study.study_name!r} has no finished trial, keeping its constraints, of which "
            "the features are known. Use FeatureSelectionObjective or suggest_features, and run "
            "it first."
        )
    entries = sorted(best.values(), key=lambda entry: entry[:2])
    masks = np.array([entry[3] for entry in entries])
    rows = optimal_rows([entry[0] for entry in entries], masks.sum(axis=1), tolerance, extra=extra)
    return Optima(
        trials=tuple(entries[row][2] for row in rows),
        values=points.signs[column] * np.array([entries[row][0] for row in rows]) + 0.0,
        masks=masks[rows],
        names=described.features.names,
        metric=points.metric_names[column],
        tolerance=tolerance,
    )


@dataclass(frozen=True, eq=False)
class Optima(Sequence[FrozenTrial]):
    """Distinct smallest sets of nearly equal performance, the best one first.

    Attributes:
        trials: The best trial of each set.
        values: Performance of each, in the study's direction.
        masks: Sets × features.
        names: Names of all features of the study.
        metric: Name of the performance.
        tolerance: What was allowed to be lost.
    """

    trials: tuple[FrozenTrial, ...]
    values: NDArray[np.float64]
    masks: NDArray[np.bool_]
    names: tuple[str, ...]
    metric: str
    tolerance: float

    def __len__(self) -> int:
        return len(self.trials)

    def __getitem__(self, index: Any) -> Any:
        return self.trials[index]

    def __iter__(self) -> Iterator[FrozenTrial]:
        return iter(self.trials)

    @property
    def features(self) -> list[list[str]]:
        """Names of the features of each set."""
        return [[self.names[j] for j in np.flatnonzero(mask)] for mask in self.masks]

    @property
    def similarity(self) -> NDArray[np.float64]:
        """How much the sets share, pair by pair, see :func:`similarities`."""
        return similarities(self.masks)

    @property
    def shared(self) -> list[str]:
        """Names of the features that are in every set."""
        return [self.names[j] for j in np.flatnonzero(self.masks.all(axis=0))]

    def to_frame(self) -> pd.DataFrame:
        """Return a table: one row a set, indexed by trial number."""
        import pandas as pd

        return pd.DataFrame(
            {
                self.metric: self.values,
                "n_features": self.masks.sum(axis=1),
                "features": [", ".join(names) for names in self.features],
            },
            index=pd.Index([trial.number for trial in self.trials], name="number"),
        )

    def plot(self) -> Figure:
        """Return a plotly figure of which features the sets share.

        One row a set, one column a feature that any of them uses, those of most sets first. The
        color says how many of the sets use it.
        """
        import plotly.graph_objects as go

        used = np.flatnonzero(self.masks.any(axis=0))
        often = self.masks[:, used].sum(axis=0)
        used = used[np.lexsort((used, -often))]
        picture = np.where(self.masks[:, used], self.masks[:, used].sum(axis=0), np.nan)
        rows = [f"trial {trial.number}" for trial in self.trials]
        figure = go.Figure(
            go.Heatmap(
                z=picture,
                x=[self.names[j] for j in used],
                y=rows,
                xgap=1,
                ygap=1,
                zmin=0,
                zmax=len(self),
                colorscale="Blues",
                colorbar={"title": "sets that<br>use it"},
                hovertemplate="%{x}<br>%{y}<br>in %{z} of the sets<extra></extra>",
            )
        )
        return figure.update_layout(
            title=f"Features of {len(self)} sets within {self.tolerance:g} of the best "
            f"{self.metric}",
            xaxis_title="Feature",
            yaxis={"autorange": "reversed"},
        )
