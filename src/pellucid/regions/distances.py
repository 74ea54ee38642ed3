"""Distances from many points to many points or segments of a plane."""

import numpy as np

from .._shapes import Array, Float64


def to_points(p: Array, ends: Array) -> Float64[Array, " points"]:
    """Least distance from each p (n, 1) to the points `ends` (m, 1, 1) of a line."""
    at = np.sort(ends.ravel())
    around = np.concatenate([[-np.inf], at, [np.inf]])
    k = np.searchsorted(at, p[:, 0])
    return np.minimum(p[:, 0] - around[k], around[k + 1] - p[:, 0])


def to_segments(p: Array, ends: Array) -> Float64[Array, " points"]:
    """Least distance from each p (n, 2) to the segments `ends` (m, 2, 2) of a plane.

    Long segments are cut into parts, so that none is longer than some 2 h. A segment at a distance
    below r has its middle within r + h; middles are asked for in the order of their distance, twice
    as many each time, until the next one is further away than that.
    """
    from scipy.spatial import KDTree

    found = np.full(len(p), np.inf)
    if not len(ends):
        return found
    a, b = _parts(ends[:, 0], ends[:, 1])
    tree = KDTree((a + b) / 2)
    half = np.linalg.norm(b - a, axis=1).max() / 2
    rows, k = np.arange(len(p)), min(8, len(a))
    while len(rows):
        far, near = (x.reshape(len(rows), k) for x in tree.query(p[rows], k))
        found[rows] = _to_segments(p[rows, None], a[near], b[near]).min(axis=1)
        open_yet = far[:, -1] <= (found[rows] + half) * (1 + 1e-12)
        rows = rows[open_yet] if k < len(a) else rows[:0]
        k = min(2 * k, len(a))
    return found


def _parts(a: Array, b: Array) -> tuple[Array, Array]:
    """The segments, those cut into equal parts that are longer than twice the mean."""
    length = np.linalg.norm(b - a, axis=1)
    aim = 2 * length.mean()
    counts = np.maximum(1, np.ceil(length / aim)).astype(np.int64) if aim > 0 else None
    if counts is None:
        return a, b
    which = np.repeat(np.arange(len(a)), counts)
    i = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    t0, t1 = (i / counts[which])[:, None], ((i + 1) / counts[which])[:, None]
    step = (b - a)[which]
    return a[which] + t0 * step, a[which] + t1 * step


def _to_segments(p: Array, a: Array, b: Array) -> Float64[Array, "points k"]:
    """Distance from each point to its segments: to the nearest a + t (b - a), 0 <= t <= 1."""
    u, v = b - a, p - a
    square = (u * u).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(square > 0, (u * v).sum(axis=-1) / square, 0.0)
    return np.linalg.norm(v - np.clip(t, 0, 1)[:, :, None] * u, axis=-1)
