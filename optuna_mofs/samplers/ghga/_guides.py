"""Guides: which feature to remove first (Jung and Zscheischler 2013, section 2.5).

A guide is fitted to the trials so far; those that violate a constraint have the largest losses.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice
from optuna_mofs.samplers._gaussian_process import representative_subset

#: Function of (candidate masks, generator) that returns scores, higher is better.
Prediction = Callable[[Array, np.random.Generator], Array]
#: Function of (masks, losses, generator) that returns a :data:`Prediction`.
Guide = Callable[[Array, Array, np.random.Generator], Prediction]
_TIE_BREAK = 1e-9


@dataclass(frozen=True)
class ForestGuide:
    """A random forest that predicts the loss, on top of a ridge regression.

    The forest is the paper's, with three additions. The target is logarithmic (the distance to the
    best loss), so that differences among good sets count as much as those among bad ones. The
    forest is fitted to the residuals of a ridge regression on the bits: a forest alone cannot
    distinguish features that none of its trees splits on. And the forest is weighted by its
    out-of-bag predictions: the residuals are mostly noise at first, and a forest that was fitted
    to noise would spoil the order.

    Args:
        n_trees: Number of trees.
        max_trials: Number of trials that are used: half of them the best, the others an even
            spread of the rest. None for all trials, which take longer the more there are.
        max_samples: Number of trials that each tree is fitted to, drawn for each tree; None for
            as many as there are.
        max_features: Part of the features that a split considers.
        tolerance: Distances to the best loss far below this count as nearly equal.
        ridge_penalty: Ridge penalty; None for the forest alone.
        log_target: Whether the target is logarithmic, instead of the loss itself.
        weight_by_oob: Whether the forest is weighted by its out-of-bag predictions.
        columns: Returns further columns of some masks, to which a ridge regression is fitted
            first; see :class:`._children.FilterColumns`.
    """

    n_trees: int = 30
    max_trials: int | None = 2000
    max_samples: int | None = 1000
    max_features: float = 0.1
    tolerance: float = 0.005
    ridge_penalty: float | None = 5.0
    log_target: bool = True
    weight_by_oob: bool = True
    columns: Callable[[Array], Array] | None = None

    def __call__(self, masks: Array, losses: Array, rng: np.random.Generator) -> Prediction:
        """Fit the model and return its prediction."""
        if self.max_trials is not None and len(losses) > self.max_trials:
            best_first = np.argsort(losses, kind="stable")
            used = representative_subset(best_first, self.max_trials, self.max_trials // 2)
            masks, losses = masks[used], losses[used]
        inputs = masks.astype(np.float32)
        capped = np.minimum(losses, losses.min() + 1e6 * self.tolerance)
        target = capped - capped.min()
        if self.log_target:
            target = np.log(target + self.tolerance)
        mean = float(target.mean())
        by_columns = self._fit_columns(masks, target - mean)
        target = target - by_columns(masks)
        slopes = np.zeros(inputs.shape[1])
        if self.ridge_penalty is not None:
            slopes = _ridge(inputs, target - mean, self.ridge_penalty)
        residuals = target - mean - (inputs - inputs.mean(axis=0)) @ slopes
        forest = RandomForestRegressor(
            self.n_trees,
            max_features=self.max_features,
            max_samples=min(len(inputs), self.max_samples or len(inputs)),
            oob_score=_no_score if self.weight_by_oob else False,
            random_state=int(rng.integers(2**31)),
        )
        with warnings.catch_warnings():
            # With few sets and trees some set is in all bags, and has no prediction.
            warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
            forest.fit(inputs, residuals)
        weight = _oob_weight(forest.oob_prediction_, residuals) if self.weight_by_oob else 1.0
        # Each tree predicts by itself: for few rows the forest's own loop takes most of the time.
        trees = [tree.tree_ for tree in forest.estimators_]

        def predict(candidates: Array, rng: np.random.Generator) -> Array:
            rows = np.ascontiguousarray(candidates, dtype=np.float32)
            loss = by_columns(candidates) + rows @ slopes
            for tree in trees:
                loss = loss + weight / len(trees) * tree.predict(rows)[:, 0]
            return -loss + _TIE_BREAK * rng.random(len(rows))

        return predict

    def _fit_columns(self, masks: Array, target: Array) -> Callable[[Array], Array]:
        """Return the prediction from the further columns."""
        if self.columns is None:
            return lambda masks: np.zeros(len(masks))
        columns = self.columns
        inputs = columns(masks)
        mean, std = inputs.mean(axis=0), inputs.std(axis=0) + _TIE_BREAK
        slopes = _ridge((inputs - mean) / std, target, 1.0)
        return lambda masks: (columns(masks) - mean) / std @ slopes


def plain_frequency_guide(masks: Array, losses: Array, rng: np.random.Generator) -> Prediction:
    """Remove the features first that were tried least often, as in the paper."""
    return _weighted_sum(masks.mean(axis=0))


def frequency_guide(masks: Array, losses: Array, rng: np.random.Generator) -> Prediction:
    """Keep features that are more frequent in the better half of the sets than in the other.

    How often a feature was tried at all is mostly chance. Both frequencies are drawn from their
    beta distributions given the counts, so that features which do not differ come in an order that
    changes with each fit.
    """
    better = losses <= np.median(losses)
    drawn = [
        rng.beta(half.sum(axis=0) + 1, len(half) - half.sum(axis=0) + 1)
        for half in (masks[better], masks[~better])
    ]
    return _weighted_sum(drawn[0] - drawn[1])


def random_guide(masks: Array, losses: Array, rng: np.random.Generator) -> Prediction:
    """Remove features in random order."""
    return lambda candidates, rng: rng.random(len(candidates))


def get_guide(guide: str | Guide, tolerance: float) -> Guide | None:
    """Return a guide by name, None for ``"none"``, or the user's own function as it is."""
    if callable(guide):
        return guide
    forest = ForestGuide(tolerance=tolerance)
    guides: dict[str, Guide | None] = {
        "forest": forest,
        "frequency": frequency_guide,
        "random": random_guide,
        "none": None,
        "plain_forest": replace(
            forest,
            n_trees=100,
            max_trials=None,
            max_samples=None,
            max_features=1 / 3,
            ridge_penalty=None,
            log_target=False,
            weight_by_oob=False,
        ),
        "plain_frequency": plain_frequency_guide,
    }
    return guides[check_choice("guide", guide, guides)]


def _weighted_sum(weights: Array) -> Prediction:
    def predict(candidates: Array, rng: np.random.Generator) -> Array:
        return candidates @ weights + _TIE_BREAK * rng.random(len(candidates))

    return predict


def _no_score(truth: Array, predicted: Array) -> float:
    """Return 0: only the predictions are used, and R² of a constant target would warn."""
    return 0.0


def _oob_weight(predicted: Array, truth: Array) -> float:
    """Return the factor in [0, 1] by which predictions come closest to the truth."""
    centered = predicted - predicted.mean()
    power = float(centered @ centered)
    return float(np.clip(centered @ truth / power, 0, 1)) if power > 0 else 0.0


def _ridge(inputs: Array, target: Array, penalty: float) -> Array:
    """Return the slopes of a ridge regression, from the smaller of two equivalent systems."""
    centered = inputs - inputs.mean(axis=0)
    target = target.astype(inputs.dtype)
    wide = len(inputs) < inputs.shape[1]
    gram = centered @ centered.T if wide else centered.T @ centered
    gram[np.diag_indices_from(gram)] += penalty
    slopes: Array
    if wide:
        slopes = centered.T @ np.linalg.solve(gram, target)
    else:
        slopes = np.linalg.solve(gram, centered.T @ target)
    return slopes
