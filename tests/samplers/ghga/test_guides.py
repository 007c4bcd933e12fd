from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.samplers.ghga._guides import (
    ForestGuide,
    _ridge,
    frequency_guide,
    get_guide,
    plain_frequency_guide,
    random_guide,
)


def leave_one_out(p: int) -> np.ndarray:
    return ~np.eye(p, dtype=bool)


@pytest.fixture
def tried() -> tuple[np.ndarray, np.ndarray]:
    """Features 0 to 3 matter, the more the lower; an interaction of 4 and 5."""
    rng = np.random.default_rng(0)
    masks = rng.random((400, 20)) < 0.5
    losses = 1 - masks[:, :4] @ np.array([0.4, 0.2, 0.1, 0.05]) - 0.1 * (masks[:, 4] & masks[:, 5])
    return masks, losses


@pytest.mark.parametrize(("penalty", "log_target"), [(None, False), (None, True), (5.0, True)])
def test_forest_removes_useless_features_first(tried, penalty, log_target) -> None:
    masks, losses = tried
    predict = ForestGuide(
        n_trees=20, max_features=0.3, ridge_penalty=penalty, log_target=log_target
    )(masks, losses, np.random.default_rng(0))
    order = np.argsort(-predict(leave_one_out(20), np.random.default_rng(1)))
    assert set(order[-4:].tolist()) >= {0, 1}
    assert min(order.tolist().index(j) for j in (0, 1, 2, 4, 5)) > 8


def test_a_forest_fitted_to_noise_gets_a_low_weight() -> None:
    # Few sets, a linear loss and noise: the residuals of the ridge regression are noise.
    rng = np.random.default_rng(0)
    masks = rng.random((120, 30)) < 0.5
    slopes = np.linspace(0, 0.3, 30)
    losses = np.exp(5 - masks @ slopes + 0.5 * rng.standard_normal(120))
    agreement = []
    for weight_by_oob in (True, False):
        guide = ForestGuide(max_features=1.0, weight_by_oob=weight_by_oob)
        predict = guide(masks, losses, np.random.default_rng(0))
        scores = predict(leave_one_out(30), np.random.default_rng(0))
        agreement.append(np.corrcoef(scores, -slopes)[0, 1])
    assert agreement[0] > agreement[1] + 0.01


def test_a_forest_that_predicts_unseen_sets_gets_a_high_weight() -> None:
    # Feature 0 matters where feature 1 is absent, and the reverse: no ridge regression fits that.
    masks = np.random.default_rng(0).random((400, 10)) < 0.5
    losses = 1.0 * (masks[:, 0] ^ masks[:, 1])
    predict = ForestGuide(max_features=1.0)(masks, losses, np.random.default_rng(0))
    apart, together = np.zeros((2, 10), dtype=bool), np.zeros((2, 10), dtype=bool)
    apart[0, 0] = apart[1, 1] = True
    together[1, :2] = True
    rng = np.random.default_rng(1)
    assert predict(together, rng).min() > predict(apart, rng).max() + 1


def test_forest_is_repeatable_and_accepts_infeasible_losses(tried) -> None:
    masks, losses = tried
    losses = np.where(np.arange(400) % 50 == 0, 2e300, losses)
    runs = [
        ForestGuide(n_trees=5)(masks, losses, np.random.default_rng(3))(
            leave_one_out(20), np.random.default_rng(4)
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*runs)
    assert np.isfinite(runs[0]).all()


def test_forest_of_equal_losses() -> None:
    predict = ForestGuide(n_trees=3)(np.eye(4, dtype=bool), np.zeros(4), np.random.default_rng(0))
    assert np.ptp(predict(leave_one_out(4), np.random.default_rng(0))) < 1e-6


def test_plain_frequency_removes_the_rarest_first() -> None:
    masks = np.arange(10)[:, None] < np.array([9, 2, 5])
    predict = plain_frequency_guide(masks, np.zeros(10), np.random.default_rng(0))
    scores = predict(leave_one_out(3), np.random.default_rng(0))
    assert np.argsort(-scores).tolist() == [1, 2, 0]


def test_frequency_in_better_sets_counts() -> None:
    masks = np.random.default_rng(0).random((400, 20)) < 0.5
    masks[:, 19] = True  # in every set, and useless
    losses = -masks[:, :3].sum(axis=1) + 0.1 * masks[:, 3:].sum(axis=1)
    orders = []
    for seed in range(5):
        predict = frequency_guide(masks, losses, np.random.default_rng(seed))
        orders.append(np.argsort(-predict(leave_one_out(20), np.random.default_rng(0))).tolist())
    assert {frozenset(order[-3:]) for order in orders} == {frozenset({0, 1, 2})}
    assert len({tuple(order) for order in orders}) == 5


def test_frequency_of_equal_losses() -> None:
    predict = frequency_guide(np.eye(4, dtype=bool), np.zeros(4), np.random.default_rng(0))
    assert np.isfinite(predict(leave_one_out(4), np.random.default_rng(0))).all()


def test_random_differs_by_generator() -> None:
    predict = random_guide(np.eye(3, dtype=bool), np.zeros(3), np.random.default_rng(0))
    a, b = (predict(leave_one_out(50), np.random.default_rng(s)) for s in (0, 1))
    assert (a != b).all()


def test_guides_by_name() -> None:
    assert get_guide("none", 0.01) is None
    assert get_guide("forest", 0.25) == ForestGuide(tolerance=0.25)
    assert get_guide(random_guide, 0.01) is random_guide
    assert get_guide("plain_forest", 0.25) == ForestGuide(
        n_trees=100,
        max_trials=None,
        max_samples=None,
        max_features=1 / 3,
        tolerance=0.25,
        ridge_penalty=None,
        log_target=False,
        weight_by_oob=False,
    )
    assert get_guide("plain_frequency", 0.25) is plain_frequency_guide
    with pytest.raises(ValueError, match=r"'forest', 'frequency', 'random', 'none'.*'svm'"):
        get_guide("svm", 0.01)


@pytest.mark.parametrize("shape", [(30, 80), (80, 30), (40, 40)])
def test_slopes_do_not_depend_on_which_system_is_smaller(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    inputs, target = rng.random(shape), rng.random(shape[0])
    centered = inputs - inputs.mean(axis=0)
    wanted = np.linalg.solve(centered.T @ centered + 2 * np.eye(shape[1]), centered.T @ target)
    np.testing.assert_allclose(_ridge(inputs, target, 2.0), wanted, atol=1e-10)


def test_a_forest_uses_the_best_trials_and_a_spread_of_the_rest(tried) -> None:
    masks, losses = tried
    order = np.argsort(losses, kind="stable")
    used = order[[*range(100), *np.linspace(100, 399, 100).astype(int)]]
    fitted = [
        ForestGuide(n_trees=5, max_trials=200)(masks, losses, np.random.default_rng(0)),
        ForestGuide(n_trees=5)(masks[used], losses[used], np.random.default_rng(0)),
    ]
    scores = [predict(leave_one_out(20), np.random.default_rng(1)) for predict in fitted]
    np.testing.assert_array_equal(*scores)
