"""Yes-or-no targets: each output is the logit of a probability."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float, Float64
from .base import Likelihood, same_shape, target_columns

SMALLEST_PROBABILITY = 1e-12  # of a class that never occurs, in the best constant outputs


@dataclass(frozen=True)
class Bernoulli(Likelihood):
    """Each output z is a logit: P(y = 1) = s(z), with s the logistic sigmoid."""

    name: str = "bernoulli"
    target_kind: str = "binary"

    output_names = ("logit",)
    about = "yes or no; several outputs are independent labels"

    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """softplus(z) - y z, summed over the outputs."""
        z, y = outputs, same_shape(outputs, y)
        z = np.where(y > 0.5, -z, z)  # softplus(z) - z = softplus(-z): nothing cancels
        softplus = np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))
        return softplus.sum(axis=1)

    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """s(z) - y."""
        return self.predict(outputs) - same_shape(outputs, y)

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n d_out"]:
        """The probability s(z) of y = 1; the sign of z picks the form that cannot overflow."""
        z = outputs
        e = np.exp(-np.abs(z))
        return np.where(z >= 0, 1, e) / (1 + e)

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The logit of the share of ones; a share of 0 or 1 is moved inside by 1e-12."""
        p = self.check_targets(y, d_out).mean(axis=0, dtype=np.float64)
        p = np.clip(p, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
        return np.log(p) - np.log1p(-p)

    def check_targets(self, y: ArrayLike, d_out: int) -> Float[Array, "n d_out"]:
        """Zeros and ones (or booleans), (n, d_out), or (n,) for one output."""
        columns = target_columns(y, d_out, self.name)
        wrong = (columns != 0) & (columns != 1)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise InvalidInput(
                f"y is {columns[row, column]:g} in row {row}; the bernoulli likelihood needs "
                f"targets 0 and 1: use categorical for more classes, gaussian for numbers."
            )
        return columns
