"""From a study, or a list of trials, to one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs.fronts import pareto_front
from optuna_mofs.models.front_models import FrontClassifier, FrontRegressor, Strategy
from optuna_mofs.objectives._objective import StudyObjective


def front_model(
    source: Study | Sequence[FrozenTrial],
    objective: StudyObjective,
    *,
    strategy: Strategy = "weighted",
    voting: Literal["soft", "hard"] = "soft",
    each: str | None = None,
    fit: bool = True,
    n_jobs: int | None = None,
) -> FrontClassifier | FrontRegressor:
    """One model that predicts, made of the front of a study.

    Every member is the pipeline of a trial: its features, then its estimator.

    Args:
        source: A study, whose front is taken, or a front, or trials of your choice.
        objective: The study's objective.
        strategy: ``"knee"`` (S1), ``"weighted"`` (S2), ``"diverse"`` (S3) or ``"focused"`` (ours),
            see :class:`FrontClassifier`. Which of them predicts well depends on the measures: S2
            does if all of them are losses of cross-validation, ``"focused"`` if one is not.
        voting: See :class:`FrontClassifier`.
        each: Name of a parameter, ``"learner"`` for example: members are the fronts of each of its
            values, as in :func:`pareto_front`. Only for a study.
        fit: Whether to fit it on the objective's data.
        n_jobs: Members fitted at once.

    Example:
        >>> import optuna
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from optuna_mofs import FeatureSelectionObjective, MOEADSampler
        >>> X, y = load_wine(return_X_y=True)
        >>> objective = FeatureSelectionObjective(GaussianNB(), X, y, filters=["anova_f"])
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = objective.create_study(sampler=MOEADSampler(seed=0))
        >>> study.optimize(objective, n_trials=30)
        >>> bool(front_model(study, objective).score(X, y) > 0.9)
        True
    """
    if isinstance(source, Study):
        trials = list(pareto_front(source, duplicates=False, each=each))
    elif each is None:
        trials = list(source)
    else:
        raise ValueError(f"each={each!r} needs a study; these trials are taken as they are.")
    if not trials:
        raise ValueError("There are no trials to make a model of. Run the study first.")
    lacking = [trial.number for trial in trials if trial.values is None]
    if lacking:
        raise ValueError(f"Trials {lacking} have no values. Pass complete trials.")
    signs = np.array([1.0 if d == "minimize" else -1.0 for d in objective.directions])
    losses = signs * np.array([trial.values for trial in trials])
    members = [(f"trial {trial.number}", objective.estimator_for(trial)) for trial in trials]
    options: dict[str, Any] = {"strategy": strategy, "n_jobs": n_jobs}
    model = (
        FrontClassifier(members, losses, voting=voting, **options)
        if objective.data.classification
        else FrontRegressor(members, losses, **options)
    )
    data = objective.data
    return model.fit(data.X, data.y, sample_weight=data.sample_weight) if fit else model
