"""Weights of rows and classes, and label smoothing: the twin of what ``isa/losses.hpp`` does.

With row weights u and class weights w the loss of a batch is the weighted mean

    sum_i u_i loss_i / sum_i u_i w_(y_i)

where loss_i of a categorical row already holds the class weights; this is what
``torch.nn.CrossEntropyLoss`` divides by. A batch without any weight has loss 0 and gradient 0.
"""

from dataclasses import dataclass

import numpy as np

from .._shapes import Array, Float, Int
from .jobs import LikelihoodFunctions


@dataclass(frozen=True, eq=False)
class SoftLabels:
    """Cross entropy against a_c = w_c ((1 - s) [c = y] + s / k), with smoothing s, k classes."""

    class_weights: Float[Array, " k"]
    smoothing: float

    def _targets(self, outputs: Float[Array, "n k"], y: Int[Array, " n"]) -> Float[Array, "n k"]:
        a = np.full_like(outputs, self.smoothing / outputs.shape[1])
        a[np.arange(len(y)), y] += 1 - self.smoothing
        return a * self.class_weights.astype(outputs.dtype)

    def loss(self, outputs: Float[Array, "n k"], y: Int[Array, " n"]) -> Float[Array, " n"]:
        """-sum_c a_c log p_c of each row."""
        a, t = self._targets(outputs, y), outputs - outputs.max(axis=1, keepdims=True)
        return a.sum(axis=1) * np.log(np.exp(t).sum(axis=1)) - (a * t).sum(axis=1)

    def gradient(self, outputs: Float[Array, "n k"], y: Int[Array, " n"]) -> Float[Array, "n k"]:
        """p_c sum_c' a_c' - a_c."""
        a, e = self._targets(outputs, y), np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return e * (a.sum(axis=1, keepdims=True) / e.sum(axis=1, keepdims=True)) - a


@dataclass(frozen=True, eq=False)
class Objective:
    """A likelihood with its weights: the mean loss of a batch, and its gradient."""

    likelihood: LikelihoodFunctions
    class_weights: Array | None = None

    def _shares(self, outputs: Array, y: Array, weights: Array | None) -> Array:
        """What each row's loss is multiplied by."""
        u = np.ones(len(y), outputs.dtype) if weights is None else weights.astype(outputs.dtype)
        counts = u if self.class_weights is None else u * self.class_weights[y]
        total = counts.sum(dtype=np.float64)
        return (u / total if total > 0 else 0 * u).astype(outputs.dtype)

    def loss(self, outputs: Array, y: Array, weights: Array | None) -> float:
        """The weighted mean loss in nats."""
        losses = self.likelihood.loss(outputs, y)
        if weights is None and self.class_weights is None:
            return float(np.mean(losses))
        return float(np.sum(losses * self._shares(outputs, y, weights)))

    def gradient(self, outputs: Array, y: Array, weights: Array | None) -> Array:
        """Its derivative by the outputs."""
        gradient = self.likelihood.gradient(outputs, y)
        if weights is None and self.class_weights is None:
            return gradient / len(outputs)
        return gradient * self._shares(outputs, y, weights)[:, None]
