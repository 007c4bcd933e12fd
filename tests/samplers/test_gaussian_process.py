from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from optuna_mofs.samplers import _gaussian_process as likelihood
from optuna_mofs.samplers._gaussian_process import (
    GaussianProcess,
    OrdinaryKriging,
    Points,
    RefitSchedule,
    SplitInputs,
    fit_column_scales,
    fit_length_scales,
    matern32,
    normal_scores,
    representative_subset,
)
from optuna_mofs.samplers._surrogates import OutOfRangeImputer


def numbers(rows: np.ndarray) -> Points:
    """Return points of numbers only."""
    return Points(rows, np.zeros(rows.shape[1], dtype=bool))


def test_normal_scores_keep_the_order_and_bound_outliers():
    values = np.array([3.0, 1.0, 1e300, 2.0, 1.0])
    scores = normal_scores(values)
    np.testing.assert_array_equal(np.argsort(scores, kind="stable"), [1, 4, 3, 0, 2])
    assert scores[1] == scores[4]
    assert np.abs(scores).max() < 2


def test_predictions_are_those_of_a_conditioned_normal_distribution():
    rng = np.random.default_rng(0)
    seen, new = numbers(rng.random((12, 2))), numbers(rng.random((5, 2)))
    z = rng.standard_normal(12)
    scales = np.log([0.5, 0.8, 0.01])

    def kernel(a, b):
        r = np.sqrt(3 * (((a.rows[:, None] - b.rows[None]) / [0.5, 0.8]) ** 2).sum(axis=2))
        return (1 + r) * np.exp(-r)

    K = kernel(seen, seen) + 0.01 * np.eye(12)
    inverse = np.linalg.inv(K)
    mu = (inverse @ z).sum() / inverse.sum()
    variance = (z - mu) @ inverse @ (z - mu) / 12
    k = kernel(new, seen)
    mean, sd = GaussianProcess(seen.squared_distances(seen), z, scales).predict(
        new.squared_distances(seen)
    )
    np.testing.assert_allclose(mean, mu + k @ inverse @ (z - mu))
    np.testing.assert_allclose(sd**2, variance * (1 - np.einsum("ij,jk,ik->i", k, inverse, k)))


def test_refits_become_ever_rarer():
    schedule = RefitSchedule()
    counts = [schedule.fitted("count", np.arange(n), lambda count: count) for n in range(1, 2000)]
    assert all(1 <= c <= n for n, c in enumerate(counts, start=1))
    assert counts == sorted(counts)
    assert all(c * 1.35 > n for n, c in enumerate(counts[20:], start=21))
    assert len(set(counts[100:])) < 15


def test_the_gradient_of_the_likelihood(monkeypatch):
    rng = np.random.default_rng(1)
    points = numbers(rng.random((15, 3)))
    z = rng.standard_normal(15)
    caught = {}

    def catch(loss, start, **options):
        caught.update(loss=loss, start=start)
        return type("Found", (), {"x": start})

    monkeypatch.setattr(likelihood, "minimize", catch)
    fit_length_scales(points.squared_distances(points), z)
    at = caught["start"] + [0.3, -0.2, 0.1, 0.4]
    _, gradient = caught["loss"](at)
    np.testing.assert_allclose(
        gradient, approx_fprime(at, lambda x: caught["loss"](x)[0], 1e-6), rtol=1e-3, atol=1e-3
    )
    # Up to a constant it is the density, at the maximum likelihood mean and variance.
    other = caught["start"]
    differences = []
    for scales in (at, other):
        r = np.sqrt(
            3 * np.tensordot(np.exp(-2 * scales[:-1]), points.squared_distances(points), 1)
        )
        K = (1 + r) * np.exp(-r) + np.exp(scales[-1]) * np.eye(15)
        inverse = np.linalg.inv(K)
        mu = (inverse @ z).sum() / inverse.sum()
        variance = (z - mu) @ inverse @ (z - mu) / 15
        density = multivariate_normal(np.full(15, mu), variance * K).logpdf(z)
        prior = ((scales[:-1] - caught["start"][:-1]) / 1.5) ** 2
        differences.append(caught["loss"](scales)[0] - (0.5 * prior.sum() - density))
    assert differences[0] == pytest.approx(differences[1])


def test_the_parameter_that_matters_has_the_shortest_length_scale():
    rng = np.random.default_rng(2)
    points = numbers(rng.random((40, 4)))
    z = normal_scores(np.sin(6 * points.rows[:, 2]))
    lengths = fit_length_scales(points.squared_distances(points), z)[:-1]
    assert np.argmin(lengths) == 2
    assert lengths[2] < np.delete(lengths, 2).min() - 1


def test_each_parameter_has_its_own_distance():
    rows = np.array([[0.0, 0.0], [0.5, 2.0], [0.5, np.nan], [np.nan, np.nan]])
    points = Points(rows, np.array([False, True]))
    first, second = points.squared_distances(points)
    np.testing.assert_allclose(first[0], [0, 0.25, 0.25, 1])
    np.testing.assert_allclose(first[3], [1, 1, 1, 0])
    np.testing.assert_allclose(second[1], [1, 0, 1, 1])
    np.testing.assert_allclose(second[2], [1, 1, 0, 0])


def test_masks_differ_by_what_they_do_not_share_and_by_size():
    masks = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]], dtype=bool)
    points = Points(np.empty((4, 0)), np.zeros(0, dtype=bool), masks)
    others = Points(points.rows[[0, 3]], points.categorical, masks[[0, 3]])
    shared, sizes = points.squared_distances(others)
    np.testing.assert_allclose(shared[:, 0], [0, 0.5, 1, 1], atol=1e-6)
    np.testing.assert_allclose(shared[:, 1], [1, 1, 1, 0], atol=1e-6)
    assert sizes[2, 0] == 0
    assert 0 < sizes[1, 0] < sizes[3, 0]


def counts(schedule: RefitSchedule, *numbers: np.ndarray) -> list[int]:
    """Return from how many trials it fitted, once per fit."""
    fits: list[int] = []
    for each in numbers:
        schedule.fitted("x", each, fits.append)
    return fits


def test_refit_when_the_number_of_trials_has_grown_by_a_factor() -> None:
    numbers = [np.arange(n) for n in (3, 4, 5, 6, 7, 8, 9)]
    assert counts(RefitSchedule(n_always=4, growth=1.5), *numbers) == [3, 4, 6, 9]


def test_the_last_fit_is_kept_by_name() -> None:
    schedule, four, five = RefitSchedule(n_always=4, growth=2), np.arange(4), np.arange(5)
    assert schedule.fitted("a", four, lambda count: ("first", count)) == ("first", 4)
    assert schedule.fitted("a", five, lambda count: ("second", count)) == ("first", 4)
    assert schedule.fitted("b", five, lambda count: ("other", count)) == ("other", 4)


def test_refit_if_a_late_trial_is_among_the_first() -> None:
    schedule = RefitSchedule(n_always=4, growth=2)
    assert counts(schedule, np.array([0, 2, 3, 4, 5]), np.arange(6)) == [4, 4]
    assert counts(schedule, np.array([0, 1, 2, 3, 5]), np.arange(6)) == []


def test_refit_if_something_else_that_the_fit_depends_on_has_changed() -> None:
    schedule = RefitSchedule(n_always=4, growth=2)
    fits: list[int] = []
    for columns in (3, 3, 4):
        schedule.fitted("y", np.arange(5), fits.append, depends_on=columns)
    assert fits == [4, 4]


def test_a_subset_keeps_the_best_and_spreads_over_the_others() -> None:
    ranking = np.random.default_rng(0).permutation(100)
    chosen = representative_subset(ranking, 20, 8)
    assert chosen[:8].tolist() == ranking[:8].tolist()
    places = np.argsort(ranking)[chosen]
    assert len(set(chosen.tolist())) == 20
    assert (np.diff(places[7:]) > 0).all()
    assert np.diff(places[8:]).max() <= 9
    assert places[-1] == 99


@pytest.mark.parametrize(("count", "n_best"), [(5, 2), (20, 0), (20, 20)])
def test_small_sets_stay_whole(count: int, n_best: int) -> None:
    ranking = np.arange(count)[::-1]
    np.testing.assert_array_equal(representative_subset(ranking, 20, n_best), ranking)


def test_too_many_best_ones_are_spread_too() -> None:
    chosen = representative_subset(np.arange(100), 10, 50)
    assert len(chosen) == 10
    assert (chosen[0], chosen[-1]) == (0, 49)


def test_the_kernel_is_that_of_scikit_learn() -> None:
    distances = np.linspace(0, 3, 20)
    kernel, decay = matern32(np.sqrt(3) * distances)
    expected = Matern(nu=1.5)(np.zeros((1, 1)), distances[:, None])[0]
    np.testing.assert_allclose(kernel, expected)
    np.testing.assert_allclose(decay, np.exp(-np.sqrt(3) * distances))


def smooth(X: np.ndarray) -> np.ndarray:
    return np.sin(5 * X[:, 0]) + (X[:, 1] - 0.3) ** 2


RANDOM = np.random.default_rng(0)
SEEN, NEW = RANDOM.random((60, 2)), RANDOM.random((300, 2))


def test_kriging_shares_effects_between_learners() -> None:
    """Columns: a number that both have, one of each learner's own, which learner it is."""
    rng = np.random.default_rng(0)

    def rows(count: int, first: np.ndarray) -> np.ndarray:
        x = rng.random((count, 3))
        x[first, 2] = np.nan
        x[~first, 1] = np.nan
        return np.column_stack([x, first])

    def truth(X: np.ndarray) -> np.ndarray:
        return np.sin(6 * X[:, 0]) + 0.3 * X[:, 3]

    errors = []
    for _ in range(5):
        # Trials of the second learner cover one end of the shared number only.
        seen = rows(40, np.arange(40) < 34)
        seen[34:, 0] *= 0.3
        new = rows(200, np.zeros(200, dtype=bool))
        both = [OrdinaryKriging(), OutOfRangeImputer(OrdinaryKriging())]
        found = [model.fit(seen, truth(seen)).predict(new)[0] for model in both]
        errors.append([np.abs(mean - truth(new)).mean() for mean in found])
    inside, outside = np.mean(errors, axis=0)
    assert inside < 0.9 * outside


def test_repeated_points_with_other_values_do_not_break_kriging() -> None:
    X = np.repeat(SEEN[:5], 8, axis=0)
    y = smooth(X) + np.tile([-0.5, 0.5], 20)
    mean, sd = OrdinaryKriging().fit(X, y).predict(SEEN[:5])
    np.testing.assert_allclose(mean, smooth(SEEN[:5]), atol=0.3)
    assert np.isfinite(sd).all()


def test_a_value_of_large_variance_counts_less() -> None:
    y = smooth(SEEN)
    wrong = y.copy()
    wrong[::4] += 3.0
    variances = np.where(np.arange(len(y)) % 4 == 0, 9.0, 0.0)
    truth = smooth(NEW)
    errors = [
        np.abs(OrdinaryKriging().fit(SEEN, wrong, each).predict(NEW)[0] - truth).mean()
        for each in (variances, None)
    ]
    assert errors[0] < errors[1] / 3
    same = OrdinaryKriging().fit(SEEN, y, np.zeros(len(y))).predict(NEW)
    np.testing.assert_array_equal(same, OrdinaryKriging().fit(SEEN, y).predict(NEW))


def test_kriging_agrees_with_scikit_learn_at_its_own_scales() -> None:
    ours = OrdinaryKriging().fit(SEEN, smooth(SEEN))
    theirs = GaussianProcessRegressor(
        Matern(nu=1.5, length_scale=ours._lengths), alpha=1e-4, optimizer=None, normalize_y=True
    ).fit(SEEN, smooth(SEEN))
    np.testing.assert_allclose(ours.predict(NEW)[0], theirs.predict(NEW), atol=0.02)


def test_the_published_process_has_a_fixed_nugget_and_all_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((220, 2))
    y = smooth(X) + 0.1 * rng.standard_normal(220)
    ours = OrdinaryKriging(plain=True).fit(X, y)
    theirs = GaussianProcessRegressor(
        Matern(nu=1.5, length_scale=ours._lengths), alpha=1e-4, optimizer=None, normalize_y=True
    ).fit(X, y)
    mean, sd = ours.predict(NEW)
    expected, spread = theirs.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean, expected, atol=0.02)
    # Ordinary kriging estimates the variance too.
    np.testing.assert_allclose(sd / sd.mean(), spread / spread.mean(), atol=0.05)
    # The default takes the noise into account, from 200 rows.
    assert not np.allclose(OrdinaryKriging().fit(X, y).predict(NEW)[0], expected, atol=0.02)


def test_many_trials_are_thinned_but_the_best_stay() -> None:
    X = np.random.default_rng(1).random((700, 2))
    model = OrdinaryKriging().fit(X, smooth(X))
    best = X[np.argsort(smooth(X))[:50]]
    np.testing.assert_allclose(model.predict(best)[0], smooth(best), atol=0.03)
    assert len(model._inputs.own) == 200


def test_kriging_of_many_rows_keeps_the_first() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((900, 2))
    # Only the first rows are in the corner; the others are far from it.
    X[:120] *= 0.15
    X[120:] = 0.3 + 0.7 * X[120:]
    rough = np.sin(40 * X[:, 0])
    mean, _ = OrdinaryKriging().fit(X, rough).predict(X[:120])
    assert np.abs(mean - rough[:120]).max() < 0.2


def test_given_length_scales_are_used() -> None:
    y = smooth(SEEN)
    estimated = OrdinaryKriging().fit(SEEN, y).predict(NEW)
    given = OrdinaryKriging(scales=fit_column_scales(SEEN, y)).fit(SEEN, y).predict(NEW)
    np.testing.assert_allclose(given, estimated)
    short = OrdinaryKriging(scales=np.log([0.05, 0.05, 1e-3])).fit(SEEN, y).predict(NEW)
    assert short[1].mean() > 2 * estimated[1].mean()


def points(rng: np.random.Generator, count: int) -> np.ndarray:
    """A number, and 30 columns of a set."""
    sets = (rng.random((count, 30)) < 0.2).astype(float)
    sets /= np.maximum(1, np.linalg.norm(sets, axis=1, keepdims=True))
    return np.column_stack([rng.random(count), sets])


def test_shared_columns_have_one_length_scale() -> None:
    X = points(np.random.default_rng(0), 80)
    inputs = SplitInputs(X[:, :1], X[:, 1:])
    scales = fit_column_scales(inputs, X[:, 0] + X[:, 1:6].sum(axis=1))
    assert len(scales) == 1 + 1 + 1  # the number, the set, the nugget
    model = OrdinaryKriging(scales).fit(inputs, X[:, 0])
    np.testing.assert_allclose(model._lengths, np.exp(scales[:2]))


def test_sets_that_share_what_matters_are_learned_from_few() -> None:
    rng = np.random.default_rng(1)
    X, new = points(rng, 60), points(rng, 200)
    weights = rng.standard_normal(30)

    def truth(X: np.ndarray) -> np.ndarray:
        found: np.ndarray = X[:, 1:] @ weights + X[:, 0]
        return found

    shared, own = (
        np.corrcoef(OrdinaryKriging().fit(make(X), truth(X)).predict(make(new))[0], truth(new))[
            0, 1
        ]
        for make in (lambda X: SplitInputs(X[:, :1], X[:, 1:]), SplitInputs)
    )
    assert shared > 0.7
    assert shared > own


@pytest.mark.parametrize("n_shared", [0, 1, 2])
def test_scales_of_more_rows_than_are_used(n_shared: int) -> None:
    X = np.random.default_rng(2).random((300, 2))
    inputs = SplitInputs(X[:, : 2 - n_shared], X[:, 2 - n_shared :] if n_shared else None)
    few = fit_column_scales(inputs, smooth(X), n_max=50)
    assert len(few) == {0: 3, 1: 3, 2: 2}[n_shared]
    assert np.isfinite(few).all()


# ---- columns and feature sets -------------------------------------------------------------------


def split_inputs(n: int, n_own: int, rng: np.random.Generator, *, shared: bool) -> SplitInputs:
    """Return rows whose sets are embedded masks, several rows with the same one if shared."""
    masks = rng.random((max(1, n // 3) if shared else n, 9)) < 0.4
    sets = masks / np.sqrt(np.maximum(1, masks.sum(axis=1, keepdims=True)))
    index = rng.integers(len(sets), size=n) if shared else None
    return SplitInputs(rng.random((n, n_own)), sets, index)


@settings(max_examples=40)
@given(st.integers(1, 12), st.integers(0, 3), st.booleans(), st.integers(0, 999))
def test_distances_of_split_inputs_are_those_of_their_columns(
    n: int, n_own: int, shared: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    some = split_inputs(n, n_own, rng, shared=shared)
    others = split_inputs(5, n_own, rng, shared=False)
    a, b = some.joined(), others.joined()
    assert a.shape == (n, n_own + 9)
    expected = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(some.squared_distances(others), expected, atol=1e-12)
    # Chosen rows keep their sets.
    chosen = rng.integers(n, size=7)
    np.testing.assert_array_equal(some[chosen].joined(), a[chosen])
    np.testing.assert_array_equal(SplitInputs.of(a).joined(), a)
    assert SplitInputs.of(some) is some


def test_inputs_without_sets() -> None:
    X = np.random.default_rng(0).random((6, 2))
    inputs = SplitInputs.of(X)
    assert inputs.sets is None
    np.testing.assert_array_equal(inputs.joined(), X)
    np.testing.assert_array_equal(inputs[[3, 1]].joined(), X[[3, 1]])
    expected = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(inputs.squared_distances(inputs), expected, atol=1e-12)


@pytest.mark.parametrize("n_own", [0, 2])
@pytest.mark.parametrize("is_known", [False, True])
def test_predictions_from_split_inputs_are_those_from_their_columns(
    n_own: int, is_known: bool
) -> None:
    rng = np.random.default_rng(3)
    seen, new = (split_inputs(n, n_own, rng, shared=True) for n in (40, 25))
    if n_own:
        seen.own[::4, 0] = np.nan
        new.own[1, 0] = np.nan
    X = seen.joined()
    y = X[:, -1] + X[:, -5] ** 2 + np.nan_to_num(X).sum(axis=1)
    scales = np.log([*[0.5] * n_own, 0.8, 0.01]) if is_known else None
    # The same with a set of its own for each row.
    apart, other_new = (
        SplitInputs(inputs.own, inputs.joined()[:, n_own:]) for inputs in (seen, new)
    )
    joined = OrdinaryKriging(scales).fit(apart, y).predict(other_new)
    split = OrdinaryKriging(scales).fit(seen, y).predict(new)
    for one, other in zip(joined, split):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(fit_column_scales(seen, y), fit_column_scales(apart, y), atol=1e-6)
