"""Searches of other packages that fill a study, so that all are evaluated by one objective."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pandas as pd
from sklearn.preprocessing import StandardScaler

from optuna_mofs import FeatureSelectionObjective, enqueue_features
from optuna_mofs.study._description import PER_FEATURE

#: Size of the largest set on the path of best subsets.
_MAX_PATH = 60


def pymoo_nsga2(
    objective: FeatureSelectionObjective, study: optuna.Study, n_trials: int, seed: int
) -> None:
    """Run pymoo's NSGA-II (``pip install pymoo``)."""
    from benchmarks.peers.pymoo_nsga2 import run_pymoo

    run_pymoo(objective, study, objective.table.initial_size, n_trials, seed)


def smac_parego(
    objective: FeatureSelectionObjective, study: optuna.Study, n_trials: int, seed: int
) -> None:
    """Run SMAC3's ParEGO on the parameters of a study (``pip install smac``)."""
    from benchmarks.peers.smac_parego import run_smac

    assert objective.representation is not None
    features = objective.representation.bind(objective.table).distributions
    hyperparameters = objective.estimator_space.distributions or {}
    space = {name: (d, None) for name, d in {**features, **hyperparameters}.items()}

    def evaluate(params: dict[str, Any]) -> tuple[float, ...]:
        study.enqueue_trial(params)
        study.optimize(objective, n_trials=1)
        values = study.get_trials(deepcopy=False)[-1].values
        return (1.0, 1.0) if values is None else tuple(values)

    run_smac(space, evaluate, n_trials, seed)


def moofs_rfga(
    objective: FeatureSelectionObjective, study: optuna.Study, n_trials: int, seed: int
) -> None:
    """Run MOFS-RFGA (``pip install moofs``), with the estimator's own hyperparameters.

    The package selects features for classifiers only; for a regression it gets the scores of a
    correlation instead of ReliefF's. Its error is in percent, and it counts features.
    """
    from moofs import MOFSRFGA, Problem, relieff

    names, X = objective.table.names, np.asarray(objective.data.X, dtype=float)
    own = objective.estimator_space.defaults

    class Features(Problem):  # type: ignore[misc]
        """The objective as a problem of moofs."""

        def __init__(self) -> None:
            super().__init__(n_var=len(names), n_obj=2)
            self.X, self.y = pd.DataFrame(X), pd.Series(y)

        def _evaluate(self, x: Any) -> np.ndarray:
            size = max(1, int(np.sum(x)))
            params = {k: 1 / size if v == PER_FEATURE else v for k, v in own.items()}
            enqueue_features(study, [names[j] for j in np.flatnonzero(x)], params)
            study.optimize(objective, n_trials=1)
            values = study.get_trials(deepcopy=False)[-1].values
            error = 1.0 if values is None else values[0]
            return np.array([100 * error, float(np.sum(x))])

    y = objective.data.y
    if objective.data.classification:
        scores = relieff(X, y, random_state=seed)
    else:
        scores = np.abs(np.corrcoef(X, y, rowvar=False)[-1, :-1])
    MOFSRFGA(Features(), pop_size=60, max_evals=n_trials, sc=scores, seed=seed).run()


def l0_path(X: Any, y: Any) -> np.ndarray:
    """Score features by the smallest best subset that has them (``pip install abess``).

    The subsets of up to 60 features are those of linear or logistic regression. Other features
    have the score 0.
    """
    import abess

    X, y = StandardScaler().fit_transform(np.asarray(X, dtype=float)), np.asarray(y)
    n_classes = len(np.unique(y))
    if n_classes > max(20, len(y) // 10):
        model = abess.LinearRegression
    else:
        model = abess.LogisticRegression if n_classes == 2 else abess.MultinomialRegression
        y = np.unique(y, return_inverse=True)[1]
    scores = np.zeros(X.shape[1])
    for size in range(min(X.shape[1], _MAX_PATH), 0, -1):
        target = pd.get_dummies(y).to_numpy(float) if model is abess.MultinomialRegression else y
        coef = np.atleast_2d(model(support_size=[size]).fit(X, target).coef_)
        coef = coef if coef.shape[-1] == X.shape[1] else coef.T
        scores[np.abs(coef).max(axis=0) > 0] = _MAX_PATH + 1 - size
    return scores
