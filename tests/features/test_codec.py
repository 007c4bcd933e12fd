from __future__ import annotations

import json
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from optuna.distributions import CategoricalDistribution, IntDistribution

from optuna_mofs.features import FeatureTable, MaskCodec
from optuna_mofs.features._codec import (
    LARGEST_ID,
    MAX_BITS,
    mask_id,
    pack,
    pack_array,
    pack_attribute,
    unpack,
    unpack_array,
    unpack_attribute,
)
from optuna_mofs.filters import rank_scores

BIG = 20_000


def names(p):
    return tuple(f"x{j}" for j in range(p))


TABLES = {p: FeatureTable(names(p)) for p in (1, 7, 8, 9, 12, 13, 33, 1000, BIG)}


def random_mask(p, share, seed):
    return np.random.default_rng(seed).random(p) < share


masks = st.builds(
    random_mask,
    st.one_of(st.integers(1, 70), st.integers(1, BIG), st.sampled_from(sorted(TABLES))),
    st.sampled_from([0.0, 0.001, 0.05, 0.5, 0.97, 1.0]),
    st.integers(0, 2**32),
)


@settings(max_examples=120)
@given(masks)
def test_packing_round_trip(mask):
    p = len(mask)
    assert len(pack(mask)) == -(-p // 8)
    np.testing.assert_array_equal(unpack(pack(mask), p), mask)
    np.testing.assert_array_equal(unpack(np.packbits(mask), p), mask)
    attribute = json.loads(json.dumps(pack_attribute(5, mask)))
    np.testing.assert_array_equal(unpack_attribute(attribute, p), mask)
    assert unpack(pack(mask), p).dtype == bool


@settings(max_examples=120)
@given(masks, st.sampled_from(["bits", "packed", "auto"]))
def test_every_mask_is_decoded_from_its_parameters(mask, form):
    table = TABLES.get(len(mask)) or FeatureTable(names(len(mask)))
    codec = MaskCodec(table, form=form)
    params, attribute = codec.encode(mask)
    assert set(params) == set(codec.parameters) == set(codec.distributions)
    for name, distribution in codec.distributions.items():
        assert distribution._contains(distribution.to_internal_repr(params[name]))
    # Through JSON, as a storage gives it back.
    params, attribute = json.loads(json.dumps([params, attribute]))
    np.testing.assert_array_equal(codec.decode(params, attribute), mask)
    assert codec.attribute(params, mask) == attribute


@pytest.mark.parametrize("p", [1, MAX_BITS, MAX_BITS + 1, BIG])
def test_auto_is_bits_for_few_free_features(p):
    codec = MaskCodec(TABLES.get(p) or FeatureTable(names(p)))
    if p <= MAX_BITS:
        assert codec.form == "bits"
        assert codec.distributions == {n: CategoricalDistribution((False, True)) for n in names(p)}
    else:
        assert codec.form == "packed"
        assert codec.distributions == {"mask": IntDistribution(0, LARGEST_ID)}


def test_only_free_features_have_parameters():
    table = FeatureTable(names(MAX_BITS + 2), fixed=(0, 5))
    codec = MaskCodec(table)
    assert codec.form == "bits"
    assert codec.parameters == tuple(n for n in names(MAX_BITS + 2) if n not in ("x0", "x5"))
    params, _ = codec.encode(np.arange(MAX_BITS) == 0)
    assert [n for n, chosen in params.items() if chosen] == ["x1"]


@settings(max_examples=80)
@given(st.integers(0, LARGEST_ID), st.sampled_from([33, 1000]), st.booleans())
def test_a_bare_integer_always_means_the_same_set(integer, p, ranked):
    ranks = rank_scores(np.random.default_rng(p).normal(size=(3, p)))
    options = {"filters": ("a", "b", "c"), "ranks": ranks} if ranked else {}
    table = FeatureTable(names(p), expected_n_features=9, **options)
    mask = MaskCodec(table, form="packed").from_seed({"mask": integer})
    assert mask.shape == (p,)
    # Another object, and a table that came back from a storage.
    again = FeatureTable.from_json(table.to_json())
    found = MaskCodec(again, form="packed").from_seed({"mask": integer})
    np.testing.assert_array_equal(found, mask)


@settings(max_examples=60)
@given(masks, st.integers(0, LARGEST_ID))
def test_equal_integers_mean_equal_sets(mask, integer):
    p = len(mask)
    codec = MaskCodec(TABLES.get(p) or FeatureTable(names(p)), form="packed")
    attribute = pack_attribute(integer, mask)
    stranger = pack_attribute((integer + 1) % (LARGEST_ID + 1), ~mask)
    # Without an attribute of its own it takes the set of the trial that it repeats.
    found = codec.decode({"mask": integer}, others=[stranger, attribute])
    np.testing.assert_array_equal(found, mask)


@settings(max_examples=60)
@given(masks, st.integers(0, LARGEST_ID))
def test_the_attribute_of_another_integer_is_ignored(mask, integer):
    p = len(mask)
    codec = MaskCodec(TABLES.get(p) or FeatureTable(names(p)), form="packed")
    stranger = pack_attribute(integer ^ 1, mask)
    assert codec.decode({"mask": integer}) is None
    assert codec.decode({"mask": integer}, stranger) is None
    assert codec.decode({"mask": integer}, stranger, [stranger]) is None


def test_different_masks_have_different_integers_of_52_bits():
    rng = np.random.default_rng(0)
    drawn = rng.random((5000, 40)) < 0.5
    unique = np.unique(drawn, axis=0)
    identities = {mask_id(mask) for mask in unique}
    assert len(identities) == len(unique)
    assert min(identities) >= 0
    assert LARGEST_ID // 2 < max(identities) <= LARGEST_ID == 2**52 - 1


def test_incomplete_parameters_have_no_mask():
    assert MaskCodec(TABLES[7]).decode({"x0": True}) is None
    assert MaskCodec(TABLES[1000]).decode({"C": 1.0}) is None


def test_an_attribute_of_fifty_features_of_ten_thousand_is_small():
    mask = np.zeros(10_935, dtype=bool)
    mask[np.random.default_rng(0).choice(10_935, 50, replace=False)] = True
    assert len(json.dumps(pack_attribute(LARGEST_ID, mask))) < 400


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_a_mask_of_the_wrong_length_raises(form):
    with pytest.raises(ValueError, match=r"7 free features, got shape \(8,\)"):
        MaskCodec(TABLES[7], form=form).encode(np.ones(8, dtype=bool))


def test_an_unknown_form_raises():
    with pytest.raises(ValueError, match="'auto', 'bits', 'packed', got 'words'"):
        MaskCodec(TABLES[7], form="words")


@pytest.mark.parametrize("dtype", ["u1", "<u4"])
@given(data=st.data())
def test_arrays_survive_json(dtype, data):
    values = data.draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=1, max_dims=2, min_side=0)))
    text = json.loads(json.dumps(pack_array(values)))
    np.testing.assert_array_equal(
        unpack_array(text, dtype, values.size).reshape(values.shape), values
    )


def test_repetitive_arrays_are_short():
    assert len(pack_array(np.zeros(10_000, dtype="<u4"))) < 100


@pytest.mark.parametrize("count", [2, 4, 10**12])
def test_an_array_of_another_size_is_refused_before_it_is_unpacked(count):
    text = pack_array(np.arange(3, dtype="<u4"))
    with pytest.raises(ValueError, match="packed"):
        unpack_array(text, "<u4", count)


def test_a_few_bytes_do_not_unpack_to_gigabytes():
    bomb = pack_array(np.zeros(100_000_000, dtype="u1"))
    assert len(bomb) < 200_000
    tracemalloc.start()
    with pytest.raises(ValueError, match="expected 8 packed bytes, got more"):
        unpack_attribute([7, bomb], 60)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("attr", [None, [], [1], [1, 2], [1, "?"], [1, "QUJD"], {"a": 1}, "text"])
def test_an_altered_mask_is_refused(attr):
    with pytest.raises((ValueError, zlib.error)):
        unpack_attribute(attr, 12)


@pytest.mark.parametrize("attr", ["text", [1], {"a": 1}])
def test_an_attribute_that_is_no_mask_is_refused_for_any_integer(attr):
    codec = MaskCodec(FeatureTable(names=tuple(f"f{j}" for j in range(40))))
    with pytest.raises(ValueError, match="expected"):
        codec.decode({"mask": 5}, attr)
