"""Search for the best acquisition value among feature sets with hyperparameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_int, check_probability
from optuna_mofs.features._codec import count_selected
from optuna_mofs.features._mask_sampling import (
    cost_adjusted,
    ensemble_probability,
    weights_from_raw,
)
from optuna_mofs.features._redundancy import BatchSelection, selection_order
from optuna_mofs.features._representation import FRACTION
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.samplers._candidates import AcquisitionFunction, Candidates
from optuna_mofs.samplers._infill_search import neighbors
from optuna_mofs.samplers._row_operators import reflect
from optuna_mofs.samplers._training_data import TrainingData

#: Standard deviation of steps of hyperparameters, rules and logarithms of sizes, by round, as
#: fractions of their ranges.
_STEPS = (0.1, 0.04, 0.015)
#: A row that is nearly that of its parent: exactly the same one could be that of another worker.
_TINY_STEP = 0.005
#: Probability that the weight of a filter is drawn again.
_RENEWAL = 0.35
#: Probability that a rule gets another exception, and that it loses one instead.
_EXCEPTION_PROB, _REMOVAL_PROB = 0.5, 0.1
#: With more features, this many are changed in a round.
_MAX_ACTIVE = 1000
#: Probability of one more change after each added or dropped feature, and the most of them.
_CONTINUE_PROB, _MAX_CHANGES = 0.4, 4
#: Probability that a feature is erased and drawn again by the filters.
_ERASE_PROB = 0.1
#: Shares of the ways in which masks are made.
_SHARES = {
    "add_drop": 0.35,
    "prefix": 0.25,
    "crossover": 0.15,
    "filter_ensemble": 0.1,
    "drop": 0.1,
    "resample": 0.05,
}


class _Sets(NamedTuple):
    """Feature sets, the rows and parents they were made from, and how."""

    masks: Array
    #: Rows of rules; in a study of masks those of the first parents.
    rows: Array
    #: Positions of the first parents among the starts.
    origin: Array
    operators: Array


@dataclass(frozen=True)
class FeatureSetSearch:
    """Rounds of candidates: feature sets, each with several rows of hyperparameters.

    The first round is made from the best trials and at random, each later one from the best
    candidates so far with smaller steps. Sets that follow the filters are prefixes of weighted
    rankings: many sizes of one ranking cost no more than one.

    Args:
        n_parents: Number of best trials, and of best candidates, from which others are made.
        n_sets: Number of feature sets of the first round; later ones have half as many.
        n_sizes: Number of sizes per ranking.
        n_rows: Number of rows of hyperparameters per set.
        n_rounds: Number of rounds.
        fresh_share: Share of the sets of the first round of which one of several rows of
            hyperparameters is random, as the best ones can be far from those of all good trials.
    """

    n_parents: int = 12
    n_sets: int = 120
    n_sizes: int = 6
    n_rows: int = 3
    n_rounds: int = 3
    fresh_share: float = 0.5

    def __post_init__(self) -> None:
        check_probability("fresh_share", self.fresh_share)
        for name in ("n_parents", "n_sets", "n_sizes", "n_rows", "n_rounds"):
            check_int(name, getattr(self, name), 1)

    def __call__(
        self,
        rng: np.random.Generator,
        data: TrainingData,
        acquisition: AcquisitionFunction,
        starts: Candidates,
        *,
        prefixes_only: bool = False,
    ) -> tuple[Candidates, Array]:
        """Return all candidates of the search, and their acquisition values.

        Args:
            rng: Generator.
            data: The training data.
            acquisition: The acquisition function.
            starts: The best trials, the best first.
            prefixes_only: Whether all masks are prefixes of rankings. Rules always are.
        """
        parts, values = [], []
        for turn in range(self.n_rounds):
            step = _STEPS[min(turn, len(_STEPS) - 1)]
            count = self.n_sets if turn == 0 else self.n_sets // 2
            if data.filters is not None:
                sets = _rule_sets(rng, data, starts, count, self.n_sizes, step, first=turn == 0)
            else:
                assert data.history.table is not None
                shares = {"prefix": 1.0} if prefixes_only and turn == 0 else _SHARES
                makers = _MaskMakers(rng, data.history.table, starts, self.n_sizes, step)
                sets = makers(count, shares)
            fresh_share = self.fresh_share if turn == 0 else 0.0
            parts.append(self._with_rows(rng, data, starts, sets, step, fresh_share))
            values.append(acquisition(parts[-1]))
            best = np.argsort(values[-1], kind="stable")[: self.n_parents]
            starts = parts[-1][best]
        return Candidates.joined(parts), np.concatenate(values)

    def _with_rows(
        self,
        rng: np.random.Generator,
        data: TrainingData,
        starts: Candidates,
        sets: _Sets,
        step: float,
        fresh_share: float,
    ) -> Candidates:
        """Return candidates: each set with hyperparameters near those of its parent, or random."""
        rows = starts.rows[sets.origin]
        same = neighbors(rng, data.space, data.conditional, rows, 1, _TINY_STEP)
        near = neighbors(rng, data.space, data.conditional, rows, self.n_rows - 1, step)
        tried = np.concatenate([same, near], axis=1)
        if self.n_rows > 1 and fresh_share:
            fresh = data.conditional.apply(data.space.sample(rng, len(rows)))
            tried[:, -1] = np.where(rng.random((len(rows), 1)) < fresh_share, fresh, tried[:, -1])
        tried = np.where(data.history.rule_columns, sets.rows[:, None], tried)
        index = np.repeat(np.arange(len(sets.masks)), self.n_rows)
        flat = tried.reshape(len(index), -1)
        parents = starts.parents[sets.origin][index]
        return Candidates(flat, parents, sets.operators[index], sets.masks, index)


def _draw_origins(rng: np.random.Generator, count: int, n_parents: int) -> Array:
    """Return positions of parents; the best one is three times as likely as the worst."""
    pull = np.linspace(3, 1, n_parents)
    return rng.choice(n_parents, size=count, p=pull / pull.sum())


def _rule_sets(
    rng: np.random.Generator,
    data: TrainingData,
    starts: Candidates,
    count: int,
    n_sizes: int,
    step: float,
    *,
    first: bool,
) -> _Sets:
    """Return sets of rules: those of the parents, changed ones and, at first, random ones."""
    assert data.filters is not None
    space, rule = data.space, data.history.rule_columns
    n_rules = max(1, count // n_sizes)
    origin = _draw_origins(rng, n_rules, len(starts))
    old, drawn = starts.rows[origin], space.sample(rng, n_rules)
    old = np.where(np.isnan(old), drawn, old)
    moved = np.where(space.categorical, old, reflect(old + step * rng.standard_normal(old.shape)))
    renewed = rng.random(old.shape) < (_RENEWAL if first else 0.1)
    changed = np.where(renewed, drawn, moved)
    # In turn: the parent's rule with other sizes, a changed one, a random one.
    turn = np.arange(n_rules)[:, None] % (3 if first else 2)
    rules = np.where(turn == 0, old, np.where(turn == 1, changed, drawn))
    names = np.array(["add_drop", "filter_ensemble", "resample"])[turn[:, 0]]
    _change_exceptions(rng, data, rules, old, starts.rows, origin)
    rows = np.repeat(np.where(rule, rules, old), n_sizes, axis=0)
    column = space.names.index(FRACTION)
    sizes = reflect(rows[:, column] + step * rng.standard_normal(len(rows)))
    anywhere = rng.random(len(rows)) < (0.5 if first else 0.1)
    rows[:, column] = np.where(anywhere, rng.random(len(rows)), sizes)
    index = np.repeat(np.arange(n_rules), n_sizes)
    masks = data.filters.prefixes(rules, index, data.filters.rule_sizes(rows))
    return _Sets(masks, rows, origin[index], names[index])


def _change_exceptions(
    rng: np.random.Generator,
    data: TrainingData,
    rules: Array,
    old: Array,
    parents: Array,
    origin: Array,
) -> None:
    """Give rules the exceptions of their parents, half of them with a new one.

    A feature of the parent is left out, or another one put in, without regard to the filters:
    ranks of all rows would leak the rows of the test folds.
    """
    assert data.filters is not None
    exceptions = data.filters.exception_parameters
    columns = np.flatnonzero(np.isin(data.space.names, exceptions))
    if not len(columns):
        return
    rules[:, columns] = old[:, columns]
    features, sets = data.filters.embedding.features, data.filters(parents)
    for i in np.flatnonzero(rng.random(len(rules)) < _EXCEPTION_PROB).tolist():
        column, chosen = int(rng.choice(columns)), sets[origin[i]]
        drops = bool(chosen.any()) and (bool(chosen.all()) or rng.random() < 0.5)
        feature = 1 + int(features[rng.choice(np.flatnonzero(chosen == drops))])
        name = data.space.names[column]
        value = 0 if rng.random() < _REMOVAL_PROB else -feature if drops else feature
        rules[i, column] = data.space.encode({name: value})[column]


class _MaskMakers:
    """Masks made from those of parents and from the filters, many at a time.

    With many features, only some are changed: the best ones by any filter, those of the parents,
    and random ones.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        table: FeatureTable,
        starts: Candidates,
        n_sizes: int,
        step: float,
    ) -> None:
        assert starts.masks is not None
        self._rng, self._table, self._step, self._n_sizes = rng, table, step, n_sizes
        self._starts, self._full_parents = starts, starts.masks
        p = len(table.free)
        self._active = np.arange(p)
        if p > _MAX_ACTIVE:
            keys = rng.random(p) + starts.masks.any(axis=0)
            if table.free_ranks is not None:
                best = table.free_ranks.max(axis=0)
                keys[np.argpartition(-best, _MAX_ACTIVE // 3)[: _MAX_ACTIVE // 3]] += 2
            self._active = np.sort(np.argpartition(-keys, _MAX_ACTIVE)[:_MAX_ACTIVE])
        self._parents = starts.masks[:, self._active]
        self._ranks = None if table.free_ranks is None else table.free_ranks[:, self._active]
        self._costs = None if table.free_costs is None else table.free_costs[self._active]

    def __call__(self, count: int, shares: dict[str, float]) -> _Sets:
        """Return about ``count`` masks, by the share of each way, and those of the parents."""
        parts = list(self._make(count, shares))
        n_parents = len(self._parents)
        origin = np.concatenate([*(origin for _, origin, _ in parts), np.arange(n_parents)])
        masks = self._full_parents[origin]
        # New sets have no other features than those that were chosen from.
        names = [np.full(len(made), name) for made, _, name in parts]
        operators = np.concatenate([*names, np.full(n_parents, "hyperparameters")])
        masks[np.isin(operators, ("prefix", "resample"))] = False
        made = np.concatenate([made for made, _, _ in parts])
        masks[: len(made), self._active] = made
        low, high = self._table.size_limits
        sizes = count_selected(masks)
        for i in np.flatnonzero((sizes < low) | (sizes > high)):
            masks[i] = self._table.limited(masks[i])
        return _Sets(masks, self._starts.rows[origin], origin, operators)

    def _make(self, count: int, shares: dict[str, float]) -> Iterator[tuple[Array, Array, str]]:
        for name, share in shares.items():
            n = max(1, round(count * share))
            origin = _draw_origins(self._rng, n, len(self._parents))
            yield getattr(self, f"_{name}")(origin), origin, name

    def _scores(self, count: int) -> Array:
        """Return scores of the active features under random filter weights."""
        if self._ranks is None:
            return np.full((count, len(self._active)), 0.5)
        raw = self._rng.random((count, len(self._ranks)))
        return weights_from_raw(raw**3) @ self._ranks

    def _probabilities(self, masks: Array) -> Array:
        sizes = np.clip(masks.sum(axis=1), 1, max(1.0, len(self._table.free) / 2))[:, None]
        scores = self._scores(len(masks))
        return cost_adjusted(
            ensemble_probability(scores, sizes, len(self._table.free)), self._costs
        )

    def _add_drop(self, origin: Array) -> Array:
        """Add and drop a few features, one after the other, drawn by the filters."""
        rng, masks = self._rng, self._parents[origin]
        if not masks.shape[1]:
            return masks
        probability = np.clip(self._probabilities(masks), 1e-9, 1 - 1e-9)
        log_odds = np.log(probability / (1 - probability))
        n_changes = np.minimum(rng.geometric(1 - _CONTINUE_PROB, len(masks)), _MAX_CHANGES)
        for change in range(_MAX_CHANGES):
            lines = np.flatnonzero(n_changes > change)
            if not len(lines):
                break
            old = masks[lines]
            full, empty = old.all(axis=1), ~old.any(axis=1)
            add = (empty | (rng.random(len(lines)) < 0.5)) & ~full
            # The largest of Gumbel variables around the logarithms is a draw by the odds.
            noise = rng.gumbel(size=old.shape)
            keys = np.where(add[:, None], log_odds[lines], -log_odds[lines]) + noise
            keys[old == add[:, None]] = -np.inf
            masks[lines, keys.argmax(axis=1)] = add
        return masks

    def _drop(self, origin: Array) -> Array:
        """Drop a random share of the features, drawn by the filters."""
        rng, masks = self._rng, self._parents[origin]
        sizes = count_selected(masks)
        keys = self._scores(len(masks)) + 0.3 * rng.gumbel(size=masks.shape)
        keys[~masks] = -np.inf
        kept = np.floor(sizes * np.exp(-rng.exponential(0.5, len(masks)))).astype(np.int64)
        places = np.argsort(np.argsort(-keys, axis=1), axis=1)
        return masks & (places < np.minimum(kept, sizes - 1)[:, None])

    def _filter_ensemble(self, origin: Array) -> Array:
        """Erase bits and draw them again by the filters."""
        masks = self._parents[origin]
        return self._redrawn(masks, self._probabilities(masks), _ERASE_PROB)

    def _resample(self, origin: Array) -> Array:
        """Draw all bits by the filters; the size is about that of the parent."""
        masks = self._parents[origin]
        return self._redrawn(masks, self._probabilities(masks), 1.0)

    def _redrawn(self, masks: Array, probability: Array, erase_prob: float) -> Array:
        erased = self._rng.random(masks.shape) < erase_prob
        return np.where(erased, self._rng.random(masks.shape) < probability, masks)

    def _crossover(self, origin: Array) -> Array:
        """Take each bit from one of two parents."""
        other = self._parents[self._rng.integers(len(self._parents), size=len(origin))]
        masks = self._parents[origin]
        return np.where(self._rng.random(masks.shape) < 0.5, other, masks)

    def _prefix(self, origin: Array) -> Array:
        """Take the best features by weighted rank, with a penalty for similar ones."""
        rng, p = self._rng, len(self._active)
        n_rankings = -(-len(origin) // self._n_sizes)
        scores = self._scores(n_rankings)
        penalties: Array = rng.random(n_rankings) ** 3
        if self._ranks is None:
            scores = rng.random((n_rankings, p))
        scores = cost_adjusted(np.clip(scores, 1e-9, 1 - 1e-9), self._costs)
        selection = None
        if self._table.similar is not None:
            features = self._table.free[self._active]
            selection = BatchSelection(self._table.similar, features, self._table.fixed)
        parent_sizes = np.maximum(1, self._parents[origin].sum(axis=1))
        near = np.log(parent_sizes) + 3 * self._step * rng.standard_normal(len(origin))
        low, high = self._table.size_limits
        high = max(1, min(high, p))
        anywhere = rng.random(len(origin)) * np.log(high + 0.5)
        logs = np.where(rng.random(len(origin)) < 0.5, near, anywhere)
        sizes = np.clip(np.rint(np.exp(logs)), max(1, low), high).astype(np.int64)
        places = selection_order(selection, np.round(scores, 12), penalties, int(sizes.max()))
        return places[np.arange(len(origin)) // self._n_sizes] < sizes[:, None]


def selects_features(data: TrainingData) -> bool:
    """Return whether the study has masks, or rules with a fraction, to search."""
    return data.history.table is not None or (
        data.filters is not None and FRACTION in data.space.names
    )
