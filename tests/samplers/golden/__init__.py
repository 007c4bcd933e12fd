"""Recorded proposals of every sampler, so that a change of code cannot change them unnoticed.

``python -m tests.samplers.golden [NAME ...]`` records them again. Do that only if proposals are
meant to change, in a commit of its own that says why.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import scipy.linalg
from optuna.distributions import FloatDistribution
from optuna.samplers import BaseSampler
from optuna.trial import Trial

from optuna_mofs import (
    FeatureTable,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    GHGASampler,
    LexiFlowSampler,
    MOEADSampler,
    ParEGOSampler,
    SMSEGOSampler,
)
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import suggest_mask
from optuna_mofs.testing.problems import N_VALUES, PROBLEMS

FOLDER = Path(__file__).parent
N_TRIALS = 60

SAMPLERS: dict[str, Callable[[], BaseSampler]] = {
    "nsga2": lambda: FilterEnsembleNSGA2Sampler(seed=1),
    "nsga2_without_surrogate": lambda: FilterEnsembleNSGA2Sampler(surrogate=None, seed=1),
    "nsga2_from_paper": lambda: FilterEnsembleNSGA2Sampler.from_paper(population_size=20, seed=1),
    "moead": lambda: MOEADSampler(seed=1),
    "moead_from_paper": lambda: MOEADSampler.from_paper(seed=1),
    "lexiflow": lambda: LexiFlowSampler(seed=1),
    "lexiflow_from_paper": lambda: LexiFlowSampler.from_paper(seed=1),
    "parego": lambda: ParEGOSampler(seed=1),
    # Without the papers' 500 trees, which take too long here.
    "parego_from_paper": lambda: ParEGOSampler.from_paper(
        n_startup_trials=45, surrogate="forest", batch_size=4, seed=1
    ),
    "smsego": lambda: SMSEGOSampler(seed=1),
    "smsego_from_paper": lambda: SMSEGOSampler.from_paper(
        n_startup_trials=45, surrogate="forest", seed=1
    ),
    "ghga": lambda: GHGASampler(n_trials=N_TRIALS, seed=1),
    "ghga_from_paper": lambda: GHGASampler.from_paper(
        n_trials=N_TRIALS, n_phase1_iterations=5, n_startup_trials=8, seed=1
    ),
}

STUDIES = ("bits", "packed", "filter_ensemble", "conditional", "three", "rough")


def filter_ensemble(trial: Trial) -> tuple[float, ...]:
    """Forty features chosen by two filters with weights; correlated neighbors are penalized."""
    p = 40
    if StudyDescription.read(trial.study) is None:
        _description(p).write(trial.study)
    described = StudyDescription.read(trial.study)
    assert described is not None
    assert described.representation is not None
    mask, _ = suggest_mask(trial, described.representation)
    C = trial.suggest_float("C", 0.01, 100, log=True)
    useful = np.arange(p) % 7 == 0
    missed = np.count_nonzero(useful & ~mask) / np.count_nonzero(useful)
    return float(missed + abs(np.log10(C)) / 10 + 0.1 * mask[1::7].mean()), float(mask.mean())


def _description(p: int) -> StudyDescription:
    place = np.arange(p)[::-1] / (p - 1)
    ranks = np.array([place, (place * 7) % 1.0, (place * 3 + 0.25) % 1.0])
    half_steps = np.rint(ranks * 2 * (p - 1)) / (2 * (p - 1))
    table = FeatureTable(
        names=tuple(f"f{j}" for j in range(p)),
        filters=("first", "second", "third"),
        ranks=half_steps,
        expected_n_features=4.0,
    )
    features = FilterEnsembleFeatures(ranks="all", redundancy_penalty=False)
    return StudyDescription(
        table, features.bind(table), space={"C": FloatDistribution(0.01, 100, log=True)}
    )


def proposals(sampler: str, study: str) -> list[dict[str, Any]]:
    """The parameters of the first trials, as JSON values."""
    objective = filter_ensemble if study == "filter_ensemble" else PROBLEMS[study]
    made = optuna.create_study(
        directions=["minimize"] * N_VALUES.get(study, 2), sampler=SAMPLERS[sampler]()
    )
    made.optimize(objective, n_trials=N_TRIALS)
    return [trial.params for trial in made.get_trials(deepcopy=False)]


def numeric_build() -> str:
    """A digest of the last bits that this build of NumPy and SciPy computes.

    Model-based proposals depend on them: another CPU may choose another of two equal candidates.
    """
    rng = np.random.default_rng(0)
    a = rng.standard_normal((48, 48))
    kernel = np.exp(-np.abs(a @ a.T) / 50) + 48 * np.eye(48)
    found = [scipy.linalg.cho_solve(scipy.linalg.cho_factor(kernel), a), np.log1p(np.abs(a))]
    found += [kernel.astype(np.float32) @ a.astype(np.float32), np.cbrt(a), np.tanh(a)]
    found.append(scipy.linalg.cholesky(kernel.astype(np.float32)))
    found.append(rng.dirichlet(np.ones(9), 5))
    return hashlib.blake2b(b"".join(x.tobytes() for x in found), digest_size=8).hexdigest()


def read(sampler: str) -> dict[str, Any]:
    """What was recorded."""
    found: dict[str, Any] = json.loads((FOLDER / f"{sampler}.json").read_text(encoding="utf-8"))
    return found


def record(sampler: str) -> None:
    """Write the proposals of a sampler, one trial per line."""
    parts = []
    for study in STUDIES:
        rows = ",\n".join(json.dumps(row) for row in proposals(sampler, study))
        parts.append(f'"{study}": [\n{rows}\n]')
    text = f'{{"build": "{numeric_build()}",\n' + ",\n".join(parts) + "}\n"
    (FOLDER / f"{sampler}.json").write_text(text, encoding="utf-8")
