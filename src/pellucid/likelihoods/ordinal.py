"""Ordered classes: cumulative logits, whose thresholds cannot cross."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float, Float64, Int
from .base import Likelihood, whole_labels
from .bernoulli import SMALLEST_PROBABILITY
from .special import logistic, softplus


@dataclass(frozen=True)
class Ordinal(Likelihood):
    """K - 1 outputs z for K ordered classes: P(y <= k) = s(c_k).

    c_0 = z_0 and c_k = c_(k-1) + softplus(z_k): thresholds less the position of the row among them,
    in increasing order whatever the outputs. y is a label 0, ..., K - 1 (McCullagh 1980).
    """

    name: str = "ordinal"
    target_kind: str = "label"

    output_names = ("log odds of class 0, then log steps",)
    about = "ordered classes, by cumulative logits"

    def n_outputs(self, y: ArrayLike) -> int:
        """One less than classes."""
        return max(1, int(np.max(y)))

    @staticmethod
    def thresholds(outputs: Float[Array, "n d_out"]) -> Float[Array, "n d_out"]:
        """The logits c_k of P(y <= k)."""
        steps = softplus(outputs)
        steps[:, 0] = outputs[:, 0]
        return np.cumsum(steps, axis=1, dtype=outputs.dtype)

    def _losses(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n classes"]:
        """softplus(-c_k) + softplus(c_(k-1)) + softplus(-z_k), without what the ends lack."""
        c = self.thresholds(outputs)
        losses = np.zeros((len(c), c.shape[1] + 1), c.dtype)
        losses[:, :-1] += softplus(-c)
        losses[:, 1:] += softplus(c)
        losses[:, 1:-1] += softplus(-outputs[:, 1:])
        return losses

    def loss(self, outputs: Float[Array, "n d_out"], y: Int[Array, " n"]) -> Float[Array, " n"]:
        """-log(s(c_y) - s(c_(y-1))).

        The difference of two logistics a step softplus(z) apart is s(c_y) s(-c_(y-1)) s(z_y), so
        that nothing cancels.
        """
        return self._losses(outputs)[np.arange(len(outputs)), y]

    def gradient(
        self, outputs: Float[Array, "n d_out"], y: Int[Array, " n"]
    ) -> Float[Array, "n d_out"]:
        """By c_y it is -s(-c_y) and by c_(y-1) s(c_(y-1)); each z_k moves all c from k on."""
        c, k = self.thresholds(outputs), np.arange(outputs.shape[1])
        y = y[:, None]
        by_c = np.where(k == y, -logistic(-c), 0) + np.where(k == y - 1, logistic(c), 0)
        from_k_on = np.cumsum(by_c[:, ::-1], axis=1, dtype=c.dtype)[:, ::-1]
        by_z = from_k_on * logistic(outputs) - np.where(k == y, logistic(-outputs), 0)
        by_z[:, 0] = from_k_on[:, 0]
        return by_z.astype(outputs.dtype)

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n classes"]:
        """The probabilities of the K classes, one more than outputs."""
        return np.exp(-self._losses(outputs))

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """Those that give each class its share; a class that never occurs gets 1e-12."""
        labels = self.check_targets(y, d_out)
        shares = np.maximum(
            np.bincount(labels, minlength=d_out + 1) / len(labels), SMALLEST_PROBABILITY
        )
        below = np.cumsum(shares)[:-1]
        above = np.cumsum(shares[::-1])[::-1][1:]
        c = np.log(below) - np.log(above)
        # s(c_k) - s(c_(k-1)) = share, hence e^(c_k - c_(k-1)) - 1 = share / (below_(k-1) above_k)
        steps = np.log(shares[1:-1]) - np.log(below[:-1]) - np.log(above[1:])
        return np.concatenate([c[:1], steps])

    def check_targets(self, y: ArrayLike, d_out: int) -> Int[Array, " n"]:
        """Labels 0, ..., d_out in order, shape (n,), as int64; whole floats and booleans pass."""
        if d_out < 1:
            raise InvalidInput(f"the ordinal likelihood needs an output; the network has {d_out}.")
        return whole_labels(y, d_out + 1, self.name, "one more than the network has outputs")
