from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.visualization import NothingToPlotError, plot_feature_frequency
from optuna_mofs.visualization._feature_frequency import size_bins

from .helpers import masked_study, nested_study, plain_study


def test_fractions_are_those_of_the_front():
    # Two trials of one feature and one of two on the front; the last is dominated.
    study = masked_study(
        [[0], [3], [0, 3], [7, 8, 9]], [(0.5, 0.1), (0.5, 0.1), (0.2, 0.2), (0.9, 0.3)]
    )
    (heat,) = plot_feature_frequency(study).data
    assert list(heat.y) == ["&lt;f0&gt;", "&lt;f3&gt;"]
    assert list(heat.x) == ["1", "2"]
    assert np.array(heat.z).tolist() == [[0.5, 1.0], [0.5, 1.0]]
    assert "<b>&lt;f0&gt;</b><br>in 1 of 2 trials" in heat.text[0][0]
    assert "with 2 features (20 %)" in heat.text[0][1]


def test_frequent_features_come_first_and_others_are_cut():
    study = nested_study(p=12, sizes=(1, 2, 3, 5, 8))
    figure = plot_feature_frequency(study, max_features=3, max_bins=2)
    (heat,) = figure.data
    assert list(heat.y) == [f"&lt;f{j}&gt;" for j in range(3)]
    assert list(heat.x) == ["1–3", "5–8"]
    assert "with 1–3 features (8.3–25 %)" in heat.text[0][0]
    assert np.array(heat.z)[2] == pytest.approx([1 / 3, 1.0], abs=1e-4)
    assert "the 3 most frequent of 8 features that occur on the front, of 12" in (
        figure.layout.title.text
    )


def test_several_studies_are_joined():
    one, two = nested_study(sizes=(1,)), nested_study(sizes=(2,))
    (heat,) = plot_feature_frequency([one, two]).data
    assert list(heat.x) == ["1", "2"]
    with pytest.raises(ValueError, match="different features"):
        plot_feature_frequency([one, nested_study(p=11)])


def test_fixed_features_count_but_are_not_shown():
    (heat,) = plot_feature_frequency(nested_study(sizes=(2, 3), fixed=(0,))).data
    assert "&lt;f0&gt;" not in heat.y
    assert list(heat.x) == ["2", "3"]


def test_many_features_and_one_trial():
    (heat,) = plot_feature_frequency(nested_study(p=10_935, sizes=(40,))).data
    assert len(heat.y) == 30
    assert list(heat.x) == ["40"]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(1, 8))
@settings(max_examples=50)
def test_bins_contain_every_trial_once_in_order_of_size(sizes, max_bins):
    array = np.sort(np.array(sizes))
    parts = size_bins(array, max_bins)
    assert np.concatenate(parts).tolist() == list(range(len(array)))
    assert len(parts) == min(max_bins, len(set(sizes)))
    for before, after in pairwise(parts):
        assert array[before].max() < array[after].min()


def test_missing_features_and_bad_input_raise():
    with pytest.raises(NothingToPlotError, match="has no description of features"):
        plot_feature_frequency(plain_study([(1, 2)]))
    with pytest.raises(NothingToPlotError, match="is empty"):
        plot_feature_frequency(masked_study([], []))
    with pytest.raises(ValueError, match="max_features must be an integer of at least 1, got 0"):
        plot_feature_frequency(nested_study(), max_features=0)
    with pytest.raises(ValueError, match="max_bins must be an integer of at least 1, got 0"):
        plot_feature_frequency(nested_study(), max_bins=0)
    with pytest.raises(ValueError, match="No studies"):
        plot_feature_frequency([])
