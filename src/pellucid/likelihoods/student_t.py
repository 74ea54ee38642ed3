"""Real targets with heavy-tailed noise: a Student t with fixed or learned degrees of freedom."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._shapes import Array, Float, Float64
from .base import (
    SMALLEST_SCALE,
    Levels,
    Likelihood,
    best_constants,
    by_target,
    checked_floor,
    checked_levels,
    joined,
    number,
    real_targets,
    split,
)
from .special import (
    LARGEST_LOG,
    floored,
    floored_slope,
    half_step,
    half_step_slope,
    unfloored,
)


@dataclass(frozen=True)
class StudentT(Likelihood):
    """Location mu, log scale t and log degrees of freedom of each target; s = smallest_scale + e^t.

    With nu above 0 the degrees of freedom are fixed at nu and a target takes the first two outputs.
    """

    name: str = "student_t"
    target_kind: str = "real"
    nu: float = 0.0
    smallest_scale: float = SMALLEST_SCALE

    parameter_names = ("nu", "smallest_scale")
    output_names = ("location", "log scale", "log degrees of freedom")
    unit_powers = (None, 1.0, 0.0)
    about = "Student t with location and scale; nu fixed, or learned for nu 0"

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", number(self.name, "nu", self.nu, 0, 1e12))
        if 0 < self.nu < 1e-6:
            number(self.name, "nu", self.nu, 1e-6, 1e12)
        object.__setattr__(self, "smallest_scale", checked_floor(self.name, self.smallest_scale))

    @property
    def outputs_per_target(self) -> int:
        """2 where nu is fixed, 3 where it is learned."""
        return 2 if self.nu else 3

    def _nu(self, z: Float[Array, "n targets per_target"]) -> Array | float:
        """Degrees of freedom; e^-30 to e^30."""
        return self.nu or np.exp(np.clip(z[:, :, 2], -LARGEST_LOG, LARGEST_LOG))

    def _terms(self, outputs: Array, y: Array) -> tuple[Array, Array, Array, Array | float]:
        """The outputs by target, log s, (mu - y) / s and nu."""
        z, y = split(outputs, y, self)
        log_s = floored(z[:, :, 1], self.smallest_scale)
        with np.errstate(over="ignore"):
            return z, log_s, (z[:, :, 0] - y) * np.exp(-log_s), self._nu(z)

    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """log(2 pi)/2 - h(nu/2) + log s + (nu + 1)/2 log(1 + u^2/nu), u = (y - mu)/s.

        h(x) = log Gamma(x + 1/2) - log Gamma(x) - log(x)/2 goes to 0 as nu grows: what is left is
        the normal's. Summed over the targets.
        """
        _, log_s, u, nu = self._terms(outputs, y)
        h = half_step(nu / 2 * np.ones_like(u))
        with np.errstate(over="ignore"):  # a diverged network has an infinite loss
            tail = (nu + 1) / 2 * np.log1p(u * u / nu)
            return (math.log(2 * math.pi) / 2 - h + log_s + tail).sum(axis=1)

    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """w u / s, (1 - w u^2) e^t / s with w = (nu + 1)/(nu + u^2), and by log nu."""
        z, log_s, u, nu = self._terms(outputs, y)
        slope = floored_slope(z[:, :, 1], self.smallest_scale)
        with np.errstate(over="ignore", invalid="ignore"):
            w = (nu + 1) / (nu + u * u)
            parts = [w * u * np.exp(-log_s), (1 - w * u * u) * slope]
            if not self.nu:
                x = np.asarray(nu) / 2
                by_nu = x * np.log1p(u * u / nu) - w * u * u / 2 - x * half_step_slope(x)
                parts.append(np.where(np.abs(z[:, :, 2]) <= LARGEST_LOG, by_nu, 0))
        return joined(*parts)

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n targets"]:
        """The locations: the medians, and the means for nu above 1."""
        return by_target(outputs, self)[:, :, 0]

    def quantiles(
        self, outputs: Float[Array, "n d_out"], levels: Levels
    ) -> Float[Array, "n targets levels"]:
        """The quantiles of each target at `levels`."""
        from scipy.special import stdtrit

        z, p = by_target(outputs, self), checked_levels(levels)
        s = np.exp(floored(z[:, :, 1], self.smallest_scale))
        nu = np.asarray(self._nu(z), dtype=np.float64) * np.ones(s.shape)
        u = stdtrit(nu[:, :, None], p).astype(outputs.dtype)
        return z[:, :, :1] + s[:, :, None] * u

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The best location and scale (and degrees of freedom) near median and distance from it."""
        columns = self.check_targets(y, d_out).astype(np.float64)
        median = np.median(columns, axis=0)
        t = unfloored(np.abs(columns - median).mean(axis=0), self.smallest_scale)
        log_nu = np.full_like(t, math.log(self.nu or 4.0))
        starts = np.stack([median, t, log_nu], axis=1)[:, : self.outputs_per_target]
        return best_constants(self, columns, starts)

    def check_targets(self, y: ArrayLike, d_out: int) -> Float[Array, "n targets"]:
        """Finite numbers, (n, targets), or (n,) for one."""
        return real_targets(y, d_out, self)
