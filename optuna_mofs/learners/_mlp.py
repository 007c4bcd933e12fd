"""Neural networks whose shape is two integers, so that Optuna can search it."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor


class _Layered:
    """``n_layers`` hidden layers of ``n_units`` units each, instead of a tuple of sizes.

    An Optuna distribution cannot hold tuples in a database; two integers it can.
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
        """The tuple that scikit-learn's networks are built from."""
        for name in ("n_layers", "n_units"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}={value!r} is not a positive integer; try 1 or more.")
        return (int(self.n_units),) * int(self.n_layers)

    @hidden_layer_sizes.setter
    def hidden_layer_sizes(self, value: object) -> None:
        """Ignore what scikit-learn's constructor sets: the two integers decide."""


class LayeredMLPClassifier(_Layered, MLPClassifier):  # type: ignore[misc]
    """:class:`sklearn.neural_network.MLPClassifier` with ``n_layers`` times ``n_units``.

    Args:
        n_layers: Number of hidden layers.
        n_units: Units of each hidden layer.
        activation: As in scikit-learn, like all that follow.
        solver: Optimizer.
        alpha: Strength of the L2 penalty.
        batch_size: Rows of a minibatch.
        learning_rate_init: Initial step size.
        max_iter: Most epochs.
        tol: Least improvement of the loss that counts.
        early_stopping: Watch a share of the training rows instead of the training loss.
        validation_fraction: That share.
        n_iter_no_change: Epochs without improvement before stopping.
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
