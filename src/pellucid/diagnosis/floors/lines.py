"""Piecewise-linear networks on lines: at most so many affine pieces, so many sign changes."""

import math
from dataclasses import dataclass

import numpy as np

from ..._shapes import Array, Float64
from .architecture import Architecture
from .found import Found
from .pairs import class_pairs, disjoint
from .rows import Rows, link_of

KINKS = {"identity": 0, "relu": 1, "leaky_relu": 1, "prelu": 1, "abs": 1, "hardtanh": 2}
"""Where the graph of an activation bends."""
LONGEST = 2000
"""Distinct positions on a line that are fitted together; longer lines are dealt out in turn."""
CLOSE = 1e-6
"""Stretches shorter than this share of their line count as fitted: rounding could not tell."""
MOST_AXES = 30


def most_pieces(architecture: Architecture) -> int | None:
    """Affine pieces that any of these networks has at most on a line; None where unlimited.

    A unit with q kinks adds at most q boundaries to each piece of the layer below, so a layer of
    width m multiplies the pieces by at most q m + 1.
    """
    pieces = 1
    for (name, _), width in zip(architecture.activations, architecture.hidden, strict=True):
        if name not in KINKS:
            return None
        pieces *= KINKS[name] * width + 1
        if pieces > 10**6:
            return None
    return pieces


@dataclass(frozen=True)
class Line:
    """Rows of one line by position: where they are, and which rows stand at each position."""

    t: Float64[Array, " m"]
    position: Array  # of each row, an index into t
    rows: Array


def find_lines(rows: Rows, architecture: Architecture, work: float) -> Found | None:
    """Rows that differ in one column only lie on a line: the best axis, its lines added up."""
    pieces = most_pieces(architecture)
    if pieces is None or link_of(rows, architecture) != "identity":
        return None
    if not architecture.hidden or pieces + 1 >= rows.n:
        return None
    best: Found | None = None
    axes = np.flatnonzero((rows.X[0] != rows.X).any(axis=0))[:MOST_AXES]
    for axis in axes:
        found = _along(rows, int(axis), len(axes) == 1, pieces, work / len(axes))
        if found is not None and (best is None or found.value > best.value):
            best = found
    return best


def _along(rows: Rows, axis: int, single: bool, pieces: int, work: float) -> Found | None:
    groups = _collinear(rows.X, axis, 2 * pieces if rows.is_regression else pieces + 1)
    sizes = [len(group) for group in groups]
    if not groups:
        return None
    parts = 1
    if rows.is_regression:
        longest = min(LONGEST, math.sqrt(work / ((20.0 + pieces) * max(1.0, sum(sizes) / LONGEST))))
        if longest < 2 * pieces + 10:
            return None
        parts = max(1, math.ceil(max(sizes) / longest))
    elif sum(sizes) * (50.0 + pieces) * len(class_pairs(rows.y)) > work:
        return None
    lines = [
        line
        for group in groups
        for i in range(parts)
        for line in _lines(rows.X, axis, group, i, parts)
    ]
    evidence = {"axis": axis, "pieces": pieces, "parts": parts}
    where = "on the line of the inputs" if single else f"on each of {len(groups)} lines of rows"
    if rows.is_regression:
        total = sum(_piecewise_squares(line, rows.u, pieces) for line in lines)
        value = rows.least + total / (2 * rows.n)
        return Found(
            value,
            f"{where} the network has at most {pieces} affine pieces, and no such function has a "
            f"training loss below {value:.4g} nats",
            evidence,
        )
    errors = {
        pair: sum(_fewest_errors(line, rows.y, pair, pieces) for line in lines)
        for pair in class_pairs(rows.y)
    }
    chosen = disjoint({pair: float(e) for pair, e in errors.items()})
    wrong = sum(errors[pair] for pair in chosen)
    value = wrong * math.log(2) / rows.n
    return Found(
        value,
        f"{where} the network has at most {pieces} affine pieces and as many sign changes: "
        f"{wrong} of {rows.n} training rows stay wrong and cost at least ln 2 each",
        evidence | {"pairs": [list(pair) for pair in chosen], "errors": wrong},
    )


def _collinear(X: Array, axis: int, least: int) -> list[Array]:
    """Groups of more than `least` rows that agree in every column but one."""
    others = np.delete(X, axis, axis=1)
    if not others.shape[1]:
        return [np.arange(len(X))] if len(X) > least else []
    _, group, size = np.unique(others, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    groups = np.split(order, np.cumsum(size)[:-1])
    return [np.sort(g) for g in groups if len(g) > least]


def _lines(X: Array, axis: int, group: Array, i: int, parts: int) -> list[Line]:
    """The i-th of `parts` hands, dealt out by position, of one group."""
    t, position = np.unique(X[group, axis], return_inverse=True)
    kept = position % parts == i
    if not kept.any():
        return []
    return [Line(t[i::parts], position[kept] // parts, group[kept])]


# ---- numbers


def _piecewise_squares(line: Line, u: Float64[Array, " n"], pieces: int) -> float:
    """Least squares of any function with that many affine pieces, continuous or not.

    D_p(j) = min_i D_{p-1}(i) + c(i, j), c(i, j) the squares around the best line through positions
    i .. j-1 (Bellman 1961).
    """
    m = len(line.t)
    w = np.bincount(line.position, minlength=m).astype(float)
    mean = np.bincount(line.position, u[line.rows], minlength=m) / w
    within = float(((u[line.rows] - mean[line.position]) ** 2).sum())
    if m <= 2 * pieces:
        return within
    cost = _segment_costs(line.t, mean, w)
    D = np.full(m + 1, np.inf)
    D[0] = 0.0
    D[1:] = cost[0, :]
    for _ in range(pieces - 1):
        best = D.copy()
        for j in range(1, m + 1):  # the last piece is i .. j-1
            best[j] = min(best[j], float((D[:j] + cost[:j, j - 1]).min()))
        D = best
    return within + float(D[m])


def _segment_costs(
    t: Float64[Array, " m"], v: Float64[Array, " m"], w: Float64[Array, " m"]
) -> Float64[Array, "m m"]:
    """[i, j]: weighted squares around the best line through positions i .. j, by updated means."""
    m = len(t)
    span = float(t[-1] - t[0])
    t = (t - t[0]) / span
    cost = np.zeros((m, m))
    n, mt, mv = w.copy(), t.copy(), v.copy()
    tt, tv, vv = np.zeros(m), np.zeros(m), np.zeros(m)
    for length in range(1, m):  # the segments i .. i + length
        new = np.arange(m - length)
        j = new + length
        n, mt, mv, tt, tv, vv = (a[: m - length] for a in (n, mt, mv, tt, tv, vv))
        a, b = t[j] - mt, v[j] - mv
        n = n + w[j]
        share = w[j] / n
        mt, mv = mt + share * a, mv + share * b
        rest = w[j] * (1 - share)
        tt, tv, vv = tt + rest * a * a, tv + rest * a * b, vv + rest * b * b
        if length > 1:
            far = t[j] - t[new] > CLOSE
            squares = np.maximum(vv - tv * tv / np.where(far, tt, 1.0), 0.0)
            cost[new, j] = np.where(far, squares, 0.0)
    return cost


# ---- labels


def _fewest_errors(line: Line, y: Array, pair: tuple[int, int], pieces: int) -> int:
    """Rows of the two classes that any function with at most `pieces` sign changes gets wrong."""
    m = len(line.t)
    of = [np.bincount(line.position[y[line.rows] == k], minlength=m) for k in pair]
    wrong = np.stack([of[1], of[0]], axis=1)[of[0] + of[1] > 0]  # [:, s]: errors under sign s
    D = np.zeros((pieces + 1, 2), dtype=np.int64)  # by sign changes so far and sign
    for errors in wrong:
        D[1:] = np.minimum(D[1:], D[:-1, ::-1])
        D += errors
    return int(D.min()) if len(wrong) else 0
