"""LexiFlowSampler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._optuna import distribution_contains
from optuna_mofs._typing import Array
from optuna_mofs._validation import check_int, check_type, did_you_mean
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._initial_design import design_row, latin_hypercube, sample_mask
from optuna_mofs.samplers.lexiflow._acquisition import propose_candidate
from optuna_mofs.samplers.lexiflow._directions import (
    MASK_SAMPLERS,
    DirectSearch,
    EuclideanSpace,
    low_cost_row,
    restart_row,
)
from optuna_mofs.samplers.lexiflow._local_search import (
    LexiFlowSettings,
    LocalSearchReplay,
    LocalSearchState,
)

#: Stream of the generator of the initial design; those of trials have their numbers.
_DESIGN_STREAM = 2**31
_DEFAULTS = LexiFlowSettings()


class LexiFlowSampler(HistorySampler):
    """Randomized direct search for the best trial of a lexicographic preference.

    Zhang et al. (2023), *Targeted hyperparameter optimization with lexicographic preferences over
    multiple objectives* (ICLR), Algorithm 1; :meth:`from_paper` is the paper's algorithm. The
    search steps from an incumbent in random directions, of which a surrogate model selects the
    most promising one, and moves to every trial that the preference ranks higher. The step size
    shrinks while nothing improves, until the search restarts. ``docs/samplers/lexiflow.md``
    explains how categories and masks are moved and what differs from the paper.

    It works with any objective. Parallel workers follow different directions from the same
    incumbent. The result is ``preference.best(study)``.

    Args:
        preference: Priorities, tolerances and goals; by default the metrics in their order.
        low_cost_partial_config: Parameter values known to be cheap: the first trial, around which
            the rest of the initial design and all restarts are drawn. Other parameters are
            random.
        n_startup_trials: Completed trials before the first direction, which starts from the best
            of them.
        n_candidates: Number of candidates among which a model of the completed trials selects; a
            quarter of it in studies with masks. 0 for no model, as in the paper: a random
            direction is tried, then the opposite one.
        settings: Further settings.
        seed: Seed; if None, one is drawn and kept in the study.

    Example:
        Find the smallest ``y`` among trials whose loss is within 0.1 of the best:

        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> preference = LexicographicPreference(tolerances=[0.1, 0])
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=LexiFlowSampler(preference, seed=0)
        ... )
        >>> def objective(trial):
        ...     x, y = trial.suggest_float("x", -1, 1), trial.suggest_float("y", 0, 1)
        ...     return x**2 + (y - 0.5) ** 2, y
        >>> study.optimize(objective, n_trials=60)
        >>> preference.best(study).values[1] < 0.3
        True
    """

    def __init__(
        self,
        preference: LexicographicPreference | None = None,
        *,
        low_cost_partial_config: Mapping[str, Any] | None = None,
        n_startup_trials: int = 16,
        n_candidates: int = 64,
        settings: LexiFlowSettings = _DEFAULTS,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        if not isinstance(preference, LexicographicPreference | None):
            raise ValueError(f"preference must be a LexicographicPreference, got {preference!r}.")
        if not isinstance(low_cost_partial_config, Mapping | None):
            raise ValueError(
                "low_cost_partial_config must map parameter names to values, "
                f"got {low_cost_partial_config!r}."
            )
        self.preference = preference
        self.low_cost_partial_config = low_cost_partial_config
        self.n_startup_trials = check_int("n_startup_trials", n_startup_trials, 1)
        self.n_candidates = check_int("n_candidates", n_candidates, 0)
        self.settings = check_type("settings", settings, LexiFlowSettings)

    @classmethod
    def from_paper(
        cls,
        preference: LexicographicPreference | None = None,
        *,
        low_cost_partial_config: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> Self:
        """Return Algorithm 1 of Zhang et al. (2023), with the step sizes of Wu et al. (2021).

        Args:
            preference: Priorities, tolerances and goals.
            low_cost_partial_config: Parameter values known to be cheap.
            seed: Seed.

        Example:
            >>> LexiFlowSampler.from_paper().n_candidates
            0
        """
        return cls(
            preference,
            low_cost_partial_config=low_cost_partial_config,
            n_startup_trials=1,
            n_candidates=0,
            settings=LexiFlowSettings(
                max_failures=None,
                strict_incumbent_prob=0.0,
                random_prob=0.0,
                sparse_direction_prob=0.0,
                unit_sphere=True,
                restart_step_increase=1.0,
                as_printed=True,
            ),
            seed=seed,
        )

    def propose(self, ctx: ProposalContext) -> Proposal:
        """Return a random point, the best candidate, or a step in a direction or its opposite."""
        rng, settings = ctx.rng, self.settings
        search = ctx.study_cache("local_search", lambda: self._local_search(ctx))
        search.follow(ctx.history)
        state, space = search.state, EuclideanSpace.of(ctx.history)
        if state.n_trials < (self.n_startup_trials if state.restart == 0 else 1):
            operator = "initial_design" if state.restart == 0 else "restart"
            return self._random_point(ctx, space, state, operator)
        if self.n_candidates:
            if rng.random() < settings.random_prob:
                return self._random_point(ctx, space, state, "random")
            candidate = propose_candidate(
                ctx, search, space, settings, self.n_candidates, self._config
            )
            if candidate is not None:
                return candidate
        directions = DirectSearch(ctx.history, space, state, settings)
        opposite, duplicates = directions.opposite(ctx.trial_number)
        if opposite is not None:
            return opposite
        if rng.random() < settings.random_prob:
            return self._random_point(ctx, space, state, "random")
        base, step_size = state.incumbent, state.step_size
        if rng.random() < settings.strict_incumbent_prob:
            # Steps from the strict incumbent explore how low the first objectives can get, which
            # small steps would not.
            base, step_size = state.strict_incumbent, max(step_size, settings.step_size)
        seed = int(rng.integers(2**53))
        return directions.step(base, step_size, seed, no_opposite=duplicates)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return the low-cost value in the first trial, else a uniform draw."""
        if param_name not in self._config or self.position(study, trial) > 0:
            return super().sample_independent(study, trial, param_name, param_distribution)
        value = self._config[param_name]
        _check_config({param_name: value}, {param_name: param_distribution})
        return value

    @property
    def _config(self) -> Mapping[str, Any]:
        return self.low_cost_partial_config or {}

    def _local_search(self, ctx: ProposalContext) -> LocalSearchReplay:
        order = (self.preference or LexicographicPreference()).order(ctx.metrics)
        return LocalSearchReplay(order.after_violations(), self.settings)

    def _random_point(
        self, ctx: ProposalContext, space: EuclideanSpace, state: LocalSearchState, operator: str
    ) -> Proposal:
        row = self._random_row(ctx, space, operator)
        if operator == "initial_design" and self.n_candidates and not self._config:
            design = self.settings.initial_design
            start = design(ctx.rng, ctx.history, ctx.trial_number, row)
            return replace(start, note=state.note(operator, step_size=state.step_size))
        mask = sample_mask(ctx.rng, ctx.history.table, MASK_SAMPLERS, ctx.trial_number)
        return Proposal(row, mask, state.note(operator, step_size=state.step_size))

    def _random_row(self, ctx: ProposalContext, space: EuclideanSpace, operator: str) -> Array:
        history, rng, d = ctx.history, ctx.rng, len(ctx.history.space)
        if ctx.trial_number == 0 and (self._config or not self.n_candidates):
            described = history.described
            if described is not None and described.space:
                _check_config(self._config, described.distributions)
            return low_cost_row(rng, space, self._config)
        if not self.n_candidates:
            return restart_row(rng, space, self._config)
        if operator == "initial_design":
            # A model learns more from a Latin hypercube than from as many random points.
            n = self.n_startup_trials
            row = design_row(
                ctx,
                ctx.trial_number % n,
                _DESIGN_STREAM,
                lambda rng: restart_row(rng, space, self._config, latin_hypercube(rng, n, d)),
            )
            if row is not None:
                return row
        return restart_row(rng, space, self._config, rng.random(d))


def _check_config(
    config: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]
) -> None:
    """Raise if a low-cost configuration has unknown parameters or values out of range."""
    for name, value in config.items():
        if name not in distributions:
            raise ValueError(
                f"low_cost_partial_config names {name!r}, which is not a parameter of the study."
                + did_you_mean(name, distributions)
            )
        if not distribution_contains(distributions[name], value):
            raise ValueError(
                f"low_cost_partial_config[{name!r}] must be a value of {distributions[name]}, "
                f"got {value!r}."
            )
