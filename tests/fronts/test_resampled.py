from __future__ import annotations

import json

import numpy as np
import optuna
import pytest

from optuna_mofs.features._stability import nogueira_stability
from optuna_mofs.fronts._resampled import ResampledFronts

#: Resample, error, error on other rows, features, whether it is the pick.
MEMBERS = [
    (0, 0.5, 0.6, (), False),
    (0, 0.3, 0.4, (0,), True),
    (0, 0.2, 0.3, (0, 1), False),
    (1, 0.4, 0.45, (1,), False),
    (1, 0.1, 0.5, (1, 2, 3), True),
    (2, 0.25, np.nan, (0, 2), True),
]


def fronts(sign=1.0, **options):
    resample, values, test, sets, picks = zip(*MEMBERS)
    masks = np.zeros((len(MEMBERS), 5), dtype=bool)
    for row, chosen in zip(masks, sets):
        row[list(chosen)] = True
    return ResampledFronts(
        resample=np.array(resample),
        numbers=np.arange(len(MEMBERS)) + 7,
        values=np.column_stack([sign * np.array(values), masks.mean(axis=1)]),
        test=sign * np.array(test),
        masks=masks,
        is_pick=np.array(picks),
        metric_names=("error", "fraction"),
        sign=sign,
        feature_names=("a", "b", "c", "d", "e"),
        similarity={(0, 1): 0.8, (2, 3): 0.3},
        n_rows=(30, 60),
        n_trials=9,
        **options,
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_members_are_the_picks_or_the_best_of_at_most_so_many_features(sign):
    found = fronts(sign)
    assert found.members().tolist() == [1, 4, 5]
    assert found.members(0).tolist() == [0]
    assert found.members(1).tolist() == [1, 3]
    assert found.members(2).tolist() == [2, 3, 5]
    assert found.members(9).tolist() == [2, 4, 5]
    assert found.n_resamples == 3
    with pytest.raises(ValueError, match="n_features must be an integer of at least 0, got -1"):
        found.members(-1)


def test_frequencies_count_sets_of_resamples():
    found = fronts()
    assert found.selection_frequency().to_dict() == pytest.approx(
        {"a": 2 / 3, "c": 2 / 3, "b": 1 / 3, "d": 1 / 3, "e": 0}
    )
    assert found.selection_frequency(1)["a"] == 0.5
    table = found.frequencies()
    assert table.columns.tolist() == [0, 1, 2, 3]
    assert "e" not in table.index
    assert table.loc["c"].tolist() == pytest.approx([0, 0, 1 / 3, 2 / 3])
    assert found.frequencies([2]).columns.tolist() == [2]


def test_the_band_has_the_values_inside_and_on_other_rows():
    band = fronts().band(1.0)
    assert band.index.tolist() == [0, 1, 2, 3]
    assert band.loc[2, ["low", "median", "high"]].tolist() == pytest.approx([0.2, 0.25, 0.4])
    assert band.loc[2, "test_median"] == pytest.approx(0.375), "unknown values are left out"
    assert band["resamples"].tolist() == [1, 2, 3, 3]


def test_the_stability_is_that_of_the_members():
    found = fronts()
    assert found.stability() == nogueira_stability(found.masks[[1, 4, 5]])
    assert found.stability(2, confidence=0.5) == nogueira_stability(
        found.masks[[2, 3, 5]], confidence=0.5
    )
    assert "3 subsamples of 30 of 60 rows, 9 trials each: stability of the pick" in repr(found)


def test_groups_have_names():
    found = fronts()
    (group,) = found.groups()
    assert found.names_of(group) == ["a", "b"]
    assert found.groups(min_similarity=0.9) == []


def test_a_row_per_member():
    frame = fronts().frame
    assert frame.loc[4].to_dict() == {
        "resample": 1,
        "number": 11,
        "pick": True,
        "error": 0.1,
        "fraction": 0.6,
        "error_test": 0.5,
        "n_features": 3,
        "features": ("b", "c", "d"),
    }


def test_a_study_keeps_the_result():
    study = optuna.create_study()
    assert ResampledFronts.read(study) is None
    before = fronts(method="bootstrap")
    before.write(study)
    after = ResampledFronts.read(study)
    assert after is not None
    assert json.dumps(before.to_json()) == json.dumps(after.to_json())
    assert after.frame.equals(before.frame)
    assert after.similarity == before.similarity
    assert after.method == "bootstrap"
    np.testing.assert_array_equal(after.test, before.test)
