"""ParEGOSampler and SMSEGOSampler: assemblies of the steps beside them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypedDict, Unpack

import moocore
import numpy as np

from optuna_mofs.features.table import Array
from optuna_mofs.history import History
from optuna_mofs.samplers.base import HistorySampler, Proposal
from optuna_mofs.samplers.model_based.choice import best_candidate
from optuna_mofs.samplers.model_based.gain import gain, penalty, tolerance
from optuna_mofs.samplers.model_based.infill import (
    Criterion,
    LowerConfidenceBound,
    expected_improvement,
)
from optuna_mofs.samplers.model_based.masks import MaskSearch
from optuna_mofs.samplers.model_based.scalarise import (
    RHO,
    sequence,
    tchebycheff,
    weights_apart,
)
from optuna_mofs.samplers.model_based.search import InfillSearch
from optuna_mofs.samplers.model_based.start import FirstConfigurations
from optuna_mofs.samplers.model_based.surrogates import Surrogate, surrogate_factory
from optuna_mofs.samplers.model_based.view import Seen, View

#: Lambda on the norm's own surrogate (the authors' code on mixed spaces).
_PAPERS_CONFIDENCE = 2.0
#: How far the ideal point lies beyond the best bounds, on the scale of the better half.
_BEYOND = 0.2
#: More than the norm of any promise.
_BEHIND = 100.0

#: What a sampler that has learned says of candidates: what they promise (the lower the better),
#: and what the chosen one shall remember.
Learned = tuple[Callable[[Seen], Array], Callable[[Seen], dict[str, Any]]]


class SharedOptions(TypedDict, total=False):
    """Arguments of :class:`ModelBasedSampler`, for subclasses that pass them on."""

    n_trials: int | None
    start_size: int | None
    surrogate: Any
    confidence: float | None
    search: InfillSearch | None
    mask_search: MaskSearch | None
    seed: int | None


class ModelBasedSampler(HistorySampler):
    """A start that is spread over the space, then the best promise of a surrogate.

    Subclasses implement :meth:`learn`.

    Args:
        n_trials: Number of trials planned, if known: a small budget gets a shorter start.
        start_size: Finished trials before the first model; by default 4 for each parameter, 8 to
            24.
        surrogate: ``"auto"`` (Kriging on spaces of few columns, else a forest),
            ``"forest"``, ``"kriging"``, a scikit-learn regressor that says how sure it is, or a
            function that makes a model with ``fit(X, y)`` and ``predict(X) -> (mean, sd)``.
        confidence: Lambda of the confidence bound; by default the class's own.
        search: Effort of the search for the best promise.
        mask_search: The same for masks.
        seed: Seed; if None, one is drawn and kept in the study.
    """

    #: Lambda of the confidence bound where none is given.
    default_confidence: ClassVar[float]

    def __init__(
        self,
        *,
        n_trials: int | None = None,
        start_size: int | None = None,
        surrogate: Any = "auto",
        confidence: float | None = None,
        search: InfillSearch | None = None,
        mask_search: MaskSearch | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        for name, value in (("n_trials", n_trials), ("start_size", start_size)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, but is {value}.")
        self.n_trials = n_trials
        self.start_size = start_size
        self.surrogate = surrogate
        self.confidence = self.default_confidence if confidence is None else confidence
        if not self.confidence >= 0:
            raise ValueError(f"confidence must be at least 0, but is {confidence}.")
        self.search = search or InfillSearch()
        self.mask_search = mask_search or MaskSearch()
        surrogate_factory(surrogate)  # refuses what is none

    @abstractmethod
    def learn(self, view: View, rng: np.random.Generator, number: int) -> Learned:
        """Fit surrogates to the history.

        Args:
            view: The history.
            rng: Generator.
            number: The trial's number.
        """

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
        infill, explain = self.learn(view, np.random.default_rng([seed, number, 2**20]), number)
        found = best_candidate(view, rng, infill, self.search, self.mask_search)
        if found is None:
            return first.random(rng)
        proposal, seen = found
        proposal.memory.update(explain(seen))
        return proposal

    def _first_count(self, history: History) -> int:
        if self.start_size is not None:
            return self.start_size
        d = len(history.space) + (0 if history.table is None else 4)
        size = int(np.clip(4 * d, 8, 24))
        return size if self.n_trials is None else max(4, min(size, self.n_trials // 3))

    def _fitted(self, view: View, targets: Array, rng: np.random.Generator) -> Surrogate:
        make = surrogate_factory(self.surrogate)
        X = view.seen.X
        return make(X.shape[1], view.masked, rng).fit(X, targets)

    def _bounds(
        self, view: View, rng: np.random.Generator
    ) -> Callable[[Seen, LowerConfidenceBound], Array]:
        """Bounds of all objectives: one surrogate for each that is not exactly known."""
        models = {j: self._fitted(view, view.values[:, j], rng) for j in view.unknown}
        # The trials are asked for twice: for the front, and for the best to start from.
        of_trials = {j: model.predict(view.seen.X) for j, model in models.items()}

        def bounds(seen: Seen, bound: LowerConfidenceBound) -> Array:
            found = seen.exact.copy()
            for j, model in models.items():
                at = of_trials[j] if seen is view.seen else model.predict(seen.X)
                found[:, j] = np.maximum(bound(*at, 0.0), view.floor[j])
            return found

        return bounds

    def _front(
        self, view: View, bounds: Callable[[Seen, LowerConfidenceBound], Array]
    ) -> tuple[Array, Array]:
        """Scaled values of the front as the surrogates see it, and the penalty's tolerance.

        Values of cross-validation are rough: the best of them are lucky. No bound reaches a lucky
        front, and the search would turn to whatever is penalised least, such as a plateau at one
        end of it (Koch et al. 2015). The bounds of running trials count.
        """
        points = view.front(bounds(view.seen, LowerConfidenceBound(0.0)))
        running = [note["bounds"] for note in view.history.running_notes if "bounds" in note]
        if running:
            points = np.concatenate([points, view.scale.linear(np.array(running))])
        front: Array = moocore.filter_dominated(points)
        done = len(view.values)
        left = done if self.n_trials is None else max(0, self.n_trials - done)
        return front, tolerance(front, left)

    def _bound(self, view: View, number: int) -> LowerConfidenceBound:
        """The confidence bound; workers on one objective differ in courage.

        Their lambdas are exponential with the same mean (Hutter et al. 2012).
        """
        weight = self.confidence
        if view.values.shape[1] == 1 and view.history.running_notes:
            offset = float(np.random.default_rng(self.study_seed).random())
            weight *= -np.log1p(-min(sequence(number, offset), 0.999))
        return LowerConfidenceBound(float(weight))


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
            ``confidence`` (by default 0.5; 2 with ``model="norm"``, where the authors' code takes
            1 on numeric spaces, else 2), ``search``, ``mask_search``, ``seed``; see
            :class:`ModelBasedSampler`.

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

    default_confidence = 0.5

    def __init__(
        self,
        *,
        criterion: str | Criterion = "lcb",
        model: str = "objectives",
        rho: float = RHO,
        **shared: Unpack[SharedOptions],
    ) -> None:
        if shared.get("confidence") is None and model == "norm":
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
        weights = self._weights(view, number)
        criterion = self._criterion(view, number)
        memory: dict[str, Any] = {"objective_weights": weights.round(6).tolist()}
        if isinstance(criterion, LowerConfidenceBound):
            memory["confidence"] = criterion.weight
            several = len(weights) > 1 and self.model == "objectives"
            if several or len(view.unknown) < len(weights):
                return self._norm_of_bounds(view, rng, weights, criterion, memory)
        targets = view.rescaled(tchebycheff(view.values, weights, self.rho))
        model, best = self._fitted(view, targets, rng), float(targets.min())
        return lambda seen: criterion(*model.predict(seen.X), best), lambda seen: memory

    def _norm_of_bounds(
        self,
        view: View,
        rng: np.random.Generator,
        weights: Array,
        bound: LowerConfidenceBound,
        memory: dict[str, Any],
    ) -> Learned:
        bounds = self._bounds(view, rng)
        if self.model == "norm":
            return (
                lambda seen: tchebycheff(bounds(seen, bound), weights, self.rho),
                lambda seen: memory,
            )
        front, epsilon = self._front(view, bounds)
        # The norm measures from a point that is better than all: else what lies beyond the ends
        # of the front would never be worth its price.
        ideal = np.maximum(bounds(view.seen, bound).min(axis=0) - _BEYOND, view.floor)

        def promise(seen: Seen) -> Array:
            found = bounds(seen, bound)
            behind = penalty(found, front, epsilon)
            # What the front dominates comes after all else, however well it suits the weights.
            norm = tchebycheff(found - ideal, weights, self.rho)
            return np.where(behind < 0, norm, _BEHIND + behind)

        return promise, lambda seen: memory

    def _weights(self, view: View, number: int) -> Array:
        m = view.values.shape[1]
        offset = np.random.default_rng(self.study_seed).random(m - 1)
        notes = view.history.running_notes
        running = [n["objective_weights"] for n in notes if "objective_weights" in n]
        return weights_apart(number, m, offset, np.array(running))

    def _criterion(self, view: View, number: int) -> Criterion:
        if callable(self.criterion):
            return self.criterion
        return expected_improvement if self.criterion == "ei" else self._bound(view, number)


class SMSEGOSampler(ModelBasedSampler):
    """Model-based search that takes the step with the largest gain of hypervolume.

    Ponweiser et al. (2008), on mixed and conditional spaces as Horn and Bischl (2016) do it: one
    surrogate an objective; the gain in hypervolume of a candidate's confidence bounds, with a
    penalty for those that the front dominates or nearly does. The gain is exact for two and three
    objectives, estimated for more. Trials that run at the same time count with their bounds, so
    that workers do not crowd one place of the front. What was changed against the papers is in
    ``docs/samplers/model_based.md``.

    Args:
        **shared: See :class:`ModelBasedSampler`. ``confidence`` is 0.5 by default (the authors'
            code: 1). With ``n_trials`` the tolerance of the penalty shrinks towards the end;
            without it as many trials are thought to be left as are finished.

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

    default_confidence = 0.5

    def learn(self, view: View, rng: np.random.Generator, number: int) -> Learned:
        """One surrogate an objective, but for those that are exactly known."""
        bounds = self._bounds(view, rng)
        bound = self._bound(view, number)
        if view.values.shape[1] == 1:
            return lambda seen: bounds(seen, bound)[:, 0], lambda seen: {
                "confidence": bound.weight
            }
        front, epsilon = self._front(view, bounds)
        reference = view.reference()
        return (
            lambda seen: -gain(bounds(seen, bound), front, reference, epsilon),
            lambda seen: {"bounds": view.scale.raw(bounds(seen, bound)[0]).tolist()},
        )
