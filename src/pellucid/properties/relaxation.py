"""Linear lower bounds of outputs over many boxes at once: every activation between two lines.

Bounds go backwards from the outputs to the inputs (Zhang et al. 2018, CROWN; Singh et al. 2019,
DeepPoly). They are computed in float64 without a proof of their rounding: what they find is handed
to the checker.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._shapes import Array, Float64, Int
from ..network import Activation, Layer, Network

SLOPES = {"relu": (0.0, 1.0), "abs": (-1.0, 1.0)}
"""Left and right of the bend at 0; leaky_relu and prelu have their slope on the left."""


class Lines(NamedTuple):
    """slope * z + offset, above and below the activation of each unit; each (boxes, units)."""

    upper_slope: Float64[Array, "n width"]
    upper_offset: Float64[Array, "n width"]
    lower_slope: Float64[Array, "n width"]
    lower_offset: Float64[Array, "n width"]


Ranges = tuple[tuple[Float64[Array, "n _"], Float64[Array, "n _"]], ...]
"""Of every layer, what its pre-activations are at least and at most on each box."""


class Rows(NamedTuple):
    """Linear functions A h + offset, each of them on one of the boxes."""

    A: Float64[Array, "rows width"]
    offset: Float64[Array, " rows"]
    box: Int[Array, " rows"]


class LinearBounds(NamedTuple):
    """Lower bounds of A y - b on every box, with what they rest on.

    `slopes` are those of the linear functions whose least values the bounds are. `influence` is
    what an input may change the outputs by at most, for a unit of it and in sum over the rows.
    """

    least: Float64[Array, "n rows"]
    slopes: Float64[Array, "n rows d_in"]
    influence: Float64[Array, "n d_in"]
    ranges: Ranges


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
    A: Float64[Array, "m d_out"],
    b: Float64[Array, " m"],
    known: Ranges | None = None,
) -> LinearBounds:
    """Bounds of A y - b on every box.

    `known` are ranges on boxes around these: only units that may bend in them are bounded anew.
    """
    layers, n = network.layers, len(low)
    lines: list[Lines] = []
    ranges: list[tuple[Array, Array]] = []
    for k, (W, bias, sigma) in enumerate(layers):
        shape = n, len(W)
        z = known[k] if known else (np.full(shape, -np.inf), np.full(shape, np.inf))
        box, unit = np.nonzero(_may_bend(sigma, *z))
        below = Rows(W[unit], bias[unit], box)
        above = Rows(-W[unit], -bias[unit], box)
        both = Rows(*(np.concatenate(pair) for pair in zip(below, above, strict=True)))
        found, _ = _backward(layers, lines, both, k, low, high)
        z_low, z_high = z[0].copy(), z[1].copy()
        z_low[box, unit] = np.maximum(z_low[box, unit], found[: len(box)])
        z_high[box, unit] = np.minimum(z_high[box, unit], -found[len(box) :])
        ranges.append((z_low, np.maximum(z_low, z_high)))
        lines.append(lines_of(sigma, *ranges[-1]))
    W, bias, _ = layers[-1]
    each = np.repeat(np.arange(n), len(A))
    end = _through(lines[-1], Rows(np.tile(A, (n, 1)), np.tile(-b, n), each))
    end = Rows(end.A @ W, end.offset + end.A @ bias, each)
    least, slopes = _backward(layers, lines, end, len(layers) - 1, low, high)
    influence = np.tile(np.abs(A).sum(axis=0), (n, 1))
    for (W, _, _), around in zip(reversed(layers), reversed(lines), strict=True):
        steepest = np.maximum(np.abs(around.upper_slope), np.abs(around.lower_slope))
        influence = (influence * steepest) @ np.abs(W)
    slopes = slopes.reshape(n, len(A), -1)
    return LinearBounds(least.reshape(n, -1), slopes, influence, tuple(ranges))


def _may_bend(sigma: Activation, low: Array, high: Array) -> Array:
    """Whether the activation bends between the ends; where it does not, sides are all it takes."""
    bends = [(low < k) & (k < high) for k in kinks(sigma)]
    return np.logical_or.reduce(bends) if bends else np.zeros(low.shape, bool)


def _backward(
    layers: Sequence[Layer],
    lines: Sequence[Lines],
    rows: Rows,
    k: int,
    low: Float64[Array, "n d_in"],
    high: Float64[Array, "n d_in"],
) -> tuple[Float64[Array, " rows"], Float64[Array, "rows d_in"]]:
    """Lower bounds of functions of the inputs of layer k, and their slopes."""
    for j in range(k - 1, -1, -1):
        W, bias, _ = layers[j]
        rows = _through(lines[j], rows)
        rows = Rows(rows.A @ W, rows.offset + rows.A @ bias, rows.box)
    middle, radius = ((low + high) / 2)[rows.box], ((high - low) / 2)[rows.box]
    A = rows.A
    inner = np.einsum("rw,rw->r", A, middle) - np.einsum("rw,rw->r", np.abs(A), radius)
    return inner + rows.offset, A


def _through(lines: Lines, rows: Rows) -> Rows:
    """A sigma(z) + offset >= A' z + offset'."""
    A, box = rows.A, rows.box
    positive = A > 0
    offset = np.where(positive, lines.lower_offset[box], lines.upper_offset[box])
    slope = np.where(positive, lines.lower_slope[box], lines.upper_slope[box])
    return Rows(A * slope, rows.offset + np.einsum("rw,rw->r", A, offset), box)


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
    if sigma.name == "identity":
        return Lines(np.ones_like(low), np.zeros_like(low), np.ones_like(low), np.zeros_like(low))
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
