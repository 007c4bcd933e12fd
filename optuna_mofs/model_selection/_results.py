"""The trials of a search as scikit-learn's ``cv_results_``."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState
from scipy.stats import rankdata

from optuna_mofs._typing import Array
from optuna_mofs.measures import Fold, Measure
from optuna_mofs.measures._prediction import scorer_measure, to_score
from optuna_mofs.objectives import FeatureSelectionObjective
from optuna_mofs.study._partial import fold_scores


def _score_time(fold: Fold) -> float:
    """Return the CPU seconds since the fit: those of all measures before this one."""
    return time.thread_time() - float(fold.cache["fitted_at"])


#: Measures of a trial that are reported, and never optimized: the last ones of a fold.
_TIMES = ("fit_time", Measure("score_time", fold=_score_time))


class ScoredMeasures:
    """The measures of the errors by the scorers of a search, and their scores.

    Args:
        scorers: By name; the only one is called ``"score"``.
        train: Whether training scores are recorded too.

    Example:
        >>> from sklearn.metrics import get_scorer
        >>> ScoredMeasures({"auc": get_scorer("roc_auc")}).expand(["error", "fraction"])[0].name
        'error_auc'
    """

    def __init__(self, scorers: Mapping[str, Any], *, train: bool = False) -> None:
        self.scorers = dict(scorers)
        self._train = train

    def error_name(self, scorer: str, *, train: bool = False) -> str:
        """Return the name of the measure of a scorer's error."""
        return ("training_error" if train else "error") + _suffix(scorer)

    def expand(self, measures: Sequence[Any]) -> list[Any]:
        """Return measures with one error per scorer in the place of ``"error"``."""
        found: list[Any] = []
        for measure in measures:
            found += self._errors() if measure == "error" else [measure]
        return found

    def recorded(self, measures: Sequence[Any]) -> list[Any]:
        """Return the errors and times that a search with these measures only reports."""
        names = {getattr(measure, "name", measure) for measure in measures}
        found = [*self._errors(), *(self._errors(train=True) if self._train else ()), *_TIMES]
        return [measure for measure in found if getattr(measure, "name", measure) not in names]

    def scores(self, trial: FrozenTrial, scorer: str, *, train: bool = False) -> Array | None:
        """Return the scores of a trial by fold, or None if it has none."""
        by_fold = fold_scores(trial).get(self.error_name(scorer, train=train))
        if by_fold is None:
            return None
        scores: Array = to_score(self.scorers[scorer], np.asarray(by_fold, dtype=float))
        return scores

    def of_measure(self, measure: str) -> str | None:
        """Return the scorer whose error a measure is, or None."""
        return next((name for name in self.scorers if self.error_name(name) == measure), None)

    def _errors(self, *, train: bool = False) -> list[Any]:
        if list(self.scorers) == ["score"]:
            return [self.error_name("score", train=train)]  # the objective's own
        return [
            scorer_measure(self.error_name(name, train=train), scorer, train=train)
            for name, scorer in self.scorers.items()
        ]


def _suffix(scorer: str) -> str:
    return "" if scorer == "score" else f"_{scorer}"


def cv_results(
    objective: FeatureSelectionObjective,
    trials: Sequence[FrozenTrial],
    scored: ScoredMeasures,
    *,
    front: Sequence[FrozenTrial],
    error_score: float = np.nan,
    train: bool = False,
) -> dict[str, Any]:
    """Return a dict of columns with one row per trial, as of a scikit-learn search.

    Args:
        objective: The objective of the trials.
        trials: Trials of a study, see :func:`reported_trials`.
        scored: The scorers.
        front: The non-dominated trials.
        error_score: Score of a failed trial.
        train: Whether trials have training scores.
    """
    params = [objective.params_for(trial) for trial in trials]
    results: dict[str, Any] = {**_times(trials), **_param_columns(params), "params": params}
    n_splits = len(objective.evaluator.splits)
    for name in scored.scorers:
        for part in ("test", "train") if train else ("test",):
            rows = np.full((len(trials), n_splits), error_score, dtype=float)
            for i, trial in enumerate(trials):
                found = scored.scores(trial, name, train=part == "train")
                if found is not None:
                    rows[i] = found
            key = f"{part}_{name}"
            results |= {f"split{k}_{key}": rows[:, k] for k in range(n_splits)}
            results[f"mean_{key}"] = rows.mean(axis=1)
            results[f"std_{key}"] = rows.std(axis=1)
            if part == "test":
                ranked = np.nan_to_num(-rows.mean(axis=1), nan=np.inf)
                results[f"rank_{key}"] = rankdata(ranked, method="min").astype(np.int32)
    for i, measure in enumerate(objective.measures):
        values = [np.nan if trial.values is None else trial.values[i] for trial in trials]
        results[measure.name] = np.array(values, dtype=float)
    masks = [objective.mask_for(trial) for trial in trials]
    support: Array = np.empty(len(trials), dtype=object)
    support[:] = [column_mask(objective, mask) for mask in masks]
    members = {trial.number for trial in front}
    results["n_features"] = np.array([int(np.count_nonzero(mask)) for mask in masks])
    results["support"] = support
    results["on_front"] = np.array([trial.number in members for trial in trials], dtype=bool)
    results["number"] = np.array([trial.number for trial in trials], dtype=int)
    return results


def _times(trials: Sequence[FrozenTrial]) -> dict[str, Array]:
    """Return mean and spread of the seconds per fold, NaN for trials that have none.

    Scalers and imputers that are fitted once for all trials do not count.
    """
    columns: dict[str, Array] = {}
    for name in ("fit_time", "score_time"):
        folds = [trial.user_attrs.get("fold_scores", {}).get(name, [np.nan]) for trial in trials]
        columns[f"mean_{name}"] = np.array([np.mean(seconds) for seconds in folds])
        columns[f"std_{name}"] = np.array([np.std(seconds) for seconds in folds])
    return columns


def reported_trials(trials: Sequence[FrozenTrial], error_score: Any) -> list[FrozenTrial]:
    """Return the trials with a score: the completed ones, and the failed ones if they get one."""
    states = {TrialState.COMPLETE}
    if not isinstance(error_score, str) and not np.isnan(error_score):
        states.add(TrialState.FAIL)
    # A trial that another process lost has no reason, and perhaps not all parameters.
    return [
        trial
        for trial in trials
        if trial.state in states
        and (trial.state == TrialState.COMPLETE or "failure_reason" in trial.user_attrs)
    ]


def column_mask(objective: FeatureSelectionObjective, mask: Array) -> Array:
    """Return a mask over features, which can be groups of columns, as one over columns."""
    found: Array = np.zeros(objective.all_data.shape[1], dtype=bool)
    found[objective.table.columns_of(mask)] = True
    return found


def _param_columns(params: Sequence[Mapping[str, Any]]) -> dict[str, np.ma.MaskedArray[Any, Any]]:
    """Return one masked column per parameter; it is masked where a trial lacks the parameter."""
    columns: dict[str, np.ma.MaskedArray[Any, Any]] = {}
    for name in dict.fromkeys(name for row in params for name in row):
        having = [i for i, row in enumerate(params) if name in row]
        values = [params[i][name] for i in having]
        is_numeric = all(isinstance(v, int | float | np.number) for v in values)
        dtype = np.array(values).dtype if is_numeric else np.dtype(object)
        column = np.ma.MaskedArray(np.zeros(len(params), dtype=dtype), mask=True)
        for i, value in zip(having, values):
            column[i] = value
        columns[f"param_{name}"] = column
    return columns
