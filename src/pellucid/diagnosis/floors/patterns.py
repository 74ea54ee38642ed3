"""One hidden layer of few units in the plane: the ways in which straight lines split the rows.

A unit with one kink is affine on either side of a line, so that the network is affine on each cell
of the lines. Which rows a line can have on one side is enumerated exactly.
"""

import numpy as np

from ..._shapes import Array, Float64
from ..wording import at_least
from .architecture import Architecture
from .found import Found
from .orders import plane_orders, whole
from .rows import Rows, link_of

ONE_KINK = ("relu", "leaky_relu", "prelu", "abs")
MOST_LINES = 2
FEWEST_POINTS, MOST_POINTS = 12, 48
"""Points that are bounded together: with fewer, affine functions fit them all."""
THIN = 1e-4
"""A cell whose scaled points have less squared spread in some direction counts as fitted."""
ROUNDING = 2e-8
PER_POINT, PER_CELL = 2000.0, 200.0
BLOCK = 200_000


def find_patterns(rows: Rows, architecture: Architecture, work: float) -> Found | None:
    """The best function that is affine on every cell, over all cells that lines can make."""
    lines = _lines(architecture)
    if lines is None or not rows.is_regression or link_of(rows, architecture) != "identity":
        return None
    columns = np.flatnonzero((rows.X[0] != rows.X).any(axis=0))
    if len(columns) != 2:
        return None
    X = rows.X[:, columns]
    place, point = np.unique(X, axis=0, return_inverse=True)
    point = point.reshape(-1)
    size = _size(len(place), lines, work)
    if size < FEWEST_POINTS:
        return None
    parts = -(-len(place) // size)
    if not np.isfinite(np.ptp(place, axis=0)).all():
        return None
    total = 0.0
    for i in range(parts):
        members = point % parts == i
        total += _least_squares(X[members], rows.u[members], lines)
    value = rows.least + total / (2 * rows.n)
    return Found(
        value,
        f"the network bends along {lines} straight line{'s' if lines > 1 else ''} at most, and no "
        f"function that is affine on each side of {'each' if lines > 1 else 'it'} has a training "
        f"loss below {at_least(value)}",
        {"columns": [int(j) for j in columns], "lines": lines, "parts": parts},
    )


def _lines(architecture: Architecture) -> int | None:
    hidden = architecture.hidden
    if len(hidden) != 1 or hidden[0] > MOST_LINES or architecture.activations[0][0] not in ONE_KINK:
        return None
    return hidden[0]


def _size(n: int, lines: int, work: float) -> int:
    """How many points are bounded together; 0 where even the fewest are too many."""
    for size in range(min(MOST_POINTS, n), FEWEST_POINTS - 1, -1):
        splits = size * size / 2
        cells = splits if lines == 1 else splits * splits / 2
        if n / size * (size**3 * PER_POINT / 2 + cells * PER_CELL) <= work:
            return size
    return 0


def _least_squares(X: Float64[Array, "n 2"], u: Float64[Array, " n"], lines: int) -> float:
    """The sum of squares that stays, at least."""
    place, point = np.unique(X, axis=0, return_inverse=True)
    S = splits(place)
    z = place - place.mean(axis=0)
    x, y = (z / np.abs(z).max(axis=0, initial=1e-300)).T[:, point.reshape(-1)]
    terms = (np.ones_like(u), x, y, x * x, x * y, y * y, u, u * x, u * y)
    sums = [np.bincount(point.reshape(-1), t, len(place)) for t in terms]
    F = np.array([*sums, sums[6] ** 2 / sums[0]])  # the squares within points stay in any case
    within = float(u @ u) - float(F[9].sum())
    one, whole_plane = F @ S.T, F.sum(axis=1)
    if lines == 1:
        least = float((_rest(one) + _rest(whole_plane[:, None] - one)).min())
    else:
        least, step = np.inf, max(1, BLOCK // len(S))
        for start in range(0, len(S), step):
            i = slice(start, start + step)
            both = np.stack([(S[i] * f) @ S.T for f in F])
            a, b = one[:, i, None], one[:, None, :]
            cells = (both, a - both, b - both, whole_plane[:, None, None] - a - b + both)
            least = min(least, float(np.sum([_rest(c) for c in cells], axis=0).min()))
    return max(within + least - ROUNDING * float(u @ u), 0.0)


def splits(place: Float64[Array, "m 2"]) -> Float64[Array, "k m"]:
    """Which points a line can have on the side of the first one, lines through points left out.

    A row on a unit's own line has the value 0 there from both sides, so that a line moved a little
    serves as well.
    """
    found: set[tuple[int, ...]] = {(1,) * len(place)}
    x, y = (whole(column) for column in place.T)
    for order in plane_orders(list(zip(x, y, strict=True))):
        side = [0] * len(place)
        for i in order:
            side[i] = 1
            found.add(tuple(side) if side[0] else tuple(1 - s for s in side))
    return np.array(sorted(found), dtype=np.float64)


def _rest(M: Float64[Array, "10 ..."]) -> Float64[Array, "..."]:
    """Squares around the best affine function, from sums over a cell; 0 where it is thin."""
    k, x, y, xx, xy, yy, s, sx, sy, ss = M
    k = np.maximum(k, 1.0)
    a, b, c = xx - x * x / k, xy - x * y / k, yy - y * y / k
    p, r = sx - s * x / k, sy - s * y / k
    wide = (a + c - np.hypot(a - c, 2 * b)) / 2 > THIN
    det = np.where(wide, a * c - b * b, 1.0)
    rest = ss - s * s / k - (c * p * p - 2 * b * p * r + a * r * r) / det
    return np.where(wide, np.maximum(rest, 0.0), 0.0)
