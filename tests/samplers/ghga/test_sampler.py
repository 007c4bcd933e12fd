from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.study import Study
from optuna.trial import Trial

from benchmarks.papers.jung_2013_literal import BUDGETS, LiteralGHGA, Reading
from optuna_mofs import FeatureTable, GHGASampler, optima, suggest_features
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.features._mask_sampling import sample_wide_mask
from optuna_mofs.samplers._mask_operators import commonality_crossover, size_keeping_mutation
from optuna_mofs.samplers.ghga import GHGANote, GHGASettings
from optuna_mofs.samplers.ghga._state import similar_pair
from optuna_mofs.study._feature_sets import selected_mask
from optuna_mofs.study._trial_note import NOTE

P = 16
#: Two sets of three features that explain everything, and share one feature.
BEST = ({0, 1, 2}, {2, 3, 4})
SMALL: dict[str, Any] = {"n_phase1_iterations": 10, "retrain_every": 25}


def quality(mask: np.ndarray) -> float:
    inside = set(np.flatnonzero(mask).tolist())
    return max(len(best & inside) for best in BEST) / 3 - 0.0001 * len(inside)


def objective(trial: Trial) -> tuple[float, float]:
    mask = suggest_features(trial, P, form="packed")
    return quality(mask), float(mask.sum())


def run(n_trials: int, objective=objective, *, paper: bool = False, **options: Any) -> Study:
    options = {"n_startup_trials": 8, **options}
    if paper:
        sampler = GHGASampler.from_paper(**SMALL, **options)
    else:
        sampler = GHGASampler(settings=GHGASettings(**SMALL), **options)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.optimize(objective, n_trials=n_trials)
    return study


def note_of(trial: Any) -> GHGANote:
    return GHGANote.from_json(frozen_attr(trial, NOTE))


def notes(study: Study) -> list[GHGANote]:
    """The notes on all trials but the first, which no sampler proposed."""
    return [note_of(trial) for trial in study.trials[1:]]


@pytest.mark.parametrize("guide", ["forest", "frequency", "random"])
def test_all_optima_are_found(guide: str) -> None:
    study = run(350, guide=guide, seed=0)
    found = optima(study, 0.005)
    assert sorted(found.features) == [["x0", "x1", "x2"], ["x2", "x3", "x4"]]


def test_the_paper_removes_one_feature_per_step() -> None:
    study = run(120, guide="random", paper=True, seed=0)
    steps = [note for note in notes(study) if note.operator == "elimination"]
    assert len(steps) > 20
    assert all(len(note.removed_features) == 1 for note in steps)
    assert {n.operator for n in notes(study)} <= {
        "initial_bernoulli",
        "crossover",
        "mutation",
        "elimination",
    }


def test_without_a_guide_there_is_no_elimination() -> None:
    study = run(80, guide="none", seed=0)
    assert not [note for note in notes(study) if note.chain is not None]


def test_phase_2_starts_when_phase_1_is_over() -> None:
    study = run(60, guide="random", seed=0)
    first = next(i for i, note in enumerate(notes(study)) if note.chain is not None)
    # All features, seven more, then two children per iteration; the notes lack trial 0.
    assert first == 7 + 2 * 10


def test_two_children_between_chains() -> None:
    study = run(150, guide="random", seed=1)
    names = [note.chain for note in notes(study)][27:]
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


def test_a_chain_stays_within_its_budget() -> None:
    study = run(150, guide="random", budget=4, paper=True, seed=2)
    chains: dict[int, int] = {}
    for note in notes(study):
        if note.chain is not None:
            chains[note.chain] = chains.get(note.chain, 0) + 1
    assert max(chains.values()) == 4


def test_a_budget_function_gets_size_and_times_chosen() -> None:
    asked = []

    def budget(size: int, chosen: int) -> int:
        asked.append((size, chosen))
        return 1

    run(150, guide="random", budget=budget, paper=True, seed=3)
    assert all(1 <= size <= P for size, _ in asked)
    assert min(chosen for _, chosen in asked) == 1
    assert max(chosen for _, chosen in asked) > 1


def test_a_guide_of_the_user() -> None:
    def last_first(masks: np.ndarray, losses: np.ndarray, rng: np.random.Generator):
        return lambda candidates, rng: -(candidates * np.arange(P)).sum(axis=1).astype(float)

    study = run(70, guide=last_first, paper=True, seed=0)
    sets = [_mask(study, trial).tobytes() for trial in study.trials]
    steps = [t for t in study.trials[28:] if note_of(t).chain is not None]
    assert len(steps) > 10
    for trial in steps:
        note = note_of(trial)
        mask = _mask(study, study.trials[note.master])
        inside = np.flatnonzero(mask)
        # Later features come first, unless the set without them was tried.
        for j in inside[inside > note.removed_features[0]]:
            without = mask.copy()
            without[j] = False
            assert without.tobytes() in sets[: trial.number]


def test_the_guide_draws_from_the_seed_of_the_study() -> None:
    drawn: list[float] = []

    def guide(masks: np.ndarray, losses: np.ndarray, rng: np.random.Generator):
        drawn.append(rng.random())
        return lambda candidates, rng: rng.random(len(candidates))

    found = []
    for seed in (0, 0, 1):
        drawn.clear()
        run(40, guide=guide, seed=seed)
        found.append(list(drawn))
    assert found[0]
    assert found[0] == found[1]
    assert not set(found[0]) & set(found[2])


def test_workers_share_an_elimination_in_the_order_of_the_guide() -> None:
    study = run(28, guide="frequency", paper=True, seed=0)
    asked = [study.ask() for _ in range(4)]
    for trial in asked:
        suggest_features(trial, P, form="packed")
    found = [note_of(study.trials[t.number]) for t in asked]
    assert [note.operator for note in found] == ["elimination"] * 4
    assert len({note.chain for note in found}) == 1
    assert len({note.master for note in found}) == 1
    masks = np.array([_mask(study, t) for t in study.trials[:28]])
    # The guide is fitted to the first 25 trials: the rarest features are removed first.
    often = masks[:25].mean(axis=0)
    removed = [note.removed_features[0] for note in found]
    assert len(set(removed)) == 4
    assert sorted(removed, key=lambda j: often[j]) == removed


def test_pruned_steps_are_not_proposed_again() -> None:
    def failing(trial: Trial) -> tuple[float, float]:
        values = objective(trial)
        if trial.number > 40 and trial.number % 3 == 0:
            raise optuna.TrialPruned
        return values

    study = run(150, failing, guide="random", seed=0)
    sets = [_mask(study, t).tobytes() for t in study.trials]
    assert len(set(sets)) == 150
    assert "unseen" not in {note.operator for note in notes(study)}


def test_the_smallest_set_is_the_cheapest() -> None:
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


def test_hyperparameters_are_optimized_too() -> None:
    def tuned(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, P, form="packed")
        C = trial.suggest_float("C", 1e-3, 1e3, log=True)
        return quality(mask) - 0.05 * abs(np.log10(C) - 1.3), float(mask.sum())

    study = run(300, tuned, guide="random", seed=0)
    best = optima(study, 0.01)[0]
    assert abs(np.log10(best.params["C"]) - 1.3) < 0.4
    same_masks = [t for t in study.trials[1:] if note_of(t).operator == "hyperparameters"]
    assert same_masks
    for trial in same_masks:
        parent = study.trials[note_of(trial).parents[0]]
        np.testing.assert_array_equal(_mask(study, trial), _mask(study, parent))
    # A step of an elimination changes the features alone.
    for trial in study.trials[1:]:
        note = note_of(trial)
        if note.operator == "elimination":
            master = _mask(study, study.trials[note.master])
            assert (_mask(study, trial) <= master).all()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tolerance", 0),
        ("guide", "svm"),
        ("metric", -1),
        ("n_trials", 0),
        ("n_startup_trials", 0),
    ],
)
def test_bad_arguments_are_rejected(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{option} must be .*, got "):
        GHGASampler(**{option: value})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("n_phase1_iterations", 1),
        ("retrain_every", 0),
        ("niche_radius", 1.5),
        ("niche_size", 0),
        ("mutation_decline", 0),
        ("mutation_decline", 10**30),
        ("mutation_rate", 0),
        ("tournament_divisor", 0),
        ("budget", 0),
        ("block_fraction", 0.9),
        ("max_penalty_increase", -1),
        ("restart_prob", -0.1),
        ("merge_prob", 1.1),
    ],
)
def test_bad_settings_are_rejected(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{option} must be .*, got "):
        GHGASettings(**{option: value})


def test_an_unknown_mask_sampler_is_rejected() -> None:
    with pytest.raises(ValueError, match="Did you mean 'wide'"):
        GHGASettings(initial_mask_sampler="wid")


def test_the_steepest_decline_is_computed() -> None:
    settings = GHGASettings(mutation_decline=10, n_phase1_iterations=10**9)
    sampler = GHGASampler(guide="random", n_startup_trials=2, settings=settings, seed=0)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.optimize(objective, n_trials=6)
    assert len(study.trials) == 6


@pytest.mark.parametrize(
    ("options", "start", "phase"),
    [
        ({}, 20, 30),
        ({"n_trials": 5}, 2, 2),
        ({"n_trials": 60}, 12, 7),
        ({"n_trials": 5000}, 20, 30),
        ({"n_trials": 60, "n_startup_trials": 4, "settings": GHGASettings(9)}, 4, 9),
    ],
)
def test_a_small_budget_leaves_most_trials_to_phase_2(
    options: dict[str, Any], start: int, phase: int
) -> None:
    sampler = GHGASampler(guide="random", seed=0, **options)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        mask = suggest_features(trial, 15)
        return float(mask[:3].sum()), float(mask.sum())

    study.optimize(objective, n_trials=start + 2 * phase + 1)
    operators = [note_of(trial).operator for trial in study.trials]
    assert set(operators[start : start + 2 * phase]) <= {"crossover", "mutation"}
    assert operators[start - 1] == "initial_bernoulli"
    assert operators[-1] in ("elimination", "probe")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (GHGASampler, ["single_filter", "wide", "single_filter", "ensemble"]),
        (GHGASampler.from_paper, ["bernoulli"] * 4),
        (partial(GHGASampler, settings=GHGASettings(initial_mask_sampler="wide")), ["wide"] * 4),
        (
            partial(GHGASampler, settings=GHGASettings(initial_mask_sampler=sample_wide_mask)),
            ["sample_wide_mask"] * 4,
        ),
    ],
)
def test_initial_masks_follow_the_filters(
    make: Callable[..., GHGASampler], expected: list[str]
) -> None:
    ranks = np.linspace(0, 1, 12)[None]
    table = FeatureTable(tuple("abcdefghijkl"), filters=("f",), ranks=ranks)
    sampler = make(seed=0, n_startup_trials=5)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table)
        return float(mask.mean()), float(mask.sum())

    study.optimize(objective, n_trials=5)
    notes = [note_of(trial) for trial in study.trials]
    operators = [note.operator for note in notes]
    assert operators == [f"initial_{name}" for name in ("all_features", *expected)]
    for operator, trial in zip(operators, study.trials):
        if operator not in ("initial_ensemble", "initial_bernoulli"):
            mask = _mask(study, trial)
            assert mask[-mask.sum() :].all()  # the best by rank are the last ones


def filtered_run(
    n_trials: int, make: Callable[..., GHGASampler] = GHGASampler, **options: Any
) -> Study:
    """Features 0 to 5 of 60 are useful, the others harm; the second of two filters is right."""
    rng = np.random.default_rng(5)
    helps = np.arange(60) < 6
    ranks = np.array([rng.permutation(60), np.argsort(np.argsort(helps + rng.random(60)))]) / 59
    table = FeatureTable(tuple(f"x{j}" for j in range(60)), filters=("bad", "good"), ranks=ranks)
    sampler = make(n_trials=n_trials, **options)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)

    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table)
        return 1 - 0.1 * mask[helps].sum() + 0.02 * mask[~helps].sum(), float(mask.sum())

    study.optimize(objective, n_trials=n_trials)
    return study


def test_few_trials_are_enough_where_a_filter_is_right() -> None:
    lost = []
    for make in (GHGASampler, GHGASampler.from_paper):
        runs = [filtered_run(60, make, seed=seed) for seed in range(3)]
        lost.append(np.mean([min(t.values[0] for t in study.trials) for study in runs]) - 0.4)
    assert lost[0] < 0.03
    assert lost[1] > 0.2


def test_children_follow_filters_and_guide_or_chance() -> None:
    study = filtered_run(60, seed=0)
    operators = {note.operator for note in notes(study)}
    assert {"prefix", "growth", "addition", "crossover"} <= operators
    budgets = [note.budget for note in notes(study)]
    assert max(budgets) <= 60 // 10


def test_filters_are_not_used_without_a_guide() -> None:
    study = filtered_run(40, guide="none", seed=0)
    assert not {"prefix", "growth", "addition"} & {n.operator for n in notes(study)}


def test_probabilities_must_not_exceed_1_together() -> None:
    with pytest.raises(ValueError, match=r"got 0\.7 and 0\.6"):
        GHGASettings(restart_prob=0.7, merge_prob=0.6)


def test_the_metric_is_given_by_position_or_name() -> None:
    found = []
    for metric in (0, 1, "score"):
        swapped = metric != 0
        directions = ["minimize", "maximize"] if swapped else ["maximize", "minimize"]
        sampler = GHGASampler(metric=metric, n_trials=60, guide="random", seed=0)
        study = optuna.create_study(directions=directions, sampler=sampler)
        study.set_metric_names(["size", "score"] if swapped else ["score", "size"])
        study.optimize(lambda t, step=-1 if swapped else 1: objective(t)[::step], n_trials=60)
        found.append([trial.params for trial in study.trials])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("metric", [1, "score"])
def test_an_unknown_metric_is_rejected(metric: int | str) -> None:
    study = optuna.create_study(sampler=GHGASampler(metric=metric, n_startup_trials=1, seed=0))
    with pytest.raises(ValueError, match="metric"):
        study.optimize(lambda t: float(suggest_features(t, 4).sum()), n_trials=5)


def _mask(study: Study, trial: Any) -> np.ndarray:
    from optuna_mofs import selected_mask

    mask = selected_mask(study, trial)
    assert mask is not None
    return mask


def test_distribution_of_the_space_is_kept() -> None:
    study = run(40, lambda t: (objective(t)[0] + t.suggest_float("x", 0, 1), 1.0), seed=0)
    assert study.trials[-1].distributions["x"] == FloatDistribution(0, 1)


def test_all_features_may_be_fixed() -> None:
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
        """Run four workers whose trials complete in any order."""
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
        """Read the whole history, in order of the numbers, for each proposal."""

        def infer_relative_search_space(self, study, trial):
            self._cache = type(self._cache)()
            return super().infer_relative_search_space(study, trial)

    settings = GHGASettings(
        n_phase1_iterations=5, retrain_every=25, restart_prob=0.3, merge_prob=0.6
    )
    options: dict[str, Any] = {
        "guide": "random", "n_startup_trials": 8, "settings": settings, "seed": 1
    }  # fmt: skip
    found, again = (at_work(cls(**options), 210) for cls in (GHGASampler, Forgetful))
    operators = [note.operator for note in notes(found)]
    assert "union" in operators
    assert [t.params for t in found.trials] == [t.params for t in again.trials]


# ---- against the transcription of the paper -----------------------------------------------------


@pytest.mark.parametrize("budget", [4, 10_000])
@pytest.mark.parametrize("seed", range(3))
def test_eliminations_of_the_paper_are_those_of_algorithm_4(
    seed: int, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    slopes, usefulness = rng.random(P) * 0.003, rng.random(P)

    def efficiency(mask: np.ndarray) -> float:
        found = max(sum(mask[j] for j in best) for best in BEST)
        return float(0.9 + 0.03 * found - slopes[mask].sum())

    def guide(masks: Any, losses: Any, rng: Any) -> Any:
        return lambda candidates, rng: candidates @ usefulness

    study = run(
        150,
        lambda trial: (
            efficiency(mask := suggest_features(trial, P, form="packed")),
            float(mask.sum()),
        ),
        paper=True,
        guide=guide,
        budget=budget,
        seed=seed,
    )
    masks = [selected_mask(study, trial) for trial in study.trials]
    # As printed, b + 1 evaluations are spent: the counter must exceed b.
    monkeypatch.setitem(BUDGETS, "of the sampler", lambda size, chosen: budget - 1)
    chains: dict[int, list[int]] = {}
    for trial in study.trials[1:]:
        note = note_of(trial)
        if note.chain is not None:
            chains.setdefault(note.chain, []).append(trial.number)
    assert len(chains) > 3
    compared = 0
    for first, numbers in list(chains.items())[:-1]:  # the last one may be unfinished
        literal = LiteralGHGA(efficiency, P, Reading(budget="of the sampler"))
        for mask in masks[:first]:
            literal.evaluate(mask)
        start = masks[note_of(study.trials[first]).chain_start]
        n_before = len(literal.M)
        literal.eliminate(
            literal._position[start.tobytes()], lambda c: c @ usefulness, lambda: False
        )
        assert literal.C[n_before:].tolist() == [masks[n].tolist() for n in numbers]
        compared += len(numbers)
    assert compared > 20


def test_children_of_the_paper_are_those_of_section_2_4() -> None:
    literal = LiteralGHGA(lambda mask: 0.0, 40, Reading())
    rng = np.random.default_rng(0)
    parents = rng.random((2, 40)) < [[0.3], [0.6]]
    for mask in parents:
        literal.evaluate(mask)
    theirs = [child for _ in range(4000) for child in literal.children(np.arange(2), 0.1)]
    ours = []
    for _ in range(8000):
        a, b = parents[list(similar_pair(rng, np.arange(2), literal.dissimilarity))]
        first, second = (a, b) if rng.random() < 0.5 else (b, a)
        ours.append(size_keeping_mutation(rng, commonality_crossover(rng, first, second), 0.1))
    np.testing.assert_allclose(np.mean(ours, axis=0), np.mean(theirs, axis=0), atol=0.03)
    sizes = [np.sort(np.sum(children, axis=1)) for children in (ours, theirs)]
    assert np.abs(sizes[0] - sizes[1]).mean() < 0.3
