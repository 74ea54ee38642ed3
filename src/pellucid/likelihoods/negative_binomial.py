"""Counts that vary more than a Poisson's."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._shapes import Array, Float, Float64
from .base import (
    Levels,
    Likelihood,
    best_constants,
    by_target,
    checked_levels,
    count_targets,
    joined,
    split,
)
from .poisson import SMALLEST_MEAN
from .special import LARGEST_LOG, binet, binet_slope, log_factorial_rest, log_near_1


@dataclass(frozen=True)
class NegativeBinomial(Likelihood):
    """Two outputs for each count, log mean eta and log r; the variance is mu + mu^2 / r."""

    name: str = "negative_binomial"
    target_kind: str = "count"

    output_names = ("log mean", "log r")
    about = "counts of variance mu + mu^2 / r"

    def _terms(self, outputs: Array, y: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """eta, log r, mu, r, y and log((r + mu) / (r + y))."""
        z, y = split(outputs, y, self)
        eta, rho = z[:, :, 0], z[:, :, 1]
        with np.errstate(all="ignore"):
            mu, r = np.exp(eta), np.exp(np.clip(rho, -LARGEST_LOG, LARGEST_LOG))
            largest = np.finfo(
                r.dtype
            ).max  # reached where r is so small that r log does not matter
            ratio = log_near_1((mu - y) / (r + y), np.minimum((r + mu) / (r + y), largest))
        return eta, rho, mu, r, y, ratio

    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """-log of Gamma(y + r) / (Gamma(r) y!) (r / (r + mu))^r (mu / (r + mu))^y.

        With Stirling's terms taken out and c(x) what is left of log Gamma(x), it is

            r log((r + mu)/(r + y)) + y log(y (r + mu)/(mu (r + y))) + log(1 + y/r)/2
            + c(r) - c(r + y) + (log y! - y log y + y),

        which goes to the Poisson loss as r grows. Summed over the targets.
        """
        eta, _, mu, r, y, ratio = self._terms(outputs, y)
        y1 = np.where(y > 0, y, 1)
        with np.errstate(all="ignore"):
            v = r * (y - mu) / (mu * (r + y))
            near = np.abs(v) < 0.5
            by_count = y * np.where(
                near, np.log1p(np.where(near, v, 0)), ratio - (eta - np.log(y1))
            )
            gammas = np.log1p(y / r) / 2 + binet(r) - binet(r + y)
            return (r * ratio + by_count + gammas + log_factorial_rest(y)).sum(axis=1)

    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """r (mu - y) / (r + mu), and by log r."""
        _, rho, mu, r, y, ratio = self._terms(outputs, y)
        with np.errstate(all="ignore"):
            u = (mu - y) / (r + mu)
            gammas = r * (binet_slope(r) - binet_slope(r + y)) - y / (2 * (r + y))
            by_rho = np.where(np.abs(rho) <= LARGEST_LOG, r * (ratio - u) + gammas, 0)
            return joined(r * u, by_rho)

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n targets"]:
        """The means."""
        with np.errstate(over="ignore"):
            return np.exp(by_target(outputs, self)[:, :, 0])

    def quantiles(
        self, outputs: Float[Array, "n d_out"], levels: Levels
    ) -> Float[Array, "n targets levels"]:
        """The smallest counts whose cumulative probability reaches `levels`."""
        from scipy.stats import nbinom

        p, z = checked_levels(levels), by_target(outputs, self).astype(np.float64)
        r = np.exp(np.clip(z[:, :, 1:], -LARGEST_LOG, LARGEST_LOG))
        return nbinom.ppf(p, r, r / (r + np.exp(z[:, :, :1]))).astype(outputs.dtype)

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The log mean of each column, and the r that fits its variance best."""
        columns = self.check_targets(y, d_out).astype(np.float64)
        mean, variance = np.maximum(columns.mean(axis=0), SMALLEST_MEAN), columns.var(axis=0)
        excess = np.maximum(variance - mean, 1e-3 * mean)  # none is a Poisson, r infinite
        starts = np.stack([np.log(mean), np.log(mean * mean / excess)], axis=1)
        return best_constants(self, columns, starts)

    def check_targets(self, y: ArrayLike, d_out: int) -> Float[Array, "n targets"]:
        """Whole numbers from 0, (n, targets), or (n,) for one; two outputs for each."""
        return count_targets(y, d_out, self)
