"""Layers of the front figure: what to expect on new rows, and baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.trial import FrozenTrial

from optuna_mofs._format import format_number
from optuna_mofs._typing import Floats
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.fronts._front import Front
from optuna_mofs.fronts._honest_front import HonestEstimate
from optuna_mofs.study._completed_trials import feature_count
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._partial import fold_scores
from optuna_mofs.visualization._utils import (
    ACCENT,
    FAINT_INK,
    INK,
    SECOND_ACCENT,
    add_band,
    metric_title,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Measures of the size of a feature set.
_SIZES = ("fraction", "n_features", "cost")
#: The horizontal axis is logarithmic if all features are more than this many times one feature.
_MAX_LINEAR = 50
#: Share of the vertical axis by which bands and baselines can extend it.
_MAX_EXTENSION = 0.3
#: Color of honest values.
HONEST = ACCENT


@dataclass(frozen=True, eq=False)
class SizeErrorAxes:
    """Axes of a study of one metric and a size: size horizontally, metric vertically.

    Attributes:
        front: The front.
        error: Column of the metric.
        sizes: Size of each completed trial: number of features, or cost.
        total: Size of all features.
        unit: Size of the smallest set with a feature.
        is_cost: Whether the size is a cost.
    """

    front: Front
    error: int
    sizes: Floats
    total: float
    unit: float
    is_cost: bool

    @classmethod
    def of(cls, front: Front) -> SizeErrorAxes | None:
        """Return the axes, or None if the front is not of one metric and a size."""
        points = front.points
        description = StudyDescription.read(front.study)
        table = None if description is None else description.features
        are_sizes = [name in _SIZES for name in points.measure_names]
        if table is None or sorted(are_sizes) != [False, True]:
            return None
        column = are_sizes.index(True)
        is_cost = points.measure_names[column] == "cost"
        if is_cost:
            sizes = points.losses[:, column]
        else:
            counts = [feature_count(front.study, trial) for trial in points.trials]
            sizes = np.array([math.nan if n is None else n for n in counts], dtype=np.float64)
        total, unit = _total_and_unit(table, is_cost)
        return cls(front, 1 - column, sizes, total, unit, is_cost)

    @property
    def is_log(self) -> bool:
        """Whether the horizontal axis is logarithmic."""
        return self.total > _MAX_LINEAR * self.unit

    def position(self, sizes: Any) -> Floats:
        """Return sizes as positions; the empty set has a place on a logarithmic axis too."""
        sizes = np.asarray(sizes, dtype=np.float64)
        return np.where(sizes == 0, self.unit / 2, sizes) if self.is_log else sizes

    @property
    def title(self) -> str:
        """Title of the horizontal axis."""
        unit = "cost of the features" if self.is_cost else "number of features"
        return f"{unit}, of {format_number(self.total)}"

    @property
    def ends(self) -> list[float]:
        """Both ends of horizontal lines."""
        return [float(end) for end in self.position([0.0, self.total])]

    def point(self, trial: FrozenTrial) -> tuple[float, float]:
        """Return the position of a completed trial."""
        row = [other.number for other in self.front.points.trials].index(trial.number)
        value = trial.values[self.front.points.value_indices[self.error]]
        return float(self.position(self.sizes[row])), float(value)

    def baseline(self, values: tuple[float, ...] | None) -> float | None:
        """Return the metric of a baseline, or None if it is unknown."""
        column = self.front.points.value_indices[self.error]
        known = values is not None and column < len(values) and math.isfinite(values[column])
        return float(values[column]) if known and values is not None else None

    def expected(self) -> HonestEstimate | None:
        """Return what to expect of the default pick on new rows, or None if it is unknown."""
        found = self.front.honest().picks.get("pick") if self.has_honest else None
        return None if found is None or math.isnan(found.value) else found

    @property
    def has_honest(self) -> bool:
        """Whether there are honest values of the metric."""
        honest = self.front.honest()
        return honest.source is not None and honest.metric_name == self.name

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.front.metric_names[self.error]

    def style(self, figure: go.Figure) -> go.Figure:
        """Set titles, ticks and ranges of both axes."""
        low, high = self.ends
        if self.is_log:
            ticks = _log_ticks(self.unit, self.total)
            range_ = [math.log10(low) - 0.08, math.log10(high) + 0.08]
            figure.update_xaxes(
                type="log",
                tickvals=[low, *ticks],
                ticktext=["0", *map(format_number, ticks)],
                range=range_,
            )
        else:
            pad = 0.03 * (high - low)
            figure.update_xaxes(range=[low - pad, high + pad])
        figure.update_yaxes(range=self._vertical_range())
        y = metric_title(self.front.points, self.error)
        return figure.update_xaxes(title=self.title).update_yaxes(title=y)

    def _vertical_range(self) -> list[float] | None:
        """Return a range without the trials that are worse than a constant model."""
        limits = self.limits()
        if limits is None:
            return None
        pad = 0.06 * (limits[1] - limits[0])
        return [limits[0] - pad, limits[1] + pad]

    def limits(self) -> tuple[float, float] | None:
        """Return lowest and highest shown value, or None to show all trials."""
        baselines = self.front.baselines
        constant = self.baseline(baselines.constant)
        if constant is None:
            return None
        honest, every = self.front.honest().curve, self.baseline(baselines.all_features)
        shown = [*self.front.values[:, self.error], constant]
        further = [] if every is None else [every]
        if self.has_honest:
            shown += honest["honest"].tolist()
            further += [*honest["honest_low"], *honest["honest_high"]]
        expected = self.expected()
        if expected is not None:
            shown += [expected.low, expected.high]
        if baselines.noise_floor is not None and self.error == 0:
            shown += baselines.noise_floor.values
        low, high = _finite_range(shown)
        # Wide bands, and an all-features estimator that is far worse, may be cut.
        lowest, highest = _finite_range([low, high, *further])
        margin = _MAX_EXTENSION * (high - low)
        low, high = max(lowest, low - margin), min(highest, high + margin)
        return (low, high) if low < high else None


def _finite_range(values: Sequence[float]) -> tuple[float, float]:
    finite = np.array(values)[np.isfinite(values)]
    return float(finite.min()), float(finite.max())


def _total_and_unit(table: FeatureTable, is_cost: bool) -> tuple[float, float]:
    if not is_cost or table.costs is None:
        return float(len(table)), 1.0
    positive = table.costs[table.costs > 0]
    return table.total_cost, float(positive.min()) if len(positive) else 1.0


def _log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten within limits.

    Example:
        >>> _log_ticks(1, 60)
        [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]


def add_baselines(figure: go.Figure, axes: SizeErrorAxes) -> None:
    """Add the constant model and all features as lines with labels, and the noise floor."""
    baselines = axes.front.baselines
    lines = {
        "constant model": axes.baseline(baselines.constant),
        "all features": axes.baseline(baselines.all_features),
    }
    known = {name: value for name, value in lines.items() if value is not None}
    limits = axes.limits() or (-math.inf, math.inf)
    # Fronts fall from left to right: the higher line is free at its right end, the lower at its
    # left one.
    for i, name in enumerate(sorted(known, key=known.__getitem__, reverse=True)):
        value = known[name]
        # A line outside of the figure is drawn at its edge, with an arrow.
        shown = min(max(value, limits[0]), limits[1])
        arrow = "" if shown == value else " ↑" if value > shown else " ↓"
        figure.add_scatter(
            x=axes.ends,
            y=[shown, shown],
            mode="lines",
            name=name,
            line={"color": FAINT_INK, "width": 1.5, "dash": "dash" if "all" in name else "solid"},
            hovertemplate=f"{name}: {format_number(value)}<extra></extra>",
            showlegend=False,
        )
        figure.add_annotation(
            text=f"{name} {value:.3g}{arrow}",
            x=0.005 if i else 1,
            xref="paper",
            xanchor="left" if i else "right",
            y=shown,
            yanchor="top" if i else "bottom",
            showarrow=False,
            font={"size": 12, "color": FAINT_INK},
        )
    floor = baselines.noise_floor
    if floor is not None and floor.sizes and not axes.is_cost and axes.error == 0:
        figure.add_scatter(
            x=[*axes.position(floor.sizes).tolist(), axes.ends[1]],
            y=[*floor.values, floor.values[-1]],
            mode="lines",
            name="noise floor",
            line={"color": SECOND_ACCENT, "width": 1.5, "dash": "dot", "shape": "hv"},
            hovertemplate=f"best of {floor.n_trials} trials on permuted labels: "
            "%{y:.3g}<extra></extra>",
        )


def add_honest_curve(figure: go.Figure, axes: SizeErrorAxes) -> None:
    """Add honest values by size as a step line with a band."""
    if not axes.has_honest:
        return
    honest = axes.front.honest()
    if axes.is_cost:
        frame = honest.to_frame().assign(size=axes.front.values[:, 1 - axes.error])
        frame = frame.sort_values("size", kind="stable")
    else:
        frame = honest.curve.rename(columns={"n_features": "size"})
    frame = frame.dropna(subset=["size", "honest"])
    if frame.empty:
        return
    x = axes.position(frame["size"]).tolist()
    add_band(figure, x, frame["honest_low"], frame["honest_high"], HONEST, opacity=0.15)
    name = "to expect on new rows"
    limits = frame[["honest", "honest_low", "honest_high"]].itertuples(index=False)
    figure.add_scatter(
        x=x,
        y=np.round(frame["honest"], 12).tolist(),
        mode="lines" if len(x) > 1 else "markers",
        name=name,
        line={"shape": "hv", "color": HONEST, "width": 2.5},
        text=[str(HonestEstimate(*row)) for row in limits],
        hovertemplate=f"{name}: %{{text}}<extra></extra>",
    )


def add_expected(figure: go.Figure, axes: SizeErrorAxes) -> None:
    """Add the default pick with what to expect of it on new rows."""
    expected = axes.expected()
    x, _ = axes.point(axes.front.pick())
    if expected is None or not math.isfinite(x):
        return
    name = "default pick, on new rows"
    figure.add_scatter(
        x=[x],
        y=[expected.value],
        error_y={
            "array": [expected.high - expected.value],
            "arrayminus": [expected.value - expected.low],
            "color": INK,
            "thickness": 1.5,
            "width": 5,
        },
        mode="markers",
        name=name,
        marker={"color": HONEST, "size": 12, "line": {"width": 1.5, "color": INK}},
        hovertemplate=f"{name}: {expected}<extra></extra>",
        showlegend=False,
    )
    scale = math.log10 if axes.is_log else float
    left, right = map(scale, axes.ends)
    figure.add_annotation(
        text=f"expect <b>{expected.value:.3g}</b>",
        x=scale(x),
        y=expected.value,
        # Towards the middle of the figure.
        ax=55 if scale(x) < (left + right) / 2 else -55,
        ay=-55,
        arrowcolor=INK,
        arrowwidth=1,
        standoff=8,
        bgcolor="rgba(255,255,255,0.85)",
        font={"size": 14, "color": INK},
    )


def expectation(front: Front) -> str:
    """Return a sentence about the value of the default pick to expect on new rows.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize"] * 2)
        >>> study.add_trial(
        ...     optuna.trial.create_trial(values=(0.1, 2), user_attrs={"n_features": 2})
        ... )
        >>> from optuna_mofs import pareto_front
        >>> expectation(pareto_front(study))
        'default pick: 2 features, value_0 0.1'
    """
    honest, pick = front.honest(), front.pick()
    count = feature_count(front.study, pick)
    features = "" if count is None else f"{count:,} feature{'' if count == 1 else 's'}, "
    found = honest.picks.get("pick")
    if found is not None and not math.isnan(found.value):
        return f"default pick: {features}expect {found} on new rows"
    column = front.metric_names.index(honest.metric_name)
    raw = format_number(pick.values[front.points.value_indices[column]])
    text = f"default pick: {features}{honest.metric_name} {raw}"
    if not fold_scores(pick):
        return text
    return f"{text} cross-validated; expect a worse one on new rows"
