from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

from optuna_mofs.history._history import History
from optuna_mofs.samplers.nsga2.parents import (
    HypervolumeParents,
    _hypervolume_shares,
    tournament_parents,
)
from optuna_mofs.study._description import MeasureDescription, StudyDescription

X = FloatDistribution(0, 1)


def history_of(values: list[list[float]], worst: float | None = None) -> History:
    count = len(values[0])
    study = optuna.create_study(directions=["minimize"] * count)
    measures = tuple(MeasureDescription(f"m{j}", worst=worst) for j in range(count))
    StudyDescription(space={"x": X}, measures=measures).write(study)
    study.add_trials(
        [create_trial(params={"x": 0.5}, distributions={"x": X}, values=v) for v in values]
    )
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def drawn(selection, history: History, members, ranks, crowding=None, n: int = 3000):  # type: ignore[no-untyped-def]
    members, ranks = np.array(members), np.array(ranks)
    crowding = np.zeros(len(members)) if crowding is None else np.array(crowding)
    draw = selection(history, members, ranks, crowding)
    rng = np.random.default_rng(0)
    found = np.array([draw(rng) for _ in range(n)])
    return {int(m): float(np.mean(found == m)) for m in members}


def test_shares_by_hand() -> None:
    # Each point alone covers the box from itself to where its neighbours, or (4, 4), begin.
    values = np.array([[0.0, 3.0], [1.0, 1.0], [3.0, 0.0]])
    boxes = [(1 - 0) * (4 - 3), (3 - 1) * (3 - 1), (4 - 3) * (1 - 0)]
    shares = _hypervolume_shares(values, np.array([4.0, 4.0]))
    np.testing.assert_allclose(shares, np.array(boxes) / sum(boxes))


def test_points_outside_the_reference_have_no_share() -> None:
    values = np.array([[0.0, 9.0], [1.0, 1.0], [9.0, 0.0]])
    shares = _hypervolume_shares(values, np.array([4.0, 4.0]))
    np.testing.assert_allclose(shares, [0, 1, 0])


def test_all_outside_share_evenly() -> None:
    values = np.array([[5.0, 9.0], [9.0, 5.0]])
    np.testing.assert_allclose(_hypervolume_shares(values, np.array([4.0, 4.0])), [0.5, 0.5])


def test_infinite_values_share_evenly_rather_than_nan() -> None:
    values = np.array([[-1e300, -1e299], [-1e299, -1e300]])
    np.testing.assert_allclose(_hypervolume_shares(values, np.array([4.0, 4.0])), [0.5, 0.5])


@pytest.mark.parametrize("objectives", [5, 7])
def test_many_objectives_share_evenly(objectives: int) -> None:
    values = np.eye(objectives)
    shares = _hypervolume_shares(values, np.full(objectives, 4.0))
    np.testing.assert_allclose(shares, 1 / objectives)


def test_draws_follow_the_shares() -> None:
    history = history_of([[0.0, 3.0], [1.0, 1.0], [3.0, 0.0], [3.5, 3.5]], worst=4.0)
    found = drawn(HypervolumeParents(share=1.0, even=0.0), history, range(4), [0, 0, 0, 1])
    assert found == pytest.approx({0: 1 / 6, 1: 4 / 6, 2: 1 / 6, 3: 0}, abs=0.03)
    found = drawn(HypervolumeParents(share=1.0, even=1.0), history, range(4), [0, 0, 0, 1])
    assert found == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3, 3: 0}, abs=0.03)
    half = drawn(HypervolumeParents(share=0.5, even=0.0), history, range(4), [0, 0, 0, 1])
    assert 0 < half[3] < 0.1, "by tournament dominated ones have their turn"


def test_members_are_positions_in_the_history() -> None:
    history = history_of([[9.0, 9.0]] * 5 + [[0.0, 1.0], [1.0, 0.0]])
    for selection in (HypervolumeParents(), tournament_parents):
        found = drawn(selection, history, [5, 6], [0, 0], n=200)
        assert found.keys() == {5, 6}
        assert min(found.values()) > 0.3


def test_of_infeasible_members_the_least_violating_are_the_front() -> None:
    history = history_of([[0.0, 0.0], [5.0, 5.0], [4.0, 6.0]], worst=9.0)
    found = drawn(HypervolumeParents(share=1.0), history, range(3), [2, 1, 1])
    assert found[0] == 0


def test_tournament_prefers_rank_then_crowding() -> None:
    history = history_of([[0.0, 0.0]] * 3)
    found = drawn(tournament_parents, history, range(3), [0, 0, 1], [1.0, 2.0, 9.0])
    # Against itself and the two others: 5/9, 3/9, 1/9.
    assert found == pytest.approx({0: 3 / 9, 1: 5 / 9, 2: 1 / 9}, abs=0.03)
