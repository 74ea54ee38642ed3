"""Piecewise-linear networks on lines: affine pieces and sign changes are counted."""

import math
from typing import Any

import numpy as np

from ..._shapes import Array
from .formulas import GAUSSIAN_CONSTANT
from .pairs import read_count, read_pairs
from .result import Refused
from .rows import Shape, TrainingRows

BENDS = {"identity": 0, "relu": 1, "leaky_relu": 1, "prelu": 1, "abs": 1, "hardtanh": 2}
LONGEST = 20_000
CLOSE = 1e-6
"""A stretch this short, as a share of its line, is given away: rounding could not tell."""


def lines_bound(rows: TrainingRows, shape: Shape, evidence: dict[str, Any]) -> float:
    """Each line of rows gets its own best function with that many pieces or sign changes."""
    regression = rows.likelihood == "gaussian"
    fields = {"axis", "pieces", "parts"} | (set() if regression else {"pairs", "errors"})
    if set(evidence) != fields:
        raise Refused("the evidence does not have the fields of its kind")
    pieces = _pieces(shape)
    if read_count(evidence["pieces"], "the number of pieces", 1) != pieces:
        raise Refused(f"the architecture has {pieces} pieces at most")
    axis = read_count(evidence["axis"], "the axis")
    if axis >= rows.X.shape[1]:
        raise Refused("the axis of the evidence is no column")
    parts = read_count(evidence["parts"], "the number of parts", 1, rows.n)
    lines = [hand for line in _lines(rows.X, axis) for hand in _deal(line, parts)]
    if regression:
        total = sum(_squares(line, rows.standardised, pieces) for line in lines)
        return GAUSSIAN_CONSTANT + total / (2 * rows.n) * (1 - 1e-9) - 1e-10
    wrong = 0
    for pair in read_pairs(evidence["pairs"], rows.y):
        wrong += sum(_errors(line, rows.y, pair, pieces) for line in lines)
    if read_count(evidence["errors"], "the number of errors") != wrong:
        raise Refused(f"the rows that stay wrong are claimed otherwise and come out as {wrong}")
    return wrong * math.log(2) / rows.n * (1 - 1e-12)


def _pieces(shape: Shape) -> int:
    """The product of (bends * width + 1): each unit bends each piece below at most so often."""
    if not shape.raw_outputs or not shape.activations:
        raise Refused("the architecture has no hidden layer with raw outputs after it")
    pieces = 1
    for (name, _), width in zip(shape.activations, shape.widths[1:-1], strict=True):
        if name not in BENDS:
            raise Refused("an activation of the architecture is not piecewise linear")
        pieces *= BENDS[name] * width + 1
    return pieces


def _lines(X: Array, axis: int) -> list[dict[float, list[int]]]:
    """Rows that agree in every other column, by their position in this one."""
    lines: dict[bytes, dict[float, list[int]]] = {}
    others = np.delete(X + 0.0, axis, axis=1)
    for i, t in enumerate((X[:, axis] + 0.0).tolist()):
        lines.setdefault(others[i].tobytes(), {}).setdefault(t, []).append(i)
    return list(lines.values())


def _deal(line: dict[float, list[int]], parts: int) -> list[list[tuple[float, list[int]]]]:
    """The positions of a line in order, dealt out in turn."""
    ordered = sorted(line.items())
    return [ordered[i::parts] for i in range(parts) if ordered[i::parts]]


def _squares(line: list[tuple[float, list[int]]], u: Array, pieces: int) -> float:
    """Squares around the best function with that many affine pieces, from the left to the right.

    Each piece is fitted with its last position as the origin, by sums that run to the left.
    """
    w = np.array([float(len(rows)) for _, rows in line])
    v = np.array([u[rows].mean() for _, rows in line])
    within = sum(float(((u[rows] - u[rows].mean()) ** 2).sum()) for _, rows in line)
    m = len(line)
    if m <= 2 * pieces:
        return within
    if m > LONGEST:
        raise Refused("a line of the evidence is too long to be checked")
    t = np.array([position for position, _ in line])
    t = (t - t[0]) / (t[-1] - t[0])
    best = np.full((m + 1, pieces + 1), np.inf)  # [j, p]: positions before j in p pieces or fewer
    best[0] = 0.0
    for j in range(1, m + 1):
        cost = _costs_ending_at(t[:j], v[:j], w[:j])
        best[j, 1:] = (best[:j, :-1] + cost[:, None]).min(axis=0)
    return within + float(best[m, pieces])


def _costs_ending_at(t: Array, v: Array, w: Array) -> Array:
    """[i]: weighted squares around the best line through positions i to the last."""

    def sums(values: Array) -> Array:
        return np.cumsum((w * values)[::-1])[::-1]

    a, b = t - t[-1], v - v[-1]
    n, sa, sb = sums(np.ones_like(a)), sums(a), sums(b)
    aa, ab, bb = sums(a * a) - sa * sa / n, sums(a * b) - sa * sb / n, sums(b * b) - sb * sb / n
    clear = -a > CLOSE
    clear[-2:] = False  # two positions are fitted
    slope = np.where(clear, ab, 0.0) / np.where(clear, aa, 1.0)
    cost = np.where(clear, bb - slope * ab, 0.0)
    return np.maximum(cost, 0.0)


def _errors(
    line: list[tuple[float, list[int]]], y: Array, pair: tuple[int, int], changes: int
) -> int:
    """The fewest rows on the wrong side of 0 over all runs of signs with so many changes."""
    tallies = [[sum(int(y[i] == k) for i in rows) for k in pair] for _, rows in line]
    tallies = [tally for tally in tallies if sum(tally)]
    changes = min(changes, len(tallies))
    positive, negative = [0] * (changes + 1), [0] * (changes + 1)
    for first, second in tallies:  # where positive means the first class
        up = [min(p, n) for p, n in zip(positive, [positive[0], *negative[:-1]], strict=True)]
        down = [min(n, p) for n, p in zip(negative, [negative[0], *positive[:-1]], strict=True)]
        positive, negative = [c + second for c in up], [c + first for c in down]
    return min(*positive, *negative)
