"""The model types of Rosales-Pérez et al. (2014), which can share their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial

from optuna_mofs.spaces._learners import log, log_int
from optuna_mofs.spaces._registry import Space, preprocessed


def rosales_2014_learners(
    n_features: int, random_state: int | None = None, *, shared: bool = True
) -> dict[str, Any]:
    """Return the five model types of Rosales-Pérez et al. (2014), Table 1, with their spaces.

    For :class:`ModelTypeObjective`. They are those of WEKA and LIBSVM in terms of scikit-learn: a
    tree by entropy with pruning (cost-complexity instead of C4.5's confidence) and a minimum
    number of rows per leaf (``"j48"``), a tree with random features (``"random_tree"``), a forest
    of such trees, a network by gradient descent with momentum, and a support vector machine whose
    kernel is a parameter too. The paper gives no ranges.

    Args:
        n_features: Number of columns.
        random_state: Seed of every learner.
        shared: Whether the learners share their parameters, as in the paper (equation 12): each
            trial has the same five positions in [0, 1], and the first one means the first
            parameter of its learner. If not, each learner has parameters of its own.

    Example:
        >>> list(rosales_2014_learners(10))
        ['j48', 'network', 'random_forest', 'random_tree', 'svm']
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    considered = IntDistribution(1, max(1, n_features))
    seed = {"random_state": random_state}
    network = MLPClassifier(solver="sgd", tol=0.0, n_iter_no_change=10_000, **seed)
    learners: dict[str, tuple[Any, Space]] = {
        "j48": (
            DecisionTreeClassifier(criterion="entropy", **seed),
            {"ccp_alpha": log(1e-4, 0.1), "min_samples_leaf": IntDistribution(1, 20)},
        ),
        "network": (
            preprocessed("network", network, "standardize"),
            {
                "network__hidden_layer_sizes": IntDistribution(1, 50),
                "network__learning_rate_init": log(1e-3, 0.5),
                "network__momentum": FloatDistribution(0.0, 0.95),
                "network__max_iter": log_int(10, 300),
            },
        ),
        "random_forest": (
            RandomForestClassifier(**seed),
            {
                "n_estimators": log_int(5, 100),
                "max_features": considered,
                "max_depth": IntDistribution(1, 20),
            },
        ),
        "random_tree": (
            DecisionTreeClassifier(criterion="entropy", **seed),
            {"max_features": considered, "max_depth": IntDistribution(1, 20)},
        ),
        "svm": (
            # Bounded: with a large penalty on noise the solver takes very long.
            preprocessed("svm", SVC(max_iter=20_000, **seed), "standardize"),
            {
                "svm__kernel": CategoricalDistribution(("linear", "poly", "rbf")),
                "svm__degree": IntDistribution(1, 5),
                "svm__gamma": log(2**-10, 2**4),
                "svm__coef0": FloatDistribution(0.0, 5.0),
                "svm__C": log(2**-5, 2**10),
            },
        ),
    }
    if not shared:
        return learners
    count = max(len(space) for _, space in learners.values())
    return {name: (model, SharedSpace(space, count)) for name, (model, space) in learners.items()}


@dataclass(frozen=True)
class SharedSpace:
    """The ranges of one learner, as positions in [0, 1] that all learners of a study have.

    Rosales-Pérez et al. (2014), equation 12: the first position is the first parameter of the
    learner that is chosen, and so on. A learner with fewer parameters ignores the last positions.

    Args:
        distributions: Distributions by parameter name.
        n_positions: Number of positions, that of the learner with the most parameters.

    Example:
        >>> import optuna
        >>> space = SharedSpace({"depth": IntDistribution(1, 5)}, n_positions=2)
        >>> space(optuna.trial.FixedTrial({"shared_1": 0.5, "shared_2": 0.1}))
        {'depth': 3}
    """

    distributions: Mapping[str, BaseDistribution]
    n_positions: int

    def __call__(self, trial: Trial) -> dict[str, Any]:
        """Suggest all positions, and return the values of the learner's own parameters."""
        positions = [
            trial.suggest_float(f"shared_{k + 1}", 0.0, 1.0) for k in range(self.n_positions)
        ]
        return {
            name: value_at(distribution, position)
            for (name, distribution), position in zip(self.distributions.items(), positions)
        }


def value_at(distribution: BaseDistribution, position: float) -> Any:
    """Return the value at a position in [0, 1] of a range, the nearest one of integers.

    Example:
        >>> value_at(FloatDistribution(1, 100, log=True), 0.5)
        10.0
    """
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[round(position * (len(distribution.choices) - 1))]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high = distribution.low, distribution.high
    value = low + position * (high - low)
    if distribution.log:
        value = low * (high / low) ** position
    if isinstance(distribution, IntDistribution):
        return min(max(round(value), low), high)
    return min(max(value, low), high)
