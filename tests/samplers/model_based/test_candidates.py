from __future__ import annotations

from types import SimpleNamespace
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
from optuna_mofs.history._history import History
from optuna_mofs.samplers._encoding import InputWarping
from optuna_mofs.samplers.model_based import InfillSearch, MaskSearch, ModelBasedNote
from optuna_mofs.samplers.model_based._candidates import _best_new, best_candidate
from optuna_mofs.samplers.model_based._search import Candidates
from optuna_mofs.samplers.model_based._training_data import EncodedBatch, TrainingData
from optuna_mofs.study._feature_sets import selected_mask
from optuna_mofs.testing.problems import PROBLEMS, make_study
from tests.samplers.model_based.context import make_context


class FakeData:
    """Rows of one number: known below 0.3, feature set exhausted below 0.6."""

    warping = InputWarping(["x"], None)

    @property
    def history(self) -> Any:
        return SimpleNamespace(contains=lambda row, mask: bool(row[0] < 0.3))

    @property
    def tried_sets(self) -> Any:
        return SimpleNamespace(exhausted=lambda rows, masks: rows[:, 0] < 0.6)


def chosen(*values: float) -> float | None:
    """Return the chosen one of some candidates, of which the lowest is the best."""
    rows = np.array(values)[:, None]
    operators = np.array(["focus"] * len(rows))
    found = Candidates(rows, rows[:, 0], np.array([1] * len(rows)), operators)
    k = _best_new(cast(TrainingData, FakeData()), found)
    return None if k is None else values[k]


@pytest.mark.parametrize(
    ("values", "expected"), [((0.9, 0.2, 0.7, 0.4), 0.7), ((0.2, 0.5, 0.4), 0.4)]
)
def test_the_best_new_candidate_with_a_set_that_is_not_exhausted_else_the_best_new(
    values: tuple[float, ...], expected: float
) -> None:
    assert chosen(*values) == expected


def test_no_candidate_if_all_are_known() -> None:
    assert chosen(0.1, 0.2) is None


def test_the_only_suitable_candidate_is_found_behind_many_others() -> None:
    assert chosen(*np.linspace(0, 0.59, 400), 0.7) == 0.7


def test_the_proposal_names_its_operator_and_its_parent() -> None:
    study = make_study("mixed", sampler=ParEGOSampler(seed=0, n_startup_trials=8))
    study.optimize(PROBLEMS["mixed"], n_trials=8)
    history = History()
    history.update(study)
    data = TrainingData(make_context(history))

    def acquisition(batch: EncodedBatch) -> np.ndarray:
        return np.abs(batch.X - data.trials.X[3]).sum(axis=1)

    rng, note = np.random.default_rng(0), ModelBasedNote(kappa=0.5)
    found = best_candidate(rng, data, acquisition, note, InfillSearch(), MaskSearch())
    assert found is not None
    proposal, encoded = found
    assert proposal.note == ModelBasedNote("local", (3,), kappa=0.5)
    assert not history.contains(proposal.row)
    np.testing.assert_array_equal(data.encode(data.warping(proposal.row[None])).X, encoded.X)


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
        sampler=ParEGOSampler(seed=0, n_startup_trials=8, surrogate=surrogate)
    )
    study.optimize(objective, n_trials=30)
    masks = [selected_mask(study, trial) for trial in study.trials[8:]]
    alone = [mask.tobytes() for mask in masks if mask is not None and mask.sum() == 1]
    assert len(set(alone)) == len(alone)
