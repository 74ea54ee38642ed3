"""Linear lower bounds of outputs over many boxes at once: every activation between two lines.

Bounds go backwards from the outputs to the inputs (Zhang et al. 2018, CROWN; Singh et al. 2019,
DeepPoly). They are computed in float64 without a proof of their rounding: what they find is handed
to the checker.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._shapes import Array, Float64
from ..network import Activation, Network

SLOPES = {"identity": (1.0, 1.0), "relu": (0.0, 1.0), "abs": (-1.0, 1.0)}
"""Left and right of the bend at 0; leaky_relu and prelu have their slope on the left."""


class Lines(NamedTuple):
    """slope * z + offset, above and below the activation of each unit; each (boxes, units)."""

    upper_slope: Float64[Array, "n width"]
    upper_offset: Float64[Array, "n width"]
    lower_slope: Float64[Array, "n width"]
    lower_offset: Float64[Array, "n width"]


def interval_bounds(
    network: Network, low: Float64[Array, "n d_in"], high: Float64[Array, "n d_in"]
) -> tuple[Float64[Array, "n d_out"], Float64[Array, "n d_out"]]:
    """The least and largest outputs that interval arithmetic leaves, for every box."""
    for W, b, sigma in network.layers:
        middle, radius = (low + high) / 2 @ W.T + b, (high - low) / 2 @ np.abs(W).T
        low, high = middle - radius, middle + radius
        ends = [low, high, *(np.clip(k, low, high) for k in kinks(sigma))]
        values = np.stack([sigma.value(z) for z in ends])
        low, high = values.min(0), values.max(0)
    return low, high


def linear_bounds(
    network: Network,
    low: Float64[Array, "n d_in"],
    high: Float64[Array, "n d_in"],
    A: Float64[Array, "rows d_out"],
    b: Float64[Array, " rows"],
) -> tuple[Float64[Array, "n rows"], Float64[Array, "n rows d_in"]]:
    """Lower bounds of A y - b on every box, and the slopes of the linear functions behind them."""
    layers = network.layers
    lines: list[Lines] = []
    for k, (W, bias, sigma) in enumerate(layers):
        both = np.concatenate([W, -W]), np.concatenate([bias, -bias])
        bound, _ = _backward(layers, lines, *both, k, low, high)
        z_low, z_high = bound[:, : len(W)], -bound[:, len(W) :]
        lines.append(lines_of(sigma, z_low, np.maximum(z_low, z_high)))
    last = np.broadcast_to(A, (len(low), *A.shape))
    start, offset = _through(lines[-1], last, -b)
    W, bias, _ = layers[-1]
    offset = offset + start @ bias
    return _backward(layers, lines, _times(start, W), offset, len(layers) - 1, low, high)


def _backward(
    layers: Sequence,
    lines: Sequence[Lines],
    A: Array,
    offset: Array,
    k: int,
    low: Float64[Array, "n d_in"],
    high: Float64[Array, "n d_in"],
) -> tuple[Float64[Array, "n rows"], Float64[Array, "n rows d_in"]]:
    """Lower bounds of A h + offset, h the inputs of layer k."""
    A = np.broadcast_to(A, (len(low), *A.shape[-2:]))
    for j in range(k - 1, -1, -1):
        W, bias, _ = layers[j]
        A, offset = _through(lines[j], A, offset)
        offset = offset + A @ bias
        A = _times(A, W)
    middle, radius = (low + high) / 2, (high - low) / 2
    inner = np.matmul(A, middle[:, :, None]) - np.matmul(np.abs(A), radius[:, :, None])
    return inner[..., 0] + offset, A


def _through(lines: Lines, A: Array, offset: Array) -> tuple[Array, Array]:
    """A sigma(z) >= A' z + offset'."""
    positive = A > 0
    offset = offset + np.matmul(np.where(positive, A, 0.0), lines.lower_offset[:, :, None])[..., 0]
    offset = offset + np.matmul(np.where(positive, 0.0, A), lines.upper_offset[:, :, None])[..., 0]
    slope = np.where(positive, lines.lower_slope[:, None], lines.upper_slope[:, None])
    return np.multiply(A, slope, out=slope), offset


def _times(A: Float64[Array, "n rows width"], W: Array) -> Array:
    """A W for all boxes in one product of matrices."""
    n, rows, width = A.shape
    return (A.reshape(n * rows, width) @ W).reshape(n, rows, -1)


# ---- lines


def kinks(sigma: Activation) -> tuple[float, ...]:
    """Where the graph of a piecewise linear activation bends."""
    if sigma.name == "hardtanh":
        return sigma.parameters
    return () if sigma.name == "identity" else (0.0,)


def lines_of(sigma: Activation, low: Array, high: Array) -> Lines:
    """The lines above and below the activation on [low, high] of each unit."""
    if sigma.name == "hardtanh":
        return _of_hardtanh(sigma, low, high)
    left, right = SLOPES.get(sigma.name) or (sigma.parameters[0], 1.0)
    values = sigma.value(low), sigma.value(high)
    bends = (low < 0) & (high > 0)
    plain = np.where(high <= 0, left, right)
    chord = (values[1] - values[0]) / np.where(bends, high - low, 1.0)
    chord_offset = np.where(bends, values[0] - chord * low, 0.0)
    chord = np.where(bends, chord, plain)
    tangent = np.where(bends, np.where(high > -low, right, left), plain)
    zero = np.zeros_like(low)
    if left > right:  # concave
        return Lines(tangent, zero, chord, chord_offset)
    return Lines(chord, chord_offset, tangent, zero)


def _of_hardtanh(sigma: Activation, low: Array, high: Array) -> Lines:
    """Above: from (low, value) to the upper bend; below: from the lower bend to (high, value)."""
    least, most = sigma.parameters
    at_low, at_high = sigma.value(low), sigma.value(high)
    right, left = np.minimum(np.maximum(most, low), high), np.maximum(np.minimum(least, high), low)
    upper = _slope(low, at_low, right, sigma.value(right), least < high)
    lower = _slope(left, sigma.value(left), high, at_high, most > low)
    ends = [(z, sigma.value(z)) for z in (low, high, left, right)]
    upper_offset = np.max([value - upper * z for z, value in ends], axis=0)
    lower_offset = np.min([value - lower * z for z, value in ends], axis=0)
    return Lines(upper, upper_offset, lower, lower_offset)


def _slope(a: Array, at_a: Array, b: Array, at_b: Array, rises: Array) -> Array:
    """Of the line through two points; 0 where they are one, or the activation is flat."""
    apart = (b > a) & rises
    return np.where(apart, (at_b - at_a) / np.where(apart, b - a, 1.0), 0.0)
