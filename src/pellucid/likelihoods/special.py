"""What the likelihoods need of logarithms and the gamma function, without cancellation.

Differences of log-gammas lose all digits where their arguments are large (a count model near its
Poisson limit, a Student t near the normal). Each is written here as elementary terms, which the
callers combine on paper, plus a remainder that falls to 0. Functions take the module that computes:
NumPy, or torch, which differentiates them.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._shapes import Array

#: log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2 is the sum of c_k x^(1 - 2k) (Stirling)
STIRLING = (1/12, -1/360, 1/1260, -1/1680, 1/1188, -691/360360, 1/156, -3617/122400,
            43867/244188)  # fmt: skip
#: log Gamma(x + 1/2) - log Gamma(x) - log(x) / 2 likewise: B_2k (2^(1 - 2k) - 2) / (2k (2k - 1))
HALF_STEP = (-1/8, 1/192, -1/640, 17/14336, -31/18432, 691/180224, -5461/425984,
             929569/15728640, -3202291/8912896)  # fmt: skip
LARGEST_LOG = 30.0
"""Logarithms of shape parameters (r, nu) are clipped to +-30: beyond, nothing changes."""


def softplus(x: Array) -> Array:
    """log(1 + e^x)."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def logistic(x: Array) -> Array:
    """1 / (1 + e^-x); the sign of x picks the form that cannot overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def floored(t: Any, smallest: float, xp: Any = np) -> Any:
    """log(smallest + e^t): the logarithm of a scale that cannot fall below `smallest`."""
    low = math.log(smallest)
    return xp.where(t > low, t, 0 * t + low) + xp.log1p(xp.exp(-xp.abs(t - low)))


def floored_slope(t: Array, smallest: float) -> Array:
    """Its derivative by t: 1 above the floor, falling to 0 below it."""
    return logistic(t - math.log(smallest))


def unfloored(scale: Array, smallest: float) -> Array:
    """The t with smallest + e^t = scale; for a scale at the floor one of a hundredth above it."""
    return np.log(np.maximum(scale - smallest, 0.01 * smallest))


def log_near_1(v: Any, one_plus_v: Any, xp: Any = np) -> Any:
    """log(1 + v) with all digits where v is near 0, from 1 + v elsewhere, both given."""
    near = xp.abs(v) < 0.5
    return xp.where(near, xp.log1p(xp.where(near, v, 0 * v)), xp.log(one_plus_v))


def _series(coefficients: tuple[float, ...], x: Any) -> Any:
    w = 1 / x
    total = 0 * x
    for c in reversed(coefficients):
        total = total * (w * w) + c
    return total * w


def _slope_series(coefficients: tuple[float, ...], x: Any) -> Any:
    slopes = tuple(-(2 * k + 1) * c for k, c in enumerate(coefficients))
    return _series(slopes, x) / x


@dataclass(frozen=True)
class _Shift:
    """Small arguments are moved up by `n`, from where on the asymptotic series are used.

    10 in float64; in float32 3 is enough, and the less is moved the less cancels.
    """

    n: int
    small: Any
    large: Any  # x, or x + n where it is small
    low: Any  # x where it is small, else 1

    @classmethod
    def of(cls, x: Any, xp: Any) -> "_Shift":
        n = 3 if xp.finfo(x.dtype).bits == 32 else 10
        small = x < n
        return cls(n, small, xp.where(small, x + n, x), xp.where(small, x, 0 * x + 1))


def binet(x: Any, xp: Any = np) -> Any:
    """log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2, for x > 0; 1 / (12 x) for large x."""
    at = _Shift.of(x, xp)
    low, top, product = at.low, at.low + at.n, at.low
    for k in range(1, at.n):
        product = product * (low + k)
    shift = (top - 0.5) * xp.log(top) - (low - 0.5) * xp.log(low) - at.n - xp.log(product)
    return _series(STIRLING, at.large) + xp.where(at.small, shift, 0 * x)


def binet_slope(x: Array) -> Array:
    """Its derivative, digamma(x) - log x + 1 / (2 x)."""
    at = _Shift.of(x, np)
    low, top = at.low, at.low + at.n
    shift = np.log1p(at.n / low) - 0.5 / top - 0.5 / low
    for k in range(1, at.n):
        shift = shift - 1 / (low + k)
    return _slope_series(STIRLING, at.large) + np.where(at.small, shift, 0 * x)


def half_step(x: Any, xp: Any = np) -> Any:
    """log Gamma(x + 1/2) - log Gamma(x) - log(x) / 2, for x > 0; -1 / (8 x) for large x."""
    at = _Shift.of(x, xp)
    low, ratio = at.low, (at.low + 0.5) / at.low
    for k in range(1, at.n):
        ratio = ratio * ((low + k + 0.5) / (low + k))
    shift = xp.log((low + at.n) / low) / 2 - xp.log(ratio)
    return _series(HALF_STEP, at.large) + xp.where(at.small, shift, 0 * x)


def half_step_slope(x: Array) -> Array:
    """Its derivative."""
    at = _Shift.of(x, np)
    low, shift = at.low, 0.5 / (at.low + at.n) - 0.5 / at.low
    for k in range(at.n):
        shift = shift + 0.5 / ((low + k) * (low + k + 0.5))
    return _slope_series(HALF_STEP, at.large) + np.where(at.small, shift, 0 * x)


def log_factorial_rest(y: Any, xp: Any = np) -> Any:
    """log y! - y log y + y for y > 0, and 0 for y = 0."""
    positive = y > 0
    y1 = xp.where(positive, y, 0 * y + 1)
    rest = xp.log(2 * math.pi * y1) / 2 + binet(y1, xp)
    return xp.where(positive, rest, 0 * y)
