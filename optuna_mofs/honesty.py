"""Honest values from further searches: on outer folds, and on permuted labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import joblib
import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import fresh_sampler, trials_of
from optuna_mofs._row_searches import RowSearch, StoredTests, open_shared, verbosity
from optuna_mofs._typing import Array, Floats
from optuna_mofs._validation import check_int
from optuna_mofs.data._dataset import draw_splits
from optuna_mofs.features._stability import nogueira_stability
from optuna_mofs.fronts._front import Front
from optuna_mofs.fronts._generalization import generalization
from optuna_mofs.objectives._objective import StudyObjective
from optuna_mofs.study._baselines import NoiseFloor, write_baselines
from optuna_mofs.study._completed_trials import feature_count, read_completed_trials

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NestedResult", "nested_cross_validate", "noise_floor"]

#: Rules that choose one trial of a front: methods of :class:`Front`.
_PICKS = ("pick", "best", "knee", "one_standard_error")


# ---- nested cross-validation --------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class NestedResult:
    """Result of :func:`nested_cross_validate`.

    Attributes:
        frame: One row per outer fold and pick: ``fold``, ``pick``, ``number`` of the trial,
            ``raw`` (value of the first metric in the search), ``test`` (the same metric on the
            rows of the outer fold), ``n_features`` and ``features``.
        fronts: One row per trial of each front: ``fold``, ``number``, and ``<metric>`` and
            ``<metric>_test`` for each metric.
        hypervolume: domHV_gen of each outer fold, see :func:`optuna_mofs.generalization`.
        optimization_hypervolume: Hypervolume of the same fronts by their values in the search.
        metric_name: Name of the first metric.
        direction: ``"minimize"`` or ``"maximize"``: the direction of the first metric.
        feature_names: Names of all features.
        studies: The study of each outer fold.
    """

    frame: pd.DataFrame
    fronts: pd.DataFrame
    hypervolume: Floats
    optimization_hypervolume: Floats
    metric_name: str
    direction: Literal["minimize", "maximize"]
    feature_names: tuple[str, ...]
    studies: tuple[Study, ...]

    def summary(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return the means over the outer folds, one row per pick.

        Columns: ``test`` with its ``standard_error`` and the t interval from ``low`` to ``high``;
        ``raw``; ``optimism``, by how much the raw value is better than the test value;
        ``n_features``; ``stability`` of the chosen sets (Nogueira, Sechidis, Brown 2018, JMLR 18:
        1 for equal sets, about 0 for random ones).

        The training rows of outer folds overlap, so that the intervals are approximate.

        Args:
            confidence: Confidence of the interval.
        """
        import pandas as pd
        from scipy import stats

        by_pick = self.frame.groupby("pick", sort=False)
        table = by_pick["test"].agg(["mean", "sem", "count"])
        half = stats.t.ppf((1 + confidence) / 2, table["count"] - 1) * table["sem"]
        raw = by_pick["raw"].mean()
        sign = 1.0 if self.direction == "minimize" else -1.0
        return pd.DataFrame(
            {
                "test": table["mean"],
                "standard_error": table["sem"],
                "low": table["mean"] - half,
                "high": table["mean"] + half,
                "raw": raw,
                "optimism": sign * (table["mean"] - raw),
                "n_features": by_pick["n_features"].mean(),
                "stability": by_pick["features"].agg(self._stability),
            }
        )

    def _stability(self, feature_sets: pd.Series[Any]) -> float:
        masks = [np.isin(self.feature_names, list(features)) for features in feature_sets]
        return nogueira_stability(np.array(masks)).value

    def __repr__(self) -> str:
        pick = self.summary().loc["pick"]
        return (
            f"NestedResult({len(self.studies)} outer folds: {self.metric_name} of the pick "
            f"{pick['test']:.4g} ± {pick['standard_error']:.2g} (raw {pick['raw']:.4g}) with "
            f"{pick['n_features']:.3g} features, hypervolume {self.hypervolume.mean():.4f})"
        )


def nested_cross_validate(
    objective: StudyObjective,
    *,
    sampler: BaseSampler | None = None,
    n_trials: int = 100,
    cv: Any = 5,
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    reference: Mapping[str, float] | Sequence[float] | None = None,
    show_progress_bar: bool = True,
) -> NestedResult:
    """Estimate the performance of a whole search on new rows, by repeating it on outer folds.

    For each outer fold, a study of ``n_trials`` trials sees only the training rows: filters,
    folds and picks included. Then each trial of its front is refitted on the training rows and
    tested on the rows of the fold (:func:`optuna_mofs.generalization`). The result estimates the
    performance of a search on all rows, at the cost of one search per outer fold.

    Args:
        objective: The objective of the search. All its rows are used, held-out ones included.
        sampler: Copied for each outer fold, with a seed of its own. Default:
            :class:`FilterEnsembleNSGA2Sampler`.
        n_trials: Number of trials per outer fold.
        cv: The outer folds: their number (shuffled, stratified for classes, ``groups`` of the
            objective kept together), a splitter, or an iterable of splits.
        storage: Storage of the studies; by default they are kept in memory. With a storage, a
            second call continues where the first was stopped. Only one call at a time may use
            the same studies.
        study_name: The studies are called ``<study_name>_fold0``, ... Needed with a storage.
        n_jobs: Number of outer folds that are searched in parallel.
        random_state: Seed of the outer folds and of the samplers.
        reference: Reference point of the hypervolumes, as for :meth:`Front.hypervolume`. Papers
            use (1, 1) for error and fraction.
        show_progress_bar: Whether to show the number of finished trials.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from optuna_mofs import FeatureSelectionObjective
        >>> objective = FeatureSelectionObjective(
        ...     GaussianNB(), *load_wine(return_X_y=True), cv=3, filters=["anova_f"]
        ... )
        >>> result = nested_cross_validate(objective, n_trials=5, cv=3, show_progress_bar=False)
        >>> result.summary().columns.tolist()[:4]
        ['test', 'standard_error', 'low', 'high']
    """
    import pandas as pd

    random_state = check_int("random_state", random_state, 0)
    storage = open_shared(storage, study_name)
    splits = draw_splits(objective.all_data, cv, random_state)
    search = RowSearch(objective, sampler, n_trials, storage, random_state)
    prefix = None if study_name is None else f"{study_name}_fold"
    jobs = [(k, train, test, prefix, reference) for k, (train, test) in enumerate(splits)]
    folds = search.repeat(_search_fold, jobs, n_jobs=n_jobs, show_progress_bar=show_progress_bar)
    return NestedResult(
        frame=pd.concat([fold.picks for fold in folds], ignore_index=True),
        fronts=pd.concat([fold.front for fold in folds], ignore_index=True),
        hypervolume=np.array([fold.hypervolume for fold in folds]),
        optimization_hypervolume=np.array([fold.optimization_hypervolume for fold in folds]),
        metric_name=objective.metric_names[0],
        direction=objective.directions[0],
        feature_names=tuple(objective.table.names),
        studies=tuple(fold.study for fold in folds),
    )


class _SearchedFold(NamedTuple):
    """The search on the training rows of one outer fold, tested on the others."""

    study: Study
    front: pd.DataFrame
    picks: pd.DataFrame
    hypervolume: float
    optimization_hypervolume: float


def _search_fold(
    search: RowSearch,
    k: int,
    train: Array,
    test: Array,
    prefix: str | None,
    reference: Mapping[str, float] | Sequence[float] | None,
) -> _SearchedFold:
    """Search on the training rows of fold ``k``, and test the front on its other rows."""
    objective, study = search(k, train, prefix)
    X, y = search.rows_of(test)
    tested = StoredTests(study, objective, joblib.hash((X, y)))
    result = generalization(study, tested, X, y, reference=reference)
    tested.write()
    front = result.frame.reset_index()
    front.insert(0, "fold", k)
    return _SearchedFold(
        study,
        front,
        _picks(k, objective, result.front, result.frame),
        result.hypervolume,
        result.optimization_hypervolume,
    )


def _picks(k: int, objective: StudyObjective, front: Front, tested: pd.DataFrame) -> pd.DataFrame:
    """Return one row per rule with the trial that it picks."""
    import pandas as pd

    metric = front.metric_names[0]
    rows = []
    for name in _PICKS if front.has_standard_error else _PICKS[:-1]:
        trial: FrozenTrial = getattr(front, name)()
        features = tuple(objective.features_for(trial))
        rows.append(
            {
                "fold": k,
                "pick": name,
                "number": trial.number,
                "raw": tested.loc[trial.number, metric],
                "test": tested.loc[trial.number, f"{metric}_test"],
                "n_features": len(features),
                "features": features,
            }
        )
    return pd.DataFrame(rows)


# ---- noise floor --------------------------------------------------------------------------------


def noise_floor(
    study: Study,
    objective: StudyObjective,
    *,
    n_trials: int | None = None,
    random_state: int = 0,
    callbacks: Sequence[Callable[[Study, FrozenTrial], None]] | None = None,
) -> NoiseFloor:
    """Search on permuted labels, and store the best values, which are luck, in the study.

    Everything is as in the study (rows, folds, filters, representation, sampler), except that the
    labels are permuted, so that no feature has any information about them. A front that is not
    better than these values is not clearly better than chance. The search is shorter than that of
    the study; with the same number of trials the floor would be lower still.

    Args:
        study: A study of ``objective`` with completed trials; ``study.sampler`` is copied, with
            another seed.
        objective: The objective of the study.
        n_trials: Number of trials. Default: a tenth of the completed trials of the study, at
            least 5 and at most 20.
        random_state: Seed of the permutation and of the sampler. Where the objective has
            ``groups``, whole groups exchange their labels.
        callbacks: Optuna callbacks, called after each trial.

    Returns:
        The best values by number of features, later available as
        ``Baselines.read(study).noise_floor``.

    Example:
        >>> import optuna
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> objective = FeatureSelectionObjective(
        ...     GaussianNB(), *load_wine(return_X_y=True), cv=3, filters=["anova_f"]
        ... )
        >>> study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
        >>> study.optimize(objective, n_trials=5)
        >>> min(noise_floor(study, objective).values) > 0.4 > study.best_trials[0].values[0]
        True
    """
    objective.attach(study)  # raises if the study has another objective
    if n_trials is None:
        n_trials = default_noise_floor_trials(study)
    n_trials = check_int("n_trials", n_trials, 1)
    seed = check_int("random_state", random_state, 0)
    data = objective.data
    target = _permuted(data.y, data.groups, np.random.default_rng(seed))
    with verbosity(optuna.logging.ERROR):
        permuted = objective.on_rows(objective.search_rows, y=target)
        null = permuted.create_study(sampler=fresh_sampler(study.sampler, seed))
        null.optimize(permuted, n_trials=n_trials, callbacks=callbacks)
    completed = read_completed_trials(null)
    if not completed.trials:
        raise ValueError(
            f"None of the {n_trials} trials on permuted labels was completed. Increase n_trials."
        )
    counts = [feature_count(null, trial) for trial in completed.trials]
    sizes = np.array([len(objective.table) if count is None else count for count in counts])
    kept = np.unique(sizes)
    losses = [completed.losses[sizes <= size, 0].min() for size in kept]
    floor = NoiseFloor(
        n_trials=len(completed.trials),
        sizes=tuple(kept.tolist()),
        values=tuple((completed.signs[0] * np.array(losses)).tolist()),
    )
    write_baselines(study, noise_floor=floor)
    return floor


def default_noise_floor_trials(study: Study) -> int:
    """Return the number of trials of :func:`noise_floor`: a tenth of those of the study."""
    n_completed = len(trials_of(study, states=(TrialState.COMPLETE,)))
    return int(np.clip(n_completed // 10, 5, 20))


def _permuted(y: Array, groups: Array | None, rng: np.random.Generator) -> Array:
    """Return a permuted target; whole groups exchange theirs.

    A larger group repeats the labels of a smaller one, so labels that agree within each group
    still do.

    Example:
        >>> y, groups = np.array([0, 0, 0, 1, 1, 2]), np.array([5, 5, 5, 6, 6, 7])
        >>> _permuted(y, groups, np.random.default_rng(0)).tolist()
        [2, 2, 2, 0, 0, 1]
    """
    if groups is None:
        return rng.permutation(y)
    codes = np.unique(groups, return_inverse=True)[1]
    members = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
    permuted = np.empty_like(y)
    for rows, other in zip(members, rng.permutation(len(members))):
        permuted[rows] = y[np.resize(members[other], len(rows))]
    return permuted
