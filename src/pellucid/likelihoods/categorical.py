"""One of several classes: the outputs are logits, one per class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float, Float64, Int
from .base import Likelihood, whole_labels
from .bernoulli import SMALLEST_PROBABILITY


@dataclass(frozen=True)
class Categorical(Likelihood):
    """The outputs z are logits: P(y = k) = p_k, with p the softmax of z; y is a label 0, 1, ...."""

    name: str = "categorical"
    target_kind: str = "label"

    output_names = ("logit of a class",)
    about = "one of several classes"

    def n_outputs(self, y: ArrayLike) -> int:
        """One for each class."""
        return int(np.max(y)) + 1

    def loss(self, outputs: Float[Array, "n d_out"], y: Int[Array, " n"]) -> Float[Array, " n"]:
        """logsumexp(z) - z_y, with the largest logit subtracted first."""
        z = outputs - outputs.max(axis=1, keepdims=True)
        return np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(z)), y]

    def gradient(
        self, outputs: Float[Array, "n d_out"], y: Int[Array, " n"]
    ) -> Float[Array, "n d_out"]:
        """p - onehot(y); each row sums to zero."""
        p = self.predict(outputs)
        p[np.arange(len(p)), y] -= 1
        return p

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n d_out"]:
        """The probabilities p = softmax(z) of the classes."""
        e = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The log of each class's share; a class that never occurs gets 1e-12."""
        labels = self.check_targets(y, d_out)
        shares = np.bincount(labels, minlength=d_out) / len(labels)
        return np.log(np.maximum(shares, SMALLEST_PROBABILITY))

    def check_targets(self, y: ArrayLike, d_out: int) -> Int[Array, " n"]:
        """Labels 0, ..., d_out - 1, shape (n,), as int64; whole floats and booleans pass."""
        if d_out < 2:
            raise InvalidInput(
                f"the categorical likelihood needs one output per class, and the network has "
                f"{d_out}; use bernoulli for a single output."
            )
        return whole_labels(y, d_out, self.name, "one per output of the network")
