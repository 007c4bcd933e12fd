"""The choice of one trial of a search: what ``refit`` can be."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial

from optuna_mofs._validation import did_you_mean
from optuna_mofs.fronts import Front, LexicographicPreference
from optuna_mofs.fronts._honest_front import HonestEstimate
from optuna_mofs.measures._prediction import to_score
from optuna_mofs.model_selection._results import ScoredMeasures
from optuna_mofs.study._completed_trials import Metrics

#: Rules by name, and the method of the front that applies each.
RULES = {True: "pick", "best": "best", "knee": "knee", "one_standard_error": "one_standard_error"}
#: What a user can pass as ``refit``.
Refit = bool | str | LexicographicPreference | FrozenTrial | Callable[[Mapping[str, Any]], int]


@dataclass(frozen=True)
class Choice:
    """One trial of a search.

    Attributes:
        trial: The trial.
        scorer: Name of the scorer that matters for it.
        honest: Score to expect on new rows; NaN if it is unknown.
    """

    trial: FrozenTrial
    scorer: str
    honest: HonestEstimate


def choose(
    refit: Refit,
    front: Front,
    *,
    trials: Sequence[FrozenTrial],
    results: Mapping[str, Any],
    scored: ScoredMeasures,
) -> Choice:
    """Choose a trial.

    Args:
        refit: As of :class:`FeatureSelectionSearchCV`, or a trial.
        front: The non-dominated trials.
        trials: The trials of the rows of ``results``.
        results: ``cv_results_``.
        scored: The scorers.

    Raises:
        ValueError: If ``refit`` is none of its values.
        TypeError: If the function does not return an integer.
        IndexError: If it does not return a row.
    """
    first = next(iter(scored.scorers))
    # Without a model to fit, the attributes describe the default pick.
    rule = RULES.get(refit or True) if isinstance(refit, bool | str) else None
    if rule is not None:
        trial = getattr(front, rule)()
        return Choice(trial, first, _honest_score(front, trial, first, scored, rule))
    check_refit(refit, front.metric_names, scored)
    scorer, trial = first, None
    if isinstance(refit, str):
        measure = _measure_of(refit, scored)
        scorer = scored.of_measure(measure) or first
        trial = front.best(measure)
    elif isinstance(refit, LexicographicPreference):
        trial = refit.best(front.study)
    elif isinstance(refit, FrozenTrial):
        trial = refit
    else:
        assert callable(refit)
        trial = trials[_row_of(refit(results), len(trials))]
    return Choice(trial, scorer, _honest_score(front, trial, scorer, scored))


def check_refit(refit: Any, metric_names: Sequence[str], scored: ScoredMeasures) -> None:
    """Raise a ValueError if ``refit`` is none of its values.

    Args:
        refit: As of :class:`FeatureSelectionSearchCV`, or a trial.
        metric_names: Names of the measures of the search.
        scored: The scorers.
    """
    rules = [key for key in RULES if key is not True]
    if isinstance(refit, str):
        known = [*rules, *scored.scorers, *metric_names]
        if refit not in rules and _measure_of(refit, scored) not in metric_names:
            raise ValueError(
                f"refit must be False, True, a rule, a scorer or a measure ({known}), a "
                f"LexicographicPreference or a function, got {refit!r}."
                f"{did_you_mean(refit, map(str, known))}"
            )
    elif isinstance(refit, LexicographicPreference):
        refit.order(Metrics(tuple(metric_names), np.ones(len(metric_names))))
    elif not isinstance(refit, bool | FrozenTrial) and not callable(refit):
        raise ValueError(
            f"refit must be False, True, one of {rules}, a measure's or scorer's name, a "
            f"LexicographicPreference or a function, got {refit!r}."
        )


def _measure_of(name: str, scored: ScoredMeasures) -> str:
    """Return the measure that the name of a scorer or of a measure means."""
    return scored.error_name(name) if name in scored.scorers else name


def _row_of(index: Any, n_rows: int) -> int:
    """Check what a function returned, as scikit-learn does."""
    if not isinstance(index, numbers.Integral):
        raise TypeError(
            f"The function refit must return an integer, a row of cv_results_, got {index!r}."
        )
    if not 0 <= int(index) < n_rows:
        raise IndexError(f"The function refit returned {index}, but there are {n_rows} rows.")
    return int(index)


def _honest_score(
    front: Front, trial: FrozenTrial, scorer: str, scored: ScoredMeasures, rule: str = ""
) -> HonestEstimate:
    """Return the score to expect of a trial that a rule chose; NaN if it is unknown."""
    honest = front.honest()
    numbers_of_front = [member.number for member in front]
    unknown = HonestEstimate(np.nan, np.nan, np.nan)
    if honest.source is None or scored.of_measure(honest.metric_name) != scorer:
        return unknown
    if rule in honest.picks:
        found = honest.picks[rule]
    elif trial.number in numbers_of_front:
        found = honest.members[numbers_of_front.index(trial.number)]
    else:
        return unknown
    low, high = sorted(to_score(scored.scorers[scorer], np.array([found.low, found.high])))
    value = to_score(scored.scorers[scorer], found.value)
    return HonestEstimate(float(value), float(low), float(high))
