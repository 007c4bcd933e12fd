"""ParEGOSampler."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers.model_based.gain import penalty
from optuna_mofs.samplers.model_based.infill import (
    Criterion,
    LowerConfidenceBound,
    expected_improvement,
)
from optuna_mofs.samplers.model_based.sampler import Learned, ModelBasedSampler, SharedOptions
from optuna_mofs.samplers.model_based.scalarise import (
    RHO,
    gap_weights,
    tchebycheff,
    weight_vector,
    weights_apart,
)
from optuna_mofs.samplers.model_based.view import Seen, View

#: Lambda on the norm's own surrogate (the authors' code on mixed spaces).
_PAPERS_CONFIDENCE = 2.0
#: How far the ideal point lies beyond the best bounds, on the scale of the better half.
_BEYOND = 0.2
#: More than the norm of any promise.
_BEHIND = 100.0


class ParEGOSampler(ModelBasedSampler):
    """Model-based search that turns several objectives into one, anew for each trial.

    Knowles (2006), on mixed and conditional spaces as Horn and Bischl (2016) do it, and with
    features as Binder et al. (2020), section 4.2: BO-MO-FE with ``features="filter_ensemble"``,
    BO-MO with ``features="single_filter"``, BO-SO and BO-SO-FE with a single measure.

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

    def learn(self, view: View, rng: np.random.Generator, number: int) -> Learned:
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
        self, view: View, rng: np.random.Generator, number: int, bound: LowerConfidenceBound
    ) -> Learned:
        bounds = self._bounds(view, rng)
        front, epsilon = self._front(view, bounds)
        # The norm measures from a point that is better than all: else what lies beyond the ends
        # of the front would never be worth its price.
        ideal = np.maximum(bounds(view.seen, bound).min(axis=0) - _BEYOND, view.floor)
        weights = self._weights(view, number, front, ideal)
        memory = self._memory(weights, bound)

        def promise(seen: Seen) -> Array:
            found = bounds(seen, bound)
            behind = penalty(found, front, epsilon)
            # What the front dominates comes after all else, however well it suits the weights.
            norm = tchebycheff(found - ideal, weights, self.rho)
            return np.where(behind < 0, norm, _BEHIND + behind)

        return promise, lambda seen: memory

    def _weights(
        self, view: View, number: int, front: Array | None = None, ideal: Array | None = None
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

    def _criterion(self, view: View, number: int) -> Criterion:
        if callable(self.criterion):
            return self.criterion
        return expected_improvement if self.criterion == "ei" else self._bound(view, number)
