"""What ParEGOSampler and SMSEGOSampler share: an assembly of the steps beside it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypedDict

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import (
    sample_ensemble_mask,
    sample_geometric_mask,
    sample_prefix_mask,
    sample_wide_mask,
    simplex_weights,
)
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import ConditionalParameters
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.samplers._encoding import InputWarping
from optuna_mofs.samplers._gaussian_process import Kriging
from optuna_mofs.samplers._initial_design import latin_hypercube, sequence, thinned_design
from optuna_mofs.samplers.model_based._acquisition import (
    Bounds,
    LargerSetAcquisition,
    LowerConfidenceBound,
    is_look,
    tolerance,
)
from optuna_mofs.samplers.model_based._candidates import best_candidate
from optuna_mofs.samplers.model_based._search import InfillSearch, MaskSearch
from optuna_mofs.samplers.model_based._surrogates import Surrogate, get_surrogate
from optuna_mofs.samplers.model_based._training_data import (
    EncodedBatch,
    TrainingData,
    objective_scales,
)

#: Lambda of the confidence bound. Changing weights and gaps explore enough, but for feature sets:
#: of these there are so many that a search could stay with the first good ones.
_CONFIDENCE, _CONFIDENCE_OF_SETS = 0.25, 1.0
#: What a sampler that has learned says of candidates: what they promise (the lower the better),
#: and what the chosen one shall remember.
Learned = tuple[Callable[[EncodedBatch], Array], Callable[[EncodedBatch], dict[str, Any]]]


class SharedOptions(TypedDict, total=False):
    """Arguments of :class:`ModelBasedSampler`, for subclasses that pass them on."""

    n_trials: int | None
    start_size: int | None
    surrogate: Any
    confidence: float | None
    look_beyond: bool
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
        confidence: Lambda of the confidence bound; by default 1 if the surrogate sees feature sets
            (the authors' code on numeric spaces), else 0.25.
        look_beyond: Whether some trials look at larger feature sets than those of the front; see
            :class:`~optuna_mofs.samplers.model_based._acquisition.LargerSetAcquisition`. It needs the number of
            features among the objectives.
        search: Effort of the search for the best promise.
        mask_search: The same for masks.
        seed: Seed; if None, one is drawn and kept in the study.
    """

    def __init__(
        self,
        *,
        n_trials: int | None = None,
        start_size: int | None = None,
        surrogate: Any = "auto",
        confidence: float | None = None,
        look_beyond: bool = True,
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
        if confidence is not None and not confidence >= 0:
            raise ValueError(f"confidence must be at least 0, but is {confidence}.")
        self.confidence = confidence
        self.look_beyond = look_beyond
        self.search = search or InfillSearch()
        self.mask_search = mask_search or MaskSearch()
        get_surrogate(surrogate)  # refuses what is none

    @abstractmethod
    def learn(self, view: TrainingData, rng: np.random.Generator, number: int) -> Learned:
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
        view = TrainingData(history, self.kept, self.surrogate)
        if view.exhausted:
            return first.random(rng)
        proposal = self._beyond(view, rng, number, number - first.count)
        if proposal is not None:
            return proposal
        infill, explain = self.learn(view, self._model_rng(number), number)
        found = best_candidate(view, rng, infill, self.search, self.mask_search)
        if found is None:
            return first.random(rng)
        proposal, seen = found
        proposal.memory.update(explain(seen))
        return proposal

    def _beyond(
        self, view: TrainingData, rng: np.random.Generator, number: int, step: int
    ) -> Proposal | None:
        """A larger feature set than those of the front, if it is time for one."""
        if not (self.look_beyond and is_look(step) and LargerSetAcquisition.is_possible(view)):
            return None
        bounds = self._bounds(view, self._model_rng(number))
        look = LargerSetAcquisition(view, bounds, self._bound(view, number), sequence(number, 0.5))
        found = best_candidate(view, rng, look, self.search, self.mask_search)
        if found is None or not look.is_worth_it(step, found[1]):
            return None
        proposal, _ = found
        proposal.memory["beyond"] = list(look.sizes)
        return proposal

    def _model_rng(self, number: int) -> np.random.Generator:
        # Of the trial, not of the attempt: an attempt that gave a clone is not worth a new model.
        return np.random.default_rng([self.study_seed, number, 2**20])

    def _first_count(self, history: History) -> int:
        if self.start_size is not None:
            return self.start_size
        d = len(history.space) + (0 if history.table is None else 4)
        size = int(np.clip(4 * d, 8, 24))
        return size if self.n_trials is None else max(4, min(size, self.n_trials // 3))

    def _fitted(
        self,
        view: TrainingData,
        targets: Array,
        rng: np.random.Generator,
        scales: Array | None = None,
    ) -> Surrogate:
        model: Surrogate
        if view.kriging:
            model = Kriging(view.together, scales)
        else:
            model = get_surrogate(self.surrogate)(rng)
        order = view.best_first
        return model.fit(view.seen.X[order], targets[order])

    def _bounds(self, view: TrainingData, rng: np.random.Generator) -> Bounds:
        """Bounds of all objectives: one surrogate for each that is not exactly known."""
        scales = objective_scales(view, self.kept) if view.kriging else {}
        models = {
            j: self._fitted(view, view.values[:, j], rng, scales.get(j)) for j in view.unknown
        }
        # The trials are asked for twice: for the front, and for the best to start from.
        of_trials = {j: model.predict(view.seen.X) for j, model in models.items()}

        def bounds(seen: EncodedBatch, bound: LowerConfidenceBound) -> Array:
            found = seen.exact.copy()
            for j, model in models.items():
                at = of_trials[j] if seen is view.seen else model.predict(seen.X)
                found[:, j] = np.maximum(bound(*at, 0.0), view.floor[j])
            return found

        return bounds

    def _front(self, view: TrainingData, bounds: Bounds) -> tuple[Array, Array]:
        """Scaled values of the front as the surrogates see it, and the penalty's tolerance.

        Values of cross-validation are rough: the best of them are lucky. No bound reaches a lucky
        front, and the search would turn to whatever is penalized least, such as a plateau at one
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

    def _bound(self, view: TrainingData, number: int) -> LowerConfidenceBound:
        """The confidence bound; workers on one objective differ in courage.

        Their lambdas are exponential with the same mean (Hutter et al. 2012).
        """
        weight = self.confidence
        if weight is None:
            weight = _CONFIDENCE_OF_SETS if view.together else _CONFIDENCE
        if view.values.shape[1] == 1 and view.history.running_notes:
            offset = float(np.random.default_rng(self.study_seed).random())
            weight *= -np.log1p(-min(sequence(number, offset), 0.999))
        return LowerConfidenceBound(float(weight))


#: How first masks are made, in turn.
_MASKS = (sample_ensemble_mask, sample_prefix_mask, sample_geometric_mask, sample_wide_mask)


class FirstConfigurations:
    """Trial ``n`` takes point ``n`` of a design that all trials of the study share.

    Args:
        history: What is known.
        count: Points of the design.
        seed: Of the study.
        kept: Keeps the design from trial to trial.
    """

    def __init__(
        self,
        history: History,
        count: int,
        seed: int,
        kept: Callable[[str, Callable[[], Any]], Any],
    ) -> None:
        self.count = count
        self._history = history
        self._seed = seed
        self._kept = kept

    def __call__(self, rng: np.random.Generator, number: int) -> Proposal:
        """The configuration of a trial; a random one if the design has no other left."""
        rows = self._design()
        proposal = self._with_mask(rng, rows[number % len(rows)], number, "start")
        if number >= len(rows) or self._is_known(proposal):
            return self.random(rng, number)
        return proposal

    def random(self, rng: np.random.Generator, number: int = 0) -> Proposal:
        """A random configuration."""
        history = self._history
        row = self._activity().apply(history.space.sample(rng))[0]
        return self._with_mask(rng, row, number, "random")

    def _activity(self) -> ConditionalParameters:
        history = self._history
        return ConditionalParameters(history.space, history.rows, history.active_if)

    def _design(self) -> Array:
        space = self._history.space
        activity = self._activity()
        key = f"design {self.count} {space.distributions!r} {activity.signature!r}"

        def make() -> Array:
            rng = np.random.default_rng([self._seed, 2**21])
            if not space.categorical.any() and not activity.conditional:
                rows = space.from_unit(latin_hypercube(rng, self.count, len(space)))
            else:
                rows = thinned_design(
                    rng,
                    lambda rng, count: activity.apply(space.sample(rng, count)),
                    space.categorical,
                    self.count,
                )
            warp = InputWarping(space.names, self._history.described)
            return warp.back(warp.with_none(rows))

        rows: Array = self._kept(key, make)
        return rows

    def _with_mask(
        self, rng: np.random.Generator, row: Array, number: int, operator: str
    ) -> Proposal:
        table = self._history.table
        if table is None:
            return Proposal(row, None, operator)
        recipe = _MASKS[number % len(_MASKS)]
        filters = len(table.filters)
        weights = simplex_weights(rng, filters) if filters else np.zeros(0)
        return Proposal(row, recipe(rng, table, weights), recipe.__name__)

    def _is_known(self, proposal: Proposal) -> bool:
        history = self._history
        return history.table is None and history.contains_params(
            history.space.decode(proposal.row)
        )
