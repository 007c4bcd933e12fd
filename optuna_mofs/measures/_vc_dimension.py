"""The effective VC dimension of a classifier, measured by experiment.

Vapnik, Levin, LeCun (1994), *Measuring the VC-dimension of a learning machine*, as section 2 of
Rosales-Pérez et al. (2014), *Multi-objective model type selection*, describes it.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed, hash
from sklearn.base import clone, is_classifier

from optuna_mofs._estimators import last_step
from optuna_mofs._typing import Array
from optuna_mofs._validation import check_int
from optuna_mofs.measures._base import Evaluation, Measure
from optuna_mofs.measures._registry import register_measure

#: Constants of equation 3, so that the bound is 1 at tau = 0.5.
_A, _B, _K = 0.16, 1.2, 0.14928
#: Rows per half, and repetitions per size, of a quick estimate: ten fits, as in the paper.
SIZES = (10, 20, 40, 80, 160)
REPEATS = 2
#: Sizes of an exact estimate, in multiples of a quick one. The formula overestimates for ratios
#: near 1 and underestimates for larger ones, so comparable dimensions need the same range.
_RELATIVE_SIZES = (0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
#: The smallest dimension that can be distinguished from 0.
_MIN_DIMENSION = 0.1
#: Dimensions of configurations that were measured in this process, and their maximum number.
_CACHE: OrderedDict[str, float] = OrderedDict()
_MAX_CACHED = 20_000
#: scikit-learn's learners that fit several targets independently at once; by name, so that they
#: need not be imported.
_MULTI_TARGET = frozenset({"KNeighborsClassifier", "RidgeClassifier"})


def deviation_bound(tau: Any) -> Array:
    """Return the largest expected deviation of error rates at ``tau = n / h`` (equation 3).

    Example:
        >>> deviation_bound([0.2, 0.5, 10.0]).round(3).tolist()
        [1.0, 1.0, 0.194]
    """
    tau = np.maximum(np.asarray(tau, dtype=float), 0.5)
    logs = np.log(2 * tau) + 1
    shifted = tau - _K
    bound: Array = _A * logs / shifted * (1 + np.sqrt(1 + _B * shifted / logs))
    return np.minimum(bound, 1.0)


def fitted_dimension(sizes: Any, deviations: Any) -> float:
    """Return the dimension whose bound is nearest to the measured deviations (equation 5).

    It is between 0.1 and twice the largest size, above which dimensions cannot be distinguished;
    of equally near ones, the smallest is returned.

    Args:
        sizes: Number of rows per half.
        deviations: Mean deviation measured for each size.

    Example:
        >>> sizes = np.array([10, 20, 40])
        >>> round(fitted_dimension(sizes, deviation_bound(sizes / 6.0)), 1)
        6.0
    """
    sizes, deviations = np.asarray(sizes, dtype=float), np.asarray(deviations, dtype=float)
    low, high = _MIN_DIMENSION, 2 * float(sizes.max())
    for _ in range(3):
        tried = np.geomspace(low, high, 200)
        misfit = ((deviation_bound(sizes / tried[:, None]) - deviations) ** 2).sum(axis=1)
        # The tolerance makes the smallest of several perfect fits win, whatever the rounding.
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
    """Return the effective VC dimension of a classifier.

    Random rows get random labels, the labels of one half are flipped, and the classifier is fitted
    to both halves together. The deviation of its error rates on the two halves, by the original
    labels, shows how much it can memorize; equation 3 converts it into a dimension.

    Args:
        estimator: Any scikit-learn classifier or pipeline; it is not changed.
        n_features: Number of columns.
        X: Rows to draw from, with replacement only if there are too few; by default rows are
            standard normal, so that the dimension depends on the configuration alone.
        sizes: Number of rows per half, at least two sizes; the result is at most twice the largest
            one. By default 10 to 160 for a first estimate, then 0.7 to 5 times that estimate.
        repeats: Number of repetitions per size.
        balanced: Whether both labels are equally frequent. Then a strongly penalized classifier,
            which predicts the same label for all rows, has no deviation by chance, and fewer
            repetitions are needed; the result is slightly lower.
        random_state: Seed of rows and labels.
        n_jobs: Number of parallel fits.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> linear = LogisticRegression(C=1e3)
        >>> 5 < vc_dimension(linear, 5) < 7  # 5 weights and an intercept
        True
    """
    if not is_classifier(estimator):
        raise ValueError(
            f"The VC dimension needs a classifier, got {estimator!r}. "
            "Use 'model_size' or 'parameter_count' for regressors."
        )
    check_int("n_features", n_features, 1)
    check_int("repeats", repeats, 1)
    if sizes is not None and (len(sizes) < 2 or min(sizes) < 2):
        raise ValueError(
            f"sizes must have at least two numbers of at least 2 rows, got {sizes!r}."
        )

    def measure(sizes: Sequence[int]) -> float:
        experiments = _experiments(
            estimator, n_features, X, sizes, repeats, random_state, balanced
        )
        jobs = [delayed(_deviation)(estimator, Z, labels) for Z, labels in experiments]
        deviations = Parallel(n_jobs=n_jobs)(jobs)
        return fitted_dimension(sizes, np.reshape(deviations, (len(sizes), -1)).mean(axis=1))

    if sizes is not None:
        return measure(sizes)
    estimate = measure(SIZES)
    if estimate > 1.9 * max(SIZES):
        return estimate  # it memorizes all rows
    return measure(
        sorted({max(2, round(estimate * part)) for part in _RELATIVE_SIZES} | {2, 3})[-6:]
    )


def vc_dimension_measure(
    *,
    sizes: Sequence[int] = SIZES,
    repeats: int = REPEATS,
    random_state: int = 0,
    per_octave: int | None = None,
    balanced: bool = True,
    n_jobs: int | None = None,
    name: str = "vc_dimension",
) -> Measure:
    """Return the measure of the effective VC dimension of the configured classifier.

    Rows are standard normal with as many columns as are selected, so that the dimension of a
    configuration does not depend on the data. It is measured once and cached in the process.

    Args:
        sizes: See :func:`vc_dimension`.
        repeats: Number of repetitions per size.
        random_state: Seed.
        per_octave: Number of steps between successive powers of two to which positive
            hyperparameters are rounded, for the measurement only, so that nearly equal settings
            are measured once. None: no rounding.
        balanced: See :func:`vc_dimension`. False for the labels of the paper, each 0 or 1 with
            probability 1/2: nearer to the theory where that is known, and noisier.
        n_jobs: Number of parallel fits.
        name: Name of the measure.

    Example:
        >>> vc_dimension_measure().worst
        320.0
    """
    whole = _VCDimension(tuple(sizes), repeats, random_state, per_octave, balanced, n_jobs)
    return Measure(name, whole=whole, worst=2.0 * max(sizes), classification_only=True)


@dataclass(frozen=True)
class _VCDimension:
    # A class instead of a closure, so that objectives can be pickled.
    sizes: tuple[int, ...]
    repeats: int
    random_state: int
    per_octave: int | None
    balanced: bool
    n_jobs: int | None = field(compare=False)

    def __call__(self, evaluation: Evaluation) -> float:
        columns = len(evaluation.table.columns_of(evaluation.mask))
        if columns == 0:  # the majority class cannot memorize anything
            return _MIN_DIMENSION
        estimator = _rounded(evaluation.estimator, self.per_octave)
        settings = self.sizes, self.repeats, self.random_state, self.balanced
        key = hash((estimator, columns, *settings))
        if key not in _CACHE:
            _CACHE[key] = vc_dimension(
                estimator,
                columns,
                sizes=self.sizes,
                repeats=self.repeats,
                balanced=self.balanced,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
            while len(_CACHE) > _MAX_CACHED:
                _CACHE.popitem(last=False)
        return _CACHE[key]


def _rounded(estimator: Any, per_octave: int | None) -> Any:
    if per_octave is None:
        return estimator
    numbers = {
        name: type(value)(round(2 ** (round(np.log2(value) * per_octave) / per_octave), 12))
        for name, value in estimator.get_params().items()
        if type(value) in (int, float) and 0 < value < np.inf and not name.endswith("random_state")
    }
    return clone(estimator).set_params(**numbers)


def _experiments(
    estimator: Any,
    n_features: int,
    X: Any,
    sizes: Sequence[int],
    repeats: int,
    random_state: int,
    balanced: bool = False,
) -> list[tuple[Array, Array]]:
    """Return rows, and labels with one column per target that is fitted to them."""
    n_targets = repeats if _fits_several_targets(estimator) else 1
    experiments = []
    for n in sizes:
        for k in range(repeats // n_targets):
            rng = np.random.default_rng([random_state, n, k])
            if X is None:
                Z = rng.standard_normal((2 * n, n_features))
            else:
                rows = np.asarray(X)
                Z = rows[rng.choice(len(rows), 2 * n, replace=len(rows) < 2 * n)]
            labels = rng.integers(2, size=(2 * n, n_targets))
            if balanced:
                labels = rng.permuted(np.tile(np.arange(2 * n)[:, None] % 2, n_targets), axis=0)
                labels[:n] = 1 - labels[:n]  # so that the flipped labels are balanced
            experiments.append((Z, labels))
    return experiments


def _deviation(estimator: Any, Z: Array, labels: Array) -> float:
    """Return equation 1 by steps 3 to 5 of the procedure, averaged over columns of labels."""
    n = len(Z) // 2
    fitted = labels.copy()
    fitted[:n] = 1 - fitted[:n]
    target = fitted if labels.shape[1] > 1 else fitted[:, 0]
    if len(np.unique(target)) < 2:  # a few labels can all be equal
        predicted = fitted
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # optimizers often do not converge on random labels
            model = _with_few_neighbors(estimator, len(Z)).fit(Z, target)
            predicted = np.asarray(model.predict(Z)).reshape(fitted.shape)
    wrong = predicted != labels
    deviation: Array = np.abs(wrong[:n].mean(axis=0) - wrong[n:].mean(axis=0))
    return float(deviation.mean())


def _with_few_neighbors(estimator: Any, rows: int) -> Any:
    """Return a copy with at most as many neighbors as there are rows."""
    too_many = {
        name: rows
        for name, value in estimator.get_params().items()
        if name.rpartition("__")[2] == "n_neighbors" and isinstance(value, int) and value > rows
    }
    return clone(estimator).set_params(**too_many)


def _fits_several_targets(estimator: Any) -> bool:
    kind = type(last_step(estimator))
    return kind.__module__.startswith("sklearn.") and kind.__name__ in _MULTI_TARGET


register_measure(vc_dimension_measure())
