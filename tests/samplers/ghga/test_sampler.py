from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.study import Study
from optuna.trial import Trial

from optuna_mofs import FeatureTable, GHGASampler, optima, suggest_features
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.features._mask_sampling import sample_wide_mask
from optuna_mofs.study._trial_note import NOTE

P = 16
#: Two sets of three features that explain everything, and share one feature.
BEST = ({0, 1, 2}, {2, 3, 4})
SMALL: dict[str, Any] = {"first_phase": 10, "start_size": 8, "retrain_every": 25}


def quality(mask: np.ndarray) -> float:
    inside = set(np.flatnonzero(mask).tolist())
    return max(len(best & inside) for best in BEST) / 3 - 0.0001 * len(inside)


def objective(trial: Trial) -> tuple[float, float]:
    mask = suggest_features(trial, P, form="packed")
    return quality(mask), float(mask.sum())


def run(n_trials: int, objective=objective, **options: Any) -> Study:
    study = optuna.create_study(
        directions=["maximize", "minimize"], sampler=GHGASampler(**{**SMALL, **options})
    )
    study.optimize(objective, n_trials=n_trials)
    return study


def notes(study: Study) -> list[dict[str, Any]]:
    return [frozen_attr(t, NOTE) for t in study.trials[1:]]


@pytest.mark.parametrize("guide", ["forest", "frequency", "random"])
def test_all_optima_are_found(guide: str) -> None:
    study = run(350, guide=guide, seed=0)
    found = optima(study, 0.005)
    assert sorted(found.features) == [["x0", "x1", "x2"], ["x2", "x3", "x4"]]


def test_the_papers_own_steps() -> None:
    study = run(120, guide="random", variant="paper", seed=0)
    steps = [note for note in notes(study) if note["operator"] == "elimination"]
    assert len(steps) > 20
    assert all(len(note["left_out"]) == 1 for note in steps)
    assert {n["operator"] for n in notes(study)} <= {
        "sample_bernoulli_mask",
        "crossover",
        "mutation",
        "elimination",
    }


def test_no_guide_no_elimination() -> None:
    study = run(80, guide="none", seed=0)
    assert not [note for note in notes(study) if "chain" in note]


def test_phase_2_starts_when_phase_1_is_over() -> None:
    study = run(60, guide="random", seed=0)
    first = next(i for i, note in enumerate(notes(study)) if "chain" in note)
    # All features, seven more, then two children an iteration; trial 0 is not among the notes.
    assert first == 7 + 2 * 10


def test_two_children_between_chains() -> None:
    study = run(150, guide="random", seed=1)
    names = [note.get("chain") for note in notes(study)][27:]
    gaps, since = [], 0
    for before, name in pairwise(names):
        if name is None:
            since += 1
        else:
            if before is None:
                gaps.append(since)
            since = 0
    # More only where no chain could find anything that was not tried before.
    assert min(gaps[1:]) == 2
    assert gaps[1:].count(2) >= 3


def test_a_chain_keeps_to_its_budget() -> None:
    study = run(150, guide="random", budget=4, variant="paper", seed=2)
    chains: dict[int, int] = {}
    for note in notes(study):
        if "chain" in note:
            chains[note["chain"]] = chains.get(note["chain"], 0) + 1
    assert max(chains.values()) == 4


def test_budget_sees_size_and_times_chosen() -> None:
    asked = []

    def budget(size: int, chosen: int) -> int:
        asked.append((size, chosen))
        return 1

    run(150, guide="random", budget=budget, variant="paper", seed=3)
    assert all(1 <= size <= P for size, _ in asked)
    assert min(chosen for _, chosen in asked) == 1
    assert max(chosen for _, chosen in asked) > 1


def test_own_guide() -> None:
    def last_first(masks: np.ndarray, losses: np.ndarray, rng: np.random.Generator):
        return lambda candidates, rng: -(candidates * np.arange(P)).sum(axis=1).astype(float)

    study = run(70, guide=last_first, variant="paper", seed=0)
    sets = [_mask(study, trial).tobytes() for trial in study.trials]
    steps = [t for t in study.trials[28:] if "chain" in frozen_attr(t, NOTE)]
    assert len(steps) > 10
    for trial in steps:
        note = frozen_attr(trial, NOTE)
        mask = _mask(study, study.trials[note["master"]])
        inside = np.flatnonzero(mask)
        # Later features come first, unless the set without them is known.
        for j in inside[inside > note["left_out"][0]]:
            without = mask.copy()
            without[j] = False
            assert without.tobytes() in sets[: trial.number]


def test_workers_share_an_elimination_in_the_guides_order() -> None:
    study = run(28, guide="frequency", variant="paper", seed=0)
    asked = [study.ask() for _ in range(4)]
    for trial in asked:
        suggest_features(trial, P, form="packed")
    found = [frozen_attr(study.trials[t.number], NOTE) for t in asked]
    assert [note["operator"] for note in found] == ["elimination"] * 4
    assert len({note["chain"] for note in found}) == 1
    assert len({note["master"] for note in found}) == 1
    masks = np.array([_mask(study, t) for t in study.trials[:28]])
    # The guide learned from the first 25 trials: the rarest features go first.
    often = masks[:25].mean(axis=0)
    left_out = [note["left_out"][0] for note in found]
    assert len(set(left_out)) == 4
    assert sorted(left_out, key=lambda j: often[j]) == left_out


def test_failed_steps_are_not_asked_for_again() -> None:
    def failing(trial: Trial) -> tuple[float, float]:
        values = objective(trial)
        if trial.number > 40 and trial.number % 3 == 0:
            raise optuna.TrialPruned
        return values

    study = run(150, failing, guide="random", seed=0)
    sets = [_mask(study, t).tobytes() for t in study.trials]
    assert len(set(sets)) == 150
    assert "unseen" not in {note["operator"] for note in notes(study)}


def test_costs_decide_which_set_is_smallest() -> None:
    table = FeatureTable(
        names=tuple(f"x{j}" for j in range(P)), costs=np.where(np.arange(P) < 2, 9.0, 0.5)
    )

    def priced(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table, form="packed")
        return quality(mask), table.cost(mask)

    study = run(250, priced, guide="random", seed=0)
    good = [t for t in study.trials if t.values[0] > 0.995]
    cheapest = min(good, key=lambda t: t.values[1])
    assert set(np.flatnonzero(_mask(study, cheapest)).tolist()) == {2, 3, 4}


def test_hyperparameters_are_tuned_along() -> None:
    def tuned(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, P, form="packed")
        C = trial.suggest_float("C", 1e-3, 1e3, log=True)
        return quality(mask) - 0.05 * abs(np.log10(C) - 1.3), float(mask.sum())

    study = run(300, tuned, guide="random", seed=0)
    best = optima(study, 0.01)[0]
    assert abs(np.log10(best.params["C"]) - 1.3) < 0.4
    tuning = [t for t in study.trials[1:] if frozen_attr(t, NOTE)["operator"] == "tuning"]
    assert tuning
    for trial in tuning:
        parent = study.trials[frozen_attr(trial, NOTE)["parents"][0]]
        np.testing.assert_array_equal(_mask(study, trial), _mask(study, parent))
    # A step of an elimination changes the features alone.
    for trial in study.trials[1:]:
        note = frozen_attr(trial, NOTE)
        if note["operator"] == "elimination":
            master = _mask(study, study.trials[note["master"]])
            assert (_mask(study, trial) <= master).all()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tolerance", 0),
        ("guide", "svm"),
        ("retrain_every", 0),
        ("first_phase", 1),
        ("niche_radius", 1.5),
        ("niche_size", 0),
        ("mutation_decline", 0),
        ("mutation_rate", 0),
        ("tournament_divisor", 0),
        ("budget", 0),
        ("block", 0.9),
        ("slack", -1),
        ("variant", "mine"),
        ("renew", -0.1),
        ("merge", 1.1),
        ("n_trials", 0),
        ("start_size", 0),
        ("value", -1),
    ],
)
def test_bad_options_are_refused(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{option} must be"):
        GHGASampler(**{option: value})


@pytest.mark.parametrize(
    ("options", "start", "phase"),
    [
        ({}, 20, 30),
        ({"n_trials": 5}, 2, 2),
        ({"n_trials": 60}, 12, 7),
        ({"n_trials": 5000}, 20, 30),
        ({"n_trials": 60, "start_size": 4, "first_phase": 9}, 4, 9),
    ],
)
def test_a_small_budget_leaves_most_to_phase_2(
    options: dict[str, int], start: int, phase: int
) -> None:
    sampler = GHGASampler(guide="random", seed=0, **options)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        mask = suggest_features(trial, 15)
        return float(mask[:3].sum()), float(mask.sum())

    study.optimize(objective, n_trials=start + 2 * phase + 1)
    operators = [frozen_attr(trial, NOTE)["operator"] for trial in study.trials]
    assert set(operators[start : start + 2 * phase]) <= {"crossover", "mutation"}
    assert operators[start - 1] == "sample_bernoulli_mask"
    assert operators[-1] in ("elimination", "probe")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["single_start", "sample_wide_mask", "single_start", "sample_ensemble_mask"]),
        ({"variant": "paper"}, ["sample_bernoulli_mask"] * 4),
        ({"start": sample_wide_mask}, ["sample_wide_mask"] * 4),
    ],
)
def test_the_start_follows_the_filters(options: dict[str, Any], expected: list[str]) -> None:
    ranks = np.linspace(0, 1, 12)[None]
    table = FeatureTable(tuple("abcdefghijkl"), filters=("f",), ranks=ranks)
    sampler = GHGASampler(seed=0, start_size=5, **options)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table)
        return float(mask.mean()), float(mask.sum())

    study.optimize(objective, n_trials=5)
    notes = [frozen_attr(trial, NOTE) for trial in study.trials]
    assert [note["operator"] for note in notes] == ["all", *expected]
    for note, trial in zip(notes, study.trials):
        if note["operator"] in (
            "single_start",
            "sample_wide_mask",
        ):  # the best by rank: the last ones
            mask = _mask(study, trial)
            assert mask[-mask.sum() :].all()


def filtered_run(n_trials: int, **options: Any) -> tuple[Study, np.ndarray]:
    """Features 0 to 5 of 60 matter, the others harm; the second of two filters knows."""
    rng = np.random.default_rng(5)
    helps = np.arange(60) < 6
    ranks = np.array([rng.permutation(60), np.argsort(np.argsort(helps + rng.random(60)))]) / 59
    table = FeatureTable(tuple(f"x{j}" for j in range(60)), filters=("bad", "good"), ranks=ranks)
    sampler = GHGASampler(n_trials=n_trials, **options)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)

    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table)
        return 1 - 0.1 * mask[helps].sum() + 0.02 * mask[~helps].sum(), float(mask.sum())

    study.optimize(objective, n_trials=n_trials)
    return study, helps


def test_a_small_budget_is_enough_where_a_filter_is_right() -> None:
    lost = {}
    for variant in (None, "paper"):
        runs = [filtered_run(60, variant=variant, seed=seed)[0] for seed in range(3)]
        lost[variant] = np.mean([min(t.values[0] for t in study.trials) for study in runs]) - 0.4
    assert lost[None] < 0.03
    assert lost["paper"] > 0.2


def test_children_follow_filters_and_guide_or_chance() -> None:
    study, _ = filtered_run(60, seed=0)
    operators = {note["operator"] for note in notes(study)}
    assert {"prefix", "growth", "addition", "crossover"} <= operators
    budgets = [note["budget"] for note in notes(study) if "budget" in note]
    assert max(budgets) <= 60 // 10


def test_filters_are_left_alone_without_a_guide() -> None:
    study, _ = filtered_run(40, guide="none", seed=0)
    assert not {"prefix", "growth", "addition"} & {n["operator"] for n in notes(study)}


def test_probabilities_exceed_1_together() -> None:
    with pytest.raises(ValueError, match=r"0\.7 and 0\.6"):
        GHGASampler(renew=0.7, merge=0.6)


def test_a_value_that_trials_lack_is_named() -> None:
    study = optuna.create_study(sampler=GHGASampler(value=1, start_size=1))
    with pytest.raises(ValueError, match="value is 1, but trials have 1 values"):
        study.optimize(lambda t: float(suggest_features(t, 4).sum()), n_trials=5)


def _mask(study: Study, trial: Any) -> np.ndarray:
    from optuna_mofs import selected_mask

    mask = selected_mask(study, trial)
    assert mask is not None
    return mask


def test_distribution_of_the_space_is_kept() -> None:
    study = run(40, lambda t: (objective(t)[0] + t.suggest_float("x", 0, 1), 1.0), seed=0)
    assert study.trials[-1].distributions["x"] == FloatDistribution(0, 1)


def test_nothing_is_free() -> None:
    table = FeatureTable(("a", "b"), fixed=(0, 1), filters=("auc",), ranks=np.array([[0.0, 1.0]]))

    def only_a_number(trial: Trial) -> tuple[float, float]:
        suggest_features(trial, table)
        x = trial.suggest_float("x", 0, 1)
        return x, 1 - x

    study = run(30, only_a_number, seed=0)
    assert len({trial.params["x"] for trial in study.trials}) == 30


def test_unions_do_not_depend_on_the_order_of_arrival() -> None:
    def several(mask: np.ndarray) -> float:
        found = any(
            mask[list(best)].all() for best in ((0, 1, 2), (1, 2, 3), (2, 3, 4), (0, 3, 6))
        )
        return 1.0 if found else 0.7 - 0.01 * (mask.sum() % 3)

    def at_work(sampler: GHGASampler, trials: int) -> Study:
        """Four workers that end in any order."""
        chance = random.Random(0)
        study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
        running: list[tuple[Trial, np.ndarray]] = []
        for _ in range(trials):
            trial = study.ask()
            running.append((trial, suggest_features(trial, 14, form="packed")))
            if len(running) == 4:
                done, mask = running.pop(chance.randrange(4))
                study.tell(done, (several(mask), float(mask.sum())))
        return study

    class Forgetful(GHGASampler):
        """Reads the whole history, in order of the numbers, for each proposal."""

        def infer_relative_search_space(self, study, trial):
            self._cache = type(self._cache)()
            return super().infer_relative_search_space(study, trial)

    options: dict[str, Any] = {
        **SMALL,
        "first_phase": 5,
        "renew": 0.3,
        "merge": 0.6,
        "guide": "random",
        "seed": 1,
    }
    found, again = (at_work(cls(**options), 210) for cls in (GHGASampler, Forgetful))
    operators = [note["operator"] for note in notes(found) if note]
    assert "union" in operators
    assert [t.params for t in found.trials] == [t.params for t in again.trials]
