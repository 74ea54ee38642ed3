"""Piecewise-linear networks on lines: affine pieces and sign changes are counted."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._shapes import Array
from .affine import check_combination
from .formulas import GAUSSIAN_CONSTANT
from .pairs import read_count, read_pairs
from .result import Refused
from .rows import Shape, TrainingRows, is_number

BENDS = {"identity": 0, "relu": 1, "leaky_relu": 1, "prelu": 1, "abs": 1, "hardtanh": 2}
LONGEST = 20_000
CLOSE = 1e-6
"""A stretch this short, as a share of its line, is given away: rounding could not tell."""


def lines_bound(rows: TrainingRows, shape: Shape, evidence: dict[str, Any]) -> float:
    """Each line of rows gets its own best function with that many pieces or sign changes."""
    regression = rows.likelihood == "gaussian"
    fields = {"axis", "combinations", "pieces", "parts"} | (
        set() if regression else {"pairs", "errors"}
    )
    if set(evidence) != fields:
        raise Refused("the evidence does not have the fields of its kind")
    pieces = _pieces(shape)
    if read_count(evidence["pieces"], "the number of pieces", 1) != pieces:
        raise Refused(f"the architecture has {pieces} pieces at most")
    parts = read_count(evidence["parts"], "the number of parts", 1, rows.n)
    lines = [hand for line in _lines(rows.X, evidence) for hand in _deal(line, parts)]
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


def _lines(X: Array, evidence: dict[str, Any]) -> list[dict[float, list[int]]]:
    """Rows that agree in every column but this one and what follows it, by their position."""
    axis = read_count(evidence["axis"], "the axis", 0, X.shape[1] - 1)
    combinations = evidence["combinations"]
    if type(combinations) is not list:
        raise Refused("the combinations of the evidence are no list")
    following = [combination["column"] for combination in combinations]
    if not all(type(j) is int and 0 <= j < X.shape[1] and j != axis for j in following):
        raise Refused("a combination of the evidence is no other column")
    for combination in combinations:
        check_combination(X, {axis}, combination)
    lines: dict[bytes, dict[float, list[int]]] = {}
    others = np.delete(X + 0.0, [axis, *following], axis=1)
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
    costs = [(float(b), float(a)) for a, b in tallies if a + b]
    return round(_runs(costs, changes))


def _runs(costs: Sequence[tuple[float, float]], changes: int) -> float:
    """The least total over runs of signs: (cost if above, cost if below), from left to right."""
    changes = min(changes, len(costs))
    above, below = [0.0] * (changes + 1), [0.0] * (changes + 1)
    for up, down in costs:
        stay_up = [min(a, b) for a, b in zip(above, [above[0], *below[:-1]], strict=True)]
        stay_down = [min(b, a) for b, a in zip(below, [below[0], *above[:-1]], strict=True)]
        above, below = [c + up for c in stay_up], [c + down for c in stay_down]
    return min(*above, *below)


# ---- smooth activations


def changes_bound(rows: TrainingRows, shape: Shape, evidence: dict[str, Any]) -> float:
    """As many sign changes as the zeros of a sum of exponentials allow (Polya and Szego 1925)."""
    regression = rows.likelihood == "gaussian"
    fields = {"axis", "combinations", "changes"} | (
        {"level"} if regression else {"pairs", "errors"}
    )
    if set(evidence) != fields:
        raise Refused("the evidence does not have the fields of its kind")
    changes = _zeros(shape)
    if read_count(evidence["changes"], "the number of sign changes") != changes:
        raise Refused(f"the network crosses a level at most {changes} times")
    lines = [sorted(line.items()) for line in _lines(rows.X, evidence)]
    if not regression:
        pairs = read_pairs(evidence["pairs"], rows.y)
        wrong = sum(_errors(line, rows.y, pair, changes) for pair in pairs for line in lines)
        if read_count(evidence["errors"], "the number of errors") != wrong:
            raise Refused(f"the rows that stay wrong come out as {wrong}")
        return wrong * math.log(2) / rows.n * (1 - 1e-12)
    if not is_number(evidence["level"]):
        raise Refused("the level of the evidence is no finite number")
    over = rows.standardised - evidence["level"]
    total = 0.0
    for line in lines:
        costs = [
            (sum(min(over[i], 0.0) ** 2 for i in at), sum(max(over[i], 0.0) ** 2 for i in at))
            for _, at in line
        ]
        total += _runs(costs, changes)
    return GAUSSIAN_CONSTANT + float(total) / (2 * rows.n) * (1 - 1e-9) - 1e-10


def _zeros(shape: Shape) -> int:
    """Terms of the sum of exponentials less one, and one more where only the slope is such."""
    if not shape.raw_outputs or len(shape.activations) != 1 or shape.widths[1] > 30:
        raise Refused("the architecture is not one small hidden layer with raw outputs")
    name, terms = shape.activations[0][0], 1 << shape.widths[1]
    if name in ("sigmoid", "tanh"):
        return terms - 1
    if name == "softplus":
        return terms
    if name == "silu":
        return 2 * terms - 1
    raise Refused("no bound on the sign changes of this activation is known here")
