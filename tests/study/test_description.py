from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs.features import (
    FeatureTable,
    FilterEnsembleFeatures,
    MaskFeatures,
    SingleFilterFeatures,
)
from optuna_mofs.filters import rank_scores
from optuna_mofs.study._description import (
    PER_FEATURE,
    MeasureDescription,
    StudyDescription,
)

TABLE = FeatureTable(
    ("age", "city", "pay"),
    columns=((0,), (1, 2), (3,)),
    costs=[1, 2, 3],
    fixed=(0,),
    filters=("a", "b"),
    ranks=rank_scores([[1, 2, 3], [3, 3, 1]]),
    expected_n_features=1.5,
)

SPACE = {
    "C": FloatDistribution(1e-3, 1e3, log=True),
    "depth": IntDistribution(1, 9, step=2),
    "kernel": CategoricalDistribution(("rbf", None, 3)),
}

MEASURES = (MeasureDescription("error", worst=1.0), MeasureDescription("auc", "maximize"))


def described(features=None, table=TABLE, **changes):
    whole = StudyDescription(table, (features or MaskFeatures()).bind(table), SPACE, MEASURES)
    return replace(whole, **changes)


@pytest.mark.parametrize(
    "features",
    [
        MaskFeatures(),
        MaskFeatures(form="packed", name="chosen"),
        FilterEnsembleFeatures(ranks="all"),
        FilterEnsembleFeatures.from_paper(),
        SingleFilterFeatures(),
    ],
)
def test_json_round_trip(features):
    before = described(features, defaults={"C": 1.0, "depth": PER_FEATURE, "kernel": "rbf"})
    after = StudyDescription.from_json(json.loads(json.dumps(before.to_json())))
    assert after.to_json() == before.to_json()
    assert after.differences(before) == before.differences(after) == []
    assert after.distributions == before.distributions
    assert after.mask_parameters == before.mask_parameters
    assert after.measures == MEASURES
    assert after.rule_parameters == before.rule_parameters
    assert after.defaults == before.defaults


def test_parameters_of_a_rule():
    unbound = {"fraction", "cost_tilt", "weight_a", "weight_b"}
    assert set(described(FilterEnsembleFeatures()).rule_parameters) == unbound
    single = described(SingleFilterFeatures()).rule_parameters
    assert set(single) == {"fraction", "filter", "cost_tilt"}
    for features in (MaskFeatures(form="bits"), MaskFeatures(form="packed")):
        assert described(features).rule_parameters == ()
    assert StudyDescription().rule_parameters == ()


def test_a_rule_on_another_scale_is_another_search():
    found = described(FilterEnsembleFeatures()).differences(
        described(FilterEnsembleFeatures(scale="linear"))
    )
    assert len(found) == 1
    assert "'scale': 'log'" in found[0]
    assert "'scale': 'linear'" in found[0]


def test_defaults_only_guide_a_search():
    assert described(defaults={"C": 1.0}).differences(described(defaults={"C": 2.0})) == []
    # Studies of schema 0 may have been written without them.
    data = described().to_json()
    del data["defaults"], data["schema"]
    assert StudyDescription.from_json(data).defaults == {}


def test_a_study_without_features_or_space():
    empty = StudyDescription.from_json(json.loads(json.dumps(StudyDescription().to_json())))
    assert empty.features is empty.representation is None
    assert empty.distributions == {}
    assert empty.mask_parameters == ()


def test_written_once_and_read_back_in_any_storage(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    study = optuna.create_study(storage=url, study_name="a")
    assert StudyDescription.read(study) is None
    before = described()
    before.write(study)
    assert StudyDescription.read(study) is StudyDescription.read(study)
    again = optuna.load_study(study_name="a", storage=url)
    found = StudyDescription.read(again)
    assert found.to_json() == before.to_json()
    # The ranks that were written first are kept.
    other = replace(TABLE, ranks=rank_scores([[3, 2, 1], [1, 1, 3]]), expected_n_features=2.0)
    described(table=other).write(again)
    np.testing.assert_allclose(StudyDescription.read(again).features.ranks, TABLE.ranks)


def test_a_mismatch_is_refused_with_the_name_of_the_study_and_the_difference():
    study = optuna.create_study(study_name="sonar")
    described().write(study)
    with pytest.raises(ValueError, match=r"Study 'sonar' .* new: 'ages'.* use another study name"):
        described(table=replace(TABLE, names=("ages", "city", "pay"))).write(study)


def differences(new, old=None):
    return "; ".join((old or described()).differences(new))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            FeatureTable(("age", "town")),
            "3 features in the study, 2 now, missing: 'city', 'pay', new: 'town'",
        ),
        (replace(TABLE, names=("age", "pay", "city")), "a different order, from 'city' on"),
        (
            replace(TABLE, columns=((0,), (1,), (3,))),
            r"'city' has columns (1, 2) in the study, (1,) now",
        ),
        (replace(TABLE, fixed=(1,)), "fixed features ['age'] in the study, ['city'] now"),
        (replace(TABLE, costs=[1, 2, 5]), "'pay' costs 3.0 in the study, 5.0 now"),
        (replace(TABLE, costs=None), "'city' costs 2.0 in the study, 1.0 now"),
    ],
)
def test_differences_of_features(table, expected):
    assert expected in differences(described(table=table))


def test_equivalent_tables_do_not_differ():
    same = replace(TABLE, columns=None, costs=None)
    spelled = replace(same, columns=((0,), (1,), (2,)), costs=np.ones(3))
    assert differences(described(table=spelled), described(table=same)) == ""
    # Filters only guide a search of masks.
    assert differences(described(table=replace(TABLE, filters=("c", "d")))) == ""


def test_long_lists_of_new_names_are_shortened():
    many = FeatureTable(tuple(f"x{j}" for j in range(20_000)))
    text = differences(described(table=many))
    assert "'x4' and 19995 more" in text
    assert len(text) < 500
    other = FeatureTable(tuple(f"y{j}" for j in range(20_000)))
    assert "and 19995 more" in differences(described(table=many), described(table=other))


def test_differences_of_representation_and_filters():
    packed = differences(described(MaskFeatures(form="packed")))
    assert "'form': 'bits'" in packed
    assert "'form': 'packed'" in packed
    assert "filter_ensemble" in differences(described(FilterEnsembleFeatures()))
    for make in (FilterEnsembleFeatures, SingleFilterFeatures):
        other = replace(TABLE, filters=("a", "c"))
        text = differences(described(make(), table=other), described(make()))
        assert text == "filters ['a', 'b'] in the study, ['a', 'c'] now"


def test_selecting_features_in_only_one_is_a_difference():
    without = StudyDescription(None, None, SPACE, MEASURES)
    assert "only one of the two" in differences(without)


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        ({k: v for k, v in SPACE.items() if k != "C"}, "missing parameters: 'C'"),
        ({**SPACE, "gamma": FloatDistribution(0, 1)}, "new parameters: 'gamma'"),
        ({**SPACE, "C": FloatDistribution(1e-3, 10, log=True)}, "parameter 'C' is FloatDistr"),
        ({**SPACE, "kernel": CategoricalDistribution(("rbf",))}, "parameter 'kernel' is"),
        (None, "missing parameters: 'C', 'depth', 'kernel'"),
    ],
)
def test_differences_of_the_space(space, expected):
    assert expected in differences(described(space=space))


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_tuples_and_lists_as_choices_do_not_differ():
    space = {"layers": CategoricalDistribution(((50,), (20, 20)))}
    before = described(space=space)
    after = StudyDescription.from_json(json.loads(json.dumps(before.to_json())))
    assert after.space != before.space
    assert after.differences(before) == []


def test_differences_of_measures_name_their_directions():
    turned = (MEASURES[0], MeasureDescription("auc", "minimize"))
    assert differences(described(measures=turned)) == (
        "measures minimize 'error', maximize 'auc' in the study, "
        "minimize 'error', minimize 'auc' now"
    )
    assert "now" in differences(described(measures=MEASURES[:1]))
    assert differences(described(measures=(MeasureDescription("error"), MEASURES[1]))) == ""


def test_labels_are_optional_in_the_stored_form():
    new = StudyDescription(measures=(MeasureDescription("error", "minimize", 1.0, "RMSE"),))
    assert StudyDescription.from_json(new.to_json()).measures[0].label == "RMSE"
    stored = {**new.to_json(), "measures": [["error", "minimize", 1.0]]}
    old = StudyDescription.from_json(stored)
    assert old.measures == (MeasureDescription("error", "minimize", 1.0),)
    assert old.differences(new) == []
