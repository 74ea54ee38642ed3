"""Real targets whose distribution is a mixture of normals: mixture density networks."""

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
    number,
    real_targets,
    split,
)
from .special import floored, floored_slope, unfloored

MOST_COMPONENTS = 1000
BISECTIONS = 60


@dataclass(frozen=True)
class Mixture(Likelihood):
    """3 K outputs for each target: logits a, means mu and log deviations t of K normals.

    p(y) = sum_k softmax(a)_k N(y; mu_k, s_k^2) with s = smallest_scale + e^t (Bishop 1994).
    """

    name: str = "mixture"
    target_kind: str = "real"
    components: float = 3
    smallest_scale: float = SMALLEST_SCALE

    parameter_names = ("components", "smallest_scale")
    about = "mixture of normals (mixture density network)"

    def __post_init__(self) -> None:
        k = number(self.name, "components", self.components, 1, MOST_COMPONENTS)
        number(self.name, "components", k if k == int(k) else math.nan, 1, MOST_COMPONENTS)
        object.__setattr__(self, "components", int(k))
        object.__setattr__(self, "smallest_scale", checked_floor(self.name, self.smallest_scale))

    @property
    def outputs_per_target(self) -> int:
        """Three for each component."""
        return 3 * int(self.components)

    def _powers(self) -> tuple[float | None, ...]:
        k = int(self.components)
        return (0.0,) * k + (None,) * k + (1.0,) * k

    def _parts(self, z: Float[Array, "n targets per_target"]) -> tuple[Array, Array, Array]:
        """a, mu and t, each (n, targets, K)."""
        a, mu, t = np.split(z, 3, axis=2)
        return a, mu, t

    def _terms(self, outputs: Array, y: Array) -> tuple[Array, Array, Array, Array, Array]:
        """The logits a, t, log s, u = (mu - y) / s, and a_k + log N_k but for log(2 pi) / 2."""
        z, y = split(outputs, y, self)
        a, mu, t = self._parts(z)
        log_s = floored(t, self.smallest_scale)
        with np.errstate(over="ignore"):
            u = (mu - y[:, :, None]) * np.exp(-log_s)
            return a, t, log_s, u, a - log_s - u * u / 2

    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """-logsumexp_k(log softmax(a)_k + log N(y; mu_k, s_k^2)), summed over the targets."""
        a, *_, joint = self._terms(outputs, y)
        with np.errstate(invalid="ignore"):
            losses = _logsumexp(a) - _logsumexp(joint) + math.log(2 * math.pi) / 2
        return losses.sum(axis=1)

    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """pi - g, g u / s and g (1 - u^2) e^t / s, with the responsibilities g."""
        a, t, log_s, u, joint = self._terms(outputs, y)
        with np.errstate(over="ignore", invalid="ignore"):
            pi, g = _softmax(a), _softmax(joint)
            by_t = g * (1 - u * u) * floored_slope(t, self.smallest_scale)
            parts = [pi - g, g * u * np.exp(-log_s), by_t]
        return np.concatenate(parts, axis=2).reshape(outputs.shape)

    def responsibilities(
        self, outputs: Float[Array, "n d_out"], y: Array
    ) -> Float[Array, "n targets components"]:
        """The probability that each component made each target."""
        return _softmax(self._terms(outputs, y)[-1])

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n targets"]:
        """The means of the mixtures."""
        a, mu, _ = self._parts(by_target(outputs, self))
        return (_softmax(a) * mu).sum(axis=2)

    def quantiles(
        self, outputs: Float[Array, "n d_out"], levels: Levels
    ) -> Float[Array, "n targets levels"]:
        """The quantiles of each target at `levels`, by bisection of the distribution function."""
        from scipy.special import ndtr, ndtri

        p = checked_levels(levels)
        a, mu, t = self._parts(by_target(outputs.astype(np.float64), self))
        a, mu, s = (
            part[:, :, None, :]
            for part in (_softmax(a), mu, np.exp(floored(t, self.smallest_scale)))
        )
        of_each = mu + s * ndtri(p)[:, None]  # the mixture's lies between those of its components
        low, high = of_each.min(axis=3), of_each.max(axis=3)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            below = (a * ndtr((middle[..., None] - mu) / s)).sum(axis=3) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return ((low + high) / 2).astype(outputs.dtype)

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The best mixture near one with a component for each K-th of the sorted targets."""
        columns = self.check_targets(y, d_out).astype(np.float64)
        k = int(self.components)
        means = np.quantile(columns, (np.arange(k) + 0.5) / k, axis=0).T
        t = unfloored(columns.std(axis=0) / k, self.smallest_scale)
        starts = np.concatenate([np.zeros_like(means), means, np.tile(t[:, None], k)], axis=1)
        return best_constants(self, columns, starts)

    def check_targets(self, y: ArrayLike, d_out: int) -> Float[Array, "n targets"]:
        """Finite numbers, (n, targets), or (n,) for one; three outputs for each component."""
        return real_targets(y, d_out, self)


def _logsumexp(x: Float[Array, "n targets components"]) -> Float[Array, "n targets"]:
    top = x.max(axis=2)
    return top + np.log(np.exp(x - top[:, :, None]).sum(axis=2))


def _softmax(x: Float[Array, "n targets components"]) -> Float[Array, "n targets components"]:
    e = np.exp(x - x.max(axis=2, keepdims=True))
    return e / e.sum(axis=2, keepdims=True)
