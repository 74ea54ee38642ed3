"""Real targets with Gaussian noise of unit variance: least squares as a likelihood."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._shapes import Array, Float, Float64
from .base import Levels, Likelihood, checked_levels, same_shape, target_columns


@dataclass(frozen=True)
class Gaussian(Likelihood):
    """The outputs are the means of independent normal targets with standard deviation 1."""

    name: str = "gaussian"
    target_kind: str = "real"

    output_names = ("mean",)
    about = "normal of standard deviation 1: least squares"

    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """(log 2 pi)/2 + (y - mu)^2 / 2, summed over the outputs."""
        mu, y = outputs, same_shape(outputs, y)
        with np.errstate(over="ignore"):  # a diverged network has an infinite loss
            return (math.log(2 * math.pi) / 2 + (y - mu) ** 2 / 2).sum(axis=1)

    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """mu - y."""
        mu, y = outputs, same_shape(outputs, y)
        return mu - y

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n d_out"]:
        """The mean: the outputs themselves."""
        return outputs

    def quantiles(
        self, outputs: Float[Array, "n d_out"], levels: Levels
    ) -> Float[Array, "n targets levels"]:
        """mu + z, with the quantiles z of the standard normal distribution."""
        from scipy.special import ndtri

        return outputs[:, :, None] + ndtri(checked_levels(levels)).astype(outputs.dtype)

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The mean of each target column."""
        return self.check_targets(y, d_out).mean(axis=0, dtype=np.float64)

    def check_targets(self, y: ArrayLike, d_out: int) -> Float[Array, "n d_out"]:
        """Finite numbers, (n, d_out), or (n,) for one output."""
        return target_columns(y, d_out, self.name)
