"""The bootstrap against a slow transcription, and against data with known errors."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optuna_mofs.fronts import knee_index, one_standard_error_index
from optuna_mofs.fronts._honest import SelectionBootstrap, contenders, interval, unit_losses

from .helpers import quick, slow_front


@st.composite
def losses_and_sizes(draw):
    # Few distinct losses and sizes: ties are the hard cases.
    n_trials, n_rows = draw(st.integers(1, 6)), draw(st.integers(3, 8))
    values = st.sampled_from([0.0, 1.0, 2.0])
    losses = draw(arrays(np.float64, (n_trials, n_rows), elements=values))
    sizes = draw(arrays(np.float64, n_trials, elements=st.integers(0, 3).map(float)))
    return losses, sizes


def start(losses, sizes, *, n=20, seed=0, **units) -> SelectionBootstrap:
    return SelectionBootstrap(unit_losses(losses, **units), sizes, n_bootstraps=n, seed=seed)


def slow_samples(n_rows: int, n: int, seed: int) -> list[list[int]]:
    """Return how often each row is drawn, after one sample of all rows."""
    drawn = np.random.default_rng(seed).integers(n_rows, size=(n, n_rows))
    samples = [[int((sample == row).sum()) for row in range(n_rows)] for sample in drawn]
    return [[1] * n_rows, *(sample for sample in samples if 0 in sample)]


def slow_mean(losses: np.ndarray, counts: list[int]) -> float:
    return sum(c * x for c, x in zip(counts, losses)) / sum(counts)


def slow_best(losses: np.ndarray, sizes: np.ndarray, limit: float, counts: list[int]) -> int:
    """Return the best trial with at most ``limit`` features; if tied, the sparsest, then first."""
    return min(
        (t for t in range(len(losses)) if sizes[t] <= limit),
        key=lambda t: (round(slow_mean(losses[t], counts), 9), sizes[t], t),
    )


def out_of_bag(counts: list[int]) -> list[int]:
    return [int(c == 0) for c in counts]


@quick
@given(losses_and_sizes(), st.integers(0, 99))
def test_the_best_with_at_most_k_features_on_every_sample(case, seed):
    losses, sizes = case
    bootstrap = start(losses, sizes, seed=seed)
    samples = slow_samples(losses.shape[1], 20, seed)
    expected = [
        [slow_best(losses, sizes, limit, counts) for counts in samples]
        for limit in sorted(set(sizes))
    ]
    assert bootstrap.sizes.tolist() == sorted(set(sizes))
    assert bootstrap.best_at_most().tolist() == expected


@quick
@given(losses_and_sizes(), st.integers(0, 99))
def test_the_estimate_is_the_mean_out_of_bag_loss(case, seed):
    losses, sizes = case
    samples = slow_samples(losses.shape[1], 20, seed)
    if len(samples) == 1:
        return
    bootstrap = start(losses, sizes, seed=seed)
    chosen = bootstrap.best_at_most()
    estimate = bootstrap.estimate(chosen)
    for rule, trials in enumerate(chosen.tolist()):
        first = trials[0]
        gaps = [
            slow_mean(losses[trial], out_of_bag(counts))
            - slow_mean(losses[first], out_of_bag(counts))
            for trial, counts in zip(trials[1:], samples[1:])
        ]
        assert estimate.optimism[rule] == pytest.approx(np.mean(gaps), abs=1e-5)
        value = losses[first].mean() + np.mean(gaps)
        assert estimate.values[rule] == pytest.approx(value, abs=1e-5)
        n_rows = losses.shape[1]
        squares = [
            (losses[trial][row] - value) ** 2
            for trial, counts in zip(trials[1:], samples[1:])
            for row in range(n_rows)
            if counts[row] == 0
        ]
        rows = np.sqrt(np.mean(squares) / (n_rows - 1))
        tested = losses[trials[1:]]
        spread = np.var(tested.mean(axis=1))
        mixed = np.sqrt(np.var(tested.mean(axis=0), ddof=1) / n_rows + spread)
        assert estimate.standard_errors[rule] == pytest.approx(max(rows, mixed), abs=1e-3)


@quick
@given(losses_and_sizes(), st.integers(0, 99), st.sampled_from([0.0, 0.05, 0.3]))
def test_one_standard_error_on_every_sample(case, seed, floor):
    losses, sizes = case
    sizes = sizes + 1.0
    chosen = start(losses, sizes, seed=seed).one_standard_error(floor)
    for trial, counts in zip(chosen, slow_samples(losses.shape[1], 20, seed)):
        means = np.array([slow_mean(row, counts) for row in losses])
        best = slow_best(losses, sizes, np.inf, counts)
        square = slow_mean((losses[best] - means[best]) ** 2, counts)
        spread = max(np.sqrt(square / sum(counts)), floor)
        if np.abs(means - means[best] - spread).min() < 1e-4:
            continue  # on the limit, where single precision may decide
        assert trial == one_standard_error_index(np.round(means, 9), sizes, spread)


def test_one_standard_error_leaves_out_the_empty_set():
    losses = (np.arange(60) % 4 == 0).astype(float)
    worse = np.maximum(losses, np.arange(60) == 1)
    chosen = start([worse, losses], [0.0, 3.0]).one_standard_error(0.1)
    assert chosen[0] == 1
    assert start([losses, worse], [0.0, 3.0]).one_standard_error(0.1)[0] == 0, "it is the best"


@quick
@given(losses_and_sizes(), st.integers(0, 99))
def test_the_knee_on_every_sample(case, seed):
    losses, sizes = case
    bootstrap = start(losses, sizes, seed=seed)
    chosen = bootstrap.knee(sizes[:, None], constant=1.5)
    for trial, counts in zip(chosen, slow_samples(losses.shape[1], 20, seed)):
        means = np.array([slow_mean(row, counts) for row in losses])
        points = np.column_stack([np.round(means, 9), sizes])
        front = slow_front(points)
        filled = [t for t in front if sizes[t] > 0]
        rows = np.array([t for t in filled if means[t] < 1.5 - 1e-9] or filled or front)
        expected = rows[knee_index(points[rows])]
        scaled = points[rows] - points[rows].min(axis=0)
        scaled /= np.maximum(scaled.max(axis=0), 1e-12)
        totals = np.sort(scaled.sum(axis=1))
        if len(totals) == 1 or totals[1] - totals[0] > 1e-3:  # else single precision may decide
            assert points[trial].tolist() == points[expected].tolist()


@quick
@given(losses_and_sizes())
def test_one_trial_has_no_optimism(case):
    losses = case[0][:1]
    bootstrap = start(losses, [1.0], n=50)
    estimate = bootstrap.estimate(bootstrap.best_at_most())
    assert estimate.optimism.tolist() == [0.0]
    assert estimate.values[0] == pytest.approx(losses.mean())


@quick
@given(losses_and_sizes(), st.integers(0, 99))
def test_a_copy_with_more_features_is_never_chosen(case, seed):
    losses, sizes = case
    bootstrap = start(np.vstack([losses, losses]), np.append(sizes, sizes + 4.0), seed=seed)
    assert bootstrap.best_at_most().max() < len(losses)


@quick
@given(losses_and_sizes(), st.integers(0, 99))
def test_groups_of_equal_rows_are_like_single_rows(case, seed):
    losses, sizes = case
    single = start(losses, sizes, seed=seed)
    n_rows = losses.shape[1]
    order = np.random.default_rng(seed).permutation(np.repeat(np.arange(n_rows), 2))
    grouped = start(losses[:, order], sizes, seed=seed, groups=order)
    weighted = start(losses, sizes, seed=seed, weights=np.full(n_rows, 3.0))
    if len(slow_samples(n_rows, 20, seed)) == 1:
        return
    expected = single.estimate(single.best_at_most())
    for other in (grouped, weighted):
        found = other.estimate(other.best_at_most())
        np.testing.assert_allclose(found.values, expected.values, atol=1e-5)
        np.testing.assert_allclose(found.standard_errors, expected.standard_errors, atol=1e-3)


@quick
@given(losses_and_sizes(), st.data())
def test_units_have_the_weighted_means_of_their_rows(case, data):
    losses, _ = case
    n_rows = losses.shape[1]
    vectors = st.lists(st.integers(1, 4), min_size=n_rows, max_size=n_rows)
    groups, weights = data.draw(vectors), data.draw(vectors)
    units = unit_losses(losses, groups=groups, weights=weights)
    assert len(units.weights) == len(set(groups))
    np.testing.assert_allclose(units.means, np.average(losses, axis=1, weights=weights), rtol=1e-6)
    assert units.bound == (losses.max() or 1.0)
    alone = unit_losses(losses).standard_errors
    np.testing.assert_allclose(alone, losses.std(axis=1, ddof=1) / np.sqrt(n_rows), atol=1e-6)


def test_negative_losses_have_no_bound():
    assert unit_losses([[0.5, -0.1]]).bound is None


@quick
@given(losses_and_sizes(), st.integers(0, 3), st.integers(1, 6))
def test_contenders_are_close_to_the_best_of_their_size(case, margin, limit):
    losses, sizes = case
    errors = losses.sum(axis=1)
    gaps = np.array([e - errors[sizes <= s].min() for e, s in zip(errors, sizes)])
    found = contenders(errors, sizes, margin, limit)
    assert (np.diff(found) > 0).all()
    assert len(found) == min(limit, np.count_nonzero(gaps <= margin))
    left_out = np.setdiff1d(np.flatnonzero(gaps <= margin), found)
    assert gaps[found].max(initial=0.0) <= gaps[left_out].min(initial=np.inf)


# ---- intervals ----------------------------------------------------------------------------------


@quick
@given(st.floats(0.0, 1.0), st.floats(0.0, 0.3), st.integers(2, 500), st.sampled_from([None, 1.0]))
def test_intervals_contain_their_value_and_stay_inside_the_bounds(value, error, n_rows, bound):
    low, high = interval(value, error, n_rows, bound=bound)
    assert low <= value + 1e-12
    assert high >= value - 1e-12
    if bound is not None:
        assert low >= 0.0
        assert high <= bound
        assert high - low > 0.0
    wide = interval(value, error, n_rows, bound=bound, confidence=0.99)
    assert wide.low <= low + 1e-12
    assert wide.high >= high - 1e-12


def test_losses_of_0_and_1_have_wilsons_interval():
    share, n_rows = 0.1, 100_000
    z, z2 = NormalDist().inv_cdf(0.975), NormalDist().inv_cdf(0.975) ** 2
    half = z * np.sqrt(share * (1 - share) / n_rows + z2 / (4 * n_rows**2)) / (1 + z2 / n_rows)
    center = (share + z2 / (2 * n_rows)) / (1 + z2 / n_rows)
    error = np.sqrt(share * (1 - share) / n_rows)
    found = interval(share, error, n_rows, bound=1.0)
    assert found.low == pytest.approx(center - half, rel=1e-4)
    assert found.high == pytest.approx(center + half, rel=1e-4)


def test_no_error_has_an_upper_limit_that_falls_with_the_rows():
    highs = [float(interval(0.0, 0.0, n, bound=1.0).high) for n in (20, 100, 1000)]
    assert highs == sorted(highs, reverse=True)
    assert highs[1] == pytest.approx(0.038, abs=0.001)


def test_an_unknown_value_has_an_unknown_interval():
    for bound in (None, 1.0):
        assert np.isnan(interval([np.nan], [np.nan], 10, bound=bound)).all()


# ---- data with known errors ---------------------------------------------------------------------


def simulate(rng, kind, n_rows, n_trials=100):
    """Return losses, numbers of features and true errors of trials that share hard rows."""
    sizes = rng.integers(1, 30, n_trials).astype(float)
    errors = 0.12 + 0.25 * np.exp(-sizes / 5) + 0.08 * rng.random(n_trials)
    if kind == "noise":
        errors[:] = 0.5
    shared = rng.standard_normal(n_rows)
    z = np.sqrt(0.5) * (shared + rng.standard_normal((n_trials, n_rows)))
    if kind == "regression":
        scale = 1.0 + errors
        return (z * scale[:, None]) ** 2, sizes, scale**2
    limits = np.array([NormalDist().inv_cdf(error) for error in errors])
    return z < limits[:, None], sizes, errors


@pytest.mark.parametrize("kind", ["noise", "classification", "regression"])
def test_intervals_cover_the_true_error_of_the_chosen_trial(kind):
    rng = np.random.default_rng(0)
    covered: dict[str, list[bool]] = {"half": [], "best": [], "one_standard_error": [], "knee": []}
    honest, raw = [], []
    for repetition in range(210):
        n_rows = (60, 150, 600)[repetition % 3]
        losses, sizes, errors = simulate(rng, kind, n_rows)
        units = unit_losses(losses)
        bootstrap = SelectionBootstrap(units, sizes, n_bootstraps=120, seed=repetition)
        best = bootstrap.best_at_most()
        chosen = np.vstack(
            [
                best[len(best) // 2],
                best[-1],
                bootstrap.one_standard_error(0.01),
                bootstrap.knee(sizes[:, None]),
            ]
        )
        estimate = bootstrap.estimate(chosen)
        limits = interval(*estimate[:2], n_rows, bound=units.bound)
        truth = errors[chosen[:, 0]]
        for found, ok in zip(covered.values(), (limits.low <= truth) & (truth <= limits.high)):
            found.append(bool(ok))
        honest.append((estimate.values - truth) / np.median(errors))
        raw.append((units.means[chosen[:, 0]] - truth) / np.median(errors))
    shares = {rule: np.mean(found) for rule, found in covered.items()}
    assert all(share >= 0.92 for share in shares.values()), shares
    # Where all trials are equal, the mean over many of them is known better than one of them.
    assert shares["half"] <= 0.985 or kind == "noise", shares
    bias, raw_bias = np.mean(honest, axis=0), np.mean(raw, axis=0)
    assert (raw_bias < -0.07).all(), raw_bias
    # A bootstrap sample chooses a little worse than all rows.
    assert (np.abs(bias) < np.abs(raw_bias) / 3.0).all(), (bias, raw_bias)


def test_a_sample_of_rows_varies_as_all_rows_do() -> None:
    rng = np.random.default_rng(5)
    gaps = {"sample": [], "as all rows": []}

    def estimate(units):
        bootstrap = SelectionBootstrap(units, np.ones(60), n_bootstraps=200, seed=0)
        return bootstrap.estimate(bootstrap.best_at_most())

    for _ in range(10):
        # Rows differ in difficulty, so trials agree on most of them.
        chances = 0.25 + 0.2 * rng.choice([-1.0, 1.0], size=1600)
        losses = (rng.random((60, 1600)) < chances).astype(float)
        every, sample = unit_losses(losses), unit_losses(losses[:, :200])
        full = estimate(every)
        scaled = sample.as_sample_of(every.means, 200 / 1600)
        np.testing.assert_allclose(scaled.means, every.means, rtol=1e-5)
        np.testing.assert_allclose(scaled.standard_errors, every.standard_errors, rtol=0.15)
        for name, units in (("sample", sample), ("as all rows", scaled)):
            gaps[name].append(estimate(units).optimism[0] / full.optimism[0])
    assert np.mean(gaps["sample"]) > 2.0
    assert np.mean(gaps["as all rows"]) == pytest.approx(1.0, abs=0.15)
