"""Candidates, and their expected improvement under the targets of the preference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from optuna_mofs._typing import Array
from optuna_mofs.fronts._lexicographic import LexicographicOrder
from optuna_mofs.history._history import History
from optuna_mofs.samplers._acquisition import log_expected_improvement
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._encoding import points_of
from optuna_mofs.samplers._gaussian_process import (
    GaussianProcess,
    Points,
    RefitSchedule,
    fit_length_scales,
    normal_scores,
    representative_subset,
)
from optuna_mofs.samplers._row_operators import fill_missing
from optuna_mofs.samplers.lexiflow._directions import (
    EuclideanSpace,
    change_mask,
    random_directions,
    random_mask,
    restart_row,
    rounded,
)
from optuna_mofs.samplers.lexiflow._local_search import (
    LexiFlowNote,
    LexiFlowSettings,
    LocalSearchReplay,
)

#: Maximum number of trials from which predictions are made.
_MAX_TRAINING_TRIALS = 80
#: Maximum number of trials from which length scales are estimated.
_MAX_LENGTH_SCALE_TRIALS = 50
#: Share of candidates that are random points.
_RANDOM_SHARE = 0.25
#: The number of candidates is divided by this where there are masks, which take longer to change.
_MASK_DIVISOR = 4


# ---- acquisition function -----------------------------------------------------------------------


@dataclass(frozen=True)
class ImprovementTarget:
    """A column to lower while the columns before it keep their targets.

    Args:
        column: The column.
        best: Its lowest value among the trials that reach all targets before it.
        constraints: Columns before it that differ among trials, with their targets.
    """

    column: int
    best: float
    constraints: tuple[tuple[int, float], ...]


def improvement_targets(
    order: LexicographicOrder, losses: Array, targets: Array
) -> list[ImprovementTarget]:
    """Return the columns that can be improved, in order of priority.

    Args:
        order: Priorities, tolerances and goals.
        losses: Trials × columns, minimized.
        targets: Target of each column after these trials.
    """
    found = []
    reaching = np.ones(len(losses), dtype=bool)
    constraints: list[tuple[int, float]] = []
    for column in order.columns:
        values = losses[:, column]
        if np.ptp(values) > 0:
            best = float(values[reaching].min())
            # A column that has reached its goal need not be improved.
            if best > order.goals[column]:
                found.append(ImprovementTarget(column, best, tuple(constraints)))
            constraints.append((column, float(targets[column])))
        reaching &= order.reached(column, values, targets[column])
    return found


def training_subset(ranking: Array, strict_ranking: Array, n_max: int) -> Array:
    """Return the positions of the best trials of two rankings and of an even spread of the rest.

    Args:
        ranking: Positions of all trials, best first.
        strict_ranking: The same by the order without tolerances.
        n_max: Maximum number of trials.
    """
    best = np.union1d(ranking[: n_max // 3], strict_ranking[: n_max // 3])
    rest = strict_ranking[~np.isin(strict_ranking, best)]
    return np.sort(representative_subset(np.concatenate([best, rest]), n_max, len(best)))


def length_scales(order: LexicographicOrder, points: Points, losses: Array, column: int) -> Array:
    """Return the length scales of a column's model."""
    subset = training_subset(
        order.ranking(losses),
        order.without_tolerances().ranking(losses),
        _MAX_LENGTH_SCALE_TRIALS,
    )
    chosen = points[subset]
    return fit_length_scales(
        chosen.squared_distances(chosen), normal_scores(losses[subset, column])
    )


class ColumnModels:
    """Gaussian processes of the normal scores of each column, fitted when first needed.

    Args:
        points: The trials.
        losses: Trials × columns.
        scales: Returns the length scales of a column.
    """

    def __init__(self, points: Points, losses: Array, scales: Callable[[int], Array]) -> None:
        self.points = points
        self._losses = losses
        self._scales = scales
        self._distances = points.squared_distances(points)
        self._fitted: dict[int, tuple[GaussianProcess, Array]] = {}

    def predict(self, column: int, distances: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation at points with these squared distances."""
        return self._fit(column)[0].predict(distances)

    def normal_score(self, column: int, value: float) -> float:
        """Return a value of a column on the scale of the model."""
        values, scores = self._losses[:, column], self._fit(column)[1]
        order = np.argsort(values, kind="stable")
        return float(np.interp(value, values[order], scores[order]))

    def _fit(self, column: int) -> tuple[GaussianProcess, Array]:
        if column not in self._fitted:
            scores = normal_scores(self._losses[:, column])
            model = GaussianProcess(self._distances, scores, self._scales(column))
            self._fitted[column] = model, scores
        return self._fitted[column]


def log_constrained_ei(
    target: ImprovementTarget, models: ColumnModels, candidates: Points
) -> Array:
    """Return the logarithm of the constrained expected improvement (Gardner et al. 2014).

    It is the expected improvement of one column times the probability that the columns before it
    reach their targets.

    Args:
        target: The column to improve.
        models: Models of the columns.
        candidates: Points to be evaluated.
    """
    distances = candidates.squared_distances(models.points)
    mean, sd = models.predict(target.column, distances)
    total = log_expected_improvement(mean, sd, models.normal_score(target.column, target.best))
    for column, bound in target.constraints:
        mean, sd = models.predict(column, distances)
        total += log_ndtr((models.normal_score(column, bound) - mean) / sd)
    return total


# ---- candidates ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class CandidateBatch:
    """Candidates, and the trials from which they step.

    Args:
        points: Candidates × axes.
        rows: Candidates × parameters.
        masks: Candidates × free features, or None.
        bases: Position of the trial from which each candidate steps, -1 for a random point.
        step_sizes: Step size per axis of each candidate.
    """

    points: Array
    rows: Array
    masks: Array | None
    bases: Array
    step_sizes: Array


def draw_candidates(
    rng: np.random.Generator,
    history: History,
    space: EuclideanSpace,
    count: int,
    bases: Sequence[int],
    step_sizes: Sequence[float],
    *,
    sparse_prob: float,
    config: Mapping[str, Any],
) -> CandidateBatch:
    """Return steps of several sizes from several trials, and random points.

    Args:
        rng: Generator.
        history: The completed trials.
        space: Their Euclidean space.
        count: Number of candidates; a quarter of it is drawn if there are masks.
        bases: Positions of trials in the history.
        step_sizes: Step sizes per axis.
        sparse_prob: Probability that a step moves only some axes.
        config: The low-cost configuration, around which random points are drawn.
    """
    count = count if history.table is None else max(1, count // _MASK_DIVISOR)
    base = np.array(bases)[rng.integers(len(bases), size=count)]
    is_random = rng.random(count) < _RANDOM_SHARE
    base[is_random] = -1
    step_size = np.array(step_sizes)[rng.integers(len(step_sizes), size=count)]
    masks, factor = _draw_masks(rng, history, base, step_size)
    steps = random_directions(rng, count, space.dimension, sparse_prob=sparse_prob)
    steps *= (step_size * factor)[:, None]
    points = np.empty((count, space.dimension))
    unit = rng.random((np.count_nonzero(is_random), len(history.space)))
    points[is_random] = space.to_point(restart_row(rng, space, config, unit))
    for i in np.unique(base[~is_random]):
        row = fill_missing(rng, history.space, history.rows[i])
        point = space.noted_point(row, history.note(i, LexiFlowNote).point)
        points[base == i] = space.bounded(point + steps[base == i])
    return CandidateBatch(points, space.to_row(points), masks, base, step_size)


def _draw_masks(
    rng: np.random.Generator, history: History, base: Array, step_size: Array
) -> tuple[Array | None, Array]:
    """Return changed masks, if the study has masks, and factors for the steps of the rows."""
    factor = np.ones(len(base))
    if history.table is None:
        return None, factor
    masks = np.empty((len(base), len(history.table.free)), dtype=bool)
    for k, i in enumerate(base.tolist()):
        if i < 0:
            masks[k] = random_mask(rng, history, int(rng.integers(2**16)))
        else:
            masks[k], factor[k] = change_mask(
                rng, history, i, sign=1, step_size=float(step_size[k])
            )
    return masks, factor


def propose_candidate(
    ctx: ProposalContext,
    search: LocalSearchReplay,
    space: EuclideanSpace,
    settings: LexiFlowSettings,
    count: int,
    config: Mapping[str, Any],
) -> Proposal | None:
    """Return the best new candidate, or None if no objective can improve or none is new."""
    history, rng, state = ctx.history, ctx.rng, search.state
    targets = improvement_targets(search.orders[0], search.losses, search.targets[0])
    if not targets:
        return None
    ranking, strict_ranking = search.rankings()
    target, bases = targets[-1], (state.incumbent, int(ranking[0]))
    if len(targets) > 1 and rng.random() < settings.strict_incumbent_prob:
        target = targets[int(rng.integers(len(targets) - 1))]
        bases = (state.strict_incumbent, int(strict_ranking[0]))
    batch = draw_candidates(
        rng,
        history,
        space,
        count,
        bases,
        (state.step_size, max(state.step_size, settings.step_size)),
        sparse_prob=settings.sparse_direction_prob,
        config=config,
    )
    rows = space.scale.coordinates(history.space.snapped(batch.rows))
    candidates = Points(rows, history.space.categorical, batch.masks)
    models = ctx.trial_cache("models", lambda: _models(ctx, search, space))
    values = log_constrained_ei(target, models, candidates)
    for k in np.argsort(-values, kind="stable").tolist():
        mask = None if batch.masks is None else batch.masks[k]
        if history.contains(batch.rows[k], mask):
            continue
        base = int(batch.bases[k])
        note = state.note(
            "acquisition",
            parents=() if base < 0 else (int(history.numbers[base]),),
            # Both signs were among the candidates: no opposite follows.
            sign=-1,
            step_size=float(batch.step_sizes[k]),
            dimension=len(history.space) + (mask is not None),
            point=rounded(batch.points[k]),
            improves=target.column - 1,
        )
        return Proposal(batch.rows[k], mask, note)
    return None


def _models(
    ctx: ProposalContext, search: LocalSearchReplay, space: EuclideanSpace
) -> ColumnModels:
    history, schedule = ctx.history, ctx.study_cache("length_scales", RefitSchedule)

    def fit(column: int, count: int) -> Array:
        points = points_of(history, space.scale, np.arange(count))
        return length_scales(search.orders[0], points, search.losses[:count], column)

    subset = training_subset(*search.rankings(), _MAX_TRAINING_TRIALS)
    return ColumnModels(
        points_of(history, space.scale, subset),
        search.losses[subset],
        lambda column: schedule.fitted(
            column,
            history.numbers,
            partial(fit, column),
            depends_on=history.space.distributions,
        ),
    )
