"""Real targets with normal noise whose variance depends on the input, and beta-NLL."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._shapes import Array, Float, Float64
from .base import (
    SMALLEST_SCALE,
    Levels,
    Likelihood,
    by_target,
    checked_floor,
    checked_levels,
    joined,
    number,
    real_targets,
    split,
)
from .special import floored, floored_slope, unfloored


@dataclass(frozen=True)
class MeanVariance(Likelihood):
    """Two outputs for each target, the mean mu and the log variance r: y ~ N(mu, v).

    v = smallest_scale^2 + e^r, since the likelihood of an exact fit grows without bound as v falls.
    With beta above 0 the gradient of each row is multiplied by v^beta (Seitzer et al. 2022), so
    that rows with a large variance still move the mean; the loss is the plain one.
    """

    name: str = "mean_variance"
    target_kind: str = "real"
    beta: float = 0.0
    smallest_scale: float = SMALLEST_SCALE

    parameter_names = ("beta", "smallest_scale")
    output_names = ("mean", "log variance")
    unit_powers = (None, 2.0)
    about = "normal with mean and variance; beta above 0: beta-NLL"

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", number(self.name, "beta", self.beta, 0, 1))
        object.__setattr__(self, "smallest_scale", checked_floor(self.name, self.smallest_scale))

    @property
    def loss_is_objective(self) -> bool:
        """Only for beta 0."""
        return self.beta == 0

    def _terms(self, outputs: Array, y: Array) -> tuple[Array, Array, Array, Array]:
        """mu - y, r, log v and (y - mu)^2 / v."""
        z, y = split(outputs, y, self)
        d, r = z[:, :, 0] - y, z[:, :, 1]
        log_v = floored(r, self.smallest_scale**2)
        with np.errstate(over="ignore"):  # a diverged network has an infinite loss
            return d, r, log_v, d * d * np.exp(-log_v)

    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """(log 2 pi + log v + (y - mu)^2 / v) / 2, summed over the targets."""
        _, _, log_v, q = self._terms(outputs, y)
        return (math.log(2 * math.pi) / 2 + log_v / 2 + q / 2).sum(axis=1)

    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """(mu - y) / v and (1 - (y - mu)^2 / v) e^r / (2 v); both times v^beta."""
        d, r, log_v, q = self._terms(outputs, y)
        slope = floored_slope(r, self.smallest_scale**2)
        with np.errstate(over="ignore", invalid="ignore"):
            factor = np.exp(self.beta * log_v) if self.beta else 1
            return joined(d * np.exp(-log_v) * factor, (1 - q) / 2 * slope * factor)

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n targets"]:
        """The means."""
        return by_target(outputs, self)[:, :, 0]

    def standard_deviation(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n targets"]:
        """The square roots of v."""
        return np.exp(floored(by_target(outputs, self)[:, :, 1], self.smallest_scale**2) / 2)

    def quantiles(
        self, outputs: Float[Array, "n d_out"], levels: Levels
    ) -> Float[Array, "n targets levels"]:
        """The quantiles of each target at `levels`."""
        from scipy.special import ndtri

        z = ndtri(checked_levels(levels)).astype(outputs.dtype)
        return self.predict(outputs)[:, :, None] + self.standard_deviation(outputs)[:, :, None] * z

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The mean and the log variance of each target column."""
        columns = self.check_targets(y, d_out).astype(np.float64)
        r = unfloored(columns.var(axis=0), self.smallest_scale**2)
        return joined(columns.mean(axis=0)[None], r[None])[0]

    def check_targets(self, y: ArrayLike, d_out: int) -> Float[Array, "n targets"]:
        """Finite numbers, (n, targets), or (n,) for one; two outputs for each."""
        return real_targets(y, d_out, self)
