from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    MaskFeatures,
    ParEGOSampler,
)
from optuna_mofs.features import Representation
from optuna_mofs.samplers._encoding import InputWarping
from optuna_mofs.samplers.model_based._candidates import _first_new
from optuna_mofs.samplers.model_based._search import Candidates
from optuna_mofs.samplers.model_based._training_data import EncodedBatch, TrainingData
from optuna_mofs.study._feature_sets import selected_mask


def part(first: int, masks: np.ndarray | None) -> Candidates:
    count = 3
    return Candidates(
        np.full((count, 2), first),
        np.arange(count) + first,
        np.zeros(count, dtype=np.int64),
        np.full(count, f"step {first}"),
        masks,
        None if masks is None else np.array([0, 1, 1]),
    )


def test_joined_without_masks() -> None:
    both = Candidates.joined([part(0, None), part(5, None)])
    assert both.scores.tolist() == [0, 1, 2, 5, 6, 7]
    assert both.operators.tolist() == ["step 0"] * 3 + ["step 5"] * 3
    assert both.mask(4) is None


def test_joined_candidates_keep_their_masks() -> None:
    one, two = np.eye(2, dtype=bool), ~np.eye(2, 2, dtype=bool)
    both = Candidates.joined([part(0, one), part(5, two)])
    for k, mask in enumerate([one[0], one[1], one[1], two[0], two[1], two[1]]):
        np.testing.assert_array_equal(both.mask(k), mask)


class FakeView:
    """Rows of one number: known below 0.3, spent below 0.6."""

    numbers = np.array([7, 8])

    def __init__(self) -> None:
        self.warp = InputWarping(["x"], None)

    def contains_params(self, row: np.ndarray, mask: np.ndarray | None) -> bool:
        return bool(row[0] < 0.3)

    def spent(self, rows: np.ndarray, masks: np.ndarray | None) -> np.ndarray:
        found: np.ndarray = rows[:, 0] < 0.6
        return found

    def candidates(self, rows: np.ndarray) -> EncodedBatch:
        return EncodedBatch(rows, rows)


def chosen(*places: float) -> Any:
    """What is chosen of candidates of which the lower is the better."""
    rows = np.array(places)[:, None]
    found = Candidates(
        rows, rows[:, 0], np.array([1] * len(rows)), np.array(["focus"] * len(rows))
    )
    return _first_new(cast(TrainingData, FakeView()), found, np.array([1, 0]))


@pytest.mark.parametrize(
    ("places", "expected"), [((0.9, 0.2, 0.7, 0.4), 0.7), ((0.2, 0.5, 0.4), 0.4)]
)
def test_the_best_that_is_neither_known_nor_spent_else_not_known(
    places: tuple[float, ...], expected: float
) -> None:
    proposal, seen = chosen(*places)
    assert proposal.row.tolist() == [expected]
    assert seen.X.tolist() == [[expected]]
    assert proposal.parents == (7,)


def test_nothing_where_all_are_known() -> None:
    assert chosen(0.1, 0.2) is None


def test_the_only_good_one_is_found_behind_many_that_are_not() -> None:
    proposal, _ = chosen(*np.linspace(0, 0.59, 400), 0.7)
    assert proposal.row.tolist() == [0.7]


@pytest.mark.parametrize("features", [FilterEnsembleFeatures(ranks="all"), MaskFeatures()])
@pytest.mark.parametrize("surrogate", ["auto", "forest"])
def test_a_study_does_not_try_the_same_feature_alone_again_and_again(
    features: Representation, surrogate: str
) -> None:
    X, y = make_classification(
        80, 12, n_informative=1, n_redundant=0, n_clusters_per_class=1, random_state=0
    )
    objective = FeatureSelectionObjective(
        GaussianNB(),
        X,
        y,
        representation=features,
        cv=2,
        filters=["auc", "anova_f"],
        space={"var_smoothing": FloatDistribution(1e-9, 1.0, log=True)},
    )
    study = objective.create_study(
        sampler=ParEGOSampler(seed=0, start_size=8, surrogate=surrogate)
    )
    study.optimize(objective, n_trials=30)
    masks = [selected_mask(study, trial) for trial in study.trials[8:]]
    alone = [mask.tobytes() for mask in masks if mask is not None and mask.sum() == 1]
    assert len(set(alone)) == len(alone)
