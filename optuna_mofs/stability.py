"""Stability: what the same search finds on other draws of the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import joblib
import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study

from optuna_mofs._row_searches import RowSearch, StoredTests, open_shared
from optuna_mofs._typing import Array, Floats, Indices
from optuna_mofs._validation import check_choice, check_float, check_int
from optuna_mofs.data._dataset import Dataset, draw_holdout
from optuna_mofs.features._redundancy import nearest_features
from optuna_mofs.features._stability import (
    InterchangeableFeatures,
    StabilityIndex,
    interchangeable_features,
    nogueira_stability,
)
from optuna_mofs.filters import FilterData
from optuna_mofs.fronts import pareto_front
from optuna_mofs.fronts._resampled import ResampledFronts
from optuna_mofs.objectives._objective import StudyObjective

__all__ = [
    "InterchangeableFeatures",
    "ResampledFronts",
    "StabilityIndex",
    "interchangeable_features",
    "nogueira_stability",
    "resampled_fronts",
]

#: Squared correlations are computed for at most this many features, the most frequent ones.
_MAX_SIMILAR = 300
#: Squared correlations below are not kept.
_MIN_SIMILARITY = 0.2


def resampled_fronts(
    objective: StudyObjective,
    *,
    sampler: BaseSampler | None = None,
    n_trials: int = 100,
    n_resamples: int = 20,
    method: str = "subsample",
    fraction: float = 0.5,
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    show_progress_bar: bool = True,
) -> ResampledFronts:
    """Repeat a search on resamples of the rows, and return the fronts.

    They show which features another sample of rows would have led to, and how much of a front is
    luck: how often each feature is selected, the stability of the chosen sets with its interval
    (Nogueira, Sechidis, Brown, 2018, JMLR 18), similar features that replace each other, and a
    band of fronts. The members of each front are also tested on the rows that are not in its
    resample.

    Subsamples of half of the rows are the choice of Meinshausen and Bühlmann (2010). Errors on
    them are larger than on all rows, and so is the instability. Everything that sees the target is
    repeated in each resample; rankings of the same rows are read from disk if they are slow
    (``OPTUNA_MOFS_CACHE``).

    Args:
        objective: The objective of the search. All its rows are used, held-out ones included.
        sampler: Copied for each resample, with a seed of its own. Default:
            :class:`FilterEnsembleNSGA2Sampler`.
        n_trials: Number of trials per resample.
        n_resamples: Number of resamples.
        method: ``"subsample"``: rows without replacement, stratified by class; ``"bootstrap"``:
            the same number of rows with replacement, with all copies of a row in the same fold.
            ``groups`` of the objective are drawn whole.
        fraction: Fraction of the rows of a subsample.
        storage: Storage of the studies; by default they are kept in memory. With a storage, a
            second call continues where the first was stopped. Only one call at a time may use
            the same studies.
        study_name: The studies are called ``<study_name>_resample0``, ... Needed with a storage.
        n_jobs: Number of resamples that are searched in parallel.
        random_state: Seed of the resamples and of the samplers.
        show_progress_bar: Whether to show the number of finished trials.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from optuna_mofs import FeatureSelectionObjective
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> objective = FeatureSelectionObjective(
        ...     GaussianNB(), X, y, cv=3, filters=["anova_f"], representation="filter_ensemble"
        ... )
        >>> found = resampled_fronts(
        ...     objective, n_trials=6, n_resamples=4, show_progress_bar=False
        ... )
        >>> found.selection_frequency(3).index[0]
        'flavanoids'
        >>> found.stability(3).value > 0.3
        True
    """
    check_int("n_resamples", n_resamples, 2)
    random_state = check_int("random_state", random_state, 0)
    check_choice("method", method, ("subsample", "bootstrap"))
    check_float("fraction", fraction, 0.05, 0.95)
    storage = open_shared(storage, study_name)
    data = objective.all_data
    samples = [draw_rows(data, method, fraction, [random_state, k]) for k in range(n_resamples)]
    search = RowSearch(objective, sampler, n_trials, storage, random_state)
    prefix = None if study_name is None else f"{study_name}_resample"
    jobs = [(k, rows, prefix, method == "bootstrap") for k, rows in enumerate(samples)]
    fronts = search.repeat(
        _search_sample, jobs, n_jobs=n_jobs, show_progress_bar=show_progress_bar
    )
    masks = np.concatenate([front.masks for front in fronts])
    return ResampledFronts(
        resample=np.repeat(np.arange(n_resamples), [len(front.masks) for front in fronts]),
        numbers=np.concatenate([front.numbers for front in fronts]),
        values=np.concatenate([front.values for front in fronts]),
        test=np.concatenate([front.test for front in fronts]),
        masks=masks,
        is_pick=np.concatenate([front.is_pick for front in fronts]),
        metric_names=tuple(objective.metric_names),
        sign=1.0 if objective.directions[0] == "minimize" else -1.0,
        feature_names=tuple(objective.table.names),
        similarity=_similarity(objective, masks),
        method=method,
        n_rows=(round(float(np.mean([len(np.unique(rows)) for rows in samples]))), data.shape[0]),
        n_trials=n_trials,
    )


def draw_rows(data: Dataset, method: str, fraction: float, seed: list[int]) -> Array:
    """Return the rows of a resample, sorted; see :func:`resampled_fronts`."""
    rng = np.random.default_rng(seed)
    if method == "subsample":
        left_out = draw_holdout(data, 1.0 - fraction, int(rng.integers(2**31)))
        return np.delete(np.arange(data.shape[0]), left_out)
    if data.groups is not None:
        codes = np.unique(data.groups, return_inverse=True)[1]
        members = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
        drawn = rng.integers(len(members), size=len(members))
        return np.sort(np.concatenate([members[code] for code in drawn]))
    # By class, so that none is lost.
    labels = data.y if data.classification else np.zeros(data.shape[0])
    parts = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    return np.sort(np.concatenate([rng.choice(part, len(part)) for part in parts]))


class _SampleFront(NamedTuple):
    """The front of the search on one resample."""

    numbers: Indices
    values: Floats
    test: Floats
    masks: Array
    is_pick: Array


def _search_sample(
    search: RowSearch, k: int, rows: Array, prefix: str | None, repeated: bool
) -> _SampleFront:
    """Search on resample ``k``, and test the members of its front on the other rows."""
    objective, study = search(k, rows, prefix, repeated=repeated)
    front = pareto_front(study, duplicates=False)
    if not len(front):
        raise ValueError(
            f"None of the {search.n_trials} trials on resample {k} was completed. Use more "
            "trials, or a larger fraction of the rows."
        )
    pick = front.pick().number
    return _SampleFront(
        numbers=np.array([trial.number for trial in front]),
        values=front.values,
        test=_test_values(search, objective, study, front, np.unique(rows)),
        masks=np.array([objective.mask_for(trial) for trial in front]),
        is_pick=np.array([trial.number == pick for trial in front]),
    )


def _test_values(
    search: RowSearch, objective: StudyObjective, study: Study, front: Any, rows: Array
) -> Floats:
    """Return the first metric of each member on the rows that are not in the resample."""
    X, y = search.rows_of(np.delete(np.arange(search.objective.all_data.shape[0]), rows))
    tested = StoredTests(study, objective, joblib.hash((X, y)))
    found = []
    for trial in front:
        try:
            found.append(tested.test_values(tested.refit(trial), trial, X, y)[0])
        except Exception as error:  # of the estimator or the scorer, on these rows
            optuna.logging.get_logger("optuna.mofs").warning(
                f"Trial {trial.number} has no value on the rows outside of its resample: "
                f"{type(error).__name__}: {error}"
            )
            found.append(np.nan)
    tested.write()
    return np.array(found, dtype=float)


def _similarity(objective: StudyObjective, masks: Array) -> dict[tuple[int, int], float]:
    """Return the squared correlations of the features that are selected most often."""
    frequency = masks.sum(axis=0)
    chosen = np.flatnonzero(frequency)
    chosen = np.sort(chosen[np.argsort(-frequency[chosen], kind="stable")][:_MAX_SIMILAR])
    if len(chosen) < 2:
        return {}
    columns = [objective.table.columns_of(np.arange(masks.shape[1]) == j) for j in chosen]
    data = objective.all_data.narrowed(np.concatenate(columns))
    ends = np.cumsum([len(each) for each in columns])
    groups = [list(range(end - len(each), end)) for each, end in zip(columns, ends)]
    near, shares = nearest_features(FilterData(data.X, data.y), groups)
    return {
        (int(min(chosen[i], chosen[j])), int(max(chosen[i], chosen[j]))): float(share)
        for i in range(len(chosen))
        for j, share in zip(near[i], shares[i])
        if share >= _MIN_SIMILARITY
    }
