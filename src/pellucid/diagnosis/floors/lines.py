"""Piecewise-linear networks on lines: at most so many affine pieces, so many sign changes."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._shapes import Array, Float64
from ..wording import at_least
from .affine import combination, describe_combination
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
PER_LINE = 2e5
"""What a line costs beside its rows, in floating-point operations."""
NEAR = 1e-9
LEVELS = (0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9)
"""Quantiles of the target that are tried as levels."""


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
    """Rows that differ in one column, and in what follows it, lie on a line; lines add up."""
    pieces = most_pieces(architecture)
    if pieces is None or link_of(rows, architecture) != "identity":
        return None
    if not architecture.hidden or pieces + 1 >= rows.n:
        return None
    best: Found | None = None
    axes = _axes(rows.X, work)
    for axis in axes:
        found = _along(rows, int(axis), pieces, work / len(axes))
        if found is not None and (best is None or found.value > best.value):
            best = found
    return best


def _along(rows: Rows, axis: int, pieces: int, work: float) -> Found | None:
    combinations = combinations_of(rows.X, axis)
    groups = _collinear(rows.X, axis, combinations)
    sizes = [len(group) for group in groups]
    if max(sizes, default=0) <= pieces + 1 or len(groups) * PER_LINE > work:
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
    evidence = {"axis": axis, "combinations": combinations, "pieces": pieces, "parts": parts}
    where = "on the line of the rows" if len(groups) == 1 else f"on each of {len(groups)} lines"
    if rows.is_regression:
        total = sum(_piecewise_squares(line, rows.u, pieces) for line in lines)
        value = rows.least + total / (2 * rows.n)
        return Found(
            value,
            f"{where} the network has at most {pieces} affine pieces, and no such function has a "
            f"training loss below {at_least(value)}",
            evidence,
        )
    wrong, pairs = _errors(rows, lines, pieces)
    value = wrong * math.log(2) / rows.n
    return Found(
        value,
        f"{where} the network has at most {pieces} affine pieces and as many sign changes: "
        f"{_wrong_rows(wrong, rows.n)}",
        evidence | {"pairs": pairs, "errors": wrong},
    )


def _wrong_rows(wrong: int, n: int) -> str:
    if wrong == 1:
        return f"1 of {n} training rows stays wrong and costs at least ln 2"
    return f"{wrong} of {n} training rows stay wrong and cost at least ln 2 each"


def _axes(X: Array, work: float) -> Array:
    """The columns that are tried: those that vary, as many as the work allows."""
    most = min(MOST_AXES, int(work / (100.0 * X.size)))
    return np.flatnonzero(np.ptp(X, axis=0) > 0)[:most]


def combinations_of(X: Array, axis: int) -> list[dict[str, Any]]:
    """Columns that are exactly constant + fraction * this one: they lie on its lines."""
    x, found = X[:, axis], []
    for j in np.flatnonzero((X[0] != X).any(axis=0)):
        if j == axis or abs(np.corrcoef(x, X[:, j])[0, 1]) < 1 - 1e-9:
            continue
        exact = combination(X, [axis], int(j))
        if exact is not None:
            found.append(describe_combination(int(j), *exact))
    return found


def _collinear(X: Array, axis: int, combinations: list[dict[str, Any]]) -> list[Array]:
    """Groups of two rows or more that agree in every column that does not follow this one."""
    others = np.delete(X, [axis, *(c["column"] for c in combinations)], axis=1)
    if not others.shape[1]:
        return [np.arange(len(X))]
    if not _may_agree(others):
        return []
    _, group, size = np.unique(others, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    groups = np.split(order, np.cumsum(size)[:-1])
    return [np.sort(g) for g in groups if len(g) > 1]


def _may_agree(others: Array) -> bool:
    """Whether three rows may agree: quickly, by one random combination of the columns."""
    scale = np.abs(others).max(axis=0)
    weights = np.random.default_rng(0).uniform(1, 2, others.shape[1]) / np.where(scale, scale, 1.0)
    ordered = np.sort(others @ weights)
    near = ordered[1:] - ordered[:-1] < NEAR
    return bool((near[1:] & near[:-1]).any())


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


# ---- signs


def _least_wrong(wrong: Float64[Array, "m 2"], changes: int) -> float:
    """The least cost of any run of signs with at most so many changes; [i, s]: of sign s at i."""
    D = np.zeros((min(changes, len(wrong)) + 1, 2))  # by changes so far and sign
    for cost in wrong:
        D[1:] = np.minimum(D[1:], D[:-1, ::-1])
        D += cost
    return float(D.min()) if len(wrong) else 0.0


def _wrong_labels(line: Line, y: Array, pair: tuple[int, int]) -> Float64[Array, "m 2"]:
    """Rows of the two classes on the wrong side of 0, under either sign."""
    m = len(line.t)
    of = [np.bincount(line.position[y[line.rows] == k], minlength=m) for k in pair]
    return np.stack([of[1], of[0]], axis=1)[of[0] + of[1] > 0].astype(float)


def _wrong_numbers(line: Line, u: Array, level: float) -> Float64[Array, "m 2"]:
    """Squares of what a value on the other side of the level misses at least."""
    m, beyond = len(line.t), u[line.rows] - level
    of = [np.bincount(line.position, np.maximum(s * beyond, 0.0) ** 2, m) for s in (1, -1)]
    return np.stack([of[1], of[0]], axis=1)


def _errors(rows: Rows, lines: list[Line], changes: int) -> tuple[int, list[list[int]]]:
    """Rows that stay wrong, over disjoint pairs of classes."""
    errors = {
        pair: sum(round(_least_wrong(_wrong_labels(line, rows.y, pair), changes)) for line in lines)
        for pair in class_pairs(rows.y)
    }
    chosen = disjoint({pair: float(e) for pair, e in errors.items()})
    return sum(errors[pair] for pair in chosen), [list(pair) for pair in chosen]


# ---- smooth activations


def most_changes(architecture: Architecture) -> int | None:
    """Sign changes of output - level on a line, at most; None where no bound is known.

    Multiplied by the positive product of (1 + exp(-z_j)), the output of m sigmoids is a sum of
    2^m exponentials, which has fewer real zeros than terms (Polya and Szego 1925, part V). A sum
    of softplus has such a sum as its slope, one zero more; SiLU has terms (a + b x) exp(c x).
    """
    if len(architecture.hidden) != 1 or architecture.hidden[0] > 20:
        return None
    m, name = architecture.hidden[0], architecture.activations[0][0]
    counts = {"sigmoid": 2**m - 1, "tanh": 2**m - 1, "softplus": 2**m, "silu": 2 ** (m + 1) - 1}
    return counts.get(name)


def find_changes(rows: Rows, architecture: Architecture, work: float) -> Found | None:
    """As `find_lines` does for labels, for sums of smooth activations; numbers by a level."""
    changes = most_changes(architecture)
    if changes is None or link_of(rows, architecture) != "identity" or changes + 2 > rows.n:
        return None
    axes = _axes(rows.X, work)
    found = [_changes_along(rows, int(axis), changes, work / len(axes)) for axis in axes]
    return max((f for f in found if f is not None), key=lambda f: f.value, default=None)


def _changes_along(rows: Rows, axis: int, changes: int, work: float) -> Found | None:
    combinations = combinations_of(rows.X, axis)
    groups = _collinear(rows.X, axis, combinations)
    n_rows = sum(len(group) for group in groups)
    if max((len(g) for g in groups), default=0) <= changes + 1 or len(groups) * PER_LINE > work:
        return None
    if n_rows * (50.0 + changes) * 66 > work:
        return None
    lines = [line for group in groups for line in _lines(rows.X, axis, group, 0, 1)]
    evidence = {"axis": axis, "combinations": combinations, "changes": changes}
    crosses = f"on a line the network crosses a level at most {changes} times"
    if not rows.is_regression:
        wrong, pairs = _errors(rows, lines, changes)
        return Found(
            wrong * math.log(2) / rows.n,
            f"{crosses}: {_wrong_rows(wrong, rows.n)}",
            evidence | {"pairs": pairs, "errors": wrong},
        )
    levels = [float(v) for v in np.quantile(rows.u, LEVELS)]
    totals = [
        sum(_least_wrong(_wrong_numbers(line, rows.u, level), changes) for line in lines)
        for level in levels
    ]
    best = int(np.argmax(totals))
    value = rows.least + totals[best] / (2 * rows.n)
    return Found(
        value,
        f"{crosses}, and no such function has a training loss below {at_least(value)}",
        evidence | {"level": levels[best]},
    )
