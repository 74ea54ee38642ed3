"""The largest |sum_i s_i (z_i . u)_+| over the unit circle or sphere, exactly.

The planes z_i . u = 0 cut the sphere into cells, and on each the sum is g . u. It is largest where
g points into its own cell, or on a border: that is made of arcs of great circles, on each of which
the same question has one dimension less.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..._shapes import Array, Bool, Float64, Int

FEW = 24
"""So many directions with the largest values are returned."""
SAMPLE = 16
"""Rows at which a slope is compared with its cell before its value is computed."""
SIDE = 1e-12
"""Relative size below which a product has no clear sign."""
BLOCK = 2_000_000


def sums(Z: Float64[Array, "n r"], s: Float64[Array, " n"], U: Float64[Array, "m r"]) -> Array:
    """sum_i s_i (z_i . u)_+ for each direction."""
    step = max(1, BLOCK // len(Z))
    parts = [np.maximum(U[i : i + step] @ Z.T, 0.0) @ s for i in range(0, len(U), step)]
    return np.concatenate(parts)


def largest_sums(
    Z: Float64[Array, "n r"], s: Float64[Array, " n"]
) -> tuple[Float64[Array, " m"], Float64[Array, "m r"]]:
    """The largest sizes of the sum and their directions, the very largest first; r is 2 or 3.

    No two rows may be parallel.
    """
    U = _on_circle(Z, s) if Z.shape[1] == 2 else _on_sphere(Z, s)
    values = np.abs(sums(Z, s, U))
    order = np.argsort(-values, kind="stable")[:FEW]
    return values[order], U[order]


def _on_circle(Z: Float64[Array, "n 2"], s: Float64[Array, " n"]) -> Float64[Array, "m 2"]:
    """The directions with the largest sizes, which the slopes of the arcs tell without the rows."""
    arcs = _arcs(Z[None], s, Z)
    values, angles = _sizes(arcs.ends[0], arcs.slopes[0])
    return _direction(angles[np.argsort(-values, kind="stable")[:FEW]])


def _on_sphere(Z: Float64[Array, "n 3"], s: Float64[Array, " n"]) -> Float64[Array, "m 3"]:
    """The best direction on each great circle, and the slopes that may be in their own cells.

    An arc of circle i has a cell on either side: row i is active in one of them.
    """
    n, E = len(Z), _frames(Z)
    flat = np.einsum("ikr,jr->ijk", E, Z)  # row j in the plane of circle i
    flat[np.arange(n), np.arange(n)] = 0.0
    arcs = _arcs(flat, s, Z)
    on_circle = np.einsum("iar,ikr->iak", arcs.slopes, E)
    best = [_best_on_circle(a, g, e) for a, g, e in zip(arcs.ends, on_circle, E, strict=True)]
    reached = max(value for value, _ in best)
    found = [np.array([u for _, u in best])]
    middle = np.einsum("iak,ikr->iar", _direction(arcs.middles), E)
    for active in (False, True):
        g = arcs.slopes + (s[:, None] * Z)[:, None, :] if active else arcs.slopes
        long = (g**2).sum(axis=2) > reached**2  # elsewhere |g . u| <= |g| is no more
        circle, arc = np.nonzero(long)
        near = circle, arcs.rows[circle, arc], arcs.rows[circle, (arc + 1) % (2 * n)]
        for u in (_unit(g[long]), -_unit(g[long])):
            found.append(_in_cell(Z, u, middle[long], near, active))
    return np.concatenate(found)


def _in_cell(
    Z: Float64[Array, "n 3"],
    u: Float64[Array, "m 3"],
    p: Float64[Array, "m 3"],
    near: tuple[Int[Array, " m"], ...],
    active: bool,
) -> Float64[Array, "k 3"]:
    """Those of u that lie on the side of p at the neighbouring rows, and at some others.

    `near` are the row on whose circle p lies, of which the side is `active`, and those at both ends
    of the arc.
    """
    circle, *ends = near
    side = (Z[circle] * u).sum(axis=1)
    kept = (side if active else -side) >= -SIDE * np.linalg.norm(Z[circle], axis=1)
    for row in ends:
        kept &= _same_side(Z[row], u, p)
    u, p = u[kept], p[kept]
    for j in np.linspace(0, len(Z) - 1, min(SAMPLE, len(Z))).astype(int):
        kept = _same_side(Z[j], u, p)
        u, p = u[kept], p[kept]
    return u


def _same_side(z: Array, u: Float64[Array, "m 3"], p: Float64[Array, "m 3"]) -> Bool[Array, " m"]:
    """Whether z . u and z . p have one sign, or one of them has none that is clear."""
    squares = (z * z).sum(axis=-1)
    return (z * u).sum(axis=1) * (z * p).sum(axis=1) >= -SIDE * squares


def _frames(Z: Float64[Array, "n 3"]) -> Float64[Array, "n 2 3"]:
    """Two orthonormal directions at right angles to each row."""
    first = _unit(np.cross(Z, np.eye(3)[np.abs(Z).argmin(axis=1)]))
    return np.stack([first, _unit(np.cross(Z, first))], axis=1)


@dataclass(frozen=True)
class _Arcs:
    """The arcs between the angles at which rows change sides, on each of c circles.

    `rows` are those that change at the start of an arc; `slopes` what the sum is there.
    """

    ends: Float64[Array, "c m"]
    rows: Int[Array, "c m"]
    slopes: Float64[Array, "c m r"]

    @property
    def lengths(self) -> Float64[Array, "c m"]:
        following = np.roll(self.ends, -1, axis=1)
        following[:, -1] += 2 * math.pi
        return following - self.ends

    @property
    def middles(self) -> Float64[Array, "c m"]:
        return self.ends + self.lengths / 2


def _arcs(
    flat: Float64[Array, "c n 2"], s: Float64[Array, " n"], Z: Float64[Array, "n r"]
) -> _Arcs:
    """The arcs of circles in whose planes the rows are `flat`; a row that is 0 there never counts.

    A row is active within a right angle of its own.
    """
    turn, terms = 2 * math.pi, s[:, None] * Z
    angle = np.arctan2(flat[..., 1], flat[..., 0])
    begin, end = (angle - math.pi / 2) % turn, (angle + math.pi / 2) % turn
    counts = (flat != 0).any(axis=-1).astype(np.float64)
    ends, change = np.concatenate([begin, end], axis=1), np.concatenate([counts, -counts], axis=1)
    order = np.argsort(ends, axis=1)
    ends, change = (np.take_along_axis(part, order, axis=1) for part in (ends, change))
    rows = order % len(Z)
    at_start = (counts * (begin > end)) @ terms  # of those that are active around the angle 0
    slopes = at_start[:, None, :] + np.cumsum(change[..., None] * terms[rows], axis=1)
    return _Arcs(ends, rows, slopes)


def _sizes(
    ends: Float64[Array, " m"], g: Float64[Array, "m 2"]
) -> tuple[Float64[Array, " k"], Float64[Array, " k"]]:
    """Where a sum with the slope g on each arc can be largest, and its size there.

    That is |g . u| at the start of each arc, and |g| where g or -g points into its own arc; where
    it points elsewhere, 0 stands for it.
    """
    lengths = _Arcs(ends[None], np.zeros((1, len(ends)), int), g[None]).lengths[0]
    size, peak = np.hypot(g[:, 0], g[:, 1]), np.arctan2(g[:, 1], g[:, 0])
    values, angles = [np.abs((_direction(ends) * g).sum(axis=1))], [ends]
    for way in (peak, peak + math.pi):
        values.append(np.where((way - ends) % (2 * math.pi) <= lengths, size, 0.0))
        angles.append(way)
    return np.concatenate(values), np.concatenate(angles)


def _best_on_circle(
    ends: Float64[Array, " m"], g: Float64[Array, "m 2"], frame: Float64[Array, "2 3"]
) -> tuple[float, Float64[Array, " 3"]]:
    """The largest size of the sum on one great circle, and its direction."""
    values, angles = _sizes(ends, g)
    best = int(values.argmax())
    return float(values[best]), _direction(angles[best : best + 1])[0] @ frame


def _unit(g: Float64[Array, "m r"]) -> Float64[Array, "m r"]:
    """Directions; 0 stays."""
    size = np.linalg.norm(g, axis=-1, keepdims=True)
    return g / np.where(size > 0, size, 1.0)


def _direction(angle: Float64[Array, "..."]) -> Float64[Array, "... 2"]:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)
