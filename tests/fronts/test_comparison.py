from __future__ import annotations

import optuna
import pytest

from optuna_mofs import pareto_front
from optuna_mofs.fronts import hypervolume_table, shared_reference

from .helpers import make_study


def test_the_reference_is_the_worst_of_all_in_the_studies_own_directions():
    a = make_study([[0.5, 3], [0.25, 1]], ["minimize", "maximize"], names=["error", "speed"])
    b = make_study([[0.75, 2]], ["minimize", "maximize"], names=["error", "speed"])
    assert shared_reference([a, b]) == {"error": 0.75, "speed": 1.0}
    assert shared_reference([a, b], {"speed": 0}) == {"error": 0.75, "speed": 0.0}
    assert shared_reference([a, b], [1, -1]) == {"error": 1.0, "speed": -1.0}


def test_a_study_without_trials_has_no_say():
    empty = optuna.create_study(directions=["minimize"] * 2)
    full = make_study([[0.5, 3], [0.25, 4]])
    assert shared_reference([empty, full]) == {"value_0": 0.5, "value_1": 4.0}
    assert shared_reference([empty], [1, 2]) == {"value_0": 1.0, "value_1": 2.0}
    with pytest.raises(ValueError, match=r"No finished trial in .* Run some trials"):
        shared_reference([empty], {"value_0": 1})


def test_different_metrics_are_refused():
    a = make_study([[0.5, 3]], names=["error", "size"])
    b = make_study([[0.5, 3]], ["minimize", "maximize"], names=["error", "size"])
    with pytest.raises(ValueError, match=r"different metrics: .*minimize 'size' and .*maximize"):
        shared_reference([a, b])
    with pytest.raises(ValueError, match="No studies"):
        shared_reference([])


def test_studies_of_a_row_are_measured_by_one_reference():
    rows = [[[0.2, 2]], [[0.1, 3]]], [[[20, 200]], [[30, 100]]]
    ours, theirs = ([make_study(row[j]) for row in rows] for j in (0, 1))
    table = hypervolume_table({"ours": ours, "theirs": theirs})
    assert table.columns.tolist() == ["ours", "theirs"]
    for i in range(2):
        bound = shared_reference([ours[i], theirs[i]])
        assert table["ours"][i] == pareto_front(ours[i]).hypervolume(bound)
        assert table["theirs"][i] == pareto_front(theirs[i]).hypervolume(bound)
    absolute = hypervolume_table({"ours": ours[1:], "theirs": theirs[1:]}, [100, 300])
    assert absolute.to_numpy().tolist() == [[80 * 100, 70 * 200]]


@pytest.mark.parametrize("counts", [(1, 2), (0, 0)])
def test_methods_need_the_same_runs(counts):
    studies = {str(i): [make_study([[1, 2]])] * count for i, count in enumerate(counts)}
    with pytest.raises(ValueError, match="numbers of studies are"):
        hypervolume_table(studies)
    with pytest.raises(ValueError, match=r"numbers of studies are \{\}"):
        hypervolume_table({})
