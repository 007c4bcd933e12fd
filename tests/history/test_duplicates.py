from __future__ import annotations

from optuna_mofs.history._duplicates import SeenConfigurations, fingerprint


def test_configurations_of_completed_trials_are_found() -> None:
    seen = SeenConfigurations()
    seen.add_finished({"x": 1.0, "y": 2.0}, complete=True)
    seen.add_finished({"x": 3.0}, complete=True)
    assert seen.contains({"y": 2.0, "x": 1.0})
    assert seen.contains({"x": 3.0, "y": 9.0})  # the trial did not have y
    assert not seen.contains({"x": 1.0, "y": 3.0})
    assert seen.n_completed == 1  # of each set of parameters


def test_a_failed_trial_counts_only_if_it_has_all_parameters() -> None:
    seen = SeenConfigurations()
    seen.add_finished({"x": 1.0}, complete=False)
    assert not seen.contains({"x": 1.0})
    seen.required = frozenset({"x"})
    assert seen.contains({"x": 1.0})
    seen.add_finished({"x": 5.0, "y": 2.0}, complete=True)
    assert not seen.contains({"x": 1.0, "y": 2.0})


def test_parameters_and_reservations_of_running_trials_are_found() -> None:
    seen = SeenConfigurations()
    seen.add_finished({"x": 0.0}, complete=True)
    seen.add_unfinished({"x": 1.0})
    seen.add_unfinished({}, reserved=fingerprint({"x": 2.0}))
    assert [x for x in (1.0, 2.0, 3.0) if seen.contains({"x": x})] == [1.0, 2.0]
    seen.clear_unfinished()
    assert not seen.contains({"x": 1.0})
    assert not seen.contains({"x": 2.0})


def test_fingerprints_do_not_depend_on_the_order_of_parameters() -> None:
    assert fingerprint({"x": 1.0, "y": 2.0}) == fingerprint({"y": 2.0, "x": 1.0})
    assert fingerprint({"x": 1.0}) != fingerprint({"y": 1.0})
