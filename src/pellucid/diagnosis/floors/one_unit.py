"""One hidden unit: the network follows one linear form of its inputs, up or down."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._shapes import Array, Float64
from ..wording import at_least
from .affine import independent_columns
from .architecture import Architecture
from .found import Found
from .isotonic import monotone_cost, one_turn_cost
from .orders import plane_orders, whole
from .pairs import class_pairs, disjoint
from .radon import exact_cost, radon_groups
from .rows import Rows, link_of

MONOTONE = (
    *("identity", "relu", "leaky_relu", "hardtanh"),
    *("sigmoid", "tanh", "elu", "softplus", "softsign"),
)
ONE_TURN = ("abs", "gelu", "gelu_tanh", "silu", "prelu")
"""Down and then up; a slope of prelu that is trained may become negative."""
SLOPED = ("leaky_relu", "elu")
MOST_POINTS, FEWEST_POINTS = 60, 8
OPERATIONS = 4000.0
"""What sorting and pooling one point takes, in floating-point operations."""


def turns(architecture: Architecture) -> int | None:
    """How often the output can turn along the linear form: 0, 1, or None where unlimited."""
    if not architecture.hidden or set(architecture.hidden) != {1}:
        return None
    names = [name for name, _ in architecture.activations]
    negative = any(p[0] < 0 for name, p in architecture.activations if name in SLOPED)
    if all(name in MONOTONE for name in names) and not negative:
        return 0
    return 1 if len(names) == 1 and names[0] in ONE_TURN else None


def find_one_unit(rows: Rows, architecture: Architecture, work: float) -> Found | None:
    """The best function that follows a linear form, over every order that forms give the rows."""
    turning = turns(architecture)
    if turning is None or link_of(rows, architecture) != "identity":
        return None
    if rows.n * rows.X.shape[1] ** 2 > work:
        return None
    span = independent_columns(rows.X)
    if span is None or not span[1]["columns"]:
        return None
    columns, evidence = rows.X[:, span[1]["columns"]], span[1] | {"turns": turning}
    found = [_by_orders(rows, columns, evidence, turning, work)]
    if not turning:
        found.append(_by_groups(rows, columns, evidence, work))
    return max((f for f in found if f is not None), key=lambda f: f.value, default=None)


def _told(turning: int, value: float) -> str:
    kind = "follows one linear form of its inputs" + (", turning once" if turning else "")
    return (
        f"with one hidden unit the network {kind}, and no such function has a training loss below "
        f"{at_least(value)}"
    )


def _by_orders(
    rows: Rows, columns: Array, evidence: dict[str, Any], turning: int, work: float
) -> Found | None:
    hands = _hands(columns, work) if columns.shape[1] <= 2 else None
    if hands is None:
        return None
    evidence = evidence | {"parts": len(hands)}
    if rows.is_regression:
        one = np.ones(rows.n)
        total = sum(_best(columns[h], [(one[h], rows.u[h])], turning, False) for h in hands)
        value = rows.least + (float(rows.u @ rows.u) + total) / (2 * rows.n)
    else:
        pairs = _pairs(columns, rows.y, turning)
        of = [(np.isin(rows.y, p).astype(float), (rows.y == p[1]).astype(float)) for p in pairs]
        total = sum(_best(columns[h], [(w[h], s[h]) for w, s in of], turning, True) for h in hands)
        value = total / rows.n
        evidence = evidence | {"pairs": [list(pair) for pair in pairs]}
    return Found(value, _told(turning, value), evidence)


def _by_groups(rows: Rows, columns: Array, evidence: dict[str, Any], work: float) -> Found | None:
    """Disjoint groups of rows, each of which must be wrong somewhere."""
    if rows.is_regression:
        groups = radon_groups(columns, rows.u, False, work)
        total = sum(exact_cost(columns[g], rows.u[g], False) for g in groups)
        value = rows.least + total / (2 * rows.n)
    else:
        groups = []
        for pair in _pairs(columns, rows.y, 0):
            at = np.flatnonzero(np.isin(rows.y, pair))
            target = (rows.y[at] == pair[1]).astype(float)
            of_pair = radon_groups(columns[at], target, True, work)
            groups += [[int(at[i]) for i in g] for g in of_pair]
        value = len(groups) * 2 * math.log(2) / rows.n
    if not groups:
        return None
    return Found(value, _told(0, value), evidence | {"groups": groups})


def _hands(columns: Float64[Array, "n k"], work: float) -> list[Array] | None:
    """Rows dealt out into parts that are bounded one by one; one part where k = 1."""
    n = len(columns)
    if columns.shape[1] == 1:
        return [np.arange(n)] if n * OPERATIONS * 4 <= work * 10 else None
    _, point = np.unique(columns, axis=0, return_inverse=True)
    point = point.reshape(-1)
    m = int(point.max()) + 1
    size = min(MOST_POINTS, math.isqrt(int(work / (OPERATIONS * m))))
    if size < min(FEWEST_POINTS, m):
        return None
    parts = -(-m // size)
    return [np.flatnonzero(point % parts == i) for i in range(parts)]


def _pairs(columns: Array, y: Array, turning: int) -> list[tuple[int, int]]:
    """Which classes are compared: for more than two, those that the first column orders worst."""
    pairs = class_pairs(y)
    if len(pairs) <= 1:
        return pairs
    order = np.argsort(columns[:, 0], kind="stable")
    fit = one_turn_cost if turning else monotone_cost
    values = {}
    for pair in pairs:
        labels = y[order][np.isin(y[order], pair)]
        values[pair] = fit([1.0] * len(labels), (labels == pair[1]).astype(float).tolist(), True)
    return disjoint(values)


@dataclass(frozen=True)
class _Points:
    """Distinct points with the weight and the sum of targets of each."""

    place: list[tuple[int, ...]]
    targets: list[tuple[list[float], list[float]]]


def _points(columns: Array, targets: list[tuple[Array, Array]]) -> _Points:
    place, point = np.unique(columns, axis=0, return_inverse=True)
    point = point.reshape(-1)
    m = len(place)
    sums = [
        (np.bincount(point, w, m).tolist(), np.bincount(point, w * s, m).tolist())
        for w, s in targets
    ]
    exact: Any = zip(*(whole(x) for x in place.T), strict=True)
    return _Points(list(exact), sums)


def _best(columns: Array, targets: list[tuple[Array, Array]], turning: int, labels: bool) -> float:
    """The lowest cost over the orders, added up over the pairs of classes."""
    points = _points(columns, targets)
    fit = one_turn_cost if turning else monotone_cost
    if len(points.place[0]) == 1:
        orders = [sorted(range(len(points.place)), key=points.place.__getitem__)]
    else:
        orders = plane_orders([(p[0], p[1]) for p in points.place])
    return min(
        sum(fit(*_ordered(w, s, order), labels) for w, s in points.targets) for order in orders
    )


def _ordered(w: list[float], s: list[float], order: list[int]) -> tuple[list[float], list[float]]:
    """Weights and sums in that order, without points of other classes."""
    kept = [i for i in order if w[i] > 0]
    return [w[i] for i in kept], [s[i] for i in kept]
