"""A network with dropout and a learning rate per layer (Zhang et al. 2023, Table 3)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from optuna_mofs._tables import check_labels
from optuna_mofs._typing import Array
from optuna_mofs._validation import check_float, check_int

#: Decay rates and smallest denominator of Adam (Kingma and Ba 2015).
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8
_MAX_LAYERS = 3


class DropoutMLPClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network of up to three hidden layers, each with its units, dropout and learning rate.

    Hidden layers have rectified linear units. Minibatches are optimized by Adam for a fixed number
    of epochs. Arguments of a layer beyond ``n_layers`` have no effect. The output layer has the
    learning rate of the last hidden layer.

    Args:
        n_layers: Number of hidden layers, 1 to 3.
        n_units_1: Number of units of the first hidden layer.
        n_units_2: The same of the second one.
        n_units_3: The same of the third one.
        dropout_1: Share of the units of the first hidden layer that a minibatch leaves out.
        dropout_2: The same of the second one.
        dropout_3: The same of the third one.
        learning_rate_1: Learning rate of the first hidden layer.
        learning_rate_2: The same of the second one.
        learning_rate_3: The same of the third one.
        epochs: Number of passes over the rows.
        batch_size: Number of rows per minibatch.
        random_state: Seed of the initial weights, the order of the rows and the dropout.

    Attributes:
        classes_: Classes.
        coefs_: Weights of each layer, inputs × outputs.
        intercepts_: Biases of each layer.

    Example:
        >>> X, y = np.repeat([[0.0], [1.0]], 50, axis=0), np.repeat(["a", "b"], 50)
        >>> model = DropoutMLPClassifier(epochs=50, learning_rate_1=0.01, random_state=0)
        >>> model.fit(X, y).predict([[0.0], [1.0]]).tolist()
        ['a', 'b']
    """

    def __init__(
        self,
        *,
        n_layers: int = 1,
        n_units_1: int = 64,
        n_units_2: int = 64,
        n_units_3: int = 64,
        dropout_1: float = 0.2,
        dropout_2: float = 0.2,
        dropout_3: float = 0.2,
        learning_rate_1: float = 1e-3,
        learning_rate_2: float = 1e-3,
        learning_rate_3: float = 1e-3,
        epochs: int = 20,
        batch_size: int = 64,
        random_state: Any = None,
    ) -> None:
        self.n_layers = n_layers
        self.n_units_1 = n_units_1
        self.n_units_2 = n_units_2
        self.n_units_3 = n_units_3
        self.dropout_1 = dropout_1
        self.dropout_2 = dropout_2
        self.dropout_3 = dropout_3
        self.learning_rate_1 = learning_rate_1
        self.learning_rate_2 = learning_rate_2
        self.learning_rate_3 = learning_rate_3
        self.epochs = epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> DropoutMLPClassifier:
        """Fit the network.

        Args:
            X: Rows.
            y: Classes.
        """
        n_layers = check_int("n_layers", self.n_layers, 1, _MAX_LAYERS)
        check_int("epochs", self.epochs, 1)
        check_int("batch_size", self.batch_size, 1)
        X, y = validate_data(self, check_labels(X), y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        units, rates, dropouts = [], [], []
        for k in range(1, n_layers + 1):
            units.append(check_int(f"n_units_{k}", getattr(self, f"n_units_{k}"), 1))
            rate, dropout = f"learning_rate_{k}", f"dropout_{k}"
            rates.append(check_float(rate, getattr(self, rate), 0, low_is_open=True))
            dropouts.append(check_float(dropout, getattr(self, dropout), 0, 0.99))
        rng = check_random_state(self.random_state)
        shape = [X.shape[1], *units, len(self.classes_)]
        self.coefs_ = [rng.standard_normal((a, b)) * np.sqrt(2 / a) for a, b in pairwise(shape)]
        self.intercepts_ = [np.zeros(b) for b in shape[1:]]
        targets = np.eye(len(self.classes_))[labels]
        moments = [(np.zeros_like(w), np.zeros_like(w)) for w in self._weights()]
        step = 0
        for _ in range(self.epochs):
            order = rng.permutation(len(X))
            for start in range(0, len(X), self.batch_size):
                rows = order[start : start + self.batch_size]
                gradients = self._gradients(rng, X[rows], targets[rows], dropouts)
                step += 1
                for k, (weight, gradient, (m, v)) in enumerate(
                    zip(self._weights(), gradients, moments)
                ):
                    m += (1 - _BETA_1) * (gradient - m)
                    v += (1 - _BETA_2) * (gradient**2 - v)
                    scaled = np.sqrt(v / (1 - _BETA_2**step)) + _EPSILON
                    step_size = rates[min(k // 2, n_layers - 1)]
                    weight -= step_size * m / (1 - _BETA_1**step) / scaled
        return self

    def _weights(self) -> list[Array]:
        return [w for pair in zip(self.coefs_, self.intercepts_) for w in pair]

    def _gradients(
        self, rng: np.random.RandomState, X: Array, targets: Array, dropouts: list[float]
    ) -> list[Array]:
        """Return the gradients of the cross-entropy, by backpropagation."""
        inputs, active = [X], []
        for weight, bias, dropout in zip(self.coefs_, self.intercepts_, dropouts):
            reached = inputs[-1] @ weight + bias
            # Scaled, so that a prediction without dropout has the same expectation.
            kept = (reached > 0) * (rng.random_sample(reached.shape) >= dropout) / (1 - dropout)
            active.append(kept)
            inputs.append(reached * kept)
        delta = softmax(inputs[-1] @ self.coefs_[-1] + self.intercepts_[-1], axis=1) - targets
        delta /= len(X)
        gradients: list[Array] = []
        for k in reversed(range(len(self.coefs_))):
            gradients = [inputs[k].T @ delta, delta.sum(axis=0), *gradients]
            if k:
                delta = (delta @ self.coefs_[k].T) * active[k - 1]
        return gradients

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class."""
        check_is_fitted(self)
        values = validate_data(self, check_labels(X), reset=False)
        for weight, bias in zip(self.coefs_[:-1], self.intercepts_[:-1]):
            values = np.maximum(values @ weight + bias, 0)
        return softmax(values @ self.coefs_[-1] + self.intercepts_[-1], axis=1)

    def predict(self, X: Any) -> Array:
        """Return the most probable class."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]
