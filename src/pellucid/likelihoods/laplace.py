"""Real targets with Laplace noise: absolute errors, with a scale that depends on the input."""

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
    real_targets,
    split,
)
from .special import floored, floored_slope, unfloored


@dataclass(frozen=True)
class Laplace(Likelihood):
    """Two outputs for each target, the median mu and the log scale t; b = smallest_scale + e^t."""

    name: str = "laplace"
    target_kind: str = "real"
    smallest_scale: float = SMALLEST_SCALE

    parameter_names = ("smallest_scale",)
    output_names = ("median", "log scale")
    unit_powers = (None, 1.0)
    about = "double exponential with median and scale"

    def __post_init__(self) -> None:
        object.__setattr__(self, "smallest_scale", checked_floor(self.name, self.smallest_scale))

    def _terms(self, outputs: Array, y: Array) -> tuple[Array, Array, Array]:
        """mu - y, t and log b."""
        z, y = split(outputs, y, self)
        return z[:, :, 0] - y, z[:, :, 1], floored(z[:, :, 1], self.smallest_scale)

    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """log 2 + log b + |y - mu| / b, summed over the targets."""
        d, _, log_b = self._terms(outputs, y)
        with np.errstate(over="ignore"):  # a diverged network has an infinite loss
            return (math.log(2) + log_b + np.abs(d) * np.exp(-log_b)).sum(axis=1)

    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """sign(mu - y) / b, 0 at a tie, and (1 - |y - mu| / b) e^t / b."""
        d, t, log_b = self._terms(outputs, y)
        with np.errstate(over="ignore", invalid="ignore"):
            inverse = np.exp(-log_b)
            slope = floored_slope(t, self.smallest_scale)
            return joined(np.sign(d) * inverse, (1 - np.abs(d) * inverse) * slope)

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n targets"]:
        """The medians, which are the means too."""
        return by_target(outputs, self)[:, :, 0]

    def quantiles(
        self, outputs: Float[Array, "n d_out"], levels: Levels
    ) -> Float[Array, "n targets levels"]:
        """The quantiles of each target at `levels`: mu + b log(2 p), mu - b log(2 - 2 p)."""
        p = checked_levels(levels)
        z = np.where(p < 0.5, np.log(2 * p), -np.log(2 - 2 * p)).astype(outputs.dtype)
        b = np.exp(floored(by_target(outputs, self)[:, :, 1], self.smallest_scale))
        return self.predict(outputs)[:, :, None] + b[:, :, None] * z

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The median of each target column, and the log of the mean distance from it."""
        columns = self.check_targets(y, d_out).astype(np.float64)
        median = np.median(columns, axis=0)
        t = unfloored(np.abs(columns - median).mean(axis=0), self.smallest_scale)
        return joined(median[None], t[None])[0]

    def check_targets(self, y: ArrayLike, d_out: int) -> Float[Array, "n targets"]:
        """Finite numbers, (n, targets), or (n,) for one; two outputs for each."""
        return real_targets(y, d_out, self)
