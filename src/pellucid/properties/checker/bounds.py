"""Lower bounds of outputs on boxes, whatever the rounding.

Lines around every activation are carried back from the outputs to the inputs. Every sum of
floating-point numbers is followed by a bound on what its rounding may have done (Higham 2002,
section 3.1), and all of that is subtracted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._shapes import Array, Float64
from .document import BENDS, Layer

UNIT = 2.0**-53
TINY = 1e-300
"""More than underflow can take from any product here."""

Known = tuple[tuple[Array, Array], ...]
"""Of every layer, ranges of its pre-activations that hold on the boxes."""


def by_intervals(
    layers: Sequence[Layer], low: Array, high: Array, A: Array, b: Array
) -> Float64[Array, "n rows"]:
    """What A y - b is at least on every box by intervals, whatever the rounding."""
    for layer in layers:
        z_low = _least_sum(layer.W, layer.b, low, high)
        z_high = -_least_sum(-layer.W, -layer.b, low, high)
        low, high = _range(layer, z_low, np.maximum(z_low, z_high))
    return _least_sum(A, -b, low, high)


def _least_sum(W: Array, b: Array, low: Array, high: Array) -> Array:
    """The least W h + b of every row for low <= h <= high."""
    positive, negative = np.maximum(W, 0.0), np.minimum(W, 0.0)
    value = low @ positive.T + high @ negative.T + b
    size = np.maximum(np.abs(low), np.abs(high)) @ np.abs(W).T + np.abs(b)
    return value - 2 * (_gamma(2 * W.shape[1] + 4) * size + TINY)


def _range(layer: Layer, low: Array, high: Array) -> tuple[Array, Array]:
    """The least and largest values of the activation on [low, high]."""
    points = [low, high, *(np.clip(k, low, high) for k in _bends(layer))]
    values = np.stack([_value(layer, z) for z in points])
    slack = 4 * UNIT * np.abs(values).max(axis=0) + TINY
    return values.min(axis=0) - slack, values.max(axis=0) + slack


class Around(NamedTuple):
    """Lines above and below the activations of a layer, and how large z and h are at most."""

    above: Array
    above_offset: Array
    below: Array
    below_offset: Array
    most_z: Array
    most_h: Array
    z: tuple[Array, Array]

    def of(self, which: Array) -> "Around":
        """Those on some of the boxes."""
        z = self.z[0][which], self.z[1][which]
        above, above_offset, below, below_offset, z_size, h_size = (p[which] for p in self[:6])
        return Around(above, above_offset, below, below_offset, z_size, h_size, z)


def ranges_of(layers: Sequence[Layer], low: Array, high: Array, known: Known) -> "list[Around]":
    """Lines around the activations of every layer on every box, whatever the rounding.

    `known` are ranges that hold there: only units that may bend in them are bounded anew.
    """
    around: list[Around] = []
    for k, layer in enumerate(layers):
        shape = len(low), len(layer.b)
        z_low, z_high = known[k] if known else (np.full(shape, -np.inf), np.full(shape, np.inf))
        z_low, z_high = z_low.copy(), z_high.copy()
        unit = np.flatnonzero(_may_bend(layer, z_low, z_high).any(axis=0) | (not known))
        rows = np.concatenate([layer.W[unit], -layer.W[unit]])
        constants = np.concatenate([layer.b[unit], -layer.b[unit]])
        affine = _Affine.of(rows, constants, len(low))
        found = _finish(affine, layers, around, k, low, high)
        z_low[:, unit] = np.maximum(z_low[:, unit], found[:, : len(unit)])
        z_high[:, unit] = np.minimum(z_high[:, unit], -found[:, len(unit) :])
        around.append(_lines(layer, z_low, z_high))
    return around


def _may_bend(layer: Layer, low: Array, high: Array) -> Array:
    return np.any([(low < k) & (k < high) for k in _bends(layer)] or [low > high], axis=0)


def lower_bounds(
    layers: Sequence[Layer],
    around: "Sequence[Around]",
    low: Array,
    high: Array,
    A: Array,
    b: Array,
) -> Float64[Array, "n rows"]:
    """What A y - b is at least on every box, whatever the rounding."""
    end = _Affine.of(A, -b, len(low)).through(around[-1])
    last = len(layers) - 1
    end = end.before(layers[-1], _sizes(around, last, low, high))
    return _finish(end, layers, around, last, low, high)


def _sizes(around: "Sequence[Around]", k: int, low: Array, high: Array) -> Array:
    """How large the inputs of layer k are at most."""
    return around[k - 1].most_h if k else np.maximum(np.abs(low), np.abs(high))


def _finish(
    affine: "_Affine",
    layers: Sequence[Layer],
    around: "Sequence[Around]",
    k: int,
    low: Array,
    high: Array,
) -> Array:
    """Lower bounds of an affine function of the inputs of layer k."""
    for j in range(k - 1, -1, -1):
        affine = affine.through(around[j]).before(layers[j], _sizes(around, j, low, high))
    return affine.least(low, high)


@dataclass(frozen=True)
class _Affine:
    """rows h + constant - lost: a lower bound in exact arithmetic, for every box."""

    rows: Float64[Array, "n m width"]
    constant: Float64[Array, "n m"]
    lost: Float64[Array, "n m"]

    @staticmethod
    def of(rows: Array, constant: Array, n: int) -> "_Affine":
        m = len(rows)
        shape = (n, *rows.shape)
        return _Affine(
            np.broadcast_to(rows, shape), np.broadcast_to(constant, (n, m)), np.zeros((n, m))
        )

    def through(self, lines: Around) -> "_Affine":
        """From the values of activations to their pre-activations."""
        positive, negative = np.maximum(self.rows, 0.0), np.minimum(self.rows, 0.0)
        constant = (
            self.constant
            + _apply(positive, lines.below_offset)
            + _apply(negative, lines.above_offset)
        )
        size = _apply(positive, np.abs(lines.below_offset))
        size = size - _apply(negative, np.abs(lines.above_offset))
        lost = self.lost + _gamma(2 * self.rows.shape[-1] + 3) * (size + np.abs(self.constant))
        below = positive * lines.below[:, None]
        above = negative * lines.above[:, None]
        products = _apply(np.abs(below) + np.abs(above), lines.most_z)
        lost = lost + 2 * UNIT * products + _vanished(lines.most_z)
        return _Affine(below + above, constant, lost)

    def before(self, layer: Layer, most_h: Array) -> "_Affine":
        """From the pre-activations of a layer to what enters it, of which `most_h` is the size."""
        n, m, width = self.rows.shape
        flat = np.ascontiguousarray(self.rows).reshape(n * m, width)
        rows = (flat @ layer.W).reshape(n, m, layer.W.shape[1])
        constant = self.constant + (flat @ layer.b).reshape(n, m)
        sizes = most_h @ np.abs(layer.W).T + np.abs(layer.b) + TINY
        size = _apply(np.abs(self.rows), sizes) + np.abs(self.constant)
        lost = self.lost + _gamma(width + 4) * size + _vanished(most_h)
        return _Affine(rows, constant, lost)

    def least(self, low: Array, high: Array) -> Array:
        """The least value on the boxes, in exact arithmetic."""
        positive, negative = np.maximum(self.rows, 0.0), np.minimum(self.rows, 0.0)
        value = self.constant + _apply(positive, low) + _apply(negative, high)
        size = _apply(positive, np.abs(low)) - _apply(negative, np.abs(high))
        size = size + np.abs(self.constant)
        # the bounds of the rounding are themselves rounded, by far less than their double
        return value - 2 * (self.lost + _gamma(2 * low.shape[1] + 4) * size + TINY)


def _apply(rows: Float64[Array, "n m width"], values: Float64[Array, "n width"]) -> Array:
    return np.matmul(rows, values[:, :, None])[..., 0]


def _vanished(sizes: Float64[Array, "n width"]) -> Float64[Array, "n 1"]:
    """More than underflow can take from a sum of such numbers by what it takes from their factors.

    A factor that vanishes is small, but not its product with a number of 1e300.
    """
    return TINY * (1 + sizes.sum(axis=1, keepdims=True))


def _gamma(n: int) -> float:
    """What n roundings may change a sum of products by, relative to the sum of their sizes."""
    return n * UNIT / (1 - n * UNIT)


# ---- activations


def _value(layer: Layer, z: Array) -> Array:
    if layer.name == "hardtanh":
        least, most = layer.parameters
        return np.clip(z, least, most)
    if layer.name == "identity":
        return z
    slope = {"relu": 0.0, "abs": -1.0}.get(layer.name, (*layer.parameters, 0.0)[0])
    return np.where(z >= 0, z, slope * z)


def _bends(layer: Layer) -> tuple[float, ...]:
    return layer.parameters if layer.name == "hardtanh" else BENDS[layer.name]


def _lines(layer: Layer, low: Array, high: Array) -> Around:
    """Slopes are chosen freely; offsets make the lines right at all ends and bends between them."""
    high = np.maximum(low, high)
    bends = [np.clip(k, low, high) for k in _bends(layer)]
    points = [low, *bends, high]
    values = [_value(layer, z) for z in points]
    above, below = _slopes(points, values)
    tops = [value - above * z for z, value in zip(points, values, strict=True)]
    bottoms = [value - below * z for z, value in zip(points, values, strict=True)]
    pairs = list(zip(points, values, strict=True))
    sizes = [np.abs(value) + (np.abs(above) + np.abs(below)) * np.abs(z) for z, value in pairs]
    slack = 8 * UNIT * np.max(sizes, axis=0) + TINY
    most_z = np.maximum(np.abs(low), np.abs(high))
    most_h = np.max([np.abs(value) for value in values], axis=0) * (1 + 4 * UNIT) + TINY
    return Around(
        above,
        np.max(tops, axis=0) + slack,
        below,
        np.min(bottoms, axis=0) - slack,
        most_z,
        most_h,
        (low, high),
    )


def _slopes(points: list[Array], values: list[Array]) -> tuple[Array, Array]:
    """Slopes of an upper and a lower line; for one bend the chord and the longer side's piece."""
    low, high = points[0], points[-1]
    if len(points) == 2:
        chord = _rise(low, high, values[0], values[-1])
        return chord, chord
    if len(points) == 3:
        left = _rise(points[0], points[1], values[0], values[1])
        right = _rise(points[1], points[2], values[1], values[2])
        left = np.where(points[1] > low, left, right)
        right = np.where(high > points[1], right, left)
        chord = _rise(low, high, values[0], values[2])
        longer = np.where(high - points[1] > points[1] - low, right, left)
        convex = left <= right
        return np.where(convex, chord, longer), np.where(convex, longer, chord)
    above = _rise(points[0], points[2], values[0], values[2])
    below = _rise(points[1], points[3], values[1], values[3])
    return above, below


def _rise(a: Array, b: Array, at_a: Array, at_b: Array) -> Array:
    apart = b > a
    return np.where(apart, (at_b - at_a) / np.where(apart, b - a, 1.0), 0.0)
