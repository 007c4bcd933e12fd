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


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 1000])
@pytest.mark.parametrize(
    "palette", [[1.0], [0.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.1, np.nan], list(range(16))]
)
def test_few_distinct_losses_are_exact(n: int, palette: list[float]) -> None:
    losses = np.random.default_rng(n).choice(palette, n).astype(np.float32)
    found = decode_losses(json.loads(json.dumps(encode_losses(losses))))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, losses)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 3e7, 1e30])
def test_other_losses_are_half_floats(scale: float) -> None:
    losses = RNG.exponential(size=200)
    losses[3] = np.nan
    data = encode_losses(losses * scale)
    found = decode_losses([data[0], data[1] / scale, data[2]])
    np.testing.assert_allclose(found, losses, atol=np.nanmax(losses) * 2**-11)
    assert abs(np.nanmean(found) - np.nanmean(losses)) < 1e-3 * np.nanmean(losses)


def test_an_infinite_loss_spoils_no_other() -> None:
    losses = np.append(np.linspace(0, 1, 50), np.inf)
    np.testing.assert_allclose(decode_losses(encode_losses(losses)), losses, atol=1e-3)


def test_a_huge_loss_is_infinite() -> None:
    assert decode_losses(encode_losses(np.array([0.0, 1e300]))).tolist() == [0.0, np.inf]


def test_zero_or_one_takes_a_bit_per_row() -> None:
    text = json.dumps(encode_losses(RNG.integers(2, size=800)))
    assert len(text) < 800 / 8 * 4 / 3 + 40


@pytest.mark.parametrize(
    ("losses", "n_kept"),
    [
        (RNG.integers(2, size=100_000), 12_288),
        (RNG.integers(4, size=100_000), 6144),
        (RNG.normal(size=100_000), 768),
    ],
)
def test_many_rows_are_sampled(losses: Array, n_kept: int) -> None:
    data = encode_losses(losses)
    assert len(json.dumps(data)) < 2048 + 200
    np.testing.assert_allclose(decode_losses(data), losses[:n_kept], atol=3e-3)


def test_kept_rows_are_one_permutation() -> None:
    assert sorted(kept_rows(500)) == list(range(500))
    many = kept_rows(50_000)
    assert len(set(many.tolist())) == MAX_ROWS
    # A sample of all rows, not the first ones; it never changes, or studies could not be resumed.
    assert abs(many.mean() / 25_000 - 1) < 0.02
    assert kept_rows(10).tolist() == [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]


def test_trials_keep_the_same_rows(study: Study) -> None:
    bits, numbers = RNG.integers(2, size=3000).astype(float), RNG.normal(size=3000)
    for losses in (bits, numbers):
        write(study, losses_attr({"cross_validation": losses, "holdout": None}))
    first, second = (read_losses(trial, "cross_validation") for trial in study.trials)
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first, bits[kept_rows(3000)])
    np.testing.assert_allclose(second, numbers[kept_rows(3000)[: len(second)]], atol=3e-3)
    assert [read_losses(trial, "holdout") for trial in study.trials] == [None, None]


def test_both_sources_are_one_attribute(study: Study) -> None:
    write(study, losses_attr({"cross_validation": np.zeros(9), "holdout": np.ones(3)}))
    assert len(study.trials[0].system_attrs) == 1
    write(study, copied_losses(study.trials[0]))
    for trial in study.trials:
        for source, expected in (("cross_validation", np.zeros(9)), ("holdout", np.ones(3))):
            np.testing.assert_array_equal(read_losses(trial, source), expected)  # type: ignore[arg-type]


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
        read_row_weights(study, "holdout"), weights[kept_rows(30)], atol=1e-3
    )
