"""Honest values at the price of further searches: on outer folds, and on permuted labels."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import joblib
import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import (
    fresh_sampler,
    original_number,
    read_study_attr,
    trials_of,
    write_study_attr,
)
from optuna_mofs._typing import Array, Floats
from optuna_mofs._validation import check_int, check_n_jobs
from optuna_mofs.data._dataset import Split, draw_splits, take_rows
from optuna_mofs.fronts._front import Front
from optuna_mofs.fronts._generalization import generalization
from optuna_mofs.measures._complexity import selection_instability
from optuna_mofs.objectives._objective import StudyObjective
from optuna_mofs.samplers import default_sampler
from optuna_mofs.study._baselines import NoiseFloor, write_baselines
from optuna_mofs.study._completed_trials import feature_count, read_completed_trials
from optuna_mofs.study._queue import retry_interrupted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NestedResult", "nested_cross_validate", "noise_floor"]

#: Study attribute with the values of trials on the rows of the outer fold.
_OUTER_TEST = "outer_test"
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
        if len(feature_sets) < 2:
            return float("nan")
        masks = [np.isin(self.feature_names, list(features)) for features in feature_sets]
        return 1.0 - selection_instability(np.array(masks))

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
    """Estimate what a search is worth on new rows: repeat the whole of it on outer folds.

    For each outer fold, a study of ``n_trials`` trials sees only the training rows: filters,
    folds and picks included. Then each trial of its front is refitted on the training rows and
    tested on the rows of the fold (:func:`optuna_mofs.generalization`). The result is the
    estimate for a search on all rows, of which it costs as many as there are outer folds.

    Args:
        objective: The objective of the search, with all its rows; a holdout is not kept apart.
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
    from tqdm.auto import tqdm

    n_trials = check_int("n_trials", n_trials, 1)
    random_state = check_int("random_state", random_state, 0)
    n_jobs = check_n_jobs(n_jobs)
    if storage is not None:
        if study_name is None:
            raise ValueError(
                "study_name is needed with a storage: a second call finds its studies by name."
            )
        # Opened once, so that parallel folds do not create its tables at the same time.
        storage = optuna.storages.get_storage(storage)
    splits = draw_splits(objective.all_data, cv, random_state)
    is_shared = isinstance(storage, InMemoryStorage)
    level = max(optuna.logging.get_verbosity(), optuna.logging.WARNING)
    with (
        _verbosity(level),
        tqdm(total=len(splits) * n_trials, disable=not show_progress_bar, unit="trial") as bar,
    ):
        # Other processes cannot move the bar: it advances when they return a fold.
        in_process = is_shared or joblib.effective_n_jobs(n_jobs) == 1
        search = _FoldSearch(
            objective,
            sampler or default_sampler(),
            n_trials,
            storage,
            study_name,
            random_state,
            reference,
            level,
            bar.update if in_process else None,
        )
        folds: list[_SearchedFold] = []
        parallel = joblib.Parallel(
            n_jobs=n_jobs, return_as="generator", require="sharedmem" if is_shared else None
        )
        for fold in parallel(joblib.delayed(search)(k, split) for k, split in enumerate(splits)):
            folds.append(fold)
            if not in_process:
                bar.update(n_trials)
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


@dataclass(frozen=True, eq=False)
class _FoldSearch:
    """Search on one outer fold after the other; for processes, it can be pickled."""

    objective: StudyObjective
    sampler: BaseSampler
    n_trials: int
    storage: BaseStorage | None
    study_name: str | None
    random_state: int
    reference: Mapping[str, float] | Sequence[float] | None
    verbosity: int
    advance: Callable[[int], Any] | None

    def __call__(self, k: int, split: Split) -> _SearchedFold:
        """Run what is missing of the search on fold ``k``, and test its front."""
        optuna.logging.set_verbosity(self.verbosity)  # another process has its own
        train, test = split
        objective = self.objective.on_rows(train)
        study = objective.create_study(
            study_name=None if self.study_name is None else f"{self.study_name}_fold{k}",
            storage=self.storage,
            load_if_exists=self.storage is not None,
        )
        retry_interrupted(study)
        n_finished = _n_finished(study)
        seed = int(np.random.default_rng([self.random_state, k]).integers(2**31))
        study.sampler = fresh_sampler(self.sampler, seed, n_trials=n_finished)
        if self.advance is not None:
            self.advance(min(n_finished, self.n_trials))
        if n_finished < self.n_trials:
            study.optimize(objective, n_trials=self.n_trials - n_finished, callbacks=[self._count])
        X, y = take_rows(self.objective.all_data.X, test), self.objective.all_data.y[test]
        tested = _TestedTrials(study, objective, joblib.hash((X, y)))
        result = generalization(study, tested, X, y, reference=self.reference)
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

    def _count(self, study: Study, trial: FrozenTrial) -> None:
        if self.advance is not None:
            self.advance(1)


def _n_finished(study: Study) -> int:
    """Return the number of finished trials; an interrupted one and its repetition count once."""
    trials = trials_of(study)
    finished = {original_number(trial) for trial in trials if trial.state.is_finished()}
    return len(finished - {original_number(t) for t in trials if t.state == TrialState.WAITING})


class _TestedTrials:
    """An objective that keeps the test values of trials in the study, so as to fit them once.

    Args:
        study: A study of ``objective``.
        objective: The objective.
        rows: Fingerprint of the test rows: values on others are not used.
    """

    def __init__(self, study: Study, objective: StudyObjective, rows: str) -> None:
        self._study = study
        self._objective = objective
        self._rows = rows
        stored = read_study_attr(study, _OUTER_TEST) or {}
        self._stored = stored["values"] if stored.get("rows") == rows else {}
        self._values: dict[str, list[float]] = dict(self._stored)

    def refit(self, trial: FrozenTrial) -> Any:
        """Return the fitted model of a trial, or None if its test values are known."""
        return None if str(trial.number) in self._values else self._objective.refit(trial)

    def test_values(
        self, model: Any, trial: FrozenTrial, X_test: Any, y_test: Any
    ) -> Sequence[float]:
        """Return the metrics of a trial on the test rows."""
        key = str(trial.number)
        if key not in self._values:
            values = self._objective.test_values(model, trial, X_test, y_test)
            self._values[key] = [float(value) for value in values]
        return self._values[key]

    def write(self) -> None:
        """Store the values if there are new ones."""
        if self._values != self._stored:
            write_study_attr(
                self._study, _OUTER_TEST, {"rows": self._rows, "values": self._values}
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


@contextlib.contextmanager
def _verbosity(level: int) -> Iterator[None]:
    """Set the verbosity of Optuna for a while."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(level)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


# ---- noise floor --------------------------------------------------------------------------------


def noise_floor(
    study: Study,
    objective: StudyObjective,
    *,
    n_trials: int | None = None,
    random_state: int = 0,
) -> NoiseFloor:
    """Search on permuted labels, and store the best values that luck alone finds in the study.

    Everything is as in the study (rows, folds, filters, representation, sampler), except that the
    labels are permuted, so that no feature has any information about them. A front that is not
    better than these values is not clearly better than chance. The search is shorter than that of
    the study: the floor of as many trials would be lower still.

    Args:
        study: A study of ``objective`` with completed trials; ``study.sampler`` is copied, with
            another seed.
        objective: The objective of the study.
        n_trials: Number of trials. Default: a tenth of the completed trials of the study, at
            least 5 and at most 20.
        random_state: Seed of the permutation and of the sampler. Where the objective has
            ``groups``, whole groups exchange their labels.

    Returns:
        The best values by number of features; ``Baselines.read(study).noise_floor`` from now on.

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
        n_completed = len(trials_of(study, states=(TrialState.COMPLETE,)))
        n_trials = int(np.clip(n_completed // 10, 5, 20))
    n_trials = check_int("n_trials", n_trials, 1)
    seed = check_int("random_state", random_state, 0)
    data = objective.data
    target = _permuted(data.y, data.groups, np.random.default_rng(seed))
    with _verbosity(optuna.logging.ERROR):
        permuted = objective.on_rows(objective.search_rows, y=target)
        null = permuted.create_study(sampler=fresh_sampler(study.sampler, seed))
        null.optimize(permuted, n_trials=n_trials)
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


def _permuted(y: Array, groups: Array | None, rng: np.random.Generator) -> Array:
    """Return a permuted target; whole groups exchange theirs.

    A larger group repeats the labels of a smaller one: labels that agree within groups still do.

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
        permuted[rows] = np.resize(y[members[other]], len(rows))
    return permuted
