from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler
from optuna_mofs.history._history import History
from optuna_mofs.samplers.model_based.view import View
from optuna_mofs.study._description import StudyDescription


def kept(key: str, make: Callable[[], Any]) -> Any:
    return make()


def view_of(features: str) -> View:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = make_classification(60, 40, n_informative=4, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, features=features, filters=["auc", "anova_f"], cv=2
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=9)
    history = History(StudyDescription.read(study))
    history.update(study)
    return View(history, kept)


@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_the_fraction_of_features_needs_no_model(features: str) -> None:
    view = view_of(features)
    assert view.unknown == [0]
    assert np.isnan(view.seen.exact[:, 0]).all()
    np.testing.assert_allclose(view.seen.exact[:, 1], view.values[:, 1], atol=1e-9)


@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_candidates_look_like_trials(features: str) -> None:
    view = view_of(features)
    masks = None
    if view.history.table is not None:
        masks = np.array([view.history.mask(i) for i in range(9)])
    seen = view.candidates(view.rows, masks, np.arange(9))
    np.testing.assert_allclose(seen.X, view.seen.X)
    np.testing.assert_allclose(seen.exact, view.seen.exact)
    for i in range(9):
        known = view.is_known(view.rows[i], None if masks is None else masks[i])
        # There and back a fraction may lose its last bit.
        assert known or features != "mask"


def test_front_of_what_keeps_the_constraints() -> None:
    view = view_of("mask")
    values = np.column_stack([np.arange(9.0), np.arange(9.0)])
    assert view.front(values).tolist() == [[0.0, 0.0]]
    view._violations = np.array([1.0, *[0.0] * 8])
    assert view.front(values).tolist() == [[1.0, 1.0]]


def test_what_was_never_negative_is_not_promised_to_be() -> None:
    study = optuna.create_study(directions=["minimize", "minimize", "maximize"])
    for x in (0.0, 0.5, 2.0):
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 3)})
        study.tell(trial, [x, x - 1, x])
    history = History()
    history.update(study)
    floor = View(history, kept).floor
    assert floor[0] == 0.0  # the best value, 0, is 0 on the scale too
    assert np.isneginf(floor[1:]).all()


def test_a_norm_has_room_for_what_matters() -> None:
    view = view_of("mask")
    norm = np.array([0.01, 0.02, 0.03, 0.04, 0.05, 0.9, 0.95, 0.99, 1.0])
    scaled = view.rescaled(norm)
    np.testing.assert_allclose(scaled[:5], np.linspace(0, 1, 5))
    assert (np.diff(scaled) >= 0).all()
    assert scaled[-1] <= 2
