"""Losses of rows are stored compactly, and those of all trials belong to the same rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.study import Study

from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs._typing import Array
from optuna_mofs.study._losses import (
    MAX_ROWS,
    RowLosses,
    copied_losses,
    decode_losses,
    encode_losses,
    kept_rows,
    losses_attr,
    read_loss_measure,
    read_losses,
    read_row_groups,
    read_row_weights,
    write_loss_rows,
)

RNG = np.random.default_rng(0)


@pytest.fixture
def study() -> Study:
    return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))


def write(study: Study, system: dict[str, Any]) -> None:
    write_trial_attrs(study, study.ask(), system=system)


def stored(losses: Array) -> RowLosses:
    return decode_losses(json.loads(json.dumps(encode_losses(losses))))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 300])
@pytest.mark.parametrize(
    "palette", [[1.0], [0.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.1, np.nan], [0, 1, 2, 3]]
)
def test_few_distinct_losses_are_exact(n: int, palette: list[float]) -> None:
    losses = np.random.default_rng(n).choice(palette, n).astype(np.float32)
    found = stored(losses)
    assert found.values.dtype == np.float32
    np.testing.assert_array_equal(found.values, losses[kept_rows(n)])
    finite = losses[~np.isnan(losses)]
    assert found.n_rows == len(finite)
    if len(finite):
        assert found.mean == pytest.approx(finite.mean(), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 3e7, 1e30])
@pytest.mark.parametrize("shift", [0.0, -0.5])
def test_other_losses_take_a_byte(scale: float, shift: float) -> None:
    losses = RNG.exponential(size=90) + shift
    losses[3] = np.nan
    found = stored(losses * scale)
    values, kept = found.values / scale, losses[kept_rows(90)]
    span = np.nanmax(losses) - np.nanmin(losses)
    np.testing.assert_allclose(values, kept, atol=span / 254)
    # Small losses are more exact.
    low = kept < np.nanmin(kept) + span / 100
    np.testing.assert_allclose(values[low], kept[low], atol=span / 2000)
    assert found.n_rows == 89
    assert found.mean / scale == pytest.approx(np.nanmean(losses), rel=1e-5)


def test_an_infinite_loss_spoils_no_other() -> None:
    losses = np.append(np.linspace(0, 1, 50), [np.inf, 1e300])
    found = stored(losses)
    order = np.argsort(kept_rows(52))
    np.testing.assert_allclose(found.values[order][:50], losses[:50], atol=5e-3)
    assert np.isnan(found.values[order][50:]).all()
    assert found.n_rows == 50
    assert found.mean == pytest.approx(0.5)


def test_only_infinite_losses() -> None:
    found = stored(np.array([np.inf, -np.inf, np.nan, 1e300]))
    assert not np.isfinite(found.values).any()
    assert found.n_rows == 0


@pytest.mark.parametrize(
    ("losses", "n_kept"),
    [
        (RNG.integers(2, size=100_000), 768),
        (RNG.integers(4, size=100_000), 384),
        (RNG.normal(size=100_000), 96),
    ],
)
def test_many_rows_are_sampled(losses: Array, n_kept: int) -> None:
    assert len(json.dumps(encode_losses(losses))) < 128 + 60
    found = stored(losses)
    np.testing.assert_allclose(found.values, losses[kept_rows(100_000)[:n_kept]], atol=0.05)
    assert found.n_rows == 100_000
    assert found.mean == pytest.approx(losses.mean(), rel=1e-5)


def test_kept_rows_are_one_permutation() -> None:
    assert sorted(kept_rows(500)) == list(range(500))
    many = kept_rows(50_000)
    assert len(set(many.tolist())) == MAX_ROWS
    # A sample of all rows, not the first ones; it never changes, or studies could not be resumed.
    assert abs(many.mean() / 25_000 - 1) < 0.05
    assert kept_rows(10).tolist() == [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]


def test_trials_keep_the_same_rows(study: Study) -> None:
    bits, numbers = RNG.integers(2, size=3000).astype(float), RNG.normal(size=3000)
    for losses in (bits, numbers):
        write(study, losses_attr({"cross_validation": losses, "holdout": None}))
    first, second = (read_losses(trial, "cross_validation") for trial in study.trials)
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.values, bits[kept_rows(3000)])
    rows = kept_rows(3000)[: len(second.values)]
    np.testing.assert_allclose(second.values, numbers[rows], atol=0.05)
    assert [read_losses(trial, "holdout") for trial in study.trials] == [None, None]


def test_both_sources_are_one_attribute(study: Study) -> None:
    write(study, losses_attr({"cross_validation": np.zeros(9), "holdout": np.ones(3)}))
    assert len(study.trials[0].system_attrs) == 1
    write(study, copied_losses(study.trials[0]))
    for trial in study.trials:
        for source, expected in (("cross_validation", np.zeros(9)), ("holdout", np.ones(3))):
            found = read_losses(trial, source)  # type: ignore[arg-type]
            assert found is not None
            np.testing.assert_array_equal(found.values, expected)


def test_nothing_is_written_without_losses(study: Study) -> None:
    write(study, losses_attr({"cross_validation": None}))
    write(study, copied_losses(study.trials[0]))
    assert [trial.system_attrs for trial in study.trials] == [{}, {}]


def test_rows_of_the_study(study: Study) -> None:
    assert read_loss_measure(study) is None
    assert read_row_groups(study) is None
    assert read_row_weights(study) is None
    groups, weights = np.repeat(["b", "a", "c"], 10), RNG.uniform(size=30)
    write_loss_rows(
        study, "error", groups={"cross_validation": groups}, weights={"holdout": weights}
    )
    assert read_loss_measure(study) == "error"
    codes = read_row_groups(study)
    assert codes is not None
    assert codes.tolist() == [{"a": 0, "b": 1, "c": 2}[g] for g in groups[kept_rows(30)]]
    assert read_row_groups(study, "holdout") is None
    assert read_row_weights(study) is None
    np.testing.assert_allclose(
        read_row_weights(study, "holdout"), weights[kept_rows(30)], rtol=1e-6
    )
