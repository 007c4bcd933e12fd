"""ParEGOSampler and SMSEGOSampler: assemblies of the steps beside them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import moocore
import numpy as np

from optuna_mofs.features.table import Array
from optuna_mofs.history import History
from optuna_mofs.samplers.base import HistorySampler, Proposal
from optuna_mofs.samplers.model_based.gain import gain, tolerance
from optuna_mofs.samplers.model_based.infill import (
    Criterion,
    LowerConfidenceBound,
    expected_improvement,
)
from optuna_mofs.samplers.model_based.masks import MaskSearch
from optuna_mofs.samplers.model_based.scalarise import (
    RHO,
    guided_weights,
    sequence,
    tchebycheff,
    weight_vector,
)
from optuna_mofs.samplers.model_based.search import InfillSearch
from optuna_mofs.samplers.model_based.start import FirstConfigurations
from optuna_mofs.samplers.model_based.surrogates import surrogate_factory
from optuna_mofs.samplers.model_based.view import View, best_candidate

#: What a fitted sampler says of candidates: scores of encoded rows (the lower the better), and
#: what the chosen one shall remember.
Fitted = tuple[Callable[[Array], Array], Callable[[Array], dict[str, Any]]]


class _ModelBasedSampler(HistorySampler):
    """A start that is spread over the space, then the best promise of a surrogate."""

    def __init__(
        self,
        *,
        n_trials: int | None,
        start_size: int | None,
        surrogate: Any,
        confidence: float,
        search: InfillSearch | None,
        mask_search: MaskSearch | None,
        seed: int | None,
    ) -> None:
        super().__init__(seed=seed)
        for name, value in (("n_trials", n_trials), ("start_size", start_size)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, but is {value}.")
        if not confidence >= 0:
            raise ValueError(f"confidence must be at least 0, but is {confidence}.")
        surrogate_factory(surrogate)  # refuses what is none
        self.n_trials = n_trials
        self.start_size = start_size
        self.surrogate = surrogate
        self.confidence = confidence
        self.search = search or InfillSearch()
        self.mask_search = mask_search or MaskSearch()

    @abstractmethod
    def _fit(self, view: View, rng: np.random.Generator, number: int) -> Fitted:
        """Learn from the history."""

    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        """A configuration of the start, or the one that promises most."""
        seed = self.study_seed
        first = FirstConfigurations(history, self._first_count(history), seed, self.kept)
        if len(history) < first.count or not history.distributions:
            return first(rng, number)
        view = View(history, self.kept)
        if view.exhausted:
            return first.random(rng)
        # Of the trial, not of the attempt: an attempt that gave a clone is not worth a new model.
        score, explain = self._fit(view, np.random.default_rng([seed, number, 2**20]), number)
        found = best_candidate(view, rng, score, self.search, self.mask_search)
        if found is None:
            return first.random(rng)
        proposal, x = found
        proposal.memory.update(explain(x))
        return proposal

    def _first_count(self, history: History) -> int:
        if self.start_size is not None:
            return self.start_size
        d = len(history.space) + (0 if history.table is None else 4)
        size = int(np.clip(4 * d, 8, 32))
        return size if self.n_trials is None else max(4, min(size, self.n_trials // 3))

    def _weight_of_sd(self, view: View, number: int) -> float:
        """Lambda of the confidence bound; spread over workers if they have but one objective."""
        weight = self.confidence
        if view.values.shape[1] == 1 and view.history.running_notes:
            # Exponential with the same mean (Hutter et al. 2012): workers differ in courage.
            offset = float(np.random.default_rng(self.study_seed).random())
            weight *= -np.log1p(-min(sequence(number, offset), 0.999))
        return float(weight)


class ParEGOSampler(_ModelBasedSampler):
    """Model-based search that turns several objectives into one, anew for each trial.

    Knowles (2006), on mixed and conditional spaces as Horn and Bischl (2016) do it, and with
    features as Binder et al. (2020), section 4.2: BO-MO-FE with ``features="filter_ensemble"``,
    BO-MO with ``features="single_filter"``, BO-SO and BO-SO-FE with a single measure.

    Each trial draws a weight vector, fits one surrogate to the augmented Tchebycheff norm of the
    finished trials and proposes what promises most. Trials that run at the same time have weights
    apart from each other. What was changed against the papers is in
    ``docs/samplers/model_based.md``.

    Args:
        n_trials: Number of trials planned, if known: a small budget gets a shorter start.
        start_size: Finished trials before the first model; by default 4 for each parameter, 8 to
            32.
        surrogate: ``"auto"`` (Kriging on spaces of few columns, else a forest),
            ``"forest"``, ``"kriging"``, a scikit-learn regressor that says how sure it is, or a
            function that makes a model with ``fit(X, y)`` and ``predict(X) -> (mean, sd)``.
        criterion: ``"lcb"``, ``"ei"``, or a function of (mean, sd, best target), the lower the
            better.
        confidence: Lambda of the confidence bound (the authors' code: 1 on numeric spaces, else
            2).
        rho: Weight of the sum in the augmented Tchebycheff norm.
        weights: ``"uniform"`` on the simplex as in the papers, or ``"guided"``: of two objectives
            more often those that ask for a stretch of the front which holds much hypervolume.
        search: Effort of the search for the best promise.
        mask_search: The same for masks.
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

    def __init__(
        self,
        *,
        n_trials: int | None = None,
        start_size: int | None = None,
        surrogate: Any = "auto",
        criterion: str | Criterion = "lcb",
        confidence: float = 1.0,
        rho: float = RHO,
        weights: str = "guided",
        search: InfillSearch | None = None,
        mask_search: MaskSearch | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            n_trials=n_trials,
            start_size=start_size,
            surrogate=surrogate,
            confidence=confidence,
            search=search,
            mask_search=mask_search,
            seed=seed,
        )
        if not callable(criterion) and criterion not in ("lcb", "ei"):
            raise ValueError(
                f"criterion must be 'lcb', 'ei' or a function of (mean, sd, best), "
                f"but is {criterion!r}."
            )
        if not rho >= 0:
            raise ValueError(f"rho must be at least 0, but is {rho}.")
        if weights not in ("guided", "uniform"):
            raise ValueError(f"weights must be 'guided' or 'uniform', but is {weights!r}.")
        self.criterion = criterion
        self.rho = rho
        self.weights = weights

    def _fit(self, view: View, rng: np.random.Generator, number: int) -> Fitted:
        m = view.values.shape[1]
        offset = np.random.default_rng(self.study_seed).random(max(1, m - 1))
        if m == 2 and self.weights == "guided":
            place = sequence(number, float(offset[0]))
            weights = guided_weights(place, view.front())
        else:
            weights = weight_vector(number, m, offset)
        targets = tchebycheff(view.scaled, weights, self.rho)
        model = surrogate_factory(self.surrogate)(view.X.shape[1], view.masked, rng)
        model.fit(view.X, targets)
        criterion = self._criterion(view, number)
        best = float(targets.min())
        memory: dict[str, Any] = {"objective_weights": weights.round(6).tolist()}
        if isinstance(criterion, LowerConfidenceBound):
            memory["confidence"] = criterion.weight
        return lambda X: criterion(*model.predict(X), best), lambda x: memory

    def _criterion(self, view: View, number: int) -> Criterion:
        if callable(self.criterion):
            return self.criterion
        if self.criterion == "ei":
            return expected_improvement
        return LowerConfidenceBound(self._weight_of_sd(view, number))


class SMSEGOSampler(_ModelBasedSampler):
    """Model-based search that takes the step with the largest gain of hypervolume.

    Ponweiser et al. (2008), on mixed and conditional spaces as Horn and Bischl (2016) do it: one
    surrogate an objective; the gain in hypervolume of a candidate's confidence bounds, with a
    penalty for those that the front dominates or nearly does. The gain is exact for two and three
    objectives, estimated for more. Trials that run at the same time count with their bounds, so
    that workers do not crowd one place of the front. What was changed against the papers is in
    ``docs/samplers/model_based.md``.

    Args:
        n_trials: Number of trials planned, if known: a small budget gets a shorter start, and the
            tolerance of the penalty shrinks towards the end. Without it as many trials are
            thought to be left as are finished.
        start_size: Finished trials before the first model; by default 4 for each parameter, 8 to
            32.
        surrogate: As for :class:`ParEGOSampler`.
        confidence: Lambda of the confidence bounds (the authors' code: 1).
        search: Effort of the search for the best promise.
        mask_search: The same for masks.
        seed: Seed; if None, one is drawn and kept in the study.

    Example:
        >>> import optuna
        >>> from optuna_mofs import SMSEGOSampler
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     x = trial.suggest_float("x", -4, 4)
        ...     return (x - 1) ** 2, (x + 1) ** 2
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=SMSEGOSampler(seed=0)
        ... )
        >>> study.optimize(objective, n_trials=14)
        >>> len(study.best_trials) >= 4
        True
    """

    def __init__(
        self,
        *,
        n_trials: int | None = None,
        start_size: int | None = None,
        surrogate: Any = "auto",
        confidence: float = 0.5,
        search: InfillSearch | None = None,
        mask_search: MaskSearch | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            n_trials=n_trials,
            start_size=start_size,
            surrogate=surrogate,
            confidence=confidence,
            search=search,
            mask_search=mask_search,
            seed=seed,
        )

    def _fit(self, view: View, rng: np.random.Generator, number: int) -> Fitted:
        m = view.values.shape[1]
        make = surrogate_factory(self.surrogate)
        models = [
            make(view.X.shape[1], view.masked, rng).fit(view.X, view.scaled[:, j])
            for j in range(m)
        ]
        bound = LowerConfidenceBound(self._weight_of_sd(view, number))

        def bounds(X: Array) -> Array:
            return np.column_stack([bound(*model.predict(X), 0.0) for model in models])

        if m == 1:
            return lambda X: bounds(X)[:, 0], lambda x: {"confidence": bound.weight}
        front = self._front(view)
        reference = view.reference()
        left = len(view.values) if self.n_trials is None else self.n_trials - number
        epsilon = tolerance(front, max(0, left))

        def explain(x: Array) -> dict[str, Any]:
            return {"bounds": view.scale.raw(bounds(x)[0]).tolist()}

        return lambda X: -gain(bounds(X), front, reference, epsilon), explain

    def _front(self, view: View) -> Array:
        """Scaled values of the front, with the bounds of what is running."""
        points = view.front()
        running = [note["bounds"] for note in view.history.running_notes if "bounds" in note]
        if running:
            points = np.concatenate([points, view.scale.linear(np.array(running))])
        front: Array = moocore.filter_dominated(points)
        return front
