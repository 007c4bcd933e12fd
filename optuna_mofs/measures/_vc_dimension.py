"""The effective VC dimension of a classifier, measured by experiment.

Vapnik, Levin, LeCun (1994), *Measuring the VC-dimension of a learning machine*, as section 2 of
Rosales-Pérez et al. (2014), *Multi-objective model type selection*, describes it.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed, hash
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from optuna_mofs._typing import Array
from optuna_mofs.measures._base import Evaluation, Measure

#: Constants of equation 3, so that the bound is 1 at tau = 0.5.
_A, _B, _K = 0.16, 1.2, 0.14928
#: Rows of each half, and repetitions of each size, of a quick estimate: ten fits, as in the paper.
SIZES = (10, 20, 40, 80, 160)
REPEATS = 2
#: Sizes of an exact estimate, in units of a quick one: the formula errs up near 1 and down above,
#: so that a dimension is only comparable with others if all are measured over the same range.
_RELATIVE_SIZES = (0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
#: The least dimension that is told from none at all.
_LEAST = 0.1
#: Configurations whose dimension is remembered.
_KEPT = 20_000
#: scikit-learn's learners that fit several targets at once, each as if it were alone; by name, so
#: that they are not imported for it.
_MANY_TARGETS = frozenset({"KNeighborsClassifier", "RidgeClassifier"})


def deviation_bound(tau: Any) -> Array:
    """Equation 3: the largest deviation of error rates expected at ``tau = n / h``.

    Example:
        >>> deviation_bound([0.2, 0.5, 10.0]).round(3).tolist()
        [1.0, 1.0, 0.194]
    """
    tau = np.maximum(np.asarray(tau, dtype=float), 0.5)
    logs = np.log(2 * tau) + 1
    away = tau - _K
    bound: Array = _A * logs / away * (1 + np.sqrt(1 + _B * away / logs))
    return np.minimum(bound, 1.0)


def fitted_dimension(sizes: Any, deviations: Any) -> float:
    """Equation 5: the dimension whose bound is nearest to the measured deviations.

    It lies between 0.1 and twice the largest size, beyond which no dimension can be told from
    another; of equally near ones it is the smallest.

    Args:
        sizes: Rows of each half.
        deviations: Mean deviation measured at each size.

    Example:
        >>> sizes = np.array([10, 20, 40])
        >>> round(fitted_dimension(sizes, deviation_bound(sizes / 6.0)), 1)
        6.0
    """
    sizes, deviations = np.asarray(sizes, dtype=float), np.asarray(deviations, dtype=float)
    low, high = _LEAST, 2 * float(sizes.max())
    for _ in range(3):
        tried = np.geomspace(low, high, 200)
        misfit = ((deviation_bound(sizes / tried[:, None]) - deviations) ** 2).sum(axis=1)
        # Rounding must not make one of several perfect fits the best.
        best = int(np.argmax(misfit <= misfit.min() + 1e-12))
        low, high = tried[max(0, best - 1)], tried[min(len(tried) - 1, best + 1)]
    return float(tried[best])


def vc_dimension(
    estimator: Any,
    n_features: int,
    *,
    X: Any = None,
    sizes: Sequence[int] | None = None,
    repeats: int = 20,
    balanced: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> float:
    """The effective VC dimension of a classifier.

    Random rows get random labels; the labels of one half are flipped and the classifier is fitted
    to both halves together. How far its error rates on the two halves, by their own labels, can be
    driven apart shows how much it is able to memorize, and equation 3 turns that into a dimension.

    Args:
        estimator: Any scikit-learn classifier or pipeline; it is not changed.
        n_features: Number of columns.
        X: Rows to draw from, with replacement only where there are too few; by default rows are
            standard normal, which makes the dimension one of the configuration alone.
        sizes: Rows of each half, at least two sizes; the result is at most twice the largest. By
            default 10 to 160 for a first estimate, then 0.7 to 5 times that estimate.
        repeats: Repetitions of each size.
        balanced: Whether the classifier gets as many of one label as of the other. Then a strongly
            penalized one, which says the same of all rows, does not score by luck, and few
            repetitions tell more; the result is a little lower.
        random_state: Seed of rows and labels.
        n_jobs: Fits at a time.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> linear = LogisticRegression(C=1e3)
        >>> 5 < vc_dimension(linear, 5) < 7  # 5 weights and an offset
        True
    """
    if sizes is None:
        options: dict[str, Any] = {
            "X": X,
            "balanced": balanced,
            "random_state": random_state,
            "n_jobs": n_jobs,
        }
        about = vc_dimension(estimator, n_features, sizes=SIZES, repeats=repeats, **options)
        if about > 1.9 * max(SIZES):
            return about  # it memorizes whatever it is given
        sizes = sorted({max(2, round(about * part)) for part in _RELATIVE_SIZES} | {2, 3})[-6:]
        return vc_dimension(estimator, n_features, sizes=sizes, repeats=repeats, **options)
    _check(estimator, n_features, sizes, repeats)
    jobs = [
        delayed(_deviation)(estimator, Z, labels)
        for Z, labels in _experiments(
            estimator, n_features, X, sizes, repeats, random_state, balanced
        )
    ]
    measured = Parallel(n_jobs=n_jobs)(jobs) if n_jobs not in (None, 1) else _here(jobs)
    per_size = np.array(measured).reshape(len(sizes), -1).mean(axis=1)
    return fitted_dimension(sizes, per_size)


def vc_dimension_measure(
    *,
    sizes: Sequence[int] = SIZES,
    repeats: int = REPEATS,
    random_state: int = 0,
    per_octave: int | None = None,
    n_jobs: int | None = None,
    name: str = "vc_dimension",
) -> Measure:
    """The effective VC dimension of the configured classifier as a measure.

    Rows are standard normal, with as many columns as are selected, so that a configuration has one
    dimension whatever the data are; it is measured once and remembered by the process.

    Args:
        sizes: See :func:`vc_dimension`.
        repeats: Repetitions of each size.
        random_state: Seed.
        per_octave: Round every positive number among the hyperparameters to one of so many steps
            from each power of two to the next, for the measurement only: settings that hardly
            differ are then measured once. None measures each as it is.
        n_jobs: Fits at a time.
        name: Name of the measure.

    Example:
        >>> vc_dimension_measure().worst
        320.0
    """
    whole = _VCDimension(tuple(sizes), repeats, random_state, per_octave, n_jobs)
    return Measure(name, whole=whole, worst=2.0 * max(sizes))


@dataclass(frozen=True)
class _VCDimension:
    # A class and not a closure, so that objectives can be pickled.
    sizes: tuple[int, ...]
    repeats: int
    random_state: int
    per_octave: int | None
    n_jobs: int | None = field(compare=False)

    def __call__(self, evaluation: Evaluation) -> float:
        columns = len(evaluation.table.columns_of(evaluation.mask))
        if columns == 0:  # the majority class can memorize nothing
            return _LEAST
        estimator = _rounded(evaluation.estimator, self.per_octave)
        key = hash((estimator, columns, self.sizes, self.repeats, self.random_state))
        return _remembered(
            key,
            lambda: vc_dimension(
                estimator,
                columns,
                sizes=self.sizes,
                repeats=self.repeats,
                balanced=True,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            ),
        )


def _rounded(estimator: Any, per_octave: int | None) -> Any:
    if per_octave is None:
        return estimator
    numbers = {
        name: type(value)(round(_step(value, per_octave), 12))
        for name, value in estimator.get_params().items()
        if type(value) in (int, float) and 0 < value < np.inf and not name.endswith("random_state")
    }
    return clone(estimator).set_params(**numbers)


def _step(value: float, per_octave: int) -> float:
    return float(2 ** (round(np.log2(value) * per_octave) / per_octave))


_DIMENSIONS: OrderedDict[str, float] = OrderedDict()


def _remembered(key: str, measure: Callable[[], float]) -> float:
    if key not in _DIMENSIONS:
        _DIMENSIONS[key] = measure()
        while len(_DIMENSIONS) > _KEPT:
            _DIMENSIONS.popitem(last=False)
    return _DIMENSIONS[key]


def _experiments(
    estimator: Any,
    n_features: int,
    X: Any,
    sizes: Sequence[int],
    repeats: int,
    random_state: int,
    balanced: bool = False,
) -> list[tuple[Array, Array]]:
    """Rows, and labels with a column for each target that is fitted to them."""
    together = repeats if _fits_many(estimator) else 1
    made = []
    for n in sizes:
        for k in range(repeats // together):
            rng = np.random.default_rng([random_state, n, k])
            if X is None:
                Z = rng.standard_normal((2 * n, n_features))
            else:
                rows = np.asarray(X)
                Z = rows[rng.choice(len(rows), 2 * n, replace=len(rows) < 2 * n)]
            labels = rng.integers(2, size=(2 * n, together))
            if balanced:
                labels = rng.permuted(np.tile(np.arange(2 * n)[:, None] % 2, together), axis=0)
                labels[:n] = 1 - labels[:n]  # so that it is balanced once they are flipped
            made.append((Z, labels))
    return made


def _deviation(estimator: Any, Z: Array, labels: Array) -> float:
    """Equation 1, by steps 3 to 5 of the procedure; the mean over the columns of ``labels``."""
    n = len(Z) // 2
    fitted = labels.copy()
    fitted[:n] = 1 - fitted[:n]
    target = fitted if labels.shape[1] > 1 else fitted[:, 0]
    if len(np.unique(target)) < 2:  # a few labels may be all the same: nothing to separate
        said = fitted
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # random labels make many an optimizer complain
            model = _for_rows(estimator, len(Z)).fit(Z, target)
            said = np.asarray(model.predict(Z)).reshape(fitted.shape)
    wrong = said != labels
    apart: Array = np.abs(wrong[:n].mean(axis=0) - wrong[n:].mean(axis=0))
    return float(apart.mean())


def _for_rows(estimator: Any, rows: int) -> Any:
    """A fresh copy that fits so few rows: more neighbors than rows are all of them."""
    too_many = {
        name: rows
        for name, value in estimator.get_params().items()
        if name.rpartition("__")[2] == "n_neighbors" and isinstance(value, int) and value > rows
    }
    return clone(estimator).set_params(**too_many)


def _here(jobs: list[Any]) -> list[float]:
    return [function(*args) for function, args, _ in jobs]


def _fits_many(estimator: Any) -> bool:
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    kind = type(estimator)
    return kind.__module__.startswith("sklearn.") and kind.__name__ in _MANY_TARGETS


def _check(estimator: Any, n_features: int, sizes: Sequence[int], repeats: int) -> None:
    if not is_classifier(estimator):
        raise ValueError(
            f"The VC dimension is one of classifiers, but the estimator is {estimator!r}. "
            "Use 'model_size' or 'parameter_count' for regressors."
        )
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, but is {n_features!r}.")
    if len(sizes) < 2 or min(sizes) < 2:
        raise ValueError(
            f"sizes must be two or more numbers of at least 2 rows, but are {sizes!r}."
        )
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, but is {repeats!r}.")
