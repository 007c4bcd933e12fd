"""ParEGO (Knowles 2006): a weight vector per trial turns several objectives into one."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice
from optuna_mofs.samplers._acquisition import augmented_tchebycheff, expected_improvement
from optuna_mofs.samplers._context import ProposalContext
from optuna_mofs.samplers._hypervolume_gain import dominance_penalty
from optuna_mofs.samplers._infill import (
    SURROGATE_STREAM,
    Acquisition,
    ModelBasedNote,
    fit_surrogate,
    model_inputs,
    objective_surrogates,
)
from optuna_mofs.samplers._initial_design import recurrence_steps, thin
from optuna_mofs.samplers._training_data import EncodedBatch, TrainingData
from optuna_mofs.samplers.model_based._sampler import (
    DEFAULT_SETTINGS,
    ModelBasedSampler,
    ModelBasedSettings,
)

#: Function of (mean, sd, best target), the lower the better.
ScalarAcquisition = Callable[[Array, Array, float], Array]
#: Number of weight vectors of which one is taken while other trials are running.
_N_WEIGHT_DRAWS = 10
#: Minimum distance of the target of gap weights to the ideal point.
_MIN_DISTANCE = 1e-3
#: Distance of the ideal point to the best bounds, on the scale of the better half of the trials.
_IDEAL_MARGIN = 0.2
#: Steps of the grid of weights, and first stream of their generators, in the papers.
_WEIGHT_STEPS, _WEIGHT_STREAM = 100_000, 2**23
#: Larger than any norm of bounds.
_DOMINATED = 100.0


def weight_vectors(numbers: Array, count: int, offset: Array) -> Array:
    """Return the weights of ``count`` objectives for some trials: trials × objectives.

    The weights follow an additive sequence (Kronecker with the generalized golden ratio), any
    stretch of which is spread evenly over the simplex. Trials that run in parallel have similar
    numbers, hence different weights: the stratification of Horn et al. (2015), which works even
    if the workers do not see each other. ``offset`` is the start of the sequence.

    Example:
        >>> weight_vectors(np.arange(2), 2, np.array([0.25])).round(2).tolist()
        [[0.75, 0.25], [0.13, 0.87]]
    """
    weights = np.ones((len(numbers), count))
    if count > 1:
        points = (offset + numbers[:, None] * recurrence_steps(count - 1)) % 1.0
        # Stick breaking: uniform on the simplex, and distant points stay distant.
        left = np.cumprod(points ** (1 / np.arange(count - 1, 0, -1)), axis=1)
        weights[:, 1:] = left
        weights[:, :-1] -= left
    return weights


def gap_weights(front: Array, ideal: Array, positions: Array) -> Array | None:
    """Return weights that lead to positions on a front of two objectives, None if it is a point.

    On a strongly curved front, such as that of two error rates, uniform weights lead to its middle
    nearly always. Here the mass of a gap between neighbors is the square root of its area, the
    density of points that maximize hypervolume (Auger et al. 2009). A position is a part of the
    total mass, in [0, 1), and under its weights the point there has the smallest norm, measured
    from the ideal point. The front is extended to the best values of the ideal point; otherwise
    the search would never go past its ends.

    Example:
        >>> front = np.array([[0.0, 1.0], [0.1, 0.1], [1.0, 0.0]])
        >>> gap_weights(front, np.full(2, -0.1), np.array([0.25, 0.75])).round(2).tolist()
        [[0.86, 0.14], [0.14, 0.86]]
    """
    front = front[np.argsort(front[:, 0], kind="stable")]
    first, last = front[0], front[-1]
    room = np.maximum([first[0] - ideal[0], last[1] - ideal[1]], 0.0)
    before = first[0] - room[0], first[1] + room[0]
    after = last[0] + room[1], last[1] - room[1]
    front = np.vstack([before, front, after])
    sides = np.diff(front, axis=0)
    mass = np.sqrt(np.abs(sides).prod(axis=1))
    ends = np.cumsum(mass)
    if not ends[-1] > 0:
        return None
    gap = np.minimum(np.searchsorted(ends, positions * ends[-1]), len(ends) - 1)
    inside = 1 - (ends[gap] - positions * ends[-1]) / np.maximum(mass[gap], 1e-12)
    targets = front[gap] + inside[:, None] * sides[gap]
    weights = 1 / np.maximum(targets - ideal, _MIN_DISTANCE)
    return weights / weights.sum(axis=1, keepdims=True)


def batch_weights(rng: np.random.Generator, count: int, m: int) -> Array:
    """Return the weights of a batch: five times as many from a grid, the closest thinned away.

    Horn et al. (2015); the grid of the authors' code has 100,000 steps.

    Example:
        >>> batch_weights(np.random.default_rng(0), 3, 2).round(2).tolist()
        [[0.31, 0.69], [0.65, 0.35], [0.97, 0.03]]
    """
    cuts = np.sort(rng.integers(_WEIGHT_STEPS + 1, size=(5 * count, m - 1)), axis=1)
    ends = np.full((len(cuts), 1), _WEIGHT_STEPS)
    weights = np.diff(np.hstack([0 * ends, cuts, ends]), axis=1) / _WEIGHT_STEPS
    if count == 1:
        return weights[:1]
    return weights[thin(rng, squareform(pdist(weights)), count)]


def scaled_to_range(values: Array) -> Array:
    """Return values scaled to [0, 1] over all trials, as in ParEGO.

    Example:
        >>> scaled_to_range(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]])).tolist()
        [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]]
    """
    span = np.ptp(values, axis=0)
    return (values - values.min(axis=0)) / np.where(span > 0, span, 1.0)


def most_distinct(weights: Array, running: Array) -> Array:
    """Return the weights that are furthest from those of running trials, without these the first.

    Horn et al. (2015) choose the points of a batch in this way. With many objectives, the sequence
    of weights alone leaves neighbors too close.

    Example:
        >>> weights = np.array([[0.7, 0.3], [0.1, 0.9], [0.4, 0.6]])
        >>> most_distinct(weights, np.array([[0.75, 0.25]])).tolist()
        [0.1, 0.9]
    """
    best = 0
    if len(running):
        distance = np.abs(weights[:, None] - running).sum(axis=2).min(axis=1)
        best = int(distance.argmax())
    return weights[best]


class ParEGOSampler(ModelBasedSampler):
    """Model-based search that scalarizes several objectives, by other weights in each trial.

    Knowles (2006), on mixed and conditional spaces as in Horn and Bischl (2016), and with features
    as in Binder et al. (2020), section 4.2: BO-MO-FE with ``representation="filter_ensemble"``,
    BO-MO with ``representation="single_filter"``, BO-SO and BO-SO-FE with a single measure.

    Each trial has a weight vector and proposes the best acquisition value of the augmented
    Tchebycheff norm under these weights. Trials that run in parallel have different weights. The
    changes to the papers are in ``docs/samplers/model_based.md``; :meth:`from_paper` is without
    most of them.

    Args:
        n_trials: Number of trials planned, if known: a small budget gets a smaller initial design,
            and the tolerance of the dominance penalty shrinks towards the end.
        n_startup_trials: Completed trials before the first surrogate; by default 4 per parameter,
            8 to 24.
        surrogate: ``"auto"`` (a Gaussian process on spaces of up to 200 columns, else a forest),
            ``"forest"``, ``"gaussian_process"``, a scikit-learn regressor with predictive
            uncertainty, or a function that returns a model; see :class:`ModelBasedSampler`.
        kappa: Weight of the standard deviation in the lower confidence bound; by default 0.25, 1
            if the surrogate gets feature sets, and 2 on a scalarized target (where the authors'
            code has 1 on numeric spaces, else 2).
        acquisition: ``"lcb"`` (lower confidence bound), ``"ei"`` (expected improvement), or a
            function of (mean, sd, best target), the lower the better. All but ``"lcb"`` need one
            surrogate of the scalarized target.
        settings: Further settings.
        seed: Seed; if None, one is drawn and kept in the study.

    Example:
        >>> import optuna
        >>> from optuna_mofs import ParEGOSampler
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     x = trial.suggest_float("x", -4, 4)
        ...     return (x - 1) ** 2, (x + 1) ** 2
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=ParEGOSampler(seed=0)
        ... )
        >>> study.optimize(objective, n_trials=14)
        >>> len(study.best_trials) >= 4
        True
    """

    _paper_target = "scalarized"
    _paper_variants = ("BO-MO-FE", "mixed")
    _paper_batch_size = 4

    def __init__(
        self,
        *,
        n_trials: int | None = None,
        n_startup_trials: int | None = None,
        surrogate: Any = "auto",
        kappa: float | None = None,
        acquisition: str | ScalarAcquisition = "lcb",
        settings: ModelBasedSettings = DEFAULT_SETTINGS,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            n_trials=n_trials,
            n_startup_trials=n_startup_trials,
            surrogate=surrogate,
            kappa=kappa,
            settings=settings,
            seed=seed,
        )
        if not callable(acquisition):
            check_choice("acquisition", acquisition, ("lcb", "ei"))
        self.acquisition = acquisition

    def fit_acquisition(self, ctx: ProposalContext, data: TrainingData) -> Acquisition:
        """Return the norm of the objectives' bounds, or the acquisition value of the norm.

        If some of the objectives are known exactly, the lower confidence bound is always the norm
        of the bounds of the others and of the known values.
        """
        m, rho = data.values.shape[1], self.settings.rho
        kappa = self._kappa(ctx, data) if self.acquisition == "lcb" else None
        if kappa is not None and m > 1 and self.settings.surrogate_target == "objectives":
            return self._norm_of_bounds(ctx, data, kappa)
        weights = self._batch_weights(ctx, m) if data.is_plain else self._weights(ctx, m)
        if kappa is not None and len(data.modeled) < m:
            surrogates = objective_surrogates(ctx, data, self.surrogate)

            def values(batch: EncodedBatch) -> Array:
                bounds = surrogates.lower_bounds(batch, kappa)
                return augmented_tchebycheff(bounds, weights, rho)
        else:
            losses = scaled_to_range(data.values) if data.is_plain else data.values
            targets = data.rescaled(augmented_tchebycheff(losses, weights, rho))
            rng = ctx.trial_rng(SURROGATE_STREAM)
            model = fit_surrogate(data, self.surrogate, rng, targets)

            def values(batch: EncodedBatch) -> Array:
                mean, sd = model.predict(model_inputs(data, batch.inputs))
                if kappa is not None:
                    return mean - kappa * sd
                if callable(self.acquisition):
                    return self.acquisition(mean, sd, float(targets.min()))
                return -expected_improvement(mean, sd, float(targets.min()))

        note = ModelBasedNote(kappa=kappa, objective_weights=tuple(weights.round(6).tolist()))
        return Acquisition(values, note)

    def _norm_of_bounds(
        self, ctx: ProposalContext, data: TrainingData, kappa: float
    ) -> Acquisition:
        surrogates = objective_surrogates(ctx, data, self.surrogate)
        front, epsilon = self._front(ctx, data, surrogates)
        # The norm is measured from a point that is better than all trials: otherwise points past
        # the ends of the front would never have the best norm.
        best = surrogates.lower_bounds(data.trials, kappa).min(axis=0)
        ideal = np.maximum(best - _IDEAL_MARGIN, data.floor)
        weights = self._weights(ctx, len(ideal), front, ideal)

        def values(batch: EncodedBatch) -> Array:
            bounds = surrogates.lower_bounds(batch, kappa)
            penalty = dominance_penalty(bounds, front, epsilon)
            # Points that the front dominates come last, however good their norm is.
            norm = augmented_tchebycheff(bounds - ideal, weights, self.settings.rho)
            return np.where(penalty < 0, norm, _DOMINATED + penalty)

        note = ModelBasedNote(kappa=kappa, objective_weights=tuple(weights.round(6).tolist()))
        return Acquisition(values, note)

    def _batch_weights(self, ctx: ProposalContext, m: int) -> Array:
        """Return the weights of this trial in its batch, as in the papers."""
        count = self.settings.batch_size
        batch, turn = divmod(max(0, ctx.trial_number - self._n_startup_trials(ctx.history)), count)
        rng = ctx.study_rng(_WEIGHT_STREAM + batch)
        return batch_weights(rng, count, m)[turn]

    @staticmethod
    def _weights(
        ctx: ProposalContext, m: int, front: Array | None = None, ideal: Array | None = None
    ) -> Array:
        """Return the weights: by the gaps of the front if one of two objectives is given."""
        offset = np.random.default_rng(ctx.seed).random(m - 1)
        weights = weight_vectors(ctx.trial_number + np.arange(_N_WEIGHT_DRAWS), m, offset)
        if front is not None and ideal is not None and m == 2:
            by_gap = gap_weights(front, ideal, weights[:, 1])
            weights = weights if by_gap is None else by_gap
        notes = ctx.history.running_notes(ModelBasedNote)
        running = filter(None, map(attrgetter("objective_weights"), notes))
        return most_distinct(weights, np.array(list(running)))
