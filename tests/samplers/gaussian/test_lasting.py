from __future__ import annotations

import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

from optuna_mofs.history._history import History
from optuna_mofs.samplers.gaussian.lasting import Lasting


def history_of(count: int, high: float = 1.0, *, but: int | None = None) -> History:
    study = optuna.create_study()
    for n in range(count):
        trial = create_trial(
            params={"x": 0.5}, distributions={"x": FloatDistribution(0, high)}, value=0.0
        )
        state = optuna.trial.TrialState.FAIL if n == but else None
        study.add_trial(create_trial(state=state) if state else trial)
    history = History()
    history.update(study)
    return history


def counts(lasting: Lasting, *histories: History) -> list[int]:
    """From how many trials it learned for each history; once each if it learned at all."""
    learned: list[int] = []
    for history in histories:
        lasting.of(history, "x", lambda count: learned.append(count) or count)  # type: ignore[func-returns-value]
    return learned


def test_it_learns_when_trials_are_some_times_as_many() -> None:
    histories = [history_of(n) for n in (3, 4, 5, 6, 7, 8, 9)]
    assert counts(Lasting(first=4, again=1.5), *histories) == [3, 4, 6, 9]


def test_what_is_kept_is_what_was_learned() -> None:
    lasting = Lasting(first=4, again=2)
    assert lasting.of(history_of(4), "a", lambda count: ("first", count)) == ("first", 4)
    assert lasting.of(history_of(5), "a", lambda count: ("second", count)) == ("first", 4)
    assert lasting.of(history_of(5), "b", lambda count: ("other", count)) == ("other", 4)


def test_a_late_trial_among_the_first() -> None:
    lasting = Lasting(first=4, again=2)
    assert counts(lasting, history_of(6, but=1), history_of(6)) == [4, 4]


def test_a_range_that_grew_and_another_form() -> None:
    lasting = Lasting(first=4, again=2)
    assert counts(lasting, history_of(5), history_of(5, high=2.0)) == [4, 4]
    learned: list[int] = []
    for form in (3, 3, 4):
        lasting.of(history_of(5), "y", learned.append, form=form)
    assert learned == [4, 4]
