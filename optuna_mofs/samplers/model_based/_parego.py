"""Several objectives on one scale, and as one number (ParEGO, Knowles 2006)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers._initial_design import _steps
from optuna_mofs.samplers.model_based._acquisition import (
    Criterion,
    LowerConfidenceBound,
    expected_improvement,
    penalty,
)
from optuna_mofs.samplers.model_based._sampler import Learned, ModelBasedSampler, SharedOptions
from optuna_mofs.samplers.model_based._training_data import EncodedBatch, TrainingData

#: Weight of the sum in the augmented Tchebycheff norm.
RHO = 0.05
#: Weight vectors drawn for each that is taken while other trials run.
_TOO_MANY = 10
#: No weights ask for what is closer to the ideal point than this.
_CLOSEST = 1e-3


def weight_vector(number: int, count: int, offset: Array) -> Array:
    """Weights of the objectives for a trial, on the simplex.

    The trials' weights follow an additive sequence (Kronecker with the generalized golden ratio),
    whose stretches of any length are spread evenly over the simplex. Trials that run side by side
    have numbers close to each other, hence weights apart from each other: the stratification of
    Horn et al. (2015) without asking who is running.

    Args:
        number: The trial's number.
        count: Number of objectives.
        offset: Where the sequence starts, ``count - 1`` numbers in [0, 1).

    Example:
        >>> weight_vector(0, 2, np.array([0.25])).tolist()
        [0.75, 0.25]
    """
    weights = np.ones(count)
    if count > 1:
        place = (offset + number * _steps(count - 1)) % 1.0
        # Breaking a stick: uniform on the simplex, and points that are apart stay apart.
        left = np.cumprod(place ** (1 / np.arange(count - 1, 0, -1)))
        weights[1:] = left
        weights[:-1] -= left
    return weights


def gap_weights(front: Array, ideal: Array, place: float) -> Array | None:
    """Weights that ask for a place of a front of two objectives, or None if it is but a point.

    On a front that is bent as that of two error rates, weights drawn evenly ask for its middle
    nearly all the time. Here the mass of a gap between neighbors is the square root of its area,
    the density of the points that cover most hypervolume (Auger et al. 2009), and the weights are
    those under which the point at that part of the mass has the least norm. The front is thought
    to go on to the ideal point's best value of each objective, or its ends would never be passed.

    Args:
        front: Non-dominated values, points × 2.
        ideal: Point from which the norm is measured.
        place: Part of the front's mass, in [0, 1).

    Example:
        >>> front = np.array([[0.0, 1.0], [0.1, 0.1], [1.0, 0.0]])
        >>> gap_weights(front, np.full(2, -0.1), 0.75).round(2).tolist()
        [0.14, 0.86]
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
    if not len(ends) or not ends[-1] > 0:
        return None
    gap = min(int(np.searchsorted(ends, place * ends[-1])), len(ends) - 1)
    inside = 1 - (ends[gap] - place * ends[-1]) / max(mass[gap], 1e-12)
    target = front[gap] + inside * sides[gap]
    weights = 1 / np.maximum(target - ideal, _CLOSEST)
    normed: Array = weights / weights.sum()
    return normed


def weights_apart(number: int, draw: Callable[[int], Array], running: Array) -> Array:
    """Weights of the objectives for a trial, apart from those of the trials that run now.

    Several times too many are drawn and the one furthest from its nearest neighbor is taken, as
    Horn et al. (2015) do for the points of a batch. With many objectives the sequence alone
    leaves neighbors too close.

    Args:
        number: The trial's number.
        draw: Weights of a number.
        running: Weights of running trials, trials × objectives.

    Example:
        >>> def draw(number):
        ...     return weight_vector(number, 2, np.array([0.25]))
        >>> weights_apart(0, draw, np.array([[0.75, 0.25]])).round(2).tolist()
        [0.04, 0.96]
    """
    if not len(running):
        return draw(number)
    drawn = np.array([draw(number + k) for k in range(_TOO_MANY)])
    apart = np.abs(drawn[:, None] - running).sum(axis=2).min(axis=1)
    furthest: Array = drawn[int(apart.argmax())]
    return furthest


def tchebycheff(values: Array, weights: Array, rho: float = RHO) -> Array:
    """Augmented Tchebycheff norm of scaled values: ``max(w y) + rho sum(w y)``.

    Example:
        >>> tchebycheff(np.array([[0.2, 0.8]]), np.array([0.5, 0.5]), rho=0.0).tolist()
        [0.4]
    """
    weighted = values * weights
    norm: Array = weighted.max(axis=1) + rho * weighted.sum(axis=1)
    return norm


#: Lambda on the norm's own surrogate (the authors' code on mixed spaces).
_PAPERS_CONFIDENCE = 2.0
#: How far the ideal point lies beyond the best bounds, on the scale of the better half.
_BEYOND = 0.2
#: More than the norm of any promise.
_BEHIND = 100.0


class ParEGOSampler(ModelBasedSampler):
    """Model-based search that turns several objectives into one, anew for each trial.

    Knowles (2006), on mixed and conditional spaces as Horn and Bischl (2016) do it, and with
    features as Binder et al. (2020), section 4.2: BO-MO-FE with ``representation="filter_ensemble"``,
    BO-MO with ``representation="single_filter"``, BO-SO and BO-SO-FE with a single measure.

    Each trial draws a weight vector and proposes what promises most by the augmented Tchebycheff
    norm under these weights. Trials that run at the same time have weights apart from each other.
    What was changed against the papers is in ``docs/samplers/model_based.md``.

    Args:
        criterion: ``"lcb"``, ``"ei"``, or a function of (mean, sd, best target), the lower the
            better. Only ``"lcb"`` can judge several surrogates; the others work on the norm's.
        model: What surrogates are fitted to. ``"objectives"``: to each objective; a candidate is
            judged by the norm of their confidence bounds, and comes last where the front dominates
            them. ``"norm"``: one to the norm of the finished trials, as the papers do.
        rho: Weight of the sum in the augmented Tchebycheff norm.
        **shared: What both samplers have: ``n_trials``, ``start_size``, ``surrogate``,
            ``confidence`` (2 by default with ``model="norm"``, where the authors' code takes 1 on
            numeric spaces, else 2), ``look_beyond`` (False with ``model="norm"``), ``search``,
            ``mask_search``, ``seed``; see :class:`ModelBasedSampler`.

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

    def __init__(
        self,
        *,
        criterion: str | Criterion = "lcb",
        model: str = "objectives",
        rho: float = RHO,
        **shared: Unpack[SharedOptions],
    ) -> None:
        if model == "norm":
            shared.setdefault("look_beyond", False)
            if shared.get("confidence") is None:
                shared["confidence"] = _PAPERS_CONFIDENCE
        super().__init__(**shared)
        if not callable(criterion) and criterion not in ("lcb", "ei"):
            raise ValueError(
                f"criterion must be 'lcb', 'ei' or a function of (mean, sd, best), "
                f"but is {criterion!r}."
            )
        if not rho >= 0:
            raise ValueError(f"rho must be at least 0, but is {rho}.")
        if model not in ("objectives", "norm"):
            raise ValueError(f"model must be 'objectives' or 'norm', but is {model!r}.")
        self.criterion = criterion
        self.model = model
        self.rho = rho

    def learn(self, view: TrainingData, rng: np.random.Generator, number: int) -> Learned:
        """The norm of all objectives' bounds, or the bound of the norm, under the trial's weights.

        If only some of the objectives need a model, the norm is always that of their bounds and of
        the exact values of the others.
        """
        criterion = self._criterion(view, number)
        m = view.values.shape[1]
        if isinstance(criterion, LowerConfidenceBound):
            if m > 1 and self.model == "objectives":
                return self._norm_of_bounds(view, rng, number, criterion)
            if len(view.unknown) < m:
                bounds, weights = self._bounds(view, rng), self._weights(view, number)
                memory = self._memory(weights, criterion)
                return (
                    lambda seen: tchebycheff(bounds(seen, criterion), weights, self.rho),
                    lambda seen: memory,
                )
        weights = self._weights(view, number)
        memory = self._memory(weights, criterion)
        targets = view.rescaled(tchebycheff(view.values, weights, self.rho))
        model, best = self._fitted(view, targets, rng), float(targets.min())
        return lambda seen: criterion(*model.predict(seen.X), best), lambda seen: memory

    def _norm_of_bounds(
        self,
        view: TrainingData,
        rng: np.random.Generator,
        number: int,
        bound: LowerConfidenceBound,
    ) -> Learned:
        bounds = self._bounds(view, rng)
        front, epsilon = self._front(view, bounds)
        # The norm measures from a point that is better than all: else what lies beyond the ends
        # of the front would never be worth its price.
        ideal = np.maximum(bounds(view.seen, bound).min(axis=0) - _BEYOND, view.floor)
        weights = self._weights(view, number, front, ideal)
        memory = self._memory(weights, bound)

        def promise(seen: EncodedBatch) -> Array:
            found = bounds(seen, bound)
            behind = penalty(found, front, epsilon)
            # What the front dominates comes after all else, however well it suits the weights.
            norm = tchebycheff(found - ideal, weights, self.rho)
            return np.where(behind < 0, norm, _BEHIND + behind)

        return promise, lambda seen: memory

    def _weights(
        self,
        view: TrainingData,
        number: int,
        front: Array | None = None,
        ideal: Array | None = None,
    ) -> Array:
        """The trial's weights: by the gaps of the front if it is given and of two objectives."""
        m = view.values.shape[1]
        offset = np.random.default_rng(self.study_seed).random(m - 1)

        def draw(number: int) -> Array:
            even = weight_vector(number, m, offset)
            if front is None or ideal is None or m != 2:
                return even
            found = gap_weights(front, ideal, float(even[1]))
            return even if found is None else found

        notes = view.history.running_notes
        running = [n["objective_weights"] for n in notes if "objective_weights" in n]
        return weights_apart(number, draw, np.array(running))

    @staticmethod
    def _memory(weights: Array, criterion: Criterion) -> dict[str, Any]:
        memory: dict[str, Any] = {"objective_weights": weights.round(6).tolist()}
        if isinstance(criterion, LowerConfidenceBound):
            memory["confidence"] = criterion.weight
        return memory

    def _criterion(self, view: TrainingData, number: int) -> Criterion:
        if callable(self.criterion):
            return self.criterion
        return expected_improvement if self.criterion == "ei" else self._bound(view, number)
