"""x^2 and x y by depth: the error falls by a factor of four with every hidden layer."""

from fractions import Fraction
from typing import SupportsFloat, SupportsIndex

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array
from ..network import Network
from .certificate import Certificate, Construction, rounded_up
from .checks import positive, whole

_HINGES, _AFTER = np.array([2.0, -4.0]), np.array([0.5, 1.0])  # tau_1, and x - tau_1 / 4


def square(m: SupportsIndex) -> Construction:
    """The network f_m(x) = x - sum_(s <= m) tau_s(x) / 4^s, which interpolates x^2 on [0, 1].

    m hidden layers (depth m + 1) of 2, 3, ..., 3 units, 3 m - 1 in all; tau_s is the tent map
    applied s times, and the third unit carries what has been subtracted so far. f_m is the linear
    interpolant at 2^m + 1 equal knots: its error is in [0, 2^(-2 m - 2)], and the largest is in the
    middle of every cell. Weights are dyadic. m = 0 is the linear network x. Yarotsky (2017), here
    without connections that skip layers.
    """
    m = whole(m, "m", 0, 500)
    error = 0.25 ** (m + 1)
    how = "f_m interpolates x^2 at 2^m + 1 equal knots of [0, 1]; its weights are dyadic"
    certificate = Certificate(error, "proved", how, error)
    if m == 0:
        return Construction(Network([[[1]]], [[0]]), certificate)
    weights, biases = _layers(np.array([[1.0], [1.0]]), np.array([0, -0.5]), _HINGES, _AFTER, m)
    return Construction(Network(weights, biases, ["relu"] * m), certificate)


def product(m: SupportsIndex, bound: SupportsFloat = 1.0) -> Construction:
    """The network M^2 (f_m(|x + y| / 2 M) - f_m(|x - y| / 2 M)) for x y on [-M, M]^2, M = `bound`.

    m >= 1 hidden layers (depth m + 1) of 8, 6, ..., 6 units, 6 m + 2 in all; f_m is `square(m)`.
    The error is at most M^2 2^(-2 m - 2), which is attained, and 0 where x = 0 or y = 0. Where M is
    no power of two, 1 / 2 M and M^2 are rounded; the bound then includes what this may change.
    Yarotsky (2017) takes three squares, with four times the error.
    """
    m, M = whole(m, "m", 1, 500), positive(bound, "bound")
    if not 1e-100 < M < 1e100:
        raise InvalidInput(f"bound is {M:g}; its square must be a number in float64.")
    w = 1 / (2 * M)
    ends = np.array([[w, w], [-w, -w]])
    side = np.concatenate([ends, ends]), np.array([0, 0, -0.5, -0.5])
    weights, biases = _layers(*side, np.repeat(_HINGES, 2), np.repeat(_AFTER, 2), m)
    minus = np.array([1.0, -1.0])  # |x - y| takes the same layers
    weights = [
        np.concatenate([weights[0], weights[0] * minus]),
        *(_twice(W) for W in weights[1:-1]),
        M * M * np.concatenate([weights[-1], -weights[-1]], axis=1),
    ]
    biases = [*(np.concatenate([b, b]) for b in biases[:-1]), biases[-1]]
    network = Network(weights, biases, ["relu"] * m)
    return Construction(network, _product_certificate(m, Fraction(M), Fraction(w), M * M))


def _layers(
    W: Array, b: Array, tau: Array, after: Array, m: int
) -> tuple[list[Array], list[Array]]:
    """f_m behind a first layer in which tau_1 and x - tau_1 / 4 are these sums of units."""
    weights, biases = [W], [b]
    for s in range(2, m + 1):
        weights.append(np.stack([tau, tau, after]))
        biases.append(np.array([0, -0.5, 0]))
        tau = np.append(_HINGES, 0.0)
        after = np.append(-_HINGES / 4.0**s, 1.0)
    return [*weights, after[None]], [*biases, np.zeros(1)]


def _twice(W: Array) -> Array:
    zeros = np.zeros_like(W)
    return np.block([[W, zeros], [zeros, W]])


def _product_certificate(m: int, M: Fraction, w: Fraction, factor: float) -> Certificate:
    """f_m has slopes up to 2, and |x +- y| / 2 M is moved by at most its share |2 M w - 1|."""
    error = M * M / 4 ** (m + 1)
    rounding = 4 * Fraction(factor) * abs(2 * M * w - 1) + abs(Fraction(factor) - M * M)
    bound = rounded_up(error + rounding)
    if rounding == 0:
        return Certificate(bound, "proved", "two squares, each interpolated; M is dyadic", bound)
    how = f"two squares, each interpolated, and {float(rounding):.2g} for rounding 1 / 2 M and M^2"
    return Certificate(bound, "proved", how)
