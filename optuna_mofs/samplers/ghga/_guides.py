"""Guides: which feature to leave out first (Jung and Zscheischler 2013, section 2.5).

A guide is a function of (masks, losses, generator) that learns from all trials so far and returns
a prediction: a function of (candidates, generator) with a score for each candidate, higher for
those to be tried earlier. Any such function can be given to the sampler.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from optuna_mofs._typing import Array

#: Scores of candidate masks, higher is better.
Prediction = Callable[[Array, np.random.Generator], Array]
#: Learns from masks and their losses.
Guide = Callable[[Array, Array, np.random.Generator], Prediction]
_SMALL = 1e-9


@dataclass(frozen=True)
class ForestGuide:
    """A random forest that predicts the loss, on top of a ridge regression.

    The forest is the paper's. Three things are added. The loss is learned on a logarithmic scale
    (its distance to the best one), so that differences among good sets count as much as those
    among bad ones. The forest learns what a ridge regression on the bits leaves: a forest alone
    cannot tell apart features that none of its trees splits on. And it counts as much as it
    predicts of sets that its trees did not see (out of bag): what is left is mostly noise at
    first, and a forest that learned noise would spoil the order.

    Args:
        trees: Number of trees.
        rows: Trials that each tree sees, drawn anew for each.
        features: Part of the features that a split looks at.
        tolerance: Distances to the best loss below this are all good.
        penalty: Ridge penalty; None for the forest alone.
        scale: ``"log"``, or ``"loss"`` for the loss itself.
        out_of_bag: Whether the forest is weighted by its predictions out of bag.
        columns: Further columns of a set, of which a ridge regression learns first; see
            :class:`.filtered.FilterSurrogateEncoder`.
    """

    trees: int = 30
    rows: int = 1000
    features: float = 0.1
    tolerance: float = 0.005
    penalty: float | None = 5.0
    scale: str = "log"
    out_of_bag: bool = True
    columns: Callable[[Array], Array] | None = None

    def __call__(self, masks: Array, losses: Array, rng: np.random.Generator) -> Prediction:
        """Learn."""
        inputs = masks.astype(np.float32)
        capped = np.minimum(losses, losses.min() + 1e6 * self.tolerance)
        target = capped - capped.min()
        if self.scale == "log":
            target = np.log(target + self.tolerance)
        mean = float(target.mean())
        known = self._known(masks, target - mean)
        target = target - known(masks)
        slopes = np.zeros(inputs.shape[1])
        if self.penalty is not None:
            slopes = _ridge(inputs, target - mean, self.penalty)
        left = target - mean - (inputs - inputs.mean(axis=0)) @ slopes
        forest = RandomForestRegressor(
            self.trees,
            max_features=self.features,
            max_samples=min(len(inputs), self.rows),
            oob_score=_no_score if self.out_of_bag else False,
            random_state=int(rng.integers(2**31)),
        )
        with warnings.catch_warnings():
            # With few sets and trees some set is in all bags, and has no prediction.
            warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
            forest.fit(inputs, left)
        weight = _weight(forest.oob_prediction_, left) if self.out_of_bag else 1.0
        # The trees are asked one by one: for few rows the forest's own loop is most of the time.
        trees = [tree.tree_ for tree in forest.estimators_]

        def predict(candidates: Array, rng: np.random.Generator) -> Array:
            rows = np.ascontiguousarray(candidates, dtype=np.float32)
            loss = known(candidates) + rows @ slopes
            for tree in trees:
                loss = loss + weight / len(trees) * tree.predict(rows)[:, 0]
            scores: Array = -loss + _SMALL * rng.random(len(rows))
            return scores

        return predict

    def _known(self, masks: Array, target: Array) -> Callable[[Array], Array]:
        """What the further columns predict."""
        if self.columns is None:
            return lambda masks: np.zeros(len(masks))
        columns = self.columns
        inputs = columns(masks)
        middle, spread = inputs.mean(axis=0), inputs.std(axis=0) + _SMALL
        slopes = _ridge((inputs - middle) / spread, target, 1.0)
        return lambda masks: (columns(masks) - middle) / spread @ slopes


def plain_frequency_guide(masks: Array, losses: Array, rng: np.random.Generator) -> Prediction:
    """Features that were tried often are kept, the rarest is left out first: the paper's."""
    return _kept_if_high(masks.mean(axis=0))


def frequency_guide(masks: Array, losses: Array, rng: np.random.Generator) -> Prediction:
    """Features that are more frequent in the better half of the sets than in the other are kept.

    How often a feature was tried at all is mostly chance. Both frequencies are drawn from what
    the counts allow (a beta distribution), so that features which do not differ come in an order
    that changes each time the guide learns.
    """
    better = losses <= np.median(losses)
    drawn = [
        rng.beta(half.sum(axis=0) + 1, len(half) - half.sum(axis=0) + 1)
        for half in (masks[better], masks[~better])
    ]
    return _kept_if_high(drawn[0] - drawn[1])


def _kept_if_high(weights: Array) -> Prediction:
    def predict(candidates: Array, rng: np.random.Generator) -> Array:
        scores: Array = candidates @ weights + _SMALL * rng.random(len(candidates))
        return scores

    return predict


def random_guide(masks: Array, losses: Array, rng: np.random.Generator) -> Prediction:
    """Features are left out in random order."""
    return lambda candidates, rng: rng.random(len(candidates))


def get_guide(guide: str | Guide, tolerance: float, *, plain: bool = False) -> Guide | None:
    """A guide by its name; None for the one called ``"none"``.

    Args:
        guide: Name, or a guide.
        tolerance: Of :class:`ForestGuide`.
        plain: Whether forest and frequency are the paper's.
    """
    if callable(guide):
        return guide
    ours = ForestGuide(tolerance=tolerance)
    known: dict[str, Guide | None] = {
        "forest": replace(ours, penalty=None, scale="loss", out_of_bag=False) if plain else ours,
        "frequency": plain_frequency_guide if plain else frequency_guide,
        "random": random_guide,
        "none": None,
    }
    if guide not in known:
        raise ValueError(f"guide must be one of {sorted(known)} or a function, but is {guide!r}.")
    return known[guide]


def _no_score(truth: Array, predicted: Array) -> float:
    """Only the predictions are wanted: R² of a constant target would warn."""
    return 0.0


def _weight(predicted: Array, truth: Array) -> float:
    """By which factor predictions come closest to the truth, from 0 to 1."""
    centred = predicted - predicted.mean()
    power = float(centred @ centred)
    return float(np.clip(centred @ truth / power, 0, 1)) if power > 0 else 0.0


def _ridge(inputs: Array, target: Array, penalty: float) -> Array:
    centred = inputs - inputs.mean(axis=0)
    target = target.astype(inputs.dtype)
    # The same slopes either way, by the smaller of the two systems.
    slopes: Array
    if len(inputs) < inputs.shape[1]:
        slopes = centred.T @ np.linalg.solve(_raised(centred @ centred.T, penalty), target)
    else:
        slopes = np.linalg.solve(_raised(centred.T @ centred, penalty), centred.T @ target)
    return slopes


def _raised(gram: Array, penalty: float) -> Array:
    gram[np.diag_indices_from(gram)] += penalty
    return gram
