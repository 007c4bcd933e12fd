"""Neural networks whose shape is defined by two integers, so that Optuna can search it."""

from __future__ import annotations

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

from optuna_mofs._validation import check_int


class _Layered:
    """``n_layers`` hidden layers of ``n_units`` units each, instead of a tuple of sizes.

    Optuna distributions can store integers in a database, but not tuples.
    """

    n_layers: int
    n_units: int

    def __init__(
        self,
        *,
        n_layers: int = 1,
        n_units: int = 64,
        activation: str = "relu",
        solver: str = "adam",
        alpha: float = 1e-4,
        batch_size: int | str = "auto",
        learning_rate_init: float = 1e-3,
        max_iter: int = 200,
        tol: float = 1e-4,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(  # type: ignore[call-arg]
            activation=activation,
            solver=solver,
            alpha=alpha,
            batch_size=batch_size,
            learning_rate_init=learning_rate_init,
            max_iter=max_iter,
            tol=tol,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            random_state=random_state,
        )
        self.n_layers = n_layers
        self.n_units = n_units

    @property
    def hidden_layer_sizes(self) -> tuple[int, ...]:
        """The tuple of sizes that scikit-learn's networks use."""
        n_layers = check_int("n_layers", self.n_layers, 1)
        return (check_int("n_units", self.n_units, 1),) * n_layers

    @hidden_layer_sizes.setter
    def hidden_layer_sizes(self, value: object) -> None:
        """Ignore the value that scikit-learn's constructor sets."""


class LayeredMLPClassifier(_Layered, MLPClassifier):  # type: ignore[misc]
    """:class:`sklearn.neural_network.MLPClassifier` with ``n_layers`` times ``n_units``.

    Args:
        n_layers: Number of hidden layers.
        n_units: Number of units per hidden layer.
        activation: As in scikit-learn, like all following arguments.
        solver: Optimizer.
        alpha: Strength of the L2 penalty.
        batch_size: Number of rows per minibatch.
        learning_rate_init: Initial step size.
        max_iter: Maximum number of epochs.
        tol: Minimum improvement of the loss that counts.
        early_stopping: Stop by the score on a share of the training rows that is set aside,
            instead of the training loss.
        validation_fraction: That share.
        n_iter_no_change: Number of epochs without improvement before stopping.
        random_state: Seed of the initial weights, the order of the rows and the split.

    Example:
        >>> model = LayeredMLPClassifier(n_layers=2, n_units=4, solver="lbfgs", random_state=0)
        >>> model = model.fit([[0.0], [1.0]] * 20, ["a", "b"] * 20)
        >>> [weights.shape for weights in model.coefs_]
        [(1, 4), (4, 4), (4, 1)]
    """


class LayeredMLPRegressor(_Layered, MLPRegressor):  # type: ignore[misc]
    """:class:`sklearn.neural_network.MLPRegressor` with ``n_layers`` times ``n_units``.

    Arguments are those of :class:`LayeredMLPClassifier`.
    """
