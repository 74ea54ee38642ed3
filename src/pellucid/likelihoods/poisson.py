"""Counts whose variance is their mean."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._shapes import Array, Float, Float64
from .base import Levels, Likelihood, checked_levels, count_targets, split
from .special import log_factorial_rest

SMALLEST_MEAN = 1e-12  # of a column of zeros, in the best constant outputs


@dataclass(frozen=True)
class Poisson(Likelihood):
    """Each output is the log eta of the mean of a count."""

    name: str = "poisson"
    target_kind: str = "count"

    output_names = ("log mean",)
    about = "counts whose variance is their mean"

    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """e^eta - y eta + log y!, summed over the targets.

        As y (e^t - 1 - t) + (log y! - y log y + y) with t = eta - log y: nothing of the size of y
        cancels.
        """
        z, y = split(outputs, y, self)
        eta, positive = z[:, :, 0], y > 0
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged network
            t = eta - np.log(np.where(positive, y, 1))
            excess = np.where(positive, y * (np.expm1(t) - t), np.exp(eta))
            return (excess + log_factorial_rest(y)).sum(axis=1)

    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """e^eta - y."""
        z, y = split(outputs, y, self)
        with np.errstate(over="ignore"):
            return np.exp(z[:, :, 0]) - y

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n d_out"]:
        """The means."""
        with np.errstate(over="ignore"):
            return np.exp(outputs)

    def quantiles(
        self, outputs: Float[Array, "n d_out"], levels: Levels
    ) -> Float[Array, "n targets levels"]:
        """The smallest counts whose cumulative probability reaches `levels`."""
        from scipy.stats import poisson

        p, mean = checked_levels(levels), self.predict(outputs).astype(np.float64)
        return poisson.ppf(p, mean[:, :, None]).astype(outputs.dtype)

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The log of each column's mean; 1e-12 for a column of zeros."""
        mean = self.check_targets(y, d_out).mean(axis=0, dtype=np.float64)
        return np.log(np.maximum(mean, SMALLEST_MEAN))

    def check_targets(self, y: ArrayLike, d_out: int) -> Float[Array, "n targets"]:
        """Whole numbers from 0, (n, targets), or (n,) for one."""
        return count_targets(y, d_out, self)
