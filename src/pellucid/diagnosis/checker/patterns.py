"""One hidden layer of few units in the plane: the network is affine on each cell of their lines."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ..._shapes import Array, Float64
from .formulas import GAUSSIAN_CONSTANT
from .pairs import read_count
from .result import Refused
from .rows import Shape, TrainingRows

BENT_ONCE = ("relu", "leaky_relu", "prelu", "abs")
MOST_UNITS, MOST_POINTS = 2, 64
THIN = 1e-4 * (1 - 1e-6)
"""A cell of less squared spread in some direction, of points scaled to 1, is given away."""

Point = tuple[float, ...]


def patterns_bound(rows: TrainingRows, shape: Shape, evidence: dict[str, Any]) -> float:
    """The least squares that stay, over all cells that so many lines can make, part by part."""
    if set(evidence) != {"columns", "lines", "parts"}:
        raise Refused("the evidence does not have the fields of its kind")
    if rows.likelihood != "gaussian" or not shape.raw_outputs or len(shape.activations) != 1:
        raise Refused("the architecture has no single hidden layer with raw outputs for numbers")
    if shape.activations[0][0] not in BENT_ONCE or shape.widths[1] > MOST_UNITS:
        raise Refused("the units of the architecture are too many, or bend more than once")
    if read_count(evidence["lines"], "the number of lines", 1) != shape.widths[1]:
        raise Refused(f"the network bends along {shape.widths[1]} lines at most")
    columns = evidence["columns"]
    varying = [j for j in range(rows.X.shape[1]) if len(set(rows.X[:, j].tolist())) > 1]
    if type(columns) is not list or not all(type(j) is int for j in columns):
        raise Refused("the columns of the evidence are no list of columns")
    if columns != varying or len(columns) != 2:
        raise Refused("the columns of the evidence are not the two that vary")
    parts = read_count(evidence["parts"], "the number of parts", 1, rows.n)
    u = rows.standardised
    where: dict[Point, list[int]] = {}
    for i, row in enumerate((rows.X[:, columns] + 0.0).tolist()):
        where.setdefault(tuple(row), []).append(i)
    ordered = sorted(where)
    total = 0.0
    for part in range(parts):
        points = ordered[part::parts]
        if len(points) > MOST_POINTS:
            raise Refused("a part of the evidence has too many points to try every line")
        total += _squares(points, [u[where[p]] for p in points], shape.widths[1])
    return GAUSSIAN_CONSTANT + total / (2 * rows.n) * (1 - 1e-10) - 1e-12


def _squares(points: list[Point], targets: list[Array], lines: int) -> float:
    """The least over pairs of lines: those of one are tried with all of the other at once."""
    if len(points) < 4:
        return 0.0
    sides = np.array(sorted(sides_of_lines(points)), dtype=np.float64)
    terms = _terms(points, targets)
    flat = terms.reshape(len(points), 16)
    everything = flat.sum(axis=0)
    inside = sides @ flat
    squares = math.fsum(float(u @ u) for u in targets)
    within = math.fsum(float(((u - u.mean()) ** 2).sum()) for u in targets)
    if lines == 1:
        best = float((_left(inside) + _left(everything - inside)).min())
    else:
        best = math.inf
        for i, side in enumerate(sides):
            common = sides[: i + 1] @ (flat * side[:, None])
            first, second = inside[i] - common, inside[: i + 1] - common
            cost = _left(common) + _left(first) + _left(second)
            cost = cost + _left(everything - inside[i] - second)
            best = min(best, float(cost.min()))
    return max(within + best - 1e-8 * squares, 0.0)


def _terms(points: list[Point], targets: list[Array]) -> Float64[Array, "m 4 4"]:
    """Per point the rows times (1, x, y, u)(1, x, y, u)', x and y scaled to 1, u their mean."""
    P = np.array(points)
    P = P - (P.max(axis=0) + P.min(axis=0)) / 2
    P = P - P.mean(axis=0)
    reach = np.abs(P).max(axis=0)
    if not np.isfinite(P).all() or not np.isfinite(1 / reach[reach > 0]).all():
        raise Refused("the points of the plane cannot be scaled")
    P = P / np.where(reach > 0, reach, 1.0)
    terms = np.zeros((len(points), 4, 4))
    for i, u in enumerate(targets):
        v = np.array([1.0, *P[i], u.mean()])
        terms[i] = len(u) * np.outer(v, v)
    return terms


def _left(flat: Float64[Array, "k 16"]) -> Float64[Array, " k"]:
    """u'u after 1, x and y are eliminated in turn: the squares around the best affine function."""
    G = flat.reshape(-1, 4, 4)
    G = G[:, 1:, 1:] - G[:, 1:, :1] * G[:, :1, 1:] / np.maximum(G[:, :1, :1], 1.0)
    half, skew = (G[:, 0, 0] + G[:, 1, 1]) / 2, (G[:, 0, 0] - G[:, 1, 1]) / 2
    thin = ~(half - np.sqrt(skew**2 + G[:, 0, 1] ** 2) > THIN)
    G[thin] = np.eye(3)
    for _ in range(2):
        G = G[:, 1:, 1:] - G[:, 1:, :1] * G[:, :1, 1:] / G[:, :1, :1]
    return np.where(thin, 0.0, np.maximum(G[:, 0, 0], 0.0))


# ---- which points a line can have on one side


def sides_of_lines(points: list[Point]) -> set[tuple[bool, ...]]:
    """The sides that hold the first point, of every line that meets no point.

    Such a line can be moved until it goes through two points, or all points are on one side of it.
    Back from there it turns a little around a place on that line: those before the place fall to
    one side, those behind it to the other. In whole numbers.
    """
    x, y = (_whole([p[k] for p in points]) for k in (0, 1))
    m = len(points)
    found: set[tuple[bool, ...]] = {(True,) * m}
    tried: set[tuple[int, int, int]] = set()
    for i in range(m):
        for j in range(i):
            a, b = y[j] - y[i], x[i] - x[j]
            c = a * x[i] + b * y[i]
            g = math.gcd(a, b, c) * (1 if (a, b) > (0, 0) else -1)
            line = a // g, b // g, c // g
            if line in tried:
                continue
            tried.add(line)
            height = [a * p + b * q - c for p, q in zip(x, y, strict=True)]
            on = [k for k in range(m) if height[k] == 0]
            on.sort(key=[a * q - b * p for p, q in zip(x, y, strict=True)].__getitem__)
            above = [h > 0 for h in height]
            for before in _splits_of(on):
                side = [above[k] or k in before for k in range(m)]
                found.add(tuple(side) if side[0] else tuple(not s for s in side))
    return found


def _splits_of(on: list[int]) -> Iterator[set[int]]:
    """The first few of the points on a line, or the last few: none and all among them."""
    for k in range(len(on) + 1):
        yield set(on[:k])
        yield set(on[k:])


def _whole(values: list[float]) -> list[int]:
    exact = [Fraction(v) for v in values]
    common = math.lcm(*(f.denominator for f in exact))
    return [int(f * common) for f in exact]
