"""One hidden unit: the best function that follows one linear form, over all of them."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..._shapes import Array
from .affine import check_columns
from .formulas import GAUSSIAN_CONSTANT
from .groups import groups_bound
from .pairs import read_count, read_pairs
from .result import Refused
from .rows import Shape, TrainingRows

RISING = (
    *("identity", "relu", "leaky_relu", "hardtanh"),
    *("sigmoid", "tanh", "elu", "softplus", "softsign"),
)
TURNING = ("abs", "gelu", "gelu_tanh", "silu", "prelu")
"""A slope of prelu that is trained may become negative."""
MOST_POINTS = 400

Weighted = list[tuple[float, float]]  # weight and sum of the targets, position by position


def one_unit_bound(rows: TrainingRows, shape: Shape, evidence: dict[str, Any]) -> float:
    """The lowest cost over all orders that linear forms give the rows, part by part."""
    regression = rows.likelihood == "gaussian"
    by_groups = "groups" in evidence
    fields = {"columns", "combinations", "turns", "groups" if by_groups else "parts"}
    if set(evidence) != fields | (set() if regression or by_groups else {"pairs"}):
        raise Refused("the evidence does not have the fields of its kind")
    turning = _turns(shape)
    if read_count(evidence["turns"], "the number of turns") != turning:
        raise Refused(f"the network turns {turning} times at most")
    check_columns(rows.X, evidence)
    columns = rows.X[:, evidence["columns"]] + 0.0
    if by_groups:
        if turning:
            raise Refused("groups prove nothing of a network that may turn")
        return groups_bound(rows, columns, evidence["groups"])
    hands = _deal(columns, read_count(evidence["parts"], "the number of parts", 1, rows.n))
    if regression:
        u = rows.standardised
        total = sum(_lowest(hand, [[(1.0, v) for v in u]], turning, False) for hand in hands)
        return GAUSSIAN_CONSTANT + total / (2 * rows.n) * (1 - 1e-9) - 1e-10
    pairs = read_pairs(evidence["pairs"], rows.y)
    weights = [[(float(k in p), float(k == p[1])) for k in rows.y.tolist()] for p in pairs]
    total = sum(_lowest(hand, weights, turning, True) for hand in hands)
    return total / rows.n * (1 - 1e-9) - 1e-12


def _turns(shape: Shape) -> int:
    if not shape.raw_outputs or not shape.activations or set(shape.widths[1:-1]) != {1}:
        raise Refused("the architecture does not have one hidden unit")
    names = [name for name, _ in shape.activations]
    slopes = [p[0] for name, p in shape.activations if p and name != "hardtanh"]
    if all(name in RISING for name in names) and all(s >= 0 for s in slopes):
        return 0
    if len(names) == 1 and names[0] in TURNING:
        return 1
    raise Refused("the activation of the architecture may turn more often")


def _deal(columns: Array, parts: int) -> list[dict[tuple[float, ...], list[int]]]:
    """Distinct points with their rows, in lexicographic order, dealt out in turn."""
    points: dict[tuple[float, ...], list[int]] = {}
    for i, row in enumerate(columns.tolist()):
        points.setdefault(tuple(row), []).append(i)
    ordered = sorted(points.items())
    return [dict(ordered[i::parts]) for i in range(parts) if ordered[i::parts]]


def _lowest(
    points: dict[tuple[float, ...], list[int]],
    targets: list[Weighted],
    turning: int,
    labels: bool,
) -> float:
    """The lowest cost over the orders, added up over the targets."""
    places = list(points)
    d = len(places[0])
    if d > 2 or (d == 2 and len(places) > MOST_POINTS):
        raise Refused("there are too many columns or points to try every order")
    sums = [
        [
            (math.fsum(t[i][0] for i in rows), math.fsum(t[i][1] * t[i][0] for i in rows))
            for rows in points.values()
        ]
        for t in targets
    ]
    squares = 0.0 if labels else math.fsum(v * v for r in points.values() for v in _of(targets, r))
    best = math.inf
    for order in _orders(places):
        cost = 0.0
        for s in sums:
            ordered = [s[i] for i in order if s[i][0] > 0]
            cost += _fit(ordered, turning, labels)
        best = min(best, cost)
    return squares + best


def _of(targets: list[Weighted], rows: list[int]) -> list[float]:
    return [targets[0][i][1] for i in rows]


# ---- orders


def _orders(places: list[tuple[float, ...]]) -> Iterator[list[int]]:
    """At each direction where two points tie, the orders just before it and just after it.

    Every order occurs beside some tie. Ties are broken along the perpendicular direction. All in
    whole numbers.
    """
    m = len(places)
    if len(places[0]) == 1 or m == 1:
        yield sorted(range(m), key=places.__getitem__)
        return
    x, y = (_whole([place[k] for place in places]) for k in (0, 1))
    seen: set[tuple[int, int]] = set()
    for i in range(m):
        for j in range(i):
            a, b = y[i] - y[j], x[j] - x[i]
            g = math.gcd(a, b)
            a, b = a // g, b // g
            if (a, b) in seen or (-a, -b) in seen:
                continue
            seen.add((a, b))
            along = [a * p + b * q for p, q in zip(x, y, strict=True)]
            aside = [a * q - b * p for p, q in zip(x, y, strict=True)]
            for sign in (1, -1):
                yield sorted(
                    range(m),
                    key=[(s, sign * t) for s, t in zip(along, aside, strict=True)].__getitem__,
                )


def _whole(values: list[float]) -> list[int]:
    exact = [Fraction(v) for v in values]
    common = math.lcm(*(f.denominator for f in exact))
    return [int(f * common) for f in exact]


# ---- fits


def _fit(points: Weighted, turning: int, labels: bool) -> float:
    """The best rising or falling function; with a turn, both kinds on either side of a split."""
    if not turning:
        return min(_rising(points, labels)[-1], _rising(points[::-1], labels)[-1])
    n = len(points)
    falling = [(w, -s if not labels else w - s) for w, s in points]
    best = math.inf
    for target in (points, falling):  # up to the split, and then down
        left, right = _rising(target, labels), _rising(target[::-1], labels)
        best = min(best, *(left[k] + right[n - k] for k in range(n + 1)))
    return best


def _rising(points: Weighted, labels: bool) -> list[float]:
    """Cost of the best rising fit of each prefix.

    The fit is the slope of the greatest convex minorant of the running sums (Barlow, Bartholomew,
    Bremner and Brunk 1972), kept as a chain of corners.
    """
    corners, costs, W, S = [(0.0, 0.0, 0.0)], [0.0], 0.0, 0.0
    for w, s in points:
        W, S = W + w, S + s
        while len(corners) > 1:
            (w0, s0, _), (w1, s1, _) = corners[-2:]
            if (s1 - s0) * (W - w1) < (S - s1) * (w1 - w0):
                break
            corners.pop()
        w0, s0, cost = corners[-1]
        cost += _cost(W - w0, S - s0, labels)
        corners.append((W, S, cost))
        costs.append(cost)
    return costs


def _cost(w: float, s: float, labels: bool) -> float:
    if not labels:
        return -s * s / w
    return math.fsum(-k * math.log(k / w) for k in (s, w - s) if k > 0)
